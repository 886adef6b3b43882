"""Collectives with the shipped constants against published measurements; `pytest -s` prints the errors."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dielet.hardware.system import collectives, load_system

GIB = 2.0**30

# All-reduce bus bandwidth of the first 2 to 8 GPUs of a DGX-1V at 1 GiB in GB/s
# (VIA-Research/vTrain profiler table).
DGX1 = {2: 22.6, 3: 45.2, 4: 85.6, 5: 37.2, 6: 45.8, 7: 87.1, 8: 134.5}


def bus_gb_per_s(system: str, devices: int, size: float, *, placed: bool = True) -> float:
    answer = collectives(load_system(system), "all-reduce", [size], devices=devices, placed=placed)
    return 2 * (devices - 1) / devices * size / float(answer.seconds[0]) / 1e9


def test_dgx1_all_reduce_of_the_first_gpus() -> None:
    for devices, measured in DGX1.items():
        ours = bus_gb_per_s("dgx1-v100", devices, GIB, placed=False)
        print(f"DGX-1V, {devices} GPUs, 1 GiB: {ours:6.1f} GB/s, measured {measured:6.1f}, {ours / measured - 1:+.1%}")
        assert ours == pytest.approx(measured, rel=0.20)


@dataclass(frozen=True)
class Curve:
    system: str
    hardware: str
    source: str
    operation: str
    nodes: int
    median: float  # bounds of the absolute relative error
    worst_decile: float
    fitted: bool
    least: float = 0.0  # bytes


CURVES = [
    Curve("dgx1-v100", "V100", "vtrain-allreduce-lut", "all-reduce", 1, 0.10, 0.30, True),
    Curve("dgx-a100", "A100", "vtrain-allreduce-lut", "all-reduce", 1, 0.10, 0.30, True),
    Curve("dgx-a100", "A100-SXM4-80GB", "aiconfigurator-nccl", "all-reduce", 1, 0.10, 0.30, True),
    Curve("dgx-a100", "A100-SXM4-80GB", "aiconfigurator-nccl", "all-gather", 1, 0.15, 0.30, True),
    Curve("dgx-a100", "A100-SXM4-80GB", "aiconfigurator-nccl", "reduce-scatter", 1, 0.15, 0.30, True),
    Curve("dgx-a100", "A100-SXM4-80GB", "aiconfigurator-nccl", "all-to-all", 1, 0.20, 0.50, False),
    Curve("dgx-a100", "A100-SXM4-40GB", "superbenchmark-testdata", "all-reduce", 1, 0.10, 0.40, False, 4e6),
    Curve("dgx-a100", "A100-SXM4-40GB", "superbenchmark-testdata", "all-gather", 1, 0.15, 0.40, False, 4e6),
    Curve("dgx-a100", "A100-SXM4-40GB", "superbenchmark-testdata", "reduce-scatter", 1, 0.15, 0.40, False, 4e6),
    Curve("dgx-a100", "A100", "stas00-ml-engineering", "all-reduce", 1, 0.15, 0.40, False, 4e6),
    Curve("dgx-h100", "H100 80GB HBM3", "aiconfigurator-nccl", "all-reduce", 1, 0.15, 0.35, True),
    Curve("dgx-h100", "H100 80GB HBM3", "aiconfigurator-nccl", "all-gather", 1, 0.15, 0.30, True),
    Curve("dgx-h100", "H100 80GB HBM3", "aiconfigurator-nccl", "reduce-scatter", 1, 0.15, 0.30, True),
    Curve("dgx-h100", "H100 80GB HBM3", "aiconfigurator-nccl", "all-to-all", 1, 0.25, 0.60, False),
    Curve("dgx-h100", "H100 80GB HBM3", "mlperf-nccl-logs", "all-reduce", 1, 0.10, 0.20, True),
    Curve("dgx-h100", "H100 80GB HBM3", "dgxc-benchmarking-nccl", "all-reduce", 1, 0.15, 0.40, True, 4e6),
    Curve("dgx-h100", "H200", "mlperf-nccl-logs", "all-reduce", 8, 0.45, 0.60, False),
    Curve("gb200-nvl72", "GB200", "aiconfigurator-nccl", "all-reduce", 1, 0.15, 0.30, True),
    Curve("gb200-nvl72", "GB200", "aiconfigurator-nccl", "all-gather", 1, 0.15, 0.30, True),
]


@cache
def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file, delimiter="\t") if row["time_us"] and row["size_bytes"]]


def errors(curve: Curve, path: Path) -> NDArray[np.float64]:
    found = [
        (int(row["gpus"]), float(row["size_bytes"]), float(row["time_us"]) * 1e-6)
        for row in rows(path)
        if row["source_id"] == curve.source
        and row["hw"] == curve.hardware
        and row["collective"] == curve.operation.replace("-", "_")
        and row["nodes"] == str(curve.nodes)
        and float(row["size_bytes"]) >= curve.least
        and row["inplace"] != "in-place"
        # The library cuts messages below a few hundred bytes differently.
        and float(row["size_bytes"]) >= 512
    ]
    system, out = load_system(curve.system), []
    for devices in sorted({count for count, _, _ in found}):
        sizes = [size for count, size, _ in found if count == devices]
        times = np.array([time for count, _, time in found if count == devices])
        placed = curve.system != "dgx1-v100"
        ours = collectives(system, curve.operation, sizes, devices=devices, placed=placed).seconds
        out.append(ours / times - 1)
    return np.concatenate(out)


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: f"{curve.hardware}-{curve.source}-{curve.operation}")
def test_published_curve(curve: Curve, shared: Path) -> None:
    error = errors(curve, shared / "data/measurements/collectives.tsv")
    median, decile = float(np.median(np.abs(error))), float(np.quantile(np.abs(error), 0.9))
    part = "fitted" if curve.fitted else "held out"
    print(
        f"{curve.system} {curve.operation} ({curve.source}, {curve.hardware}, {len(error)} rows, {part}): "
        f"median |error| {median:.1%}, 90th percentile {decile:.1%}, bias {np.median(error):+.1%}"
    )
    assert median <= curve.median
    assert decile <= curve.worst_decile


def test_four_nodes_with_four_cards_each() -> None:
    """NCCL's maintainers call 48 GB/s healthy for DGX-1s with four 100 Gbit/s cards."""
    ours = bus_gb_per_s("dgx1-v100", 32, GIB)
    print(f"4 DGX-1V, 32 GPUs, 1 GiB: {ours:.1f} GB/s, healthy 48")
    assert ours == pytest.approx(48, rel=0.15)

"""The GEMM formula with the shipped constants against every published GEMM time at hand."""

import csv
from collections import defaultdict

import numpy as np
import pytest

from dielet.hardware.device import gemm_time_s, load_device

# Shipped device, format, rows (source, hardware, precision), and bounds of the median and the 90th percentile
# of the absolute error on the half that took no part in the fit.
CASES = [
    ("v100-sxm2-16gb", "fp32", ("deepbench", "V100", "fp32"), 0.06, 0.20),
    (
        "v100-sxm2-16gb",
        "fp16",
        ("deepbench", "V100", "fp16 inputs, fp32 accumulate (Tensor Cores)"),
        0.06,
        0.45,
    ),
    ("p100-sxm2-16gb", "fp32", ("deepbench", "P100", "fp32"), 0.04, 0.30),
    ("a100-sxm4-80gb", "bf16", ("aiconfigurator-gemm", "A100-SXM4-80GB", "bf16"), 0.06, 0.17),
    ("h100-sxm5-80gb", "bf16", ("aiconfigurator-gemm", "H100 80GB HBM3", "bf16"), 0.06, 0.17),
    ("h100-sxm5-80gb", "fp8", ("aiconfigurator-gemm", "H100 80GB HBM3", "fp8 (per-tensor)"), 0.04, 0.12),
    ("gb200", "bf16", ("aiconfigurator-gemm", "GB200", "bf16"), 0.07, 0.18),
    ("gb200", "fp8", ("aiconfigurator-gemm", "GB200", "fp8 (per-tensor)"), 0.06, 0.13),
]


@pytest.fixture(scope="module")
def measured(shared):
    """Rows of m, n, k and seconds by source, hardware and precision; as in the calibration."""
    table = defaultdict(list)
    with (shared / "data" / "measurements" / "gemm.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if int(row["n"]) >= 32 and row["time_us"]:
                key = row["source_id"], row["hw"], row["precision"]
                table[key].append((int(row["m"]), int(row["n"]), int(row["k"]), float(row["time_us"]) * 1e-6))
    return table


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]}")
def test_held_out_gemm_times(measured, capsys, case):
    name, number, key, median, high = case
    rows = measured[key]
    held_out = np.random.default_rng(1).random(len(rows)) >= 0.5
    m, n, k, seconds = (np.array(column) for column in zip(*rows, strict=True))
    errors = np.abs(gemm_time_s(load_device(name), number, m=m, n=n, k=k) / seconds - 1)
    middle, tail = np.quantile(errors[held_out], [0.5, 0.9])
    with capsys.disabled():
        print(f"\n{name} {number}: {held_out.sum()} held out, median {middle:.1%}, p90 {tail:.1%}", end="")
    assert held_out.sum() > 50
    assert middle <= median
    assert tail <= high

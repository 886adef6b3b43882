"""Fit the GEMM constants of the devices to published GEMM times, and test them on the half held out.

    python benchmarks/calibrate.py [DEVICE ...] [--gemm ../shared/data/measurements/gemm.tsv]

Fitted per device: the overhead of one kernel; per number format: ceiling, feed, ramp, split and, for FP8,
what converting the first operand costs. Data sheet figures, multiprocessors and the memory efficiency are
inputs and stay. Nothing but GEMM times is read: no network's throughput takes part. The formula is the
library's own (`gemm_time_s`).

Prints the constants, the errors on the fitted and on the held-out half, and the errors on devices that took
no part in the fit (`TRANSFERS`). The constants are then copied by hand into the files of the devices.
"""

import argparse
import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import differential_evolution, minimize

from dielet.hardware.device import Device, gemm_time_s

Array = NDArray[np.float64]
SHARED = Path(__file__).parents[2] / "shared" / "data" / "measurements" / "gemm.tsv"
AICONFIGURATOR, DEEPBENCH = "aiconfigurator-gemm", "deepbench"
TENSOR_CORES = "fp16 inputs, fp32 accumulate (Tensor Cores)"


@dataclass(frozen=True)
class Part:
    """One number format of a device: the data sheet peak and which rows of the measurements are it."""

    number: str
    peak: str
    source: str
    hardware: str
    precision: str


@dataclass(frozen=True)
class Board:
    """A device to fit: what its data sheet gives, and the formats that have measurements."""

    name: str
    multiprocessors: int
    bandwidth: str
    efficiency: float
    parts: tuple[Part, ...]
    overhead_of: str | None = None  # the board whose overhead is taken, where the measurements cannot tell it


BOARDS = (
    Board(
        "v100-sxm2",
        80,
        "900 GB/s",
        0.878,
        (
            Part("fp32", "15.7 TFLOP/s", DEEPBENCH, "V100", "fp32"),
            Part("fp16", "125 TFLOP/s", DEEPBENCH, "V100", TENSOR_CORES),
        ),
    ),
    Board(
        "p100-sxm2",
        56,
        "732 GB/s",
        0.76,
        (Part("fp32", "10.6 TFLOP/s", DEEPBENCH, "P100", "fp32"),),
        overhead_of="v100-sxm2",
    ),
    Board(
        "a100-sxm4-80gb",
        108,
        "2039 GB/s",
        0.88,
        (Part("bf16", "312 TFLOP/s", AICONFIGURATOR, "A100-SXM4-80GB", "bf16"),),
    ),
    Board(
        "h100-sxm5-80gb",
        132,
        "3.35 TB/s",
        0.9,
        (
            Part("bf16", "989.4 TFLOP/s", AICONFIGURATOR, "H100 80GB HBM3", "bf16"),
            Part("fp8", "1978.9 TFLOP/s", AICONFIGURATOR, "H100 80GB HBM3", "fp8 (per-tensor)"),
        ),
    ),
    Board(
        "gb200",
        148,
        "8 TB/s",
        0.9,
        (
            Part("bf16", "2500 TFLOP/s", AICONFIGURATOR, "GB200", "bf16"),
            Part("fp8", "5000 TFLOP/s", AICONFIGURATOR, "GB200", "fp8 (per-tensor)"),
        ),
    ),
)

# Measured devices that share a chip with a fitted one: its constants with their own bandwidth and peak.
TRANSFERS = (
    ("h100-sxm5-80gb", Part("bf16", "989.4 TFLOP/s", AICONFIGURATOR, "H200", "bf16"), "4.8 TB/s"),
    ("h100-sxm5-80gb", Part("fp8", "1978.9 TFLOP/s", AICONFIGURATOR, "H200", "fp8 (per-tensor)"), "4.8 TB/s"),
    ("gb200", Part("bf16", "2250 TFLOP/s", AICONFIGURATOR, "B200", "bf16"), "8 TB/s"),
    ("gb200", Part("fp8", "4500 TFLOP/s", AICONFIGURATOR, "B200", "fp8 (per-tensor)"), "8 TB/s"),
)

# Lower and upper bound of each constant of a format.
BOUNDS = {"ceiling": (0.4, 1.0), "feed": (0.0, 60.0), "ramp": (0.0, 600.0), "split": (0.0, 4000.0)}
CONVERSION = {"kernels": (0.0, 8.0), "bytes_per_element": (0.0, 12.0)}
OVERHEAD = (1e-6, 12e-6)


@dataclass(frozen=True)
class Rows:
    """Measured GEMMs of one format of one device."""

    m: NDArray[np.uint64]
    n: NDArray[np.uint64]
    k: NDArray[np.uint64]
    seconds: Array
    fitted: NDArray[np.bool_]


def read(path: Path, part: Part) -> Rows:
    """The rows of a part; a random half, the same on every run, is marked as fitted."""
    with path.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if belongs(row, part)]
    m, n, k = (np.array([int(row[key]) for row in rows], dtype=np.uint64) for key in "mnk")
    seconds = np.array([float(row["time_us"]) * 1e-6 for row in rows])
    return Rows(m, n, k, seconds, np.random.default_rng(1).random(len(rows)) < 0.5)


def belongs(row: dict[str, str], part: Part) -> bool:
    """Whether a measured row is of this part; products with all but no columns are left out.

    DeepBench's inference rows (fewer than 32 columns) depend on the kernel that cuBLAS happens to pick, by up
    to a factor of 3 between 16 and 32 columns; training does not run them.
    """
    same = (row["source_id"], row["hw"], row["precision"]) == (part.source, part.hardware, part.precision)
    return same and int(row["n"]) >= 32


def keys(part: Part) -> dict[str, tuple[float, float]]:
    """The constants of a part and their bounds."""
    return BOUNDS | (CONVERSION if part.number == "fp8" else {})


def device(board: Board, overhead: float, constants: dict[str, dict[str, float]]) -> Device:
    """The board with these constants, as the library reads it."""
    lines = [
        f'name = "{board.name}"',
        'summary = "under calibration"',
        'memory = "1 GB"',
        f'memory_bandwidth = "{board.bandwidth}"',
        f"memory_efficiency = {board.efficiency}",
        f"multiprocessors = {board.multiprocessors}",
        f'kernel_overhead = "{overhead!r} s"',
    ]
    for part in board.parts:
        values = constants[part.number]
        lines += [f"[rates.{part.number}]", f'peak = "{part.peak}"']
        lines += [f"{key} = {float(values[key])!r}" for key in BOUNDS]
        if part.number == "fp8":
            lines += [f"conversion.{key} = {float(values[key])!r}" for key in CONVERSION]
    return Device.from_toml("\n".join(lines), board.name)


def unpack(board: Board, fixed: float | None, vector: Array) -> Device:
    """The device of a point of the search space."""
    values = [float(value) for value in vector]
    overhead = fixed if fixed is not None else values.pop(0)
    constants: dict[str, dict[str, float]] = {}
    for part in board.parts:
        constants[part.number] = {
            key: min(max(values.pop(0), low), high) for key, (low, high) in keys(part).items()
        }
    return device(board, overhead, constants)


def log_errors(fitted: Device, part: Part, rows: Rows, mask: NDArray[np.bool_]) -> Array:
    """Logarithms of predicted over measured time."""
    seconds = gemm_time_s(fitted, part.number, m=rows.m[mask], n=rows.n[mask], k=rows.k[mask])
    return np.log(seconds / rows.seconds[mask])


def fit(board: Board, data: dict[str, Rows], fixed: float | None) -> Array:
    """Search the least mean absolute log error over the fitted halves; every format weighs the same."""
    space = [] if fixed is not None else [OVERHEAD]
    for part in board.parts:
        space += list(keys(part).values())

    def loss(vector: Array) -> float:
        trial = unpack(board, fixed, np.clip(vector, *np.array(space).T))
        each = [
            np.abs(log_errors(trial, part, data[part.number], data[part.number].fitted))
            for part in board.parts
        ]
        return float(np.mean([errors.mean() for errors in each]))

    coarse = differential_evolution(loss, space, seed=0, maxiter=400, popsize=20, tol=1e-6, polish=False)
    fine = minimize(loss, coarse.x, method="Nelder-Mead", bounds=space, options={"maxiter": 4000})
    return np.asarray(fine.x)


def report(title: str, logs: Array, say: Callable[[str], None] = print) -> None:
    """One line of errors."""
    errors = np.abs(np.expm1(logs))
    median, high = np.median(errors), np.quantile(errors, 0.9)
    bias = np.expm1(np.median(logs))
    say(f"  {title:<42} {len(logs):4d} rows  median {median:6.1%}  p90 {high:6.1%}  bias {bias:+6.1%}")


def show(board: Board, fitted: Device) -> None:
    """The constants of a fitted board."""
    tree = fitted.to_dict()
    print(f"{board.name}: kernel_overhead {tree['kernel_overhead']['value'] * 1e6:.2f} us")
    for part in board.parts:
        rate = tree["rates"][part.number]
        constants = {key: rate[key]["value"] for key in BOUNDS}
        constants |= {key: figure["value"] for key, figure in rate.get("conversion", {}).items()}
        print(f"  {part.number}: " + ", ".join(f"{key} {value:.4g}" for key, value in constants.items()))


def calibrate(names: Iterable[str], path: Path) -> None:
    """Fit and report each named board, then the transfers from it."""
    overheads: dict[str, float] = {}
    chosen = [board for board in BOARDS if not names or board.name in names]
    needed = {board.overhead_of for board in chosen}
    for board in (board for board in BOARDS if board in chosen or board.name in needed):
        data = {part.number: read(path, part) for part in board.parts}
        fixed = overheads[board.overhead_of] if board.overhead_of else None
        fitted = unpack(board, fixed, fit(board, data, fixed))
        overheads[board.name] = fitted.to_dict()["kernel_overhead"]["value"]
        show(board, fitted)
        for part in board.parts:
            rows = data[part.number]
            report(f"{part.number} fitted", log_errors(fitted, part, rows, rows.fitted))
            report(f"{part.number} held out", log_errors(fitted, part, rows, ~rows.fitted))
        transfer(board, fitted, path)


def transfer(board: Board, fitted: Device, path: Path) -> None:
    """Errors of a fitted board's constants on devices that took no part."""
    tree = fitted.to_dict()
    for origin, part, bandwidth in TRANSFERS:
        if origin != board.name:
            continue
        rate = tree["rates"][part.number]
        values = {key: rate[key]["value"] for key in BOUNDS}
        values |= {key: figure["value"] for key, figure in rate.get("conversion", {}).items()}
        other = Board(part.hardware, board.multiprocessors, bandwidth, board.efficiency, (part,))
        moved = device(other, tree["kernel_overhead"]["value"], {part.number: values})
        rows = read(path, part)
        report(
            f"{part.number} of {part.hardware} by these constants", log_errors(moved, part, rows, rows.m > 0)
        )


def main() -> None:
    """Parse the command line and calibrate."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("device", nargs="*", help="names of BOARDS; all by default")
    parser.add_argument("--gemm", type=Path, default=SHARED, help="the measurements")
    options = parser.parse_args()
    calibrate(options.device, options.gemm)


if __name__ == "__main__":
    main()

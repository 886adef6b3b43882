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
from collections.abc import Iterable
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
    """A device to fit: what its data sheet gives, and the formats that have measurements.

    The first format decides the overhead: the one whose small products are the least bound by anything else.
    """

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
            Part("fp16", "125 TFLOP/s", DEEPBENCH, "V100", TENSOR_CORES),
            Part("fp32", "15.7 TFLOP/s", DEEPBENCH, "V100", "fp32"),
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


@dataclass(frozen=True)
class Fit:
    """The constants of one format, and the overhead that goes with them."""

    overhead: float
    constants: dict[str, float]


def device(board: Board, fits: dict[str, Fit]) -> Device:
    """The board with the constants of some of its formats, as the library reads it."""
    overhead = next(iter(fits.values())).overhead
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
        lines += rate(part, fits[part.number].constants) if part.number in fits else []
    return Device.from_toml("\n".join(lines), board.name)


def rate(part: Part, constants: dict[str, float]) -> list[str]:
    """The table of one format."""
    lines = [f"[rates.{part.number}]", f'peak = "{part.peak}"']
    lines += [f"{key} = {constants[key]!r}" for key in BOUNDS]
    return lines + [f"conversion.{key} = {constants[key]!r}" for key in CONVERSION if key in constants]


def log_errors(fitted: Device, part: Part, rows: Rows, mask: NDArray[np.bool_]) -> Array:
    """Logarithms of predicted over measured time."""
    seconds = gemm_time_s(fitted, part.number, m=rows.m[mask], n=rows.n[mask], k=rows.k[mask])
    return np.log(seconds / rows.seconds[mask])


def fit(board: Board, part: Part, rows: Rows, overhead: float | None) -> Fit:
    """Search the least mean absolute log error over the fitted half."""
    space = keys(part) | ({} if overhead is not None else {"overhead": OVERHEAD})
    low, high = np.array(list(space.values())).T

    def unpack(vector: Array) -> Fit:
        values = dict(zip(space, np.clip(vector, low, high).tolist(), strict=True))
        return Fit(values.pop("overhead", overhead), values)

    def loss(vector: Array) -> float:
        trial = device(board, {part.number: unpack(vector)})
        return float(np.abs(log_errors(trial, part, rows, rows.fitted)).mean())

    bounds = list(space.values())
    coarse = differential_evolution(loss, bounds, seed=0, maxiter=300, popsize=15, tol=1e-6, polish=False)
    fine = minimize(loss, coarse.x, method="Nelder-Mead", bounds=bounds, options={"maxiter": 4000})
    return unpack(np.asarray(fine.x))


def report(title: str, logs: Array) -> None:
    """Print one line of errors."""
    errors = np.abs(np.expm1(logs))
    median, high = np.median(errors), np.quantile(errors, 0.9)
    bias = np.expm1(np.median(logs))
    print(f"  {title:<34} {len(logs):4d} rows  median {median:6.1%}  p90 {high:6.1%}  bias {bias:+6.1%}")


def calibrate(names: Iterable[str], path: Path) -> None:
    """Fit and report each named board, then the transfers from it."""
    overheads: dict[str, float] = {}
    chosen = [board for board in BOARDS if not names or board.name in names]
    needed = {board.overhead_of for board in chosen}
    for board in (board for board in BOARDS if board in chosen or board.name in needed):
        overhead = overheads[board.overhead_of] if board.overhead_of else None
        fits = calibrate_board(board, path, overhead)
        overheads[board.name] = next(iter(fits.values())).overhead
        transfer(board, fits, path)


def calibrate_board(board: Board, path: Path, overhead: float | None) -> dict[str, Fit]:
    """Fit the formats of a board one after the other; the first decides the overhead."""
    print(board.name)
    fits: dict[str, Fit] = {}
    for part in board.parts:
        rows = read(path, part)
        fits[part.number] = found = fit(board, part, rows, overhead)
        overhead = found.overhead
        constants = ", ".join(f"{key} {value:.4g}" for key, value in found.constants.items())
        print(f"  {part.number}: overhead {overhead * 1e6:.2f} us, {constants}")
        fitted = device(board, {part.number: found})
        report(f"{part.number} fitted", log_errors(fitted, part, rows, rows.fitted))
        report(f"{part.number} held out", log_errors(fitted, part, rows, ~rows.fitted))
    return fits


def transfer(board: Board, fits: dict[str, Fit], path: Path) -> None:
    """Report the errors of a fitted board's constants on devices that took no part."""
    for origin, part, bandwidth in TRANSFERS:
        if origin == board.name:
            other = Board(part.hardware, board.multiprocessors, bandwidth, board.efficiency, (part,))
            rows = read(path, part)
            logs = log_errors(device(other, fits), part, rows, rows.m > 0)
            report(f"{part.number} of {part.hardware}, not fitted", logs)


def main() -> None:
    """Parse the command line and calibrate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", nargs="*", help="names of BOARDS; all by default")
    parser.add_argument("--gemm", type=Path, default=SHARED, help="the measurements")
    options = parser.parse_args()
    calibrate(options.device, options.gemm)


if __name__ == "__main__":
    main()

"""What pricing costs: the array API against one plan at a time.

Run: python benchmarks/price.py
"""

import time

import numpy as np

from dielet import _core
from dielet.hardware.system import load_system
from dielet.model.load import load_model
from dielet.projection.columns import PriceColumns, price_columns

DEVICES = [64, 128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096]
BATCHES = [768, 1536, 2304, 3072]
GRID = {
    "tp": [1, 2, 4, 8],
    "pp": [1, 2, 4, 8, 12, 16, 24, 32],
    "virtual_stages": [1, 2, 3, 6],
    "micro_batch": [1, 2, 3, 4, 8],
    "recompute": ["none", "selective", "full"],
    "sharding": [0, 1, 2, 3],
    "sequence_parallel": [False, True],
    "mapping": ["tp-cp-dp-pp", "tp-pp-cp-dp"],
}
ALONE = 2_000


def grid() -> dict[str, np.ndarray]:
    """Every combination of the grid at every device count that its worker divides."""
    axes = {**GRID, "batch": BATCHES, "devices": DEVICES}
    # Varies slowest: what most of a price depends on.
    mesh = np.meshgrid(*(np.arange(len(values)) for values in axes.values()), indexing="ij")
    columns = {
        name: np.asarray(values)[index.ravel()] for (name, values), index in zip(axes.items(), mesh, strict=True)
    }
    devices, worker = columns.pop("devices"), columns["tp"] * columns["pp"]
    whole = devices % worker == 0
    plans = {name: column[whole] for name, column in columns.items()}
    return {**plans, "dp": (devices // worker)[whole], "dense_gradients": np.ones(whole.sum(), dtype=bool)}


def alone(columns: dict[str, np.ndarray], rows: np.ndarray) -> float:
    """Seconds a plan, one at a time."""
    model, system = load_model("gpt3-175b"), load_system("dgx-a100")
    base = _core.serial_plan(model, "mixed")
    plans = [{**base, **{name: column[row].item() for name, column in columns.items()}} for row in rows]
    start = time.perf_counter()
    for plan in plans:
        _core.price(model, system, plan)
    return (time.perf_counter() - start) / len(plans)


def together(columns: dict[str, np.ndarray]) -> tuple[float, float, PriceColumns]:
    """Seconds a plan by the clock and of all processors, all in one call; the best of three."""
    model, system = load_model("gpt3-175b"), load_system("dgx-a100")
    times, work = [], []
    for _ in range(3):
        start, worked = time.perf_counter(), time.process_time()
        priced = price_columns(model, system, columns)
        times.append(time.perf_counter() - start)
        work.append(time.process_time() - worked)
    return min(times) / len(priced), min(work) / len(priced), priced


def main() -> None:
    columns = grid()
    array_s, work_s, priced = together(columns)
    rows = np.random.default_rng(1).choice(len(priced), ALONE, replace=False)
    single_s = alone(columns, rows)
    feasible = int(priced.feasible.sum())
    print(f"gpt3-175b on dgx-a100, {len(priced):,} plans, {feasible:,} of them run")
    print(f"{'':24}{'ns a plan':>12}{'ratio':>8}")
    print(f"{'price_columns(...)':24}{array_s * 1e9:>12,.0f}{1:>8}")
    print(f"{'  processor time':24}{work_s * 1e9:>12,.0f}{work_s / array_s:>8.1f}")
    print(f"{'price(...) one by one':24}{single_s * 1e9:>12,.0f}{single_s / array_s:>8,.0f}")
    reasons = zip(priced.reasons, np.bincount(priced.reason, minlength=len(priced.reasons)), strict=True)
    print("  ".join(f"{reason or 'runs'} {count:,}" for reason, count in reasons))


if __name__ == "__main__":
    main()

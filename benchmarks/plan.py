"""What the search over workers costs: every device count from 1 to 1,024, workers of 1, 2, 4 and 8 devices.

Run: python benchmarks/plan.py
"""

import time

import numpy as np

from dielet import _core
from dielet.hardware.system import load_system
from dielet.model.load import load_model

NETWORKS = ["inception-v3", "gnmt", "big-lstm", "resnet-50"]
DEVICES = np.arange(1, 1025, dtype=np.uint64)


def search(name: str) -> tuple[float, dict[str, int]]:
    """Seconds of one search (the best of three), and its counts."""
    model, system = load_model(name), load_system("dgx1-v100")
    request = {"mp": [1, 2, 4, 8], "worker_batch": 64, "sequence": model.sequence, "precision": "fp32"}
    request |= {"dense_gradients": False, "tp": [], "pp": []}
    times = []
    for _ in range(3):
        start = time.perf_counter()
        found = _core.workers(model, system, request, DEVICES)
        times.append(time.perf_counter() - start)
    counts = found["counts"]
    total = {name: sum(counts[name].values()) for name in ("pruned", "infeasible")}
    return min(times), {"space": counts["space"], "priced": counts["priced"], **total}


def main() -> None:
    print(f"dgx1-v100, {len(DEVICES):,} device counts, workers of 1, 2, 4, 8 devices")
    print(f"{'':14}{'ms':>8}{'plans':>12}{'priced':>10}{'pruned':>10}{'infeasible':>12}{'ns a plan':>11}")
    for name in NETWORKS:
        seconds, counts = search(name)
        columns = "".join(
            f"{counts[key]:>{width},}"
            for key, width in [("space", 12), ("priced", 10), ("pruned", 10), ("infeasible", 12)]
        )
        print(f"{name:14}{seconds * 1e3:>8.0f}{columns}{seconds / counts['space'] * 1e9:>11.0f}")


if __name__ == "__main__":
    main()

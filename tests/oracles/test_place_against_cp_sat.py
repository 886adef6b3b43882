"""Placement equals CP-SAT on random graphs of 12 to 25 ops; DIELET_CP_SAT_GRAPHS sets how many."""

import importlib.util
import os
import random
from pathlib import Path

import pytest

from dielet import _core

pytest.importorskip("ortools", reason="the CP-SAT oracle needs ortools")
_SPEC = importlib.util.spec_from_file_location("place_cp_sat", Path(__file__).with_name("place_cp_sat.py"))
cp_sat = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(cp_sat)

GRAPHS = int(os.environ.get("DIELET_CP_SAT_GRAPHS", "200"))


def random_problem(seed):
    rng = random.Random(seed)
    n, m = rng.randint(12, 25), rng.choice([2, 2, 3, 4])
    scale = rng.choice([1, 4])
    times = [rng.randint(1, 20) for _ in range(n)]
    edges = {u: [v for v in range(u + 1, min(n, u + 8)) if rng.random() < 0.25] for u in range(n)}
    memory = [rng.randint(1, 9) for _ in range(n)]
    capacity = float(int(1.3 * sum(memory) / m) + 9) if rng.random() < 0.5 else float("inf")
    ops = [
        {
            "id": str(i),
            "phase": "forward",
            "time_s": [float(times[i])] * m,
            "memory_bytes": float(memory[i]),
            "group": rng.choice([None, None, None, 0]),
            "pin": None,
        }
        for i in range(n)
    ]
    tensors = [
        {"producer": u, "consumers": vs, "bytes": float(scale * rng.randint(1, 9))} for u, vs in edges.items() if vs
    ]
    return {
        "memory_bytes": [capacity] * m,
        "ops": ops,
        "tensors": tensors,
        "latency_s": [[1.0] * m for _ in range(m)],
        "bandwidth_bytes_per_s": [[1.0] * m for _ in range(m)],
        "links": rng.choice(["delay", "serial"]),
        "overlap": True,
    }


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_equals_cp_sat(seed):
    problem = random_problem(seed)
    status, value = cp_sat.smallest_makespan(problem, seconds=20.0)
    outcome = _core.place_solve(problem, 20.0)
    if status == "INFEASIBLE":
        assert outcome["status"] == "infeasible"
        return
    makespan = _core.place_check(problem, outcome["schedule"])
    assert outcome["proof"]["lower_bound"] <= value + 1e-6
    if status == "OPTIMAL" and outcome["status"] == "optimal":
        assert makespan == pytest.approx(value)

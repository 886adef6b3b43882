"""Properties of placement: equal to brute force, valid bounds, monotone, invariant."""

import importlib.util
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dielet import _core

_SPEC = importlib.util.spec_from_file_location(
    "place_brute_force", Path(__file__).parents[1] / "oracles" / "place_brute_force.py"
)
brute_force = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(brute_force)

TIMES = st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0, 8.0])


@st.composite
def problems(draw, most_ops=6, training=False):
    n = draw(st.integers(1, most_ops))
    m = draw(st.integers(1, 3))
    links = draw(st.sampled_from(["delay", "serial", "port"]))
    overlap = links != "port" or draw(st.booleans())
    uniform = draw(st.booleans())

    def times():
        if uniform:
            return [draw(TIMES)] * m
        return draw(st.lists(st.one_of(TIMES, st.just(math.inf)), min_size=m, max_size=m))

    memory = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    groups = draw(st.lists(st.sampled_from([None, None, 0, 1]), min_size=n, max_size=n))
    tensors = [
        {"producer": u, "consumers": vs, "bytes": float(draw(st.integers(0, 7)))}
        for u in range(n - 1)
        if (vs := sorted(draw(st.sets(st.integers(u + 1, n - 1), max_size=3))))
    ]
    common = [{"id": str(i), "memory_bytes": float(memory[i]), "group": groups[i], "pin": None} for i in range(n)]
    if training:
        ops = [{**op, "forward_s": times(), "backward_s": times()} for op in common]
        ops, tensors = _core.place_training_step(ops, tensors)
    else:
        pins = draw(st.lists(st.sampled_from([None, None, None, 0]), min_size=n, max_size=n))
        ops = [{**op, "phase": "forward", "time_s": times(), "pin": pin} for op, pin in zip(common, pins, strict=True)]
    latency = [draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=m, max_size=m)) for _ in range(m)]
    bandwidth = [draw(st.lists(st.sampled_from([1.0, 2.0, math.inf]), min_size=m, max_size=m)) for _ in range(m)]
    capacity = draw(st.sampled_from([math.inf, float(sum(memory)), max(1.0, 0.7 * sum(memory))]))
    return {
        "memory_bytes": [capacity] * m,
        "ops": list(ops),
        "tensors": list(tensors),
        "latency_s": latency,
        "bandwidth_bytes_per_s": bandwidth,
        "links": links,
        "overlap": overlap,
    }


def solve(problem):
    """Makespan, infinite when nothing fits; every schedule passes the independent check."""
    try:
        outcome = _core.place_solve(problem)
    except ValueError as fault:
        if "can run on no device" not in str(fault):
            raise
        return math.inf
    if outcome["status"] == "infeasible":
        return math.inf
    makespan = _core.place_check(problem, outcome["schedule"])
    assert outcome["proof"]["lower_bound"] <= makespan * (1 + 1e-9)
    assert outcome["status"] == "optimal"
    return makespan


@settings(max_examples=2000, deadline=None)
@given(problems(most_ops=6))
def test_equals_brute_force(problem):
    assert solve(problem) == pytest.approx(brute_force.smallest_makespan(problem), rel=1e-9)


@settings(max_examples=1000, deadline=None)
@given(problems(most_ops=4, training=True))
def test_training_steps_equal_brute_force(problem):
    assert solve(problem) == pytest.approx(brute_force.smallest_makespan(problem), rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_more_bandwidth_never_hurts(problem):
    faster = [[2 * b for b in row] for row in problem["bandwidth_bytes_per_s"]]
    assert solve({**problem, "bandwidth_bytes_per_s": faster}) <= solve(problem) * (1 + 1e-9)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_scaling_all_times_scales_the_makespan(problem):
    scaled = {
        **problem,
        "ops": [{**op, "time_s": [3 * t for t in op["time_s"]]} for op in problem["ops"]],
        "latency_s": [[3 * t for t in row] for row in problem["latency_s"]],
        "tensors": [{**t, "bytes": 3 * t["bytes"]} for t in problem["tensors"]],
    }
    assert solve(scaled) == pytest.approx(3 * solve(problem), rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_relabelling_ops_changes_nothing(problem, random):
    n = len(problem["ops"])
    new = list(range(n))
    random.shuffle(new)
    ops = [None] * n
    for old, op in enumerate(problem["ops"]):
        ops[new[old]] = op
    tensors = [
        {**t, "producer": new[t["producer"]], "consumers": [new[v] for v in t["consumers"]]}
        for t in reversed(problem["tensors"])
    ]
    assert solve({**problem, "ops": ops, "tensors": tensors}) == pytest.approx(solve(problem), rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_one_device_takes_the_sum(problem):
    ops = [{**op, "time_s": [min(op["time_s"][0], 9.0)], "pin": None} for op in problem["ops"]]
    alone = {
        **problem,
        "ops": ops,
        "memory_bytes": [math.inf],
        "latency_s": [[0.0]],
        "bandwidth_bytes_per_s": [[1.0]],
    }
    assert solve(alone) == pytest.approx(sum(op["time_s"][0] for op in ops))


@settings(max_examples=100, deadline=None)
@given(problems())
def test_another_device_never_hurts(problem):
    m = len(problem["memory_bytes"])
    more = {
        **problem,
        "ops": [{**op, "time_s": [*op["time_s"], op["time_s"][-1]]} for op in problem["ops"]],
        "memory_bytes": [*problem["memory_bytes"], problem["memory_bytes"][-1]],
        "latency_s": [[*row, 1.0] for row in problem["latency_s"]] + [[1.0] * (m + 1)],
        "bandwidth_bytes_per_s": [[*row, 1.0] for row in problem["bandwidth_bytes_per_s"]] + [[1.0] * (m + 1)],
    }
    assert solve(more) <= solve(problem) * (1 + 1e-9)


@settings(max_examples=50, deadline=None)
@given(problems())
def test_the_same_bytes_on_every_run(problem):
    def once():
        try:
            return _core.place_solve(problem)["schedule"]
        except ValueError as fault:
            return str(fault)

    assert once() == once()

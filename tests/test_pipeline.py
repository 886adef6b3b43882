"""Pipeline schedules against a simulation written from their definitions."""

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dielet import _core
from dielet.errors import DieletError
from dielet.model import from_networkx
from oracles.pipeline_simulation import ends

TIMES = st.floats(0.0, 10.0, allow_subnormal=False)


@st.composite
def pipelines(draw):
    stages = draw(st.integers(1, 5))
    schedule = draw(st.sampled_from(["gpipe", "1f1b"]))
    chunks = draw(st.integers(1, 3)) if stages > 1 and schedule == "1f1b" else 1
    micro_batches = stages * draw(st.integers(1, 3)) if chunks > 1 else draw(st.integers(1, 9))
    n = stages * chunks
    forward, backward, send = (draw(st.lists(TIMES, min_size=n, max_size=n)) for _ in range(3))
    return forward, backward, send, stages, micro_batches, schedule


@settings(max_examples=400, deadline=None)
@given(pipelines())
def test_every_stage_ends_when_the_simulation_says(case):
    assert _core.pipeline_ends_s(*case) == pytest.approx(ends(*case), rel=1e-12, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(pipelines())
def test_transfers_that_cost_more_end_no_earlier(case):
    forward, backward, send, *rest = case
    slower = _core.pipeline_ends_s(forward, backward, [2 * s for s in send], *rest)
    assert all(a <= b * (1 + 1e-12) for a, b in zip(_core.pipeline_ends_s(*case), slower, strict=True))


@pytest.mark.parametrize(("p", "v", "m"), [(4, 1, 8), (4, 2, 8), (2, 3, 2), (8, 1, 3)])
def test_equal_stages_have_a_bubble_of_p_minus_1_passes(p, v, m):
    """Narayanan et al., SC 2021: (p - 1) / (v m) of the work."""
    step = max(_core.pipeline_ends_s([1.0] * (p * v), [2.0] * (p * v), [0.0] * (p * v), p, m, "1f1b"))
    assert step == 3.0 * (m * v + p - 1)


@pytest.mark.parametrize(
    "case",
    [
        ([1.0], [1.0], [0.0], 0, 1),
        ([1.0] * 3, [1.0] * 3, [0.0] * 3, 2, 2),
        ([1.0] * 4, [1.0] * 4, [0.0] * 4, 2, 3),
        ([1.0], [], [0.0], 1, 1),
        ([], [], [], 1, 1),
    ],
)
def test_what_is_no_pipeline_is_refused(case):
    with pytest.raises(DieletError):
        _core.pipeline_ends_s(*case, "1f1b")


def chain(times):
    """A measured chain of ops without parameters and outputs."""
    graph = networkx.DiGraph(name="chain")
    for index, (forward, backward) in enumerate(times):
        graph.add_node(str(index), forward_s=forward, backward_s=backward, bytes=0.0, memory=0.0)
    graph.add_edges_from((str(index), str(index + 1)) for index in range(len(times) - 1))
    return from_networkx(graph)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.001, 1.0), st.floats(0.001, 1.0)), min_size=2, max_size=7),
    st.integers(1, 6),
    st.sampled_from(["gpipe", "1f1b"]),
    st.data(),
)
def test_a_step_of_a_measured_chain_is_its_best_cut(ideal, times, m, schedule, data):
    """With free transfers the price is that of the cut whose slowest stage is fastest."""
    p = data.draw(st.integers(2, len(times)))
    model = chain(times)
    plan = _core.serial_plan(model, "fp32") | {
        "pp": p,
        "micro_batch": 1,
        "batch": m,
        "schedule": schedule,
        "mapping": "tp-pp-cp-dp",
    }
    step = _core.price(model, ideal, plan)["step_s"]
    assert any(step == pytest.approx(of_cut, rel=1e-9) for of_cut in best_cuts(times, p, m, schedule))


def best_cuts(times, parts, m, schedule):
    """Step times of all contiguous cuts that share the least largest stage."""
    cuts = list(contiguous(times, parts))
    slowest = [max(f + b for f, b in cut) for cut in cuts]
    for cut, most in zip(cuts, slowest, strict=True):
        if most <= min(slowest) * (1 + 1e-12):
            forward, backward = zip(*cut, strict=True)
            yield max(ends(forward, backward, [0.0] * parts, parts, m, schedule))


def contiguous(times, parts):
    if parts == 1:
        yield [(sum(f for f, _ in times), sum(b for _, b in times))]
        return
    for first in range(1, len(times) - parts + 2):
        head = [(sum(f for f, _ in times[:first]), sum(b for _, b in times[:first]))]
        for rest in contiguous(times[first:], parts - 1):
            yield head + rest


@pytest.fixture(scope="module")
def ideal():
    from fabric_builder import system, tier

    return system(tier("switch", 8, bandwidth=1e15))

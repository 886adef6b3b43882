"""Partitions equal exhaustion, whatever the graph, the machine and the options."""

import math
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dielet.model.partition_input import HybridGraph, LoadGraph, ReplicaGraph
from dielet.partitioning import partition

sys.path.insert(0, str(Path(__file__).parents[1] / "oracles"))
import partition_brute_force as oracle

SIZE = 9
whole = st.integers(0, 12).map(float)


@st.composite
def edges_among(draw, n):
    pairs = [(u, v) for v in range(n) for u in range(v)]
    return draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 * n)) if pairs else []


@st.composite
def load_graphs(draw, backward=True):
    n = draw(st.integers(1, SIZE))
    column = st.lists(whole, min_size=n, max_size=n)
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    columns = {
        "accelerator": draw(column),
        "cpu": draw(column),
        "memory": draw(column),
        "backward": draw(flags) if backward else [False] * n,
        "colour": draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n) | st.just(list(range(n)))),
        "supported": draw(st.just([True] * n) | flags),
        "transfer": draw(column),
        "edges": draw(edges_among(n)),
    }
    accelerators, cpus = draw(st.tuples(st.integers(0, 3), st.integers(0, 2)).filter(any))
    memory = draw(st.sampled_from([1e9, 1e9, 20.0, 12.0]))
    return LoadGraph(tuple(map(str, range(n))), columns, accelerators, cpus, memory)


@st.composite
def replica_graphs(draw):
    n = draw(st.integers(1, 6))
    column = st.lists(whole, min_size=n, max_size=n)
    columns = {
        "forward_ms": draw(column),
        "backward_ms": draw(column),
        "parameters_bytes": draw(column),
        "activation_bytes": draw(column),
        "edges": draw(edges_among(n)),
    }
    return ReplicaGraph(tuple(map(str, range(n))), columns)


@st.composite
def hybrid_graphs(draw):
    n = draw(st.integers(1, 5))
    degrees = draw(st.sampled_from([[1], [1, 2], [1, 2, 4]]))

    def mode():
        return {"time": draw(whole), "per_flight": draw(whole), "fixed": draw(whole)}

    def degree(tp):
        return {
            "tp": tp,
            "modes": [mode() for _ in range(draw(st.integers(1, 2)))],
            "parameters": draw(whole),
        }

    ops = [{"degrees": [degree(tp) for tp in degrees if tp == 1 or draw(st.booleans())]} for _ in range(n)]
    edges = [
        {
            "source": u,
            "sink": v,
            "bytes": draw(whole),
            "source_reshard": [(tp, draw(whole)) for tp in degrees],
            "sink_reshard": [(tp, draw(whole)) for tp in degrees],
        }
        for u, v in draw(edges_among(n))
    ]
    memory = draw(st.sampled_from([1e9, 60.0, 40.0, 25.0]))
    devices, batch = draw(st.integers(1, 5)), draw(st.sampled_from([1, 2, 4, 6]))
    return HybridGraph(tuple(map(str, range(n))), ops, edges, devices, memory, 2.0, batch)


def agrees(answer, optimum):
    if math.isinf(optimum):
        assert answer.status == "infeasible"
        assert answer.reason
    else:
        assert answer.status == "optimal"
        assert answer.bottleneck == pytest.approx(optimum, rel=1e-9, abs=1e-12)
        assert answer.lower_bound == pytest.approx(optimum, rel=1e-9, abs=1e-12)
        assert max(stage.load for stage in answer.stages) == pytest.approx(optimum, rel=1e-9, abs=1e-12)


def covers(answer, ids):
    assert sorted(op for stage in answer.stages for op in stage.ops) == sorted(ids)


@settings(max_examples=1500, deadline=None)
@given(load_graphs())
def test_contiguous_load_is_the_best_chain(graph):
    answer = partition(graph)
    agrees(answer, oracle.contiguous_load(graph.columns, graph.accelerators, graph.cpus, graph.memory_bytes))
    if answer.stages:
        covers(answer, graph.ids)


@settings(max_examples=400, deadline=None)
@given(load_graphs())
def test_without_order_the_load_is_the_best_of_all_assignments(graph):
    answer = partition(graph, contiguous=False)
    agrees(answer, oracle.any_load(graph.columns, graph.accelerators, graph.cpus, graph.memory_bytes))
    if answer.stages:
        covers(answer, graph.ids)


@settings(max_examples=700, deadline=None)
@given(replica_graphs(), st.sampled_from([(1, 1), (3, 1), (5, 1), (2, 2), (3, 2), (2, 3)]), st.data())
def test_replicated_stages_are_the_best_on_nodes(graph, levels, data):
    speeds = st.sampled_from([100.0, 1000.0, 10000.0])
    inner, outer = data.draw(speeds), data.draw(speeds)
    answer = partition(graph, levels=levels, bandwidths_bytes_per_s=(inner, outer))
    agrees(answer, oracle.replicas(graph.columns, *levels, inner, outer))
    covers(answer, graph.ids)


@settings(max_examples=700, deadline=None)
@given(hybrid_graphs())
def test_hybrid_stages_are_the_best_with_recompute(graph):
    problem = {
        "ops": graph.ops,
        "edges": graph.edges,
        "devices": graph.devices,
        "memory": graph.memory_bytes,
        "bandwidth": graph.bandwidth_bytes_per_s,
        "micro_batches": graph.micro_batches,
    }
    agrees(partition(graph), oracle.hybrid(problem))


@settings(max_examples=300, deadline=None)
@given(load_graphs(), st.floats(1.0, 3.0), st.integers(0, 1), st.integers(0, 1))
def test_more_memory_or_devices_never_hurt(graph, factor, accelerators, cpus):
    less = partition(graph)
    more = partition(
        graph,
        devices=graph.accelerators + accelerators,
        cpus=graph.cpus + cpus,
        memory_bytes=graph.memory_bytes * factor,
    )
    assert less.bottleneck is None or more.bottleneck <= less.bottleneck * (1 + 1e-9)


@settings(max_examples=200, deadline=None)
@given(replica_graphs(), st.floats(1.0, 10.0))
def test_more_bandwidth_never_hurts(graph, factor):
    slow, fast = (
        partition(graph, levels=(3, 2), bandwidths_bytes_per_s=(1000.0 * f, 100.0 * f)) for f in (1.0, factor)
    )
    assert fast.bottleneck <= slow.bottleneck * (1 + 1e-9) + 1e-12

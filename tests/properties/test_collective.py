"""Collectives against a simulation of every send, and the laws that hold for any fabric."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dielet.hardware.system import OPERATIONS, System, collectives
from fabric_builder import system, tier
from oracles import collective_simulation as simulate
from oracles.ring_packing import rings

FAST = settings(max_examples=40, deadline=None)
messages = st.floats(1.0, 1e10)
rates = st.floats(1e8, 1e12)
delays = st.floats(1e-8, 1e-4)


def seconds(machine: System, operation: str, message: float, algorithm: str | None = None, **group: int) -> float:
    answer = collectives(machine, operation, [message], algorithm=algorithm, **group)  # type: ignore[arg-type]
    return float(answer.seconds[0])


@FAST
@given(st.integers(2, 12), messages, rates, delays)
def test_a_ring_on_a_switch_is_the_simulated_one(ranks: int, size: float, rate: float, delay: float) -> None:
    machine = system(tier("switch", ranks, bandwidth=rate, latency=delay))
    simulated = simulate.ring_all_reduce(simulate.switch(ranks, rate, delay), [list(range(ranks))], size)
    assert seconds(machine, "all-reduce", size, "ring", devices=ranks) == pytest.approx(simulated)


@FAST
@given(st.integers(3, 9), messages, rates, delays)
def test_a_ring_of_links_runs_both_ways_round(ranks: int, size: float, rate: float, delay: float) -> None:
    machine = system(tier("ring", ranks, bandwidth=rate, latency=delay))
    round_ = list(range(ranks))
    network = simulate.grid((ranks,), rate, delay, closed=True)
    simulated = simulate.ring_all_reduce(network, [round_, round_[::-1]], size)
    assert seconds(machine, "all-reduce", size, "ring", devices=ranks) == pytest.approx(simulated)


@FAST
@given(st.integers(2, 6), st.integers(2, 9), messages, rates)
def test_part_of_a_ring_is_folded(ranks: int, more: int, size: float, rate: float) -> None:
    machine = system(tier("ring", ranks + more, bandwidth=rate))
    network = simulate.grid((ranks + more,), rate, 0.0, closed=False)
    simulated = simulate.ring_all_reduce(network, [simulate.folded(list(range(ranks)))], size)
    assert seconds(machine, "all-reduce", size, "ring", devices=ranks) == pytest.approx(simulated)


@FAST
@given(st.sampled_from([(2, 2), (2, 5), (4, 3), (4, 6)]), messages, rates, delays)
def test_a_mesh_has_a_cycle_used_both_ways(shape: tuple[int, int], size: float, rate: float, delay: float) -> None:
    rows, cols = shape
    machine = system(tier("mesh", rows * cols, bandwidth=rate, latency=delay, shape=[rows, cols]))
    network = simulate.grid((cols, rows), rate, delay, closed=False)
    cycle = simulate.serpentine(rows, cols)
    simulated = simulate.ring_all_reduce(network, [cycle, cycle[::-1]], size)
    assert seconds(machine, "all-reduce", size, "ring", devices=rows * cols) == pytest.approx(simulated)


@FAST
@given(st.integers(2, 5), st.integers(2, 6), st.booleans(), messages, rates)
def test_a_pass_by_dimension_is_the_simulated_one(rows: int, cols: int, closed: bool, size: float, rate: float) -> None:
    kind, shape = ("torus", [cols, rows]) if closed else ("mesh", [rows, cols])
    machine = system(tier(kind, rows * cols, bandwidth=rate, shape=shape))
    simulated = 2 * simulate.per_dimension_pass(rows, cols, rate, 0.0, size, closed=closed)
    modelled = seconds(machine, "all-reduce", size, "per-dimension", devices=rows * cols)
    assert modelled == pytest.approx(simulated)


@FAST
@given(st.sampled_from([2, 4, 8]), st.integers(2, 5), messages, rates, rates, delays, delays)
def test_hierarchical_is_the_simulated_one(
    width: int, units: int, size: float, inner: float, outer: float, near: float, far: float
) -> None:
    machine = system(
        tier("switch", width, bandwidth=inner, latency=near),
        tier("switch", None, bandwidth=outer, latency=far),
    )
    ranks = width * units
    network = simulate.nodes(ranks, width, (inner, near), (outer, far))
    simulated = simulate.hierarchical_all_reduce(network, ranks, width, size)
    assert seconds(machine, "all-reduce", size, "hierarchical", devices=ranks) == pytest.approx(simulated)


@FAST
@given(st.sampled_from([2, 4, 8]), st.sampled_from([1, 2, 4, 8]), st.integers(2, 4), messages, rates)
def test_groups_share_the_links_of_their_node(width: int, stride: int, units: int, size: float, outer: float) -> None:
    stride = min(stride, width)
    ranks = width * units
    machine = system(tier("switch", width, bandwidth=1e15), tier("switch", None, bandwidth=outer))
    network = simulate.nodes(ranks, width, (1e15, 0.0), (outer, 0.0))
    groups = [list(range(start, ranks, stride)) for start in range(stride)]
    simulated = simulate.simultaneous_rings(network, groups, size)
    modelled = seconds(machine, "all-gather", size, "ring", devices=ranks, size=ranks // stride, stride=stride)
    assert modelled == pytest.approx(simulated)


@FAST
@given(st.sampled_from([2, 4]), st.integers(2, 4), messages, rates, rates, delays, delays)
def test_a_ring_over_nodes_is_no_faster_than_the_simulated_wave(
    width: int, units: int, size: float, inner: float, outer: float, near: float, far: float
) -> None:
    machine = system(
        tier("switch", width, bandwidth=inner, latency=near),
        tier("switch", None, bandwidth=outer, latency=far),
    )
    ranks = width * units
    leaves = [(rank + 1) % width == 0 for rank in range(ranks)]
    delay, rate = [far if out else near for out in leaves], [outer if out else inner for out in leaves]
    wave = simulate.wave_pass(delay, rate, size)
    modelled = seconds(machine, "all-gather", size, "ring", devices=ranks)
    spared = max(near, far)  # the shard that takes every slow edge is spared a fast one, and the reverse
    assert wave - spared <= modelled * (1 + 1e-9)
    assert modelled <= wave + ranks * max(near, far) + 1e-12 or modelled <= 2 * wave


@FAST
@given(st.sampled_from([(2,), (5,), (8,), (2, 3), (4, 4), (3, 5), (2, 2, 3)]), messages, rates)
def test_an_exchange_loads_the_middle_links(shape: tuple[int, ...], size: float, rate: float) -> None:
    ranks = int(np.prod(shape))
    if len(shape) == 2:
        mesh = system(tier("mesh", ranks, bandwidth=rate, shape=list(shape[::-1])))
        network = simulate.grid(shape, rate, 0.0, closed=False)
        simulated = simulate.all_to_all(network, ranks, size)
        assert seconds(mesh, "all-to-all", size, "direct", devices=ranks) == pytest.approx(simulated)
    if min(shape) > 2:
        torus = system(tier("torus", ranks, bandwidth=rate, shape=list(shape)))
        simulated = simulate.torus_all_to_all(shape, rate, size)
        modelled = seconds(torus, "all-to-all", size, "direct", devices=ranks)
        assert modelled >= simulated * (1 - 1e-9), "no less than the busiest link"
        # Odd rings are rounded up to the load of the even split.
        assert modelled <= simulated * (1 + 1e-9) or any(side % 2 for side in shape)


@FAST
@given(st.sampled_from([2, 4]), st.integers(2, 4), messages, rates, rates)
def test_an_exchange_over_nodes_fills_the_busiest_port(
    width: int, units: int, size: float, inner: float, outer: float
) -> None:
    ranks = width * units
    machine = system(tier("switch", width, bandwidth=inner), tier("switch", None, bandwidth=outer))
    network = simulate.nodes(ranks, width, (inner, 0.0), (outer, 0.0))
    simulated = simulate.all_to_all(network, ranks, size)
    modelled = seconds(machine, "all-to-all", size, "direct", devices=ranks)
    # A device's inner port is charged with what leaves the node too.
    own_port = size * (ranks - 1) / ranks / inner
    assert modelled == pytest.approx(max(simulated, own_port))


@FAST
@given(st.integers(2, 6), st.floats(1e6, 1e10), rates, delays)
def test_a_chain_is_close_to_the_best_number_of_pieces(ranks: int, size: float, rate: float, delay: float) -> None:
    machine = system(tier("ring", 2 * ranks, bandwidth=rate, latency=delay))
    modelled = seconds(machine, "all-reduce", size, "chain", devices=ranks)
    pieces = sorted({max(1, round(2**power)) for power in np.arange(0, 9, 0.5)})
    best = min(simulate.chain_all_reduce(ranks, rate, delay, size, count) for count in pieces)
    assert modelled <= best * 1.35
    assert modelled >= size / rate


links4 = st.lists(st.integers(0, 2), min_size=6, max_size=6)


@FAST
@given(links4)
def test_rings_of_a_graph_are_packed_to_the_optimum(counts: list[int]) -> None:
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    links = [(a, b, count) for (a, b), count in zip(pairs, counts, strict=True) if count]
    most = rings(4, links)
    if most == 0:
        return
    machine = system(tier("graph", 4, bandwidth=1e9, links=[list(link) for link in links]))
    found = (
        1.5
        * 1e9
        / 1e9
        / float(collectives(machine, "all-reduce", [1e9], devices=4, placed=False, algorithm="ring").seconds[0])
    )
    assert found == pytest.approx(most)


kinds = st.sampled_from(["switch", "ring", "full", "mesh", "torus"])


@st.composite
def fabrics(draw: st.DrawFn) -> tuple[list[dict[str, object]], int]:
    kind = draw(kinds)
    shape = draw(st.sampled_from([(2, 3), (3, 3), (4, 4), (1, 5)]))
    inner: dict[str, object] = {"topology": kind, "members": shape[0] * shape[1]}
    if kind in {"mesh", "torus"}:
        inner["shape"] = list(shape)
    tiers = [inner] + (
        [{"topology": "switch", "members": None, "ports": draw(st.integers(1, 4))}] if draw(st.booleans()) else []
    )
    for one in tiers:
        one |= {
            "bandwidth": draw(rates),
            "latency": draw(delays),
            "launch": draw(delays),
            "step": draw(delays),
        }
    room = shape[0] * shape[1] * (1 if len(tiers) == 1 else 4)
    return tiers, draw(st.integers(1, room))


def build(tiers: list[dict[str, object]], speed: float = 1.0, wait: float = 1.0) -> System:
    timed = ("latency", "launch", "step")
    scaled = [
        {k: v * speed if k == "bandwidth" else v * wait if k in timed else v for k, v in one.items()}  # type: ignore[operator]
        for one in tiers
    ]
    return system(*(tier(**one) for one in scaled))  # type: ignore[arg-type]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[dict[str, object]], dict[str, int], str]:
    tiers, devices = draw(fabrics())
    stride = draw(st.integers(1, devices))
    group = {"devices": devices, "stride": stride, "size": draw(st.integers(1, devices // stride))}
    return tiers, group, draw(st.sampled_from(OPERATIONS))


@settings(max_examples=150, deadline=None)
@given(cases(), messages, st.floats(1.0, 100.0))
def test_laws(case: tuple[list[dict[str, object]], dict[str, int], str], size: float, factor: float) -> None:
    tiers, group, operation = case
    time = seconds(build(tiers), operation, size, **group)
    if group["size"] == 1:
        assert time == 0.0
        return
    slack = 1 + 1e-12
    assert time > 0
    assert seconds(build(tiers), operation, size * factor, **group) * slack >= time, "more bytes, more time"
    assert seconds(build(tiers, speed=factor), operation, size, **group) <= time * slack, "more bandwidth"
    assert seconds(build(tiers, wait=factor), operation, size, **group) * slack >= time, "more latency"
    both = seconds(build(tiers, speed=factor, wait=1 / factor), operation, size, **group)
    assert both * factor == pytest.approx(time, rel=1e-9), "rates times c and latencies over c: time over c"


@settings(max_examples=150, deadline=None)
@given(cases(), messages)
def test_no_collective_beats_the_bandwidth_of_its_ranks(
    case: tuple[list[dict[str, object]], dict[str, int], str], size: float
) -> None:
    tiers, group, operation = case
    ranks = group["size"]
    links = {"switch": 1, "ring": 2, "mesh": 4, "torus": 4, "full": int(tiers[0]["members"]) - 1}  # type: ignore[call-overload]
    injection = links[str(tiers[0]["topology"])] * float(tiers[0]["bandwidth"])  # type: ignore[arg-type]
    if len(tiers) > 1:
        injection = max(injection, float(tiers[1]["bandwidth"]))  # type: ignore[arg-type]
    passes = {"all-reduce": 2.0, "point-to-point": ranks / max(ranks - 1, 1)}.get(operation, 1.0)
    bound = passes * (ranks - 1) / ranks * size / injection
    assert seconds(build(tiers), operation, size, **group) >= bound * (1 - 1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 100_000), st.integers(1, 64))
def test_any_number_of_devices_has_a_price(devices: int, stride: int) -> None:
    machine = system(tier("switch", 8), tier("switch", None, ports=8))
    stride = min(stride, devices)
    for operation in OPERATIONS:
        time = seconds(machine, operation, 1e6, devices=devices, size=devices // stride, stride=stride)
        assert np.isfinite(time)
        assert time >= 0

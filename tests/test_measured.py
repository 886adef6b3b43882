"""Graphs with measured times, packaged and read from files."""

import csv
from collections import defaultdict

import pytest

from dielet.errors import ModelError
from dielet.model import load_model, measured, to_networkx

# Milliseconds forward and backward of each module (the profile's sums, one decimal).
MODULES = {
    "stem": (80.7, 111.1),
    "mixed_5b": (16.9, 22.3),
    "mixed_5c": (15.5, 24.0),
    "mixed_5d": (15.9, 27.4),
    "mixed_6a": (14.1, 29.1),
    "mixed_6b": (22.7, 23.9),
    "mixed_6c": (23.5, 28.6),
    "mixed_6d": (21.3, 30.4),
    "mixed_6e": (22.6, 33.6),
    "auxiliary": (3.5, 4.7),
    "mixed_7a": (11.5, 18.8),
    "mixed_7b": (17.9, 18.8),
    "mixed_7c": (22.1, 26.4),
    "head": (1.1, 0.7),
}


def timed_ops(name):
    return [op for op in load_model(name).to_dict()["ops"] if op["work"]["kind"] == "measured"]


def test_the_packaged_profile_sums_to_the_published_step():
    ops = timed_ops("inception-v3-measured")
    assert len(ops) == 128
    assert sum(op["work"]["forward_s"] for op in ops) == pytest.approx(289.2e-3, abs=1e-4)
    assert sum(op["work"]["backward_s"] for op in ops) == pytest.approx(399.8e-3, abs=1e-4)
    assert load_model("inception-v3-measured").measured_batch == 128


def test_the_packaged_profile_sums_by_module():
    sums = defaultdict(lambda: [0.0, 0.0])
    for op in timed_ops("inception-v3-measured"):
        module = op["name"].split("/")[0]
        total = sums["stem" if module.startswith("stem") else module]
        total[0] += op["work"]["forward_s"]
        total[1] += op["work"]["backward_s"]
    for module, times in MODULES.items():
        # Units are rounded to hundredths of a millisecond, modules to tenths.
        assert [1e3 * time for time in sums[module]] == pytest.approx(times, abs=0.12)
    assert set(sums) == set(MODULES)


def test_the_packaged_profile_equals_the_fused_table(shared):
    with (shared / "data/inception_v3/fused_profile.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    table = load_model("inception-v3-measured").op_table()
    ops = timed_ops("inception-v3-measured")
    times = sorted((op["work"]["forward_s"] * 1e3, op["work"]["backward_s"] * 1e3) for op in ops)
    expected = sorted((float(row["fw_ms"]), float(row["bw_ms"])) for row in rows)
    assert times == [pytest.approx(pair) for pair in expected]
    sizes = sorted(
        e * 4e-6 for e, k in zip(table["output_elements"], table["kind"], strict=True) if k == "measured"
    )
    assert sizes == pytest.approx(sorted(float(row["out_MB_per_sample"]) for row in rows), abs=6e-5)


def test_the_packaged_profile_is_the_training_graph():
    graph = to_networkx(load_model("inception-v3-measured"))
    graph.remove_node("stem_1a/image")
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (128, 162)
    longest = defaultdict(float)
    for node in sorted(graph, key=lambda n: graph.nodes[n]["position"]):
        before = max((longest[p] for p in graph.predecessors(node)), default=0.0)
        longest[node] = before + graph.nodes[node]["forward_s"] + graph.nodes[node]["backward_s"]
    # The published critical path of forward and backward, without communication.
    assert max(longest.values()) == pytest.approx(411.8e-3, abs=1e-3)


def test_every_packaged_time_is_of_an_op_that_exists():
    for name in measured.names():
        profile = measured._profile(measured.PACKAGED[name])
        timed = {op["name"] for op in timed_ops(name)}
        assert set(profile["times"]) == timed


def task(name, *inputs, **figures):
    return measured.Task(
        name,
        **({"forward_s": 1.0, "backward_s": 1.0, "elements": 4, "parameters": 0} | figures),
        inputs=inputs,
    )


def test_tasks_out_of_order_are_refused():
    with pytest.raises(ModelError, match="`a` reads `b`, which is not before it"):
        measured.from_tasks([task("a", 1), task("b")], name="t", summary="t", source="t", batch=1)


def test_each_task_is_a_segment():
    tree = measured.from_tasks([task("a"), task("b", 0)], name="t", summary="t", source="t", batch=1)
    assert [segment["name"] for segment in tree["segments"]] == ["a", "b"]
    assert [op["name"] for op in tree["ops"]] == ["a", "b"]

"""Placement through the public API: readers, answers, errors."""

import json
import math

import networkx as nx
import pytest

import dielet
from dielet import _core
from dielet.errors import FileError, ModelError, PlanError
from dielet.model.taskgraph import read_taskgraph
from dielet.placement import place, placement_problem

LINK = {"bandwidth_bytes_per_s": 1e9, "latency_s": 0.25}


def diamond(**attributes):
    graph = nx.DiGraph()
    for name in "abcd":
        graph.add_node(name, time=1.0, **attributes)
    graph.add_edges_from([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")], bytes=0.0)
    return graph


def test_a_diamond_by_hand():
    # b stays with a, c and d leave; b's transfer hides behind c, which waited too: 1 + 1/4 + 1 + 1.
    answer = place(diamond(), 2, **LINK)
    assert (answer.status, answer.makespan_s, answer.speedup) == ("optimal", 3.25, pytest.approx(4 / 3.25))
    assert len(answer.transfers) == 2
    assert {op.id for op in answer.ops if op.critical} >= {"a", "d"}


def test_a_training_step_mirrors_the_forward_graph():
    answer = place(diamond(backward_time=2.0), 2, **LINK)
    assert answer.makespan_s == 3.25 + 6.25
    backward = {op.id: op.device for op in answer.ops if op.phase == "backward"}
    assert backward == answer.device_map()


def test_the_answer_exports():
    answer = place(diamond(), 2, **LINK)
    tree = answer.to_dict()
    assert set(tree) >= {
        "version",
        "status",
        "makespan_s",
        "lower_bound_s",
        "gap",
        "serial_s",
        "speedup",
        "seconds",
    }
    assert set(tree["transfers"][0]) >= {"tensor", "from", "to", "start_s", "finish_s"}
    assert json.loads(json.dumps(tree, allow_nan=False)) is not None
    assert answer.to_csv().count("\n") == 1 + 4 + 2
    assert sum(event["ph"] == "X" for event in answer.trace()["traceEvents"]) == 6
    assert "device 1" in answer.html()
    assert repr(answer).startswith("Placement(optimal, 3.25 s on 2 devices, 1.231x")


def test_infeasible_says_how_much_is_missing():
    answer = place(diamond(memory=10.0), 2, memory_bytes=15.0, **LINK)
    assert answer.status == "infeasible"
    assert "10 B missing" in answer.reason


def test_check_finds_a_broken_schedule():
    problem = placement_problem(read_taskgraph(diamond()), 2, **LINK)
    schedule = _core.place_solve(problem)["schedule"]
    assert _core.place_check(problem, schedule) == 3.25
    schedule["ops"][3]["start_s"] -= 0.5
    schedule["ops"][3]["finish_s"] -= 0.5
    with pytest.raises(PlanError, match=r"starts at 1.75 s, before"):
        _core.place_check(problem, schedule)


DOT = 'digraph "x" { a [Weight=2]; b [Weight=3]; a -> b [Weight=4]; }'
HETERO = "#critical\n0.0\n#tasks\n0: 2, 9\n1: 9, 3\n#edges\n0: 0, 1, 4\n#end\n"
INSTANCES = '[{"n": 2, "D": 2, "p": [2, 3], "edges": [[0, 1, 4]], "mem": [1, 1], "M": 1}]'
PIPEDREAM = (
    "node1 -- Input0 -- forward_compute_time=9.0, backward_compute_time=0.0, activation_size=0, "
    "parameter_size=0\n"
    "node2 -- Conv2d(3, 4) -- forward_compute_time=1.5, backward_compute_time=2.0, activation_size=[8; 8], "
    "parameter_size=4\n"
    "node3 -- ReLU() -- forward_compute_time=1.0, backward_compute_time=1.0, activation_size=8, "
    "parameter_size=0\n"
    "\tnode1 -- node2\n\tnode2 -- node3\n"
)
FUSED = "id;op;fw_ms;bw_ms;out_MB_per_sample;param_MB;preds\n0;conv;1.5;2.0;0.5;0;\n1;relu;1.0;1.0;0.5;0;0\n"
TARNAWSKI = json.dumps(
    {
        "maxSizePerFPGA": 10,
        "maxFPGAs": 2,
        "maxCPUs": 1,
        "nodes": [
            {"id": 1, "fpgaLatency": 2.0, "colorClass": 1, "isBackwardNode": 0, "size": 1},
            {"id": 2, "fpgaLatency": 3.0, "colorClass": 1, "isBackwardNode": 1, "size": 1},
        ],
        "edges": [],
    }
)


@pytest.mark.parametrize(
    ("text", "options", "makespan"),
    [
        (DOT, {"devices": 2}, 5.0),
        (HETERO, {}, 9.0),
        (INSTANCES, {}, 9.0),
        (PIPEDREAM, {"devices": 2, **LINK}, 5.5e-3),
        (FUSED, {"devices": 2, **LINK}, 5.5e-3),
        (TARNAWSKI, {**LINK}, 5e-3),
        (TARNAWSKI, {"as_given": True, **LINK}, 5e-3),
    ],
)
def test_each_format_is_recognised(tmp_path, text, options, makespan):
    path = tmp_path / "graph"
    path.write_text(text)
    assert place(path, **options).makespan_s == pytest.approx(makespan)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "the file is empty"),
        ("hello", "no known task graph format"),
        ('{"nodes": [', "not JSON"),
        ("[]", "JSON of no known format"),
        (DOT[:-1], "may be truncated"),
        (DOT.replace("=3", "=-3"), "time of op `b` is -3.0; it must be a number >= 0"),
        (DOT.replace("=3", "=nan"), "time of op `b` is nan"),
        (DOT.replace("=3", "=x"), "`x` is no number"),
        (DOT.replace("; b [Weight=3]", ""), "an edge names op `b`, which is not in the graph"),
        (DOT.replace("}", "b -> a [Weight=1]; }"), "the graph has a cycle through op"),
        (FUSED[:-6], "the file may be truncated"),
    ],
)
def test_a_bad_file_gets_one_clear_line(tmp_path, text, fault):
    path = tmp_path / "graph"
    path.write_text(text)
    with pytest.raises(ModelError) as error:
        place(path, 2, **LINK)
    assert fault in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_text(tmp_path):
    path = tmp_path / "graph"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="is not UTF-8 text"):
        place(path, 2)
    with pytest.raises(FileError, match="cannot read"):
        place(tmp_path / "absent", 2)


def test_bad_options_say_what_to_do():
    with pytest.raises(PlanError, match="0 devices given"):
        place(diamond(), 0, **LINK)
    with pytest.raises(PlanError, match="give bandwidth and latency"):
        place(diamond(), 2)
    with pytest.raises(PlanError, match="no-overlap needs port links"):
        place(diamond(), 2, overlap=False, **LINK)
    with pytest.raises(ModelError, match="cannot drop op `z`"):
        place(diamond(), 2, drop=["z"], **LINK)


def test_a_graph_too_large_is_refused_at_once():
    graph = nx.path_graph(30_000, create_using=nx.DiGraph)
    nx.set_node_attributes(graph, 1.0, "time")
    with pytest.raises(ModelError, match="the graph has 30000 ops; place handles at most"):
        place(graph, 2, **LINK)


def test_an_infinite_bandwidth_leaves_the_latency():
    answer = place(diamond(), 2, bandwidth_bytes_per_s=math.inf, latency_s=0.25)
    assert answer.makespan_s == 3.25


def test_a_model_is_placed_on_the_devices_of_a_system():
    answer = dielet.place("alexnet", devices=2, system="dgx1-v100", precision="fp32", time_limit_s=5)
    assert answer.status in {"optimal", "feasible"}
    assert answer.lower_bound_s <= answer.makespan_s <= answer.serial_s * (1 + 1e-12)
    alone = dielet.place("alexnet", devices=1, system="dgx1-v100", precision="fp32")
    assert alone.makespan_s == pytest.approx(answer.serial_s)
    assert "dgx1-v100" in answer.notes[0]


def test_a_model_without_a_machine_has_no_times():
    with pytest.raises(dielet.PlanError, match="give a system"):
        dielet.place(dielet.load_model("alexnet"), devices=2)

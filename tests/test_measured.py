"""Graphs with measured times, packaged and read from files."""

import csv
from collections import defaultdict

import pytest

from dielet.errors import DieletError, ModelError
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
    sizes = sorted(e * 4e-6 for e, k in zip(table["output_elements"], table["kind"], strict=True) if k == "measured")
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


# Nodes, edges, parameters, milliseconds forward and backward without data loading, the profile's batch.
PROFILES = {
    "image_classification__alexnet": (23, 23, 61_100_840, 85.3, 256),
    "image_classification__vgg16": (41, 41, 138_357_544, 672.5, 128),
    "image_classification__resnet18": (71, 79, 11_689_512, 259.8, 256),
    "image_classification__resnet50": (177, 193, 25_557_032, 443.4, 128),
    "image_classification__inception_v3": (326, 362, 27_161_264, 689.0, 128),
    "translation__gnmt": (48, 58, 193_765_952, 89.4, 32),
    "translation__gnmt_large": (96, 122, 277_717_568, 520.5, 128),
}


@pytest.mark.parametrize("name", PROFILES)
def test_pipedream_profiles(shared, name):
    nodes, edges, parameters, step_ms, batch = PROFILES[name]
    model = load_model(shared / f"data/pipedream/{name}.graph.txt")
    graph = to_networkx(model)
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (nodes, edges)
    assert model.parameters()["total"] == parameters
    assert model.measured_batch == batch
    times = [graph.nodes[n].get("forward_s", 0) + graph.nodes[n].get("backward_s", 0) for n in graph]
    assert 1e3 * sum(times) == pytest.approx(step_ms, abs=0.06)


def test_the_fused_table_is_read(shared):
    model = load_model(shared / "data/inception_v3/fused_profile.csv")
    assert model.measured_batch == 128
    assert len(model) == 128
    assert sum(op["work"]["forward_s"] for op in model.to_dict()["ops"]) == pytest.approx(0.28925, abs=1e-5)
    # Sizes are written with four decimals of a megabyte.
    assert model.parameters()["total"] == pytest.approx(27_161_264, abs=96 * 13)


def node(name, what, times, size, weights, *, end=""):
    times = "forward_compute_time={}, backward_compute_time={}".format(*times)
    return f"{name} -- {what} -- {times}, activation_size={size}, parameter_size={weights}{end}\n"


LINEAR = "Linear(in_features=8, out_features=2, bias=True)"
GRAPH = (
    node("node2", "Conv2d(3, 8)", ("1.500", "2.5"), "[64.0; 64.0]", "40.000")
    + node("node1", "Input0", ("9.000", "0.000"), "96.0", "0.000")
    + node("node3", LINEAR, (1, 1), "32.0", "72.0", end=" -- stage_id=1")
    + "\tnode1 -- node2\n    node2 -- node3\n"
)


def profile(tmp_path, text):
    path = tmp_path / "graph.txt"
    path.write_text(text)
    return path


def test_a_profile_is_read_line_by_line(tmp_path):
    model = load_model(profile(tmp_path, GRAPH))
    assert model.measured_batch == 4  # 32 bytes of two FP32 outputs per sample
    table = model.op_table()
    assert [name.split()[0] for name in table["name"]] == ["node1", "node2", "node3"]
    assert table["kind"] == ["data", "measured", "measured"]
    assert table["output_elements"] == [6, 8, 2]
    assert table["parameters"] == [0, 10, 18]
    assert model.to_dict()["ops"][1]["work"] == {
        "kind": "measured",
        "forward_s": 1.5e-3,
        "backward_s": 2.5e-3,
    }


def test_the_batch_of_a_profile_can_be_told(tmp_path):
    assert load_model(profile(tmp_path, GRAPH), batch=2).measured_batch == 2
    silent = load_model(profile(tmp_path, GRAPH.replace(LINEAR, "Pool")))
    assert silent.measured_batch == 1
    assert "does not tell" in silent.summary


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("parameter_size=40.000", "", "line 1 has no `parameter_size`"),
        ("=2.5,", "=two,", "line 1 has no number where one must be"),
        ("node2 -- node3", "node2 -- node9", "edge of `node9`"),
        ("node2 -- node3", "node2 -", "line 5 is neither an op nor an edge"),
        ("node2 -- node3", "node2 -- node3\n\tnode3 -- node2", "cycle"),
        ("=1.500,", "=nan,", "a forward time of NaN"),
        ("=1.500,", "=-1.5,", "a forward time of -0.0015"),
        ("=[64.0; 64.0]", "=inf", "a tensor of inf bytes"),
    ],
)
def test_a_broken_profile_says_where(tmp_path, old, new, message):
    with pytest.raises(DieletError, match=message) as raised:
        load_model(profile(tmp_path, GRAPH.replace(old, new)))
    assert "\n" not in str(raised.value)


TABLE = "id;op;fw_ms;bw_ms;out_MB_per_sample;param_MB;preds\n0;conv;1.5;2.5;0.4;0.04;\n1;pool;1;1;0.2;0;0\n"


def test_a_table_is_read(tmp_path):
    model = load_model(profile(tmp_path, TABLE), batch=16)
    assert model.measured_batch == 16
    assert model.op_table()["output_elements"] == [100_000, 50_000]
    assert model.parameters()["total"] == 10_000


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1;pool;1;1;0.2;0;0", "1;pool;1;1", "line 3 has 4 columns of 7"),
        ("0.2;0;0", "0.2;0;7", "line 3 reads `7`"),
        ("0.2;0;0", "0.2;0;1", "cycle"),
        ("1;pool;1;", "1;pool;x;", "line 3 has no number"),
        ("0.2;0;0", "-0.2;0;0", "a tensor of -200000.0 bytes"),
    ],
)
def test_a_broken_table_says_where(tmp_path, old, new, message):
    with pytest.raises(DieletError, match=message):
        load_model(profile(tmp_path, TABLE.replace(old, new)))

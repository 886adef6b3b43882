"""The model handle: what goes in, what comes out, and what is refused."""

import copy
import json

import networkx
import pytest

import dielet.errors
from dielet.errors import DieletError, FileError, ModelError
from dielet.model import (
    Builder,
    Model,
    Transformer,
    Weight,
    from_networkx,
    load_model,
    model_names,
    to_networkx,
)
from dielet.model.builder import contraction


@pytest.fixture
def tree():
    return load_model("gnmt").to_dict()


@pytest.mark.parametrize("name", model_names())
def test_a_model_survives_the_trip_through_dict_and_networkx(name):
    model = load_model(name)
    assert Model.from_dict(model.to_dict()) == model
    assert from_networkx(to_networkx(model)) == model


def test_the_op_table_has_equal_columns():
    model = load_model("resnet-50")
    columns = model.op_table()
    assert {len(column) for column in columns.values()} == {len(model)}
    stem = columns["name"].index("stem/7x7/conv")
    assert (columns["m"][stem], columns["n"][stem], columns["k"][stem]) == (112 * 112, 64, 3 * 7 * 7)
    assert columns["forward_flops"][stem] == 2 * 112 * 112 * 64 * 3 * 7 * 7


def test_a_sequence_length_changes_work_and_not_parameters():
    short, long = load_model("gpt3-175b", sequence=1024), load_model("gpt3-175b")
    assert long.sequence == 2048
    assert short.parameters() == long.parameters()
    assert long.forward_flops_per_sample > 2 * short.forward_flops_per_sample


def test_a_file_is_a_model(tmp_path, tree):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(tree))
    assert load_model(path) == load_model("gnmt")
    assert load_model(path, sequence=50) == Model.from_dict(
        {**load_model("gnmt", sequence=50).to_dict(), "summary": tree["summary"]}
    )


def test_a_builder_makes_a_model():
    net = Builder("mlp", "two layers", "a test", "row", worker_batch=4, optimizer="sgd")
    net.segment("only")
    x = net.data("x", {"batch": 1, "embed": 8})
    y = net.op(
        "up",
        contraction(),
        {"batch": 1, "embed": 8, "ffn": 32},
        ("batch", "ffn"),
        inputs=[x],
        weights=[Weight(("embed", "ffn"))],
        split=("ffn",),
    )
    net.elementwise("relu", [y], (2, 3))
    model = Model.from_dict(net.build())
    assert model.parameters()["total"] == 8 * 32
    assert model.forward_flops_per_sample == 2 * 8 * 32


def test_networkx_nodes_carry_figures():
    graph = to_networkx(load_model("inception-v3"))
    assert networkx.is_directed_acyclic_graph(graph)
    node = graph.nodes["stem_2a/3x3/conv"]
    assert node["kind"] == "contraction"
    assert node["forward_flops"] == pytest.approx(2 * 199.1e6, rel=1e-3)
    assert sum(attributes["parameters"] for _, attributes in graph.nodes(data=True)) == 27_161_264


def test_an_edited_networkx_graph_is_a_model_again():
    graph = to_networkx(load_model("inception-v3"))
    graph.remove_nodes_from([node for node in list(graph) if node.startswith("auxiliary/")])
    edited = from_networkx(graph, name="inception-v3-no-aux")
    assert edited.parameters() == load_model("inception-v3-no-aux").parameters()


def test_a_networkx_graph_of_measured_ops():
    graph = networkx.DiGraph(name="pair")
    graph.add_node("a", forward_s=1.0, backward_s=2.0, bytes=800.0, memory=40.0)
    graph.add_node("b", time=0.5)
    graph.add_edge("a", "b")
    model = from_networkx(graph, batch=2)
    assert model.name == "pair"
    assert model.measured_batch == 2
    assert model.parameters()["total"] == 10
    ops = model.to_dict()["ops"]
    assert ops[0]["work"] == {"kind": "measured", "forward_s": 1.0, "backward_s": 2.0}
    assert model.op_table()["output_elements"] == [100, 1]
    assert ops[1]["inputs"][0]["op"] == 0


def test_sizes_may_stand_on_edges():
    graph = networkx.DiGraph()
    graph.add_node("a", time=1.0, backward_time=2.0)
    graph.add_node("b", time=0.5)
    graph.add_edge("a", "b", bytes=400.0)
    model = from_networkx(graph)
    assert model.op_table()["output_elements"] == [100, 1]
    assert model.to_dict()["ops"][0]["work"]["backward_s"] == 2.0


def change(tree, *path, to):
    for step in path[:-1]:
        tree = tree[step]
    tree[path[-1]] = to


BAD = [
    (("ops",), [], "model `gnmt` has no ops"),
    (("segments", 0, "ops"), 3, "hold 43 ops but it has 42"),
    (("segments", 0, "repeat"), 0, "a segment repeated 0"),
    (("segments", 0, "repeat"), 2**60, "a segment repeated 1152921504606847000"),
    (("worker_batch",), 0, "a batch of 0"),
    (("length_variation",), float("nan"), "a length variation of NaN"),
    (("padding",), -0.5, "padding of -0.5"),
    (("ops", 2, "work", "forward_passes"), float("nan"), "`encoder_0/dropout` has forward passes NaN"),
    (("ops", 2, "work", "backward_passes"), -1.0, "backward passes -1: it must be finite and not negative"),
    (("ops", 3, "axes", 0, "size"), 0, "an axis of size 0"),
    (("ops", 3, "axes", 0, "size"), -4, "`ops[3].axes[0].size`"),
    (("ops", 3, "axes", 2, "size"), 2**52, "a tensor of as many elements"),
    (("ops", 3, "axes", 2, "size"), 2**80, "`ops[3].axes[2].size`"),
    (("ops", 3, "work", "density"), 1.5, "density 1.5: it must be between 0 and 1"),
    (("ops", 3, "inputs", 0, "op"), 40, "which is not before it"),
    (("ops", 4, "inputs"), [], "neither a weight nor a second input"),
    (("ops", 3, "output"), [99], "refers to axis 99"),
    (("ops", 3, "saves"), [{"input": 7}], "refers to input 7"),
    (("ops", 4, "saves"), [{"elements": float("inf")}], "kept elements inf"),
    (("ops", 3, "name"), "encoder_0/dropout", "two ops are named `encoder_0/dropout`"),
    (("ops", 3, "colour"), "red", "unknown field `colour`"),
    (("optimizer",), "adamw", "unknown variant `adamw`"),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD, ids=[case[2] for case in BAD])
def test_a_bad_model_ends_in_one_line(tree, path, value, message):
    change(tree, *path, to=value)
    with pytest.raises(ModelError) as raised:
        Model.from_dict(tree)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_empty_model_is_refused(tree):
    with pytest.raises(ModelError, match="has no ops"):
        Model.from_dict({**tree, "ops": [], "segments": []})


def test_a_loose_tie_is_refused(tree):
    changed = copy.deepcopy(tree)
    for op in changed["ops"]:
        for weight in op["weights"]:
            weight["tied"] = weight["tied"] and "elsewhere"
    with pytest.raises(ModelError, match="ties a weight to `elsewhere`"):
        Model.from_dict(changed)


def test_too_many_parameters_are_refused(tree):
    change(tree, "segments", 1, "repeat", to=10**9)
    with pytest.raises(ModelError, match="has parameters of"):
        Model.from_dict(tree)


@pytest.mark.parametrize("tree", [3, None, [], {}, {"name": "x"}])
def test_what_is_no_model_at_all_is_refused(tree):
    with pytest.raises(ModelError):
        Model.from_dict(tree)


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(ModelError, match="did you mean `inception-v3`"):
        load_model("inceptoin-v3")
    with pytest.raises(ModelError, match="use a file or one of inception-v3"):
        load_model("qqq")


@pytest.mark.parametrize(("name", "sequence"), [("gpt3-175b", 4096), ("gnmt", 0), ("gnmt", -1), ("vgg-16", 10)])
def test_a_sequence_that_cannot_be_is_refused(name, sequence):
    with pytest.raises(ModelError, match=f"{name}.*{sequence}|{sequence}.*{name}"):
        load_model(name, sequence=sequence)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", "no UTF-8 text"),
        (b'{"name": "x", "ops": [', "no complete JSON"),
        (b"", "empty"),
        (b"hello world", "no known format"),
        (b'{"nodes": []}', "no known format"),
    ],
)
def test_a_bad_file_is_named(tmp_path, content, message):
    path = tmp_path / "mine.json"
    path.write_bytes(content)
    with pytest.raises(FileError, match=message) as raised:
        load_model(path)
    assert "mine.json" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_cycle_is_named():
    graph = networkx.DiGraph([("a", "b"), ("b", "a")])
    with pytest.raises(ModelError, match="cycle through a -> b"):
        from_networkx(graph)


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({}, "has no time"),
        ({"forward_s": -1.0}, "a forward time of -1"),
        ({"forward_s": float("nan")}, "a forward time of NaN"),
        ({"forward_s": 1.0, "bytes": float("inf")}, "a tensor of inf bytes"),
        ({"forward_s": 1.0, "memory": -8.0}, "parameters of -8.0 bytes"),
    ],
)
def test_bad_figures_of_a_node_are_named(figures, message):
    graph = networkx.DiGraph()
    graph.add_node("a", **figures)
    with pytest.raises(ModelError, match=message):
        from_networkx(graph)


def test_an_empty_networkx_graph_is_refused():
    with pytest.raises(ModelError, match="has no ops"):
        from_networkx(networkx.DiGraph())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": 6, "kv_heads": 4}, "heads 6: it must be a multiple of its 4 kv_heads"),
        ({"layers": 0}, "layers 0"),
        ({"experts": 4, "top_k": 5, "expert_ffn": 8}, "top_k 5"),
        ({"positions": 16}, "sequence 32: it must be at most its 16 positions"),
    ],
)
def test_a_transformer_that_cannot_be_is_refused(change, message):
    shape = {
        "layers": 2,
        "hidden": 64,
        "heads": 4,
        "kv_heads": 4,
        "head_dim": 16,
        "ffn": 8,
        "vocab": 9,
        "sequence": 32,
    }
    with pytest.raises(ModelError, match=message):
        Transformer(name="t", summary="t", source="t", **(shape | change))


def test_every_error_is_a_dielet_error():
    classes = [c for c in vars(dielet.errors).values() if isinstance(c, type) and c is not DieletError]
    assert classes
    assert all(issubclass(c, DieletError) for c in classes)

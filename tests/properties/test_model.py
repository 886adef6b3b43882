"""Whatever the shape of a transformer, its totals follow from the shape."""

import networkx
from hypothesis import given, settings
from hypothesis import strategies as st

from dielet.model import Model, Transformer, from_networkx, to_networkx


@st.composite
def shapes(draw):
    group, kv_heads = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    experts = draw(st.sampled_from([0, 0, 1, 4, 9]))
    layers, sequence = draw(st.integers(2, 9)), draw(st.integers(1, 70))
    return {
        "layers": layers,
        "hidden": draw(st.integers(1, 80)),
        "heads": group * kv_heads,
        "kv_heads": kv_heads,
        "head_dim": draw(st.integers(1, 40)),
        "ffn": draw(st.integers(1, 200)),
        "vocab": draw(st.integers(1, 300)),
        "sequence": sequence,
        "positions": draw(st.sampled_from([0, sequence, sequence + 7])),
        "gated": draw(st.booleans()),
        "norm": draw(st.sampled_from(["layer", "rms"])),
        "biases": draw(st.booleans()),
        "tied": draw(st.booleans()),
        "dropout": draw(st.booleans()),
        "attention": draw(st.sampled_from(["unfused", "flash"])),
        "experts": experts,
        "top_k": draw(st.integers(1, experts)) if experts else 0,
        "expert_ffn": draw(st.integers(1, 50)) if experts else 0,
        "shared_ffn": draw(st.sampled_from([0, 13])) if experts else 0,
        "dense_layers": draw(st.integers(0, layers - 1)) if experts else 0,
    }


def model(shape):
    return Model.from_dict(Transformer(name="t", summary="t", source="t", **shape).build())


def attention_parameters(c):
    inner = c["head_dim"] * (c["heads"] + 2 * c["kv_heads"])
    back = c["head_dim"] * c["heads"] * c["hidden"]
    return c["hidden"] * inner + back + c["biases"] * (inner + c["hidden"])


def mlp_parameters(c, width, last_bias=True):
    up = width * (2 if c["gated"] else 1)
    return c["hidden"] * (up + width) + c["biases"] * (up + last_bias * c["hidden"])


def layer_parameters(c, routed):
    norms = 2 * c["hidden"] * (2 if c["norm"] == "layer" else 1)
    if not routed:
        return norms + attention_parameters(c) + mlp_parameters(c, c["ffn"])
    experts = c["experts"] * (c["hidden"] + mlp_parameters(c, c["expert_ffn"]))
    shared = mlp_parameters(c, c["shared_ffn"], last_bias=False) if c["shared_ffn"] else 0
    return norms + attention_parameters(c) + experts + shared


def total_parameters(c):
    routed = c["layers"] - c["dense_layers"] if c["experts"] else 0
    layers = routed * layer_parameters(c, True) + (c["layers"] - routed) * layer_parameters(c, False)
    tables = c["vocab"] * (1 if c["tied"] else 2) + c["positions"]
    return layers + c["hidden"] * (tables + (2 if c["norm"] == "layer" else 1))


@settings(max_examples=200, deadline=None)
@given(shapes())
def test_parameters_follow_from_the_shape(shape):
    assert model(shape).parameters()["total"] == total_parameters(shape)


@settings(max_examples=60, deadline=None)
@given(shapes())
def test_work_is_linear_in_layers(shape):
    one, two, three = (model(shape | {"layers": shape["layers"] + more}) for more in (0, 3, 6))
    steps = [m.forward_flops_per_sample for m in (one, two, three)]
    assert steps[1] - steps[0] == steps[2] - steps[1] > 0


@settings(max_examples=60, deadline=None)
@given(shapes())
def test_networkx_gives_the_same_model_back(shape):
    built = model(shape)
    assert from_networkx(to_networkx(built)) == built


@settings(max_examples=60, deadline=None)
@given(shapes())
def test_a_token_uses_no_more_than_there_is(shape):
    counts = model(shape).parameters()
    assert counts["active_without_input_embedding"] <= counts["active"] <= counts["total"]
    assert (counts["active"] == counts["total"]) == (shape["top_k"] == shape["experts"])


@st.composite
def task_graphs(draw):
    count = draw(st.integers(1, 12))
    graph = networkx.DiGraph(name="drawn")
    times = st.floats(0, 1e6, allow_subnormal=False)
    sizes = st.integers(0, 10**9).map(lambda elements: 4.0 * elements)
    # Names in any order: the order of an answer must come from the edges.
    for node in draw(st.permutations(range(count))):
        graph.add_node(str(node), forward_s=draw(times), backward_s=draw(times), memory=draw(sizes))
    pairs = [(str(a), str(b)) for a in range(count) for b in range(a + 1, count)]
    graph.add_edges_from(draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [])
    return graph


@settings(max_examples=100, deadline=None)
@given(task_graphs())
def test_a_task_graph_keeps_its_times_and_edges(graph):
    seen = to_networkx(from_networkx(graph))
    assert set(seen.edges) == set(graph.edges)
    for node, figures in graph.nodes(data=True):
        assert seen.nodes[node]["forward_s"] == figures["forward_s"]
        assert seen.nodes[node]["backward_s"] == figures["backward_s"]
        assert 4.0 * seen.nodes[node]["parameters"] == figures["memory"]

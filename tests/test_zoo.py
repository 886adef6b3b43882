"""The networks' totals and parts, against published figures."""

import time
from collections import defaultdict
from math import prod

import pytest

from dielet.model import Transformer, load_model, model_names

PARAMETERS = {
    "inception-v3": 27_161_264,
    "inception-v3-no-aux": 23_834_568,
    "inception-v3-measured": 27_161_264,
    "gnmt": 160_671_297,
    "gnmt-8x8": 244_622_913,
    "big-lstm": 1_776_880_510,
    "resnet-50": 25_557_032,
    "vgg-16": 138_357_544,
    "alexnet": 61_100_840,
    "megatron-22b": 22_074_273_792,
    "gpt3-175b": 174_615_846_912,
    "megatron-530b": 529_600_819_200,
    "megatron-1t": 1_008_038_758_400,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "mixtral-8x7b": 46_702_792_704,
}


def test_every_name_has_a_published_total():
    assert set(PARAMETERS) == set(model_names())


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_exact(name):
    assert load_model(name).parameters()["total"] == PARAMETERS[name]


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_model_says_what_it_is(name):
    model = load_model(name)
    assert model.name == name
    assert model.summary
    assert model.source
    assert model.worker_batch >= 1


def by_unit(name, column, key):
    """Sums of a column of the op table, by what `key` makes of an op's name."""
    table = load_model(name).op_table()
    sums = defaultdict(float)
    for op, repeat, value in zip(table["name"], table["repeat"], table[column], strict=True):
        sums[key(op)] += repeat * value
    return sums


def module(op):
    segment = op.split("/")[0]
    return "stem" if segment.startswith("stem") else segment


def branch(op):
    segment, unit = op.split("/")[:2]
    return f"{segment}/{unit.split('_')[0]}"


# Million multiply-adds and million parameters (Szegedy et al. 2016; layer sizes of TF-slim and torchvision).
INCEPTION = {
    "stem": (1340.8, 0.173),
    "mixed_5b": (312.3, 0.256),
    "mixed_5c": (338.7, 0.277),
    "mixed_5d": (348.1, 0.285),
    "mixed_6a": (401.9, 1.153),
    "mixed_6b": (374.1, 1.297),
    "mixed_6c": (487.7, 1.691),
    "mixed_6d": (487.7, 1.691),
    "mixed_6e": (617.9, 2.142),
    "auxiliary": (5.7, 3.327),
    "mixed_7a": (291.0, 1.698),
    "mixed_7b": (322.4, 5.045),
    "mixed_7c": (388.5, 6.077),
    "head": (2.0, 2.049),
}

BRANCHES = {
    "stem_1a/3x3": 19.2,
    "stem_2a/3x3": 199.1,
    "stem_2b/3x3": 398.3,
    "stem_3b/1x1": 27.3,
    "stem_4a/3x3": 696.9,
    "mixed_5b/1x1": 15.1,
    "mixed_5b/5x5": 105.4,
    "mixed_5b/3x3": 184.4,
    "mixed_5b/pool": 7.5,
    "mixed_5c/1x1": 20.1,
    "mixed_5c/5x5": 109.1,
    "mixed_5c/3x3": 189.4,
    "mixed_5d/3x3": 191.9,
    "mixed_6a/3x3": 287.6,
    "mixed_6a/double": 114.3,
    "mixed_6b/7x7": 111.3,
    "mixed_6b/double": 177.6,
    "mixed_6c/7x7": 149.4,
    "mixed_6d/double": 253.0,
    "mixed_6e/double": 340.9,
    "mixed_6e/pool": 42.6,
    "mixed_7a/3x3": 78.0,
    "mixed_7a/7x7": 213.0,
    "mixed_7b/3x3": 88.2,
    "mixed_7b/double": 192.4,
    "mixed_7c/1x1": 41.9,
    "mixed_7c/double": 214.5,
    "mixed_7c/pool": 25.2,
}


@pytest.mark.parametrize("name", INCEPTION)
def test_inception_modules(name):
    macs, parameters = INCEPTION[name]
    assert by_unit("inception-v3", "forward_flops", module)[name] / 2e6 == pytest.approx(macs, abs=0.06)
    assert by_unit("inception-v3", "parameters", module)[name] / 1e6 == pytest.approx(parameters, abs=6e-4)


@pytest.mark.parametrize("name", BRANCHES)
def test_inception_branches(name):
    macs = by_unit("inception-v3", "forward_flops", branch)[name] / 2e6
    assert macs == pytest.approx(BRANCHES[name], abs=0.13)  # the published figures are sums of rounded ones


def test_inception_totals():
    with_head = load_model("inception-v3").forward_flops_per_sample
    without = load_model("inception-v3-no-aux").forward_flops_per_sample
    assert without / 2e9 == pytest.approx(5.713, abs=5e-4)
    assert (with_head - without) / 2e6 == pytest.approx(5.7, abs=0.05)
    convolutions = [op for op in load_model("inception-v3").op_table()["name"] if op.endswith("/conv")]
    assert len(convolutions) == 94 + 2


def test_inception_boundaries():
    table = load_model("inception-v3").op_table()
    elements = dict(zip(table["name"], table["output_elements"], strict=True))
    boundaries = {"stem_5a/pool": 0.941, "mixed_5b/concat": 1.254, "mixed_5d/concat": 1.411}
    boundaries |= {"mixed_6e/concat": 0.888, "mixed_7a/concat": 0.328, "mixed_7c/concat": 0.524}
    for op, megabytes in boundaries.items():
        assert elements[op] * 4e-6 == pytest.approx(megabytes, abs=6e-4)


# Million parameters and forward MFLOP per token (NVIDIA's GNMT v2).
GNMT = {
    "encoder_embedding": (33.096, 0),
    "encoder_0": (16.794, 33.55),
    "encoder_1": (12.591, 25.17),
    "encoder_2": (8.397, 16.78),
    "decoder_1": (12.591, 25.17),
    "classifier": (33.128, 66.19),
}


@pytest.mark.parametrize("part", GNMT)
@pytest.mark.parametrize("name", ["gnmt", "gnmt-8x8"])
def test_gnmt_parts(name, part):
    parameters, flops = GNMT[part]
    assert by_unit(name, "parameters", module)[part] / 1e6 == pytest.approx(parameters, abs=6e-4)
    assert by_unit(name, "forward_flops", module)[part] / 25e6 == pytest.approx(flops, abs=0.006)


def test_gnmt_attention():
    table = load_model("gnmt").op_table()
    names = ("queries", "keys", "energies", "softmax", "context")
    attention = [table["name"].index(f"decoder_0/{op}") for op in names]
    assert sum(table["parameters"][op] for op in attention) == 2 * 1024**2 + 2 * 1024 + 1
    for op in attention[:2]:
        assert table["forward_flops"][op] / 25e6 == pytest.approx(2.10, abs=0.005)


@pytest.mark.parametrize(("name", "tokens", "gigaflops"), [("gnmt", 25, 6.38), ("gnmt", 50, 12.76)])
def test_gnmt_work_of_a_sentence_pair(name, tokens, gigaflops):
    assert load_model(name, sequence=tokens).forward_flops_per_sample / 1e9 == pytest.approx(gigaflops, rel=2e-3)


def test_gnmt_8x8_work_of_a_sentence_pair():
    assert load_model("gnmt-8x8").forward_flops_per_sample / 1e9 == pytest.approx(10.57, rel=2e-3)


def test_gnmt_context_is_live_until_the_last_layer():
    tree = load_model("gnmt").to_dict()
    names = [op["name"] for op in tree["ops"]]
    context = names.index("decoder_0/context")
    readers = [op["name"] for op in tree["ops"] if any(read["op"] == context for read in op["inputs"])]
    assert readers == ["decoder_1/concat", "decoder_2/concat", "decoder_3/concat"]


def test_big_lstm_parts():
    parameters = by_unit("big-lstm", "parameters", module)
    assert parameters["embedding"] == 793_470 * 1024
    assert parameters["lstm_0"] == parameters["lstm_1"] == 2048 * 32_768 + 32_768 + 8192 * 1024
    assert parameters["softmax"] == 793_470 * 1024 + 793_470
    flops = by_unit("big-lstm", "forward_flops", module)
    assert flops["lstm_0"] / 20e6 == pytest.approx(151.0, abs=0.05)
    assert flops["softmax"] / 20e6 == pytest.approx(16.8, abs=0.05)
    assert load_model("big-lstm").forward_flops_per_sample == pytest.approx(6.375e9, rel=1e-3)


def test_big_lstm_gradients_are_sparse():
    weights = {w["name"]: w for op in load_model("big-lstm").to_dict()["ops"] for w in op["weights"]}
    assert weights["embedding/table.weight"]["sparse"] == {"fixed": 0, "per_sample": 20, "rows": 793_470}
    assert weights["softmax/sampled_rows.weight"]["sparse"]["fixed"] == 8192
    assert weights["lstm_0/lstm/cell.weight"]["sparse"] is None


def test_embedding_and_active_parameters():
    mixtral = load_model("mixtral-8x7b").parameters()
    assert mixtral["embedding"] == 131_072_000
    assert mixtral["active"] == 12_879_925_248
    assert mixtral["active_without_input_embedding"] == 12_748_853_248
    big = load_model("big-lstm").parameters()
    assert big["embedding"] == 793_470 * 1024
    gpt = load_model("megatron-22b").parameters()
    assert gpt["active"] - gpt["active_without_input_embedding"] == 2048 * 6144  # the tied table stays


def kept_bytes(tree, segment, selective=False):
    """Bytes that one repetition of a segment keeps for backward, one sample, 16-bit elements."""
    names = [s["name"] for s in tree["segments"]]
    first = sum(s["ops"] for s in tree["segments"][: names.index(segment)])
    count = tree["segments"][names.index(segment)]["ops"]

    def elements(op):
        return prod(op["axes"][axis]["size"] for axis in op["output"])

    tensors, extra = set(), 0
    for position in range(first, first + count):
        op = tree["ops"][position]
        for save in () if selective and op["selective"] else op["saves"]:
            if save == "output":
                tensors.add(position)
            elif save == "mask":
                extra += elements(op)
            elif "input" in save:
                tensors.add(op["inputs"][save["input"]]["op"])
            else:
                extra += 2 * save["elements"] * elements(op)
    return extra + sum(2 * elements(tree["ops"][op]) for op in tensors)


@pytest.mark.parametrize("name", ["megatron-22b", "gpt3-175b", "megatron-530b", "megatron-1t"])
def test_a_gpt_layer_keeps_what_korthikanti_counts(name):
    tree = load_model(name).to_dict()
    qkv = next(op for op in tree["ops"] if op["name"] == "block/qkv")
    size = {axis["name"]: axis["size"] for axis in qkv["axes"]}
    s, h, a = size["sequence"], size["embed"], size["kv_heads"]
    assert kept_bytes(tree, "block") == s * h * 34 + 5 * a * s * s
    assert kept_bytes(tree, "block", selective=True) == s * h * 34


def gpt_like(**changes):
    shape = {"name": "t", "summary": "t", "source": "t", "layers": 2, "hidden": 64, "heads": 4, "kv_heads": 4}
    shape |= {"head_dim": 16, "ffn": 256, "vocab": 100, "sequence": 32, "positions": 32, "gated": False}
    shape |= {"norm": "layer", "biases": True, "tied": True, "dropout": True, "attention": "flash"}
    return Transformer(**(shape | changes)).build()


def test_a_flash_layer_keeps_nothing_of_the_square():
    assert kept_bytes(gpt_like(), "block") == 34 * 32 * 64


RULES = {
    "attention_norm": "whole",
    "qkv": ["kv_heads", "group_qkv"],
    "scores": ["kv_heads", "group"],
    "softmax": "follow",
    "context": ["kv_heads", "group"],
    "projection": ["kv_heads", "group"],
    "attention_residual": "whole",
    "up": ["ffn"],
    "activation": "follow",
    "down": ["ffn"],
}


@pytest.mark.parametrize("op", RULES)
def test_a_transformer_splits_as_megatron_does(op):
    ops = {o["name"]: o for o in load_model("llama-3-8b").to_dict()["ops"]}
    rule = ops[f"block/{op}"]["tensor"]
    axes = ops[f"block/{op}"]["axes"]
    named = [axes[axis]["name"] for axis in rule["split"]] if isinstance(rule, dict) else rule
    assert named == RULES[op]


def test_vocabulary_is_split_in_table_and_head():
    ops = {o["name"]: o for o in load_model("gpt3-175b").to_dict()["ops"]}
    for name in ("embedding/vocab_table", "head/logits"):
        op = ops[name]
        assert [op["axes"][axis]["name"] for axis in op["tensor"]["split"]] == ["vocab"]
    assert ops["head/logits"]["weights"][0]["tied"] == "embedding/vocab_table.weight"


def test_inception_loads_quickly():
    load_model("inception-v3")

    def seconds():
        start = time.process_time()  # what else the machine does is not counted
        load_model("inception-v3")
        return time.process_time() - start

    assert min(seconds() for _ in range(5)) < 0.030

"""Bytes on a device, to the byte.

Activations of a transformer layer: Korthikanti et al., Reducing Activation Recomputation in Large Transformer
Models, 2022, table 2. Model states: Rajbhandari et al., ZeRO, SC 2020, figure 1. One layer
more minus one layer less leaves a layer, whatever embedding and head keep.
"""

import pytest

from dielet import _core
from dielet.hardware.system import load_system
from dielet.model import load_model
from gpt_builder import GPT, gpt, plan_of, price

GIB = 2**30
TERMS = ("weights", "gradients", "optimizer", "activations", "transient")
B = 3
S, H, A = GPT["sequence"], GPT["hidden"], GPT["heads"]
SBH = S * B * H


@pytest.fixture(scope="module")
def system():
    return load_system("dgx-a100")


def stages(model, system, precision="mixed", **changes):
    return price(model, system, plan_of(model, precision, **changes))["memory_bytes"]["stages"]


def layer(system, term="activations", *, shape=None, **changes):
    """Bytes that the last of 5 layers adds on the only stage."""
    few, many = (stages(gpt(layers=layers, **(shape or {})), system, micro_batch=B, **changes)[0] for layers in (4, 5))
    return many[term] - few[term]


def kept(t, sequence_parallel):
    """Table 2 of Korthikanti et al. in bytes per layer, without recomputation."""
    square = 5 * A * S / H
    return SBH * (34 + square) / t if sequence_parallel else SBH * (10 + 24 / t + square / t)


def test_a_layer_keeps_34_sbh_and_the_square(system):
    assert layer(system) == SBH * (34 + 5 * A * S / H)


@pytest.mark.parametrize("t", [2, 4, 8])
@pytest.mark.parametrize("sequence_parallel", [False, True])
def test_tensor_parallel_ranks_keep_their_share(system, t, sequence_parallel):
    assert layer(system, tp=t, sequence_parallel=sequence_parallel) == kept(t, sequence_parallel)


@pytest.mark.parametrize("t", [1, 2, 4, 8])
def test_selective_recomputation_drops_the_square(system, t):
    assert layer(system, tp=t, recompute="selective") == SBH * (10 + 24 / t)
    assert layer(system, tp=t, recompute="selective", sequence_parallel=True) == SBH * 34 / t


@pytest.mark.parametrize("t", [1, 2, 4, 8])
def test_full_recomputation_keeps_the_input(system, t):
    assert layer(system, tp=t, recompute="full") == 2 * SBH
    assert layer(system, tp=t, recompute="full", sequence_parallel=True) == 2 * SBH / t


def test_computing_again_needs_one_layer_for_a_moment(system):
    model = gpt()
    none, full = (stages(model, system, micro_batch=B, recompute=r)[0] for r in ("none", "full"))
    assert none["transient"] == 0
    # All of a layer but its input, which is among what is kept; the head keeps less.
    assert full["transient"] == SBH * (34 + 5 * A * S / H) - 2 * SBH


@pytest.mark.parametrize("t", [1, 2, 4])
def test_flash_attention_keeps_no_square(system, t):
    flash = {"attention": "flash"}
    assert layer(system, shape=flash, tp=t) == SBH * (10 + 24 / t)
    assert layer(system, shape=flash, tp=t, sequence_parallel=True) == SBH * 34 / t


def test_fp32_keeps_twice_as_much_but_for_the_masks(system):
    # Two dropout masks of sbh bytes and one of a s^2 b stay bytes.
    square = A * S / H
    assert layer(system, precision="fp32") == SBH * (2 * (32 + 4 * square) + 2 + square)


def activations(system, *, layers, **changes):
    return [stage["activations"] for stage in stages(gpt(layers=layers), system, micro_batch=1, **changes)]


@pytest.mark.parametrize("p", [1, 2, 4])
@pytest.mark.parametrize("m", [1, 2, 3, 4, 9])
def test_1f1b_keeps_the_micro_batches_in_flight(system, p, m):
    """`min(m, p - i)` micro-batches of the layers of stage i; doubling the layers leaves them alone."""
    few, many = (activations(system, layers=n, pp=p, batch=m) for n in (4, 8))
    each = kept(1, False) / B
    for i in range(p):
        assert many[i] - few[i] == min(m, p - i) * each * 4 / p


@pytest.mark.parametrize("p", [2, 4])
@pytest.mark.parametrize("m", [1, 3, 8])
def test_gpipe_keeps_all_micro_batches(system, p, m):
    few, many = (activations(system, layers=n, pp=p, batch=m, schedule="gpipe") for n in (4, 8))
    assert [b - a for a, b in zip(few, many, strict=True)] == [m * kept(1, False) / B * 4 / p] * p


@pytest.mark.parametrize("p", [2, 4])
@pytest.mark.parametrize("v", [2, 3])
@pytest.mark.parametrize("rounds", [1, 3])
def test_interleaving_keeps_more(system, p, v, rounds):
    """`min(m v, 2 (p - i - 1) + (v - 1) p + 1)` chunks of `1/v` of a stage's layers; on stage 0 and for
    large m that is `L (1 + (p - 1) / (p v))` layers (Korthikanti et al., section 4.2.3)."""
    n, m = p * v, p * rounds
    few, many = (activations(system, layers=layers, pp=p, virtual_stages=v, batch=m) for layers in (n, 2 * n))
    each = kept(1, False) / B
    for i in range(p):
        chunks = min(m * v, 2 * (p - i - 1) + (v - 1) * p + 1)
        assert many[i] - few[i] == pytest.approx(chunks * each, rel=1e-15)
    if rounds > 1:
        assert many[0] - few[0] == pytest.approx(n * (1 + (p - 1) / (p * v)) * each, rel=1e-15)


# weights, gradients, master weights and two states of Adam
STATES = {"fp32": (4, 4, 8), "mixed": (2, 2, 12), "bf16": (2, 4, 12), "fp8": (2, 4, 12)}
LAYER = 12 * H * H + 13 * H


@pytest.mark.parametrize("precision", STATES)
def test_bytes_per_parameter(precision):
    system = load_system("dgx-h100")
    model = gpt()
    stage = stages(model, system, precision)[0]
    for term, each in zip(TERMS, STATES[precision], strict=False):
        assert stage[term] == each * model.parameters()["total"]
        assert layer(system, term, precision=precision) == each * LAYER


@pytest.mark.parametrize("name", ["resnet-50", "vgg-16", "inception-v3"])
def test_momentum_is_one_state(system, name):
    model = load_model(name)
    stage = stages(model, system, "fp32", micro_batch=1)[0]
    count = model.parameters()["total"]
    assert [stage[term] for term in TERMS[:3]] == [4 * count] * 3


@pytest.mark.parametrize("sharding", [0, 1, 2, 3])
@pytest.mark.parametrize("dp", [2, 8, 64])
def test_zero_shares(system, sharding, dp):
    """Optimizer states, then gradients, then weights are held in shares."""
    model = gpt()
    stage = stages(model, system, micro_batch=1, dp=dp, sharding=sharding)[0]
    count = model.parameters()["total"]
    expected = [each * count / (dp if sharding >= 3 - term else 1) for term, each in enumerate((2, 2, 12))]
    assert [stage[term] for term in TERMS[:3]] == expected


def test_parameters_are_split_over_tensor_ranks_but_for_what_each_needs(system):
    """Matrices and the biases of split outputs are shared out; norms, and biases behind a sum, are not."""
    split = 12 * H * H + (3 + 4) * H
    whole = (4 + 1 + 1) * H
    for t in (2, 8):
        assert layer(system, "weights", tp=t) == 2 * (split / t + whole)


def test_a_tied_table_stands_on_both_ends_of_a_pipeline(system):
    table, vocab = 2 * H * GPT["vocab"], 2
    tied, untied = (stages(gpt(tied=tied), system, micro_batch=1, pp=vocab) for tied in (True, False))
    assert [stage["weights"] for stage in tied] == [stage["weights"] for stage in untied]
    one = [stages(gpt(tied=tied), system, micro_batch=1)[0]["weights"] for tied in (True, False)]
    assert one[1] - one[0] == table


def test_experts_are_shared_out(system):
    routed = {"experts": 8, "top_k": 2, "expert_ffn": 256, "ffn": 512}
    one, four = (stages(gpt(**routed), system, micro_batch=1, dp=8, ep=ep, sharding=0)[0]["weights"] for ep in (1, 4))
    # Two matrices and two biases an expert; the router stays whole.
    experts = GPT["layers"] * 8 * (2 * H * 256 + 256 + H)
    assert one - four == 2 * experts * (1 - 1 / 4)


def test_the_peak_is_the_fullest_stage(system):
    memory = price(gpt(), system, plan_of(gpt(), pp=4, micro_batch=2, batch=16))["memory_bytes"]
    assert memory["peak"] == max(sum(stage[term] for term in TERMS) for stage in memory["stages"])
    assert memory["capacity"] == 80 * GIB
    assert all(set(stage) == set(TERMS) for stage in memory["stages"])


def test_big_lstm_with_dense_gradients_does_not_fit_a_v100():
    """1.78 G parameters: 6.6 GiB each of weights, dense gradients and Adagrad's state are 19.9 GiB."""
    model, system = load_model("big-lstm"), load_system("dgx1-v100")
    answer = _core.price(model, system, plan_of(model, "fp32", dense_gradients=True))
    assert answer["status"] == "infeasible"
    assert answer["reason"] == "memory"
    assert answer["has"] == 16 * GIB
    assert answer["needs"] > 3 * 4 * model.parameters()["total"] > answer["has"]
    assert answer["nearest"]


def test_big_lstm_with_sparse_gradients_fits_a_v100():
    model, system = load_model("big-lstm"), load_system("dgx1-v100")
    stage = stages(model, system, "fp32")[0]
    assert stage["gradients"] < stage["weights"] / 3
    assert stage["weights"] == stage["optimizer"] == 4 * model.parameters()["total"]


def test_longer_samples_touch_more_rows():
    """A token more is a row of the embedding and one of the output layer; sampled classes stay."""
    model, system = load_model("big-lstm"), load_system("dgx1-v100")
    sequence = model.to_dict()["sequence"]
    one, two = (stages(model, system, "fp32", micro_batch=8, sequence=n * sequence)[0]["gradients"] for n in (1, 2))
    assert two - one == 4 * 8 * sequence * (1024 + 1024 + 1)

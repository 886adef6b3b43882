"""What must travel among tensor-parallel ranks, to the byte."""

import numpy as np
import pytest

from dielet import _core
from dielet.hardware.system import load_system
from dielet.model import load_model
from fabric_builder import system, tier
from gpt_builder import GPT, gpt, plan_of, price

B, T, RATE = 2, 4, 1e9
SBH = GPT["sequence"] * B * GPT["hidden"]
# A ring moves (t - 1) / t of the bytes once to gather or to scatter, twice to reduce everywhere.
PASS = 2 * SBH * (T - 1) / T / RATE


@pytest.fixture(scope="module")
def ideal():
    return system(tier("switch", T, bandwidth=RATE))


def leaves(tree, name):
    (part,) = (part for part in tree["parts"] if part["name"] == name)
    return {leaf["name"]: leaf["seconds"] for leaf in part["parts"]}


def layer(ideal, **changes):
    """Passes of 2 sbh bytes that a layer adds, by direction."""
    times = []
    for layers in (4, 5):
        model = gpt(layers=layers)
        plan = plan_of(model, "mixed", tp=T, micro_batch=B, **changes)
        times.append(leaves(price(model, ideal, plan)["breakdown"], "tensor parallel"))
    few, many = times
    return {name: (many[name] - few[name]) / PASS for name in many}


def test_a_layer_reduces_twice_each_way(ideal):
    """Shoeybi et al., Megatron-LM, 2019: an all-reduce behind attention and MLP, and as many back."""
    assert layer(ideal) == pytest.approx({"forward": 4, "backward": 4})


def test_sequence_parallelism_gathers_and_scatters_as_much(ideal):
    """Korthikanti et al., 2022, section 4.2.2: an all-reduce is a reduce-scatter and an all-gather."""
    assert layer(ideal, sequence_parallel=True) == pytest.approx({"forward": 4, "backward": 4})


def test_computing_again_sends_again(ideal):
    assert layer(ideal, recompute="full") == pytest.approx({"forward": 4, "backward": 4, "recompute": 4})


def test_norms_and_biases_that_saw_a_share_of_the_sequence_are_reduced_once_a_step(ideal):
    """Two norms (4 h) and two biases behind a sum (2 h) in a layer, whatever the micro-batches."""
    times = []
    for layers in (4, 5):
        model = gpt(layers=layers)
        plan = plan_of(model, "mixed", tp=T, micro_batch=B, batch=4 * B, sequence_parallel=True)
        tail = leaves(price(model, ideal, plan)["breakdown"], "data parallel and update")
        times.append(tail["sequence-parallel gradient"])
    reduced = 2 * 6 * GPT["hidden"]
    assert times[1] - times[0] == pytest.approx(2 * reduced * (T - 1) / T / RATE)


def costs(name, system_name, precision="fp32", **changes):
    model = load_model(name)
    found = _core.op_costs(model, load_system(system_name), plan_of(model, precision, **changes))
    assert found["status"] == "feasible"
    return dict(zip(found["name"], np.array(found["forward_s"]) + np.array(found["backward_s"]), strict=True))


@pytest.mark.parametrize("name", ["gnmt", "big-lstm"])
def test_a_recurrence_is_not_split_along_the_sequence(name):
    """Every rank runs all time steps and, where its input was split, gathers it first."""
    whole, shared = (
        costs(name, "dgx1-v100", tp=2, sequence_parallel=shared, micro_batch=64) for shared in (False, True)
    )
    recurrent = [op for op in whole if op.endswith(("/state", "/cell"))]
    assert recurrent
    for op in recurrent:
        assert shared[op] >= whole[op]
    gathered = [op for op in recurrent if shared[op] > whole[op]]
    assert gathered


@pytest.mark.parametrize("name", ["gnmt", "big-lstm", "resnet-50"])
def test_context_parallelism_needs_a_sequence_without_recurrence(name):
    model = load_model(name)
    found = _core.price(model, load_system("dgx1-v100"), plan_of(model, "fp32", cp=2))
    assert (found["status"], found["reason"]) == ("infeasible", "context")


@pytest.mark.parametrize("other", [{"recompute": "full"}, {"batch": 128}, {"tp": 2}, {"pp": 2}])
def test_a_placement_goes_with_no_other_split(other):
    model, machine = load_model("inception-v3"), load_system("dgx1-v100")
    plan = plan_of(model, "fp32", placed=2, micro_batch=64)
    assert _core.price(model, machine, plan)["status"] == "feasible"
    found = _core.price(model, machine, plan | other)
    assert (found["status"], found["reason"]) == ("infeasible", "placed")

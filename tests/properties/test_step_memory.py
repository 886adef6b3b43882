"""Laws of the memory of a step."""

from hypothesis import assume, given
from hypothesis import strategies as st

from machine_builder import Machine
from step_strategies import LAWS, cases, even, machines, priced

STATES = ("weights", "gradients", "optimizer")


def stages(found):
    return found["memory_bytes"]["stages"]


def fullest(found, terms):
    return max(sum(stage[term] for term in terms) for stage in stages(found))


@LAWS
@given(cases, st.sampled_from([2, 3]))
def test_larger_micro_batches_need_more_memory(case, times):
    model, plan = case
    assume(even(model, plan))
    larger = plan | {"micro_batch": plan["micro_batch"] * times, "batch": plan["batch"] * times}
    one, other = (priced(model, Machine(), p) for p in (plan, larger))
    for few, many in zip(stages(one), stages(other), strict=True):
        assert all(few[term] <= many[term] for term in few)
    assert one["memory_bytes"]["peak"] < other["memory_bytes"]["peak"]


@LAWS
@given(cases)
def test_more_tensor_ranks_need_no_more_memory(case):
    model, plan = case
    assume(even(model, plan))
    one, other = (priced(model, Machine(), plan | {"tp": tp}) for tp in (1, 2))
    for few, many in zip(stages(other), stages(one), strict=True):
        for term in (*STATES, "activations"):
            assert few[term] <= many[term] * (1 + 1e-12)


@LAWS
@given(cases)
def test_more_stages_need_no_more_memory_for_model_states(case):
    model, plan = case
    one, other = (plan | {"virtual_stages": 1, "pp": pp} for pp in (1, 2))
    assume(even(model, other))
    one, other = (priced(model, Machine(), p) for p in (one, other))
    for term in STATES:
        assert fullest(other, [term]) <= fullest(one, [term])


@LAWS
@given(cases, machines)
def test_computing_again_trades_time_for_memory(case, machine):
    model, plan = case
    assume(even(model, plan))
    none, selective, full = (
        priced(model, machine, plan | {"recompute": mode}) for mode in ("none", "selective", "full")
    )
    assert none["step_s"] <= selective["step_s"] * (1 + 1e-12)
    assert selective["step_s"] <= full["step_s"] * (1 + 1e-12)
    held = [fullest(found, ("activations", "transient")) for found in (none, selective, full)]
    assert held[0] >= held[1] * (1 - 1e-12)
    assert held[1] >= held[2] * (1 - 1e-12)
    assert none["mfu"] >= full["mfu"] * (1 - 1e-12)
    assert full["hfu"] >= full["mfu"]


@LAWS
@given(cases, st.sampled_from([1, 2, 3]))
def test_sharding_needs_less_memory(case, sharding):
    model, plan = case
    plan = plan | {"dp": max(plan["dp"], 2), "sharding": sharding - 1}
    plan["batch"] = plan["dp"] * plan["micro_batch"] * 4
    less, more = (priced(model, Machine(), p) for p in (plan | {"sharding": sharding}, plan))
    for few, many in zip(stages(less), stages(more), strict=True):
        assert sum(few.values()) < sum(many.values())

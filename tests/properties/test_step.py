"""Laws of the price of a step, whatever the model, the machine and the plan."""

import re
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dielet import _core
from dielet.hardware.system import collective_s, load_system
from dielet.model import Model, load_model
from fabric_builder import system as of_tiers
from fabric_builder import tier
from gpt_builder import gpt, plan_of
from machine_builder import RATES, Machine

LAWS = settings(max_examples=200, deadline=None, derandomize=True)
FEW = settings(max_examples=30, deadline=None, derandomize=True)

NETWORKS = ("resnet-50", "vgg-16", "alexnet", "inception-v3", "gnmt", "big-lstm")
SMALL = [1, 2, 4]


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and what a plan must know of it."""

    model: Model
    repeats: tuple[int, ...]
    sequence: int
    recurrent: bool
    routed: bool

    @staticmethod
    def of(model):
        tree = model.to_dict()
        repeats = tuple(segment["repeat"] for segment in tree["segments"])
        recurrent = any(op["work"]["kind"] == "recurrent" for op in tree["ops"])
        routed = any(axis["name"] == "experts" for op in tree["ops"] for axis in op["axes"])
        return Subject(model, repeats, tree["sequence"], recurrent, routed)

    def __repr__(self):
        return repr(self.model)


@cache
def network(name):
    return Subject.of(load_model(name))


@cache
def transformer(**shape):
    return Subject.of(gpt(**shape))


@st.composite
def transformers(draw):
    kv_heads, group = draw(st.sampled_from([1, 2, 4, 8])), draw(st.sampled_from([1, 2, 3]))
    head_dim = draw(st.sampled_from([16, 64]))
    experts = draw(st.sampled_from([0, 0, 0, 4]))
    attention = draw(st.sampled_from(["unfused", "flash"]))
    return transformer(
        layers=draw(st.sampled_from([2, 3, 4, 8])),
        hidden=draw(st.sampled_from([64, 192, 512])),
        heads=kv_heads * group,
        kv_heads=kv_heads,
        head_dim=head_dim,
        ffn=draw(st.sampled_from([96, 256, 1024])),
        vocab=draw(st.sampled_from([512, 3000])),
        sequence=draw(st.sampled_from([32, 100, 256])),
        positions=draw(st.sampled_from([0, 256])),
        gated=draw(st.booleans()),
        norm=draw(st.sampled_from(["layer", "rms"])),
        biases=draw(st.booleans()),
        tied=draw(st.booleans()),
        dropout=draw(st.booleans()),
        attention=attention,
        experts=experts,
        top_k=2 if experts else 0,
        expert_ffn=64 if experts else 0,
    )


models = st.one_of(transformers(), st.sampled_from(NETWORKS).map(network))


@st.composite
def plans(draw, model):
    """Plans that mostly run; memory is ample."""
    dp, micro_batch = draw(st.sampled_from([1, 2, 4, 8])), draw(st.sampled_from([1, 2, 6]))
    pp, micro_batches = draw(st.sampled_from(SMALL)), draw(st.sampled_from([1, 2, 4, 8]))
    return plan_of(
        model.model,
        draw(st.sampled_from(["fp32", "mixed", "bf16"])),
        dp=dp,
        tp=draw(st.sampled_from(SMALL)),
        pp=pp,
        cp=draw(st.sampled_from([1, 1, 2])) if model.sequence and not model.recurrent else 1,
        ep=draw(st.sampled_from([1, 2])) if model.routed else 1,
        virtual_stages=draw(st.sampled_from([1, 2])) if pp > 1 and micro_batches % pp == 0 else 1,
        micro_batch=micro_batch,
        batch=dp * micro_batch * micro_batches,
        schedule=draw(st.sampled_from(["1f1b", "gpipe"])),
        recompute=draw(st.sampled_from(["none", "selective", "full"])),
        sharding=draw(st.sampled_from([0, 1, 2, 3])),
        sequence_parallel=draw(st.booleans()),
        dense_gradients=draw(st.booleans()),
        mapping=draw(st.sampled_from(["tp-cp-dp-pp", "tp-pp-cp-dp"])),
    )


cases = models.flatmap(lambda model: st.tuples(st.just(model), plans(model)))
scales = st.floats(-1.0, 1.0).map(lambda exponent: 10**exponent)
machines = st.builds(
    Machine,
    peak=scales.map(lambda scale: 1e14 * scale),
    memory_bandwidth=scales.map(lambda scale: 1e12 * scale),
    inner_bandwidth=scales.map(lambda scale: 1e11 * scale),
    outer_bandwidth=scales.map(lambda scale: 1e10 * scale),
    kernel_overhead=scales.map(lambda scale: 3e-6 * scale),
    inner=st.sampled_from(["switch", "full", "ring"]),
)


def answer(model, machine, plan):
    return _core.price(model.model, machine.build(), plan)


def priced(model, machine, plan):
    found = answer(model, machine, plan)
    assume(found["status"] == "feasible")
    return found


def even(model, plan):
    """Whether the cut into stages is that of equal blocks, whatever they cost."""
    repeats = [repeat for repeat in model.repeats if repeat > 1]
    stages = plan["pp"] * plan["virtual_stages"]
    return stages == 1 or (len(repeats) == 1 and repeats[0] % stages == 0)


@LAWS
@given(cases, machines, st.sampled_from(RATES), st.floats(1.0, 8.0))
def test_more_of_any_rate_never_slows(case, machine, rate, times):
    model, plan = case
    # Where the cut follows the costs of segments, other costs may choose another one: that is placement.
    assume(even(model, plan))
    before = priced(model, machine, plan)["step_s"]
    after = priced(model, replace(machine, **{rate: getattr(machine, rate) * times}), plan)["step_s"]
    assert after <= before * (1 + 1e-12)


@LAWS
@given(cases, machines, st.floats(1.0, 100.0))
def test_all_rates_times_k_and_delays_over_k_divide_the_time_by_k(case, machine, times):
    model, plan = case
    before = priced(model, machine, plan)
    after = priced(model, machine.faster(times), plan)
    assert after["step_s"] * times == pytest.approx(before["step_s"], rel=1e-9)
    assert after["memory_bytes"] == before["memory_bytes"]


@FEW
@given(cases, machines)
def test_one_device_communicates_with_nobody(case, machine):
    model, plan = case
    plan = plan | {
        "dp": 1,
        "tp": 1,
        "pp": 1,
        "cp": 1,
        "ep": 1,
        "virtual_stages": 1,
        "batch": plan["micro_batch"],
    }
    found = priced(model, machine, plan)
    names = {leaf["name"] for leaf in leaves(found["breakdown"])}
    assert names <= {"forward", "backward", "recompute", "optimizer"}
    assert {part["name"] for part in found["breakdown"]["parts"]} <= {"compute", "data parallel and update"}
    assert found["devices"] == 1


def leaves(tree):
    if not tree["parts"]:
        return [tree]
    return [leaf for part in tree["parts"] for leaf in leaves(part)]


def check_sums(tree):
    assert tree["seconds"] >= 0
    if tree["parts"]:
        # Rust adds the same parts in the same order.
        assert sum(part["seconds"] for part in tree["parts"]) == tree["seconds"]
    for part in tree["parts"]:
        check_sums(part)


@LAWS
@given(cases, machines)
def test_parts_sum_to_the_whole(case, machine):
    found = priced(*case[:1], machine, case[1])
    check_sums(found["breakdown"])
    assert found["step_s"] == found["breakdown"]["seconds"] > 0
    assert np.isfinite(found["step_s"])
    assert found["limit"] in {leaf["name"] for leaf in leaves(found["breakdown"])}
    assert found["samples_per_s"] == pytest.approx(found["plan"]["batch"] / found["step_s"])
    assert 0 <= found["mfu"] <= found["hfu"] <= 1


@FEW
@given(
    st.sampled_from(NETWORKS).map(network),
    machines,
    st.sampled_from(["fp32", "mixed"]),
    st.sampled_from([4, 12]),
)
def test_the_search_and_the_answer_agree_bit_for_bit(model, machine, precision, worker_batch):
    system = machine.build()
    for plan, step in best_workers(model, system, precision, worker_batch, [1, 2, 4], [1, 2, 4, 7, 8, 24]):
        assert _core.price(model.model, system, plan)["step_s"] == step


def best_workers(model, system, precision, worker_batch, mp, devices):
    request = {
        "mp": mp,
        "worker_batch": worker_batch,
        "sequence": model.sequence,
        "precision": precision,
        "dense_gradients": False,
        "tp": [],
        "pp": [],
    }
    found = _core.workers(model.model, system, request, np.array(devices, dtype=np.uint64))
    for column in found["columns"]:
        for step, index in zip(column["step_s"], column["plan"], strict=True):
            if index >= 0:
                yield found["plans"][index]["plan"], step
    counts = found["counts"]
    left_out = sum(counts["infeasible"].values()) + sum(counts["pruned"].values())
    assert counts["space"] == counts["priced"] + left_out


@LAWS
@given(cases, machines)
def test_a_worker_of_one_device_is_data_parallelism(case, machine):
    model, plan = case
    alone = {"tp": 1, "pp": 1, "cp": 1, "ep": 1, "placed": 1, "virtual_stages": 1}
    plan = plan | alone
    step = priced(model, machine, plan)["step_s"]
    for other in ({"mapping": "tp-pp-cp-dp"}, {"mapping": "tp-cp-dp-pp"}):
        assert priced(model, machine, plan | other)["step_s"] == step
    for other in ({"sequence_parallel": True}, {"sequence_parallel": False}):
        assert priced(model, machine, plan | other)["step_s"] == step
    for other in ({"schedule": "gpipe"}, {"schedule": "1f1b"}):
        # The same passes, added up in another order.
        assert priced(model, machine, plan | other)["step_s"] == pytest.approx(step, rel=1e-12)


@FEW
@given(cases, machines)
def test_names_change_nothing(case, machine):
    model, plan = case
    one, other = (priced(model, replace(machine, names=names), plan) for names in ("a", "zzz"))
    assert one == other


CUBE_MESH = [
    (0, 1, 1),
    (0, 2, 1),
    (0, 3, 2),
    (1, 2, 2),
    (1, 3, 1),
    (2, 3, 2),
    (4, 5, 1),
    (4, 6, 1),
    (4, 7, 2),
    (5, 6, 2),
    (5, 7, 1),
    (6, 7, 2),
    (0, 4, 2),
    (1, 5, 2),
    (2, 6, 1),
    (3, 7, 1),
]


@FEW
@given(st.permutations(range(8)), st.sampled_from(["resnet-50", "gnmt"]).map(network))
def test_other_numbers_for_the_devices_of_a_graph_change_nothing(order, model):
    steps = set()
    for numbers in (range(8), order):
        links = [[numbers[a], numbers[b], n] for a, b, n in CUBE_MESH]
        machine = of_tiers(tier("graph", 8, bandwidth=2.5e10, latency=1e-6, links=links))
        steps.add(
            _core.price(model.model, machine, plan_of(model.model, "fp32", micro_batch=2, dp=8))["step_s"]
        )
    assert len(steps) == 1


@FEW
@given(machines, st.sampled_from([2, 4, 8, 16, 64]))
def test_a_reduction_takes_at_least_what_its_bytes_take(machine, dp):
    """GNMT's trainer reduces after the backward pass: nothing is hidden. A rank sends and receives at least
    2 (n - 1) / n of its gradients; the tiers it has there carry no more than all their links."""
    model = network("gnmt")
    plan = plan_of(model.model, "fp32", micro_batch=8, dp=dp)
    found = priced(model, machine, plan)
    (reduction,) = (leaf for leaf in leaves(found["breakdown"]) if leaf["name"] == "gradient reduction")
    links = {"switch": 1, "full": 7, "ring": 2}[machine.inner]
    gradients = 4 * model.model.parameters()["total"]
    least = 2 * (min(dp, 8) - 1) / min(dp, 8) * gradients / (links * machine.inner_bandwidth)
    assert reduction["seconds"] >= least
    alone = collective_s(machine.build(), "all-reduce", gradients, devices=dp)[0]
    assert reduction["seconds"] >= alone * (1 - 1e-12)


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


def number(text, pattern):
    (found,) = re.findall(pattern, text)
    return float(found.replace(",", ""))


def nearer(found, plan, machine):  # noqa: C901, PLR0911 (one case per reason)
    """The plan and machine that the answer proposes."""
    text, model_stages = found["nearest"], plan["pp"] * plan["virtual_stages"]
    match found["reason"]:
        case "tensor":
            return plan | {"tp": int(number(text, r"^tp (\d+)"))}, machine
        case "batch":
            return plan | {"batch": int(number(text, r"^batch (\d+)"))}, machine
        case "devices":
            plan = plan | {"dp": int(number(text, r"^dp at most (\d+)"))}
            return plan | {"batch": plan["dp"] * plan["micro_batch"] * plan["pp"]}, machine
        case "stages":
            assert model_stages > number(text, r"at most (\d+)")
            return plan | {"virtual_stages": 1, "pp": int(number(text, r"at most (\d+)"))}, machine
        case "interleaving":
            return plan | {"virtual_stages": int(number(text, r"^virtual stages (\d+)"))}, machine
        case "experts":
            return plan | {"ep": 1}, machine
        case "context":
            return plan | {"cp": int(number(text, r"^cp (\d+)"))}, machine
        case "time_chunks":
            return plan | {"time_chunks": int(number(text, r"^time chunks (\d+)"))}, machine
        case "memory" if plan["placed"] > 1:
            assert text == "more devices per worker"
            return plan | {"placed": 1}, machine
        case "memory":
            return plan, replace(machine, memory_gib=number(text, r"a device with ([\d.]+) GiB"))
        case "placed":
            return plan | {"placed": int(number(text, r"^placed (\d+)"))}, machine
    raise AssertionError(found)


@st.composite
def rough_plans(draw, model):
    """Plans of which many cannot run."""
    some = st.integers(1, 12)
    plan = draw(plans(model)) | {
        "cp": draw(st.sampled_from([1, 1, 1, 3])),
        "tp": draw(some),
        "pp": draw(some),
    }
    plan |= {"virtual_stages": draw(st.integers(1, 4)), "batch": draw(st.integers(1, 100))}
    plan |= {"ep": draw(st.sampled_from([1, 1, 3])), "time_chunks": draw(st.sampled_from([1, 1, 1, 5]))}
    return plan | {"placed": draw(st.sampled_from([1, 1, 1, 2]))}


rough = models.flatmap(lambda model: st.tuples(st.just(model), rough_plans(model)))


@LAWS
@given(rough, st.sampled_from([1e6, 0.01]))
def test_what_cannot_run_says_why_and_what_would(case, memory_gib):
    """Every proposal removes its own obstacle; following them all ends in a plan that runs."""
    model, plan = case
    machine = Machine(memory_gib=memory_gib)
    seen = []
    found = answer(model, machine, plan)
    while found["status"] == "infeasible":
        # A placement that does not fit is followed by one device, which does not either.
        assert found["reason"] not in seen or found["reason"] == "memory", (
            f"{found['reason']} again: {found['nearest']}"
        )
        assert (
            found["needs"] > found["has"] if found["reason"] == "memory" else found["needs"] != found["has"]
        )
        assert len(seen) < 12
        seen.append(found["reason"])
        plan, machine = nearer(found, plan, machine)
        found = answer(model, machine, plan)


def test_more_devices_than_there_are():
    model = network("resnet-50").model
    machine = of_tiers(tier("switch", 8))
    for plan, nearest in (
        ({"dp": 6, "pp": 2}, "dp at most 4"),
        ({"pp": 12, "batch": 12}, "at most 8 devices per worker"),
    ):
        found = _core.price(model, machine, plan_of(model, "fp32", micro_batch=1, **plan))
        assert (found["reason"], found["needs"], found["has"]) == ("devices", 12, 8)
        assert found["nearest"] == nearest


@pytest.mark.parametrize(
    "wild",
    [
        {"dp": 2**40, "tp": 2**40},
        {"tp": 2**40},
        {"batch": 2**63},
        {"batch": 0},
        {"dp": 0},
        {"sequence": 2**62},
        {"virtual_stages": 2**61, "pp": 16},
        {"micro_batch": 2**63},
        {"sharding": 4},
        {"pp": 2**62},
    ],
)
def test_wild_numbers_are_refused_at_once(wild):
    model = network("gnmt").model
    found = _core.price(model, load_system("dgx1-v100"), plan_of(model, "fp32") | wild)
    assert found["status"] == "infeasible", wild

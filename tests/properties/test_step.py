"""Laws of the price of a step, whatever the model, the machine and the plan."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dielet import _core
from dielet.hardware.system import collective_s
from fabric_builder import system as of_tiers
from fabric_builder import tier
from gpt_builder import plan_of
from machine_builder import RATES
from step_strategies import FEW, LAWS, NETWORKS, cases, even, machines, network, priced


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
        steps.add(_core.price(model.model, machine, plan_of(model.model, "fp32", micro_batch=2, dp=8))["step_s"])
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

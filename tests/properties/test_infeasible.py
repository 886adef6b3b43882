"""What cannot run says why, and what would."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dielet import _core
from dielet.hardware.system import load_system
from fabric_builder import system as of_tiers
from fabric_builder import tier
from gpt_builder import plan_of
from machine_builder import Machine
from step_strategies import LAWS, answer, models, network, plans


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
        assert found["needs"] > found["has"] if found["reason"] == "memory" else found["needs"] != found["has"]
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

"""Collectives through the public API: what is chosen, what is refused."""

import numpy as np
import pytest

from dielet.errors import PlanError
from dielet.hardware.system import OPERATIONS, collective_s, collectives, load_system
from fabric_builder import system, tier


def test_a_single_rank_costs_nothing() -> None:
    for operation in OPERATIONS:
        answer = collectives(load_system("dgx-a100"), operation, [0.0, 1e9], devices=64, size=1, stride=8)
        assert answer.seconds.tolist() == [0.0, 0.0]
        assert answer.joules.tolist() == [0.0, 0.0]
        assert answer.algorithms == ["none", "none"]


def test_the_algorithm_follows_the_size() -> None:
    many = collectives(load_system("dgx-a100"), "all-reduce", [1e3, 1e10], devices=1024)
    assert many.algorithms == ["tree", "ring"]
    eight = collectives(load_system("dgx-h100"), "all-reduce", [1e3, 1e9], devices=8)
    assert eight.algorithms == ["ring", "in-switch"]
    wafer = collectives(load_system("si-if-waferscale-24"), "all-reduce", [1e3, 1e6], devices=24)
    assert wafer.algorithms == ["per-dimension", "per-dimension"]


def test_the_least_of_the_algorithms_is_taken() -> None:
    machine, sizes = load_system("dgx-h100"), np.geomspace(1e2, 1e10, 30)
    best = collective_s(machine, "all-reduce", sizes, devices=64)
    names = ["ring", "tree", "chain", "hierarchical", "per-dimension", "direct", "in-switch"]
    columns = [collectives(machine, "all-reduce", sizes, devices=64, algorithm=name).seconds for name in names]
    assert np.array_equal(best, np.nanmin(columns, axis=0))


def test_energy_is_bits_times_hops() -> None:
    machine = system(tier("switch", 8))
    for operation, passes in (("all-reduce", 2), ("all-gather", 1), ("reduce-scatter", 1), ("all-to-all", 1)):
        answer = collectives(machine, operation, [1e9], devices=8)
        assert answer.joules[0] == pytest.approx(passes * 7 * 1e9 * 8 * 1e-12)


def test_a_message_to_the_next_node_uses_one_port() -> None:
    machine = system(tier("switch", 8, bandwidth=1e12), tier("switch", None, bandwidth=8e9, ports=8))
    one = collective_s(machine, "point-to-point", [1e9], devices=16, size=16, stride=1)
    assert one[0] == pytest.approx(1.0)
    eight_at_once = collective_s(machine, "point-to-point", [1e9], devices=16, size=2, stride=8)
    assert eight_at_once[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ({"devices": 0}, "`devices = 0` is out of range"),
        ({"devices": -3}, "`devices = -3` is out of range"),
        ({"devices": 8, "size": 4, "stride": 4}, "a group of 4 ranks, 4 apart, does not fit 8 devices"),
        ({"devices": 8, "size": 0}, "`size = 0` is out of range"),
    ],
)
def test_a_group_that_cannot_be(group: dict[str, int], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        collective_s(load_system("dgx-a100"), "all-reduce", [1e6], **group)


def test_what_is_no_operation_or_message() -> None:
    machine = load_system("dgx-a100")
    with pytest.raises(PlanError, match="unknown variant `all-sum`"):
        collective_s(machine, "all-sum", [1e6], devices=8)
    for bad in (-1.0, float("nan"), float("inf")):
        with pytest.raises(PlanError, match="negative or not finite"):
            collective_s(machine, "all-reduce", [bad], devices=8)


def test_more_devices_than_the_fabric_joins() -> None:
    machine = system(tier("switch", 8))
    with pytest.raises(PlanError, match="9 devices do not fit: the fabric joins 8"):
        collective_s(machine, "all-reduce", [1e6], devices=9)

"""Fabrics: groups on graphs, placement, swapping the innermost tier, refusals."""

import pytest

from dielet.errors import FileError, SpecError
from dielet.hardware.system import collectives, fabric_names, load_fabric, load_system
from fabric_builder import system, tier

GIB = 2.0**30


def bus(name: str, devices: int, size: int, stride: int = 1) -> float:
    """Bus bandwidth of an all-reduce of 1 GiB in GB/s."""
    answer = collectives(load_system(name), "all-reduce", [GIB], devices=devices, size=size, stride=stride)
    return 2 * (size - 1) / size * GIB / float(answer.seconds[0]) / 1e9


def test_four_pairs_of_a_dgx1_find_the_double_links() -> None:
    first = collectives(load_system("dgx1-v100"), "all-reduce", [GIB], devices=2, placed=False)
    assert bus("dgx1-v100", 8, 2) == pytest.approx(2 * GIB / float(first.seconds[0]) / 1e9, rel=0.01)


def test_groups_across_pairs_of_a_dgx1_keep_two_rings() -> None:
    assert bus("dgx1-v100", 8, 4, stride=2) >= 0.45 * bus("dgx1-v100", 8, 4)


def test_twelve_devices_take_two_nodes() -> None:
    machine = load_system("dgx-a100")
    eight, twelve, sixteen = (
        float(collectives(machine, "all-reduce", [1e9], devices=count).seconds[0]) for count in (8, 12, 16)
    )
    assert eight < twelve
    assert twelve >= sixteen, "six of the eight network cards"


def test_a_strided_group_shares_the_network_cards_of_its_node() -> None:
    alone = bus("dgx-a100", 64, 64)
    shared = bus("dgx-a100", 64, 8, stride=8)
    assert shared == pytest.approx(alone / 8, rel=0.1)


@pytest.mark.parametrize("name", fabric_names())
@pytest.mark.parametrize("machine", ["dgx1-v100", "dgx2-v100", "si-if-waferscale-24", "tpu-v4"])
def test_any_fabric_replaces_any_innermost_tier(name: str, machine: str) -> None:
    before = load_system(machine)
    after = load_system(machine, fabric=name)
    members = [one.to_dict()["tiers"][0]["members"]["value"] for one in (before, after)]
    assert members[0] == members[1], "as many devices as before"
    assert after.capacity == before.capacity
    answer = collectives(after, "all-reduce", [1e3, 1e9], devices=members[0])
    assert (answer.seconds > 0).all()
    assert after.name == f"{machine} on {name}"


def test_fabrics_differ_by_their_wires() -> None:
    times = {
        name: float(
            collectives(load_system("si-if-waferscale-24", fabric=name), "all-reduce", [1e9], devices=24).seconds[0]
        )
        for name in ("pcb", "si-if")
    }
    assert times["si-if"] < times["pcb"]


@pytest.mark.parametrize(
    ("tiers", "said"),
    [
        (["switch", "switch", "switch", "switch", "switch"], "a fabric has 1 to 4 tiers, not 5"),
        ([None, "switch"], "tier `switch` has no `members`: only the outermost tier joins any number"),
    ],
)
def test_tiers_that_cannot_be(tiers: list[str | None], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        system(*(tier(kind or "switch", 2 if kind else None) for kind in tiers))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (tier("mesh", 6, shape=[2, 2]), "tier `mesh` has 6 members, but its mesh joins 4"),
        (tier("mesh", 6, shape=[6]), r"`shape = \[6\]` is out of range: a mesh has"),
        (tier("switch", 6, efficiency=1.5), "`efficiency = 1.5` is out of range: above 0, at most 1"),
        (tier("switch", 6, bandwidth=0.0), "`bandwidth = .*` is out of range: above 0"),
        (tier("switch", 6, ports=0), "`ports = 0` is out of range: at least 1"),
        (tier("graph", 4, links=[[0, 1, 1], [2, 3, 1]]), "its links do not join all members"),
        (tier("graph", 4, links=[[0, 1, 1], [1, 4, 1]]), r"link \[1, 4, 1\] must join two different members"),
        (tier("graph", 9, links=[[0, 8, 1]]), "a graph joins 2 to 8 members, not 9"),
        (
            tier("switch", 6, bandwith='"1 GB/s"'),
            r"test.toml: unknown key `tiers\[0\].bandwith`: did you mean `bandwidth`",
        ),
        (tier("swich", 6), "did you mean `switch`"),
    ],
)
def test_a_tier_that_cannot_be(wrong: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        system(wrong)


def test_an_unknown_fabric_names_the_known() -> None:
    with pytest.raises(FileError, match="fabric `copper` is neither a file nor one of cowos, mcm"):
        load_fabric("copper")

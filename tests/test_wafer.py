"""Wafers through the public API: packing with proof, limits, yields, cost."""

import itertools
import json
import math

import numpy as np
import pytest

from dielet.errors import SpecError
from dielet.technology import load_packaging, packaging_names, wafer


def most_on_a_grid(side: float, gap: float, diameter: float, offsets: int = 81) -> int:
    """Brute force: the dies whose corners lie inside, over many offsets of the grid."""
    step, radius = side + gap, diameter / 2
    k = np.arange(-math.ceil(diameter / step), math.ceil(diameter / step) + 1) * step
    best = 0
    for dx, dy in itertools.product(np.linspace(0, step, offsets), repeat=2):
        far_x = np.maximum(np.abs(k + dx), np.abs(k + dx + side))
        far_y = np.maximum(np.abs(k + dy), np.abs(k + dy + side))
        best = max(best, int((np.hypot(far_x[:, None], far_y) <= radius * (1 + 1e-12)).sum()))
    return best


@pytest.mark.parametrize("side_mm", [10.0, 12.0, 22.4, 26.5, 33.0, 61.7])
@pytest.mark.parametrize("diameter_mm", [282.0, 300.0])
def test_no_sampled_grid_holds_more_and_the_bound_is_met(side_mm: float, diameter_mm: float) -> None:
    answer = wafer(f"{side_mm}mmx{side_mm}mm", gap="0.1mm", usable_diameter=f"{diameter_mm}mm")["limits"]
    sampled = most_on_a_grid(side_mm, 0.1, diameter_mm)
    assert answer["grid"] == answer["grid_bound"]
    assert sampled <= answer["grid"] <= sampled + 2
    assert answer["rows"] >= answer["grid"]


@pytest.mark.parametrize(
    ("side_mm", "diameter_mm", "published"),
    [
        (1, 300, 57_933),
        (2, 300, 15_768),
        (5, 300, 2_611),
        (1, 282, 51_176),
        (2, 282, 13_916),
        (5, 282, 2_305),
    ],
)
def test_gross_dies_of_the_reference_table(side_mm: float, diameter_mm: float, published: int) -> None:
    """The table sampled offsets; the proven optimum is the same or a little above."""
    answer = wafer(f"{side_mm}mmx{side_mm}mm", gap="0.1mm", usable_diameter=f"{diameter_mm}mm")["limits"]
    assert published <= answer["grid"] <= published * 1.001
    assert answer["grid"] == answer["grid_bound"]


def test_the_tightest_limit_is_named() -> None:
    module = {"power": "270W", "regulator_efficiency": 0.85}
    assert wafer("700mm2")["limited_by"] == "area"
    assert wafer("700mm2", reserve="20000mm2")["dies"] in (71, 72)
    assert wafer("700mm2", power_limit="9300W", **module)["limited_by"] == "power"
    hot = wafer("100mm2", power="100W", regulator_efficiency=0.85)
    assert (hot["limited_by"], hot["dies"]) == ("cooling", hot["limits"]["cooling"])
    assert wafer("800mm2", substrate="300mmx300mm", external="51.2Tbit/s")["limited_by"] == "edge"


def test_serdes_at_the_edge_leave_a_switch_wafer_two_ports_in_thirty_two() -> None:
    """1200 mm of edge at 512 Gbit/s/mm feed 12 chips of 51.2 Tbit/s one way or the other, though 100 fit."""
    answer = wafer("800mm2", substrate="300mmx300mm", external="51.2Tbit/s")
    assert (answer["limits"]["grid"], answer["dies"]) == (100, 12)


def test_spares_raise_the_yield_of_the_system() -> None:
    plain, spared = (wafer("100mm2", spares=n, pillars=1, pads=500)["yield"]["system"] for n in (0, 40))
    assert plain < spared
    assert spared == pytest.approx(wafer("100mm2")["yield"]["substrate"], rel=0.2)


def test_yields_of_small_dielets() -> None:
    for area, share in (
        (1, 0.9990),
        (4, 0.9960),
        (9, 0.9911),
        (25, 0.9755),
        (100, 0.907),
        (500, 0.640),
        (800, 0.510),
    ):
        assert wafer(f"{area}mm2", defect_density="0.1/cm2")["yield"]["die"] == pytest.approx(share, abs=6e-4)


def test_an_edge_fed_wafer_of_modules_is_warned_of() -> None:
    prototype = wafer("7.56mm2", usable_diameter="139mm", power="0.175W", supply="2.5V")
    module = wafer("700mm2", power="270W", power_limit="9.3kW")
    assert module["edge_fed_drop_v"] > module["supply_v"]
    assert "feed through the wafer" in module["notes"][0]
    assert prototype["edge_fed_drop_v"] < prototype["supply_v"]


def test_cost_parts_add_up() -> None:
    for process in packaging_names():
        answer = wafer("100mm2", process=process)
        cost = answer["cost"]
        once = cost["dies_usd"] + cost["substrate_usd"] + cost["bonding_usd"]
        assert once + cost["scrap_usd"] == pytest.approx(cost["total_usd"], rel=1e-12)
        assert once / answer["yield"]["system"] == pytest.approx(cost["total_usd"], rel=1e-12)
        json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize("name", packaging_names())
def test_every_number_of_a_process_has_a_source(name: str) -> None:
    entries = [entry for entry in load_packaging(name).to_dict().values() if isinstance(entry, dict)]
    assert len(entries) > 20
    assert all(entry["source"] and entry["confidence"] != "stated" for entry in entries)


@pytest.mark.parametrize(
    ("die", "asked", "part"),
    [
        ("500", {}, "has no unit"),
        ("500 acres", {}, "no unit of area"),
        ("2mx2m", {}, "a die side of 2.00 m is outside"),
        ("500mm2", {"power": "270"}, "has no unit"),
        ("500mm2", {"regulator_efficiency": 1.5}, "a regulator efficiency of 1.5 is outside"),
        ("500mm2", {"spares": -1}, "spares"),
    ],
)
def test_what_cannot_be_says_why(die: str, asked: dict[str, object], part: str) -> None:
    with pytest.raises(SpecError, match=part):
        wafer(die, **asked)

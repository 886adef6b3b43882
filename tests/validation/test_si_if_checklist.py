"""The checklist of the Si-IF reference: seventeen rows with their tolerances, printed as a table (-s)."""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dielet import _core
from dielet.technology import fabric, limits, load_technology, wafer

sys.path.insert(0, str(Path(__file__).parents[1] / "oracles"))
from field_solver import EPS0, bus_capacitance

PITCHES = [2e-6, 3e-6, 4e-6, 5e-6, 7e-6, 10e-6]


@dataclass(frozen=True)
class Row:
    number: int
    what: str
    claimed: float
    ours: float
    holds: bool
    rule: str


def near(number: int, what: str, claimed: float, ours: float, tolerance: float) -> Row:
    return Row(number, what, claimed, ours, abs(ours / claimed - 1) <= tolerance, f"within {tolerance:.4%}")


def bounded(number: int, what: str, claimed: float, ours: float, *, above: bool) -> Row:
    holds = ours >= claimed if above else ours <= claimed
    return Row(number, what, claimed, ours, holds, "at least" if above else "at most")


def link_of_2017() -> Iterator[Row]:
    points = fabric("si-if-2017", frequency_points=0)["references"]
    for point in points:
        place = f"{point['length_m']:.1e} m at {point['pitch_m']:.0e} m"
        yield near(1, f"latency {place}", point["published_latency_s"], point["latency_s"], 0.03)
    for point, tolerance in zip(points, (0.05, 0.12), strict=True):
        place = f"{point['length_m']:.1e} m at {point['pitch_m']:.0e} m"
        yield near(2, f"energy {place}", point["published_energy_j_per_bit"], point["energy_j_per_bit"], tolerance)


def loss_and_crosstalk() -> Iterator[Row]:
    handle = load_technology("si-if")
    pitch = np.array(PITCHES)
    length = np.full(len(PITCHES), 500e-6)
    to_20 = handle.response(pitch, length, np.geomspace(0.1e9, 20e9, 100))
    at_30 = handle.response(pitch, length, np.array([30e9]))
    yield bounded(3, "worst loss to 20 GHz (dB)", -2, to_20["insertion_loss_db"].min(), above=True)
    yield bounded(4, "worst near-end crosstalk to 20 GHz (dB)", -15, to_20["near_end_crosstalk_db"].max(), above=False)
    yield bounded(5, "worst loss at 30 GHz (dB)", -2, at_30["insertion_loss_db"].min(), above=True)


def modern_node() -> Iterator[Row]:
    for pitch in ("2um", "4um", "10um"):
        link = fabric("si-if", pitch=pitch, length="500um", frequency_points=0)
        rate, latency, energy = (link[k] for k in ("data_rate_bit_per_s_per_wire", "latency_s", "energy_j_per_bit"))
        yield bounded(6, f"rate at {pitch} (bit/s)", 10e9, rate * (1 + 1e-9), above=True)
        yield bounded(6, f"latency at {pitch} (s)", 30e-12 * 1.2, latency, above=False)
        yield near(6, f"energy at {pitch}, of 0.03 to 0.04 pJ/bit", min(max(energy, 0.03e-12), 0.04e-12), energy, 0.2)


def density() -> Iterator[Row]:
    thesis = fabric("si-if", pitch="2.5um", layers=2, length="50um", frequency_points=0)
    yield near(7, "800 wires/mm of 10 Gbit/s (bit/s/m)", 8e15, thesis["edge_bandwidth_bit_per_s_per_m"], 1e-9)
    for pitch, gain in (("10um", 5), ("2um", 25)):
        yield near(
            8,
            f"gain of {pitch} on 50 um",
            gain,
            fabric("si-if", pitch=pitch, frequency_points=0)["pitch_gain"],
            1e-9,
        )
    hpca = _core.perimeter_bandwidth(500e-6, 4e-6, 1, 2.2e9)
    yield near(9, "500 mm2 at 4 um, 2.2 Gbit/s, a layer (B/s)", 6.15e12, hpca, 0.03)
    yield near(10, "4 um, 4 layers, 3.2 Gbit/s (bit/s/m)", 3200e12, _core.edge_bandwidth(4e-6, 4, 3.2e9), 1e-9)


def bonds_and_power() -> Iterator[Row]:
    tile = wafer("3.15mmx2.4mm", pads=2050, pillar_yield=0.9999, pillars=2)["yield"]
    yield near(11, "bond yield, one pillar", 0.8146, tile["bond_single_pillar"], 1e-4)
    yield near(11, "bond yield, two pillars", 0.99998, tile["bond"], 1e-6)
    for limit, modules in (("9.3kW", 29), ("7.6kW", 23), ("5.85kW", 18)):
        answer = wafer("700mm2", power="270W", power_limit=limit, regulator_efficiency=0.85)
        yield near(12, f"modules under {limit}", modules, answer["dies"], 0)
    for layers, share in ((1, 0.9605), (2, 0.9226), (4, 0.8511)):
        answer = wafer("700mm2", layers=layers, utilisation=0.1, usable_diameter="300mm")["yield"]
        yield Row(13, f"yield of {layers} layers", share, answer["substrate"],
                  abs(answer["substrate"] - share) <= 1e-4, "within 1e-4")  # fmt: skip


def packing() -> Iterator[Row]:
    answer = wafer("12mmx12mm", gap="100um", usable_diameter="282mm")["limits"]
    yield near(14, "12 mm dies on 282 mm, one grid", 392, answer["grid"], 0.03)
    yield near(14, "12 mm dies on 282 mm, sliding rows", 392, answer["rows"], 0.03)
    clos = wafer("800mm2", gap="100um", substrate="300mmx300mm")
    yield bounded(15, "800 mm2 chips on 300 x 300 mm", 96, clos["limits"]["grid"], above=True)
    yield near(15, "silicon share of 96 of them", 0.853, 96 * clos["die_area_m2"] / clos["substrate_area_m2"], 0.001)
    npus = wafer("1314mm2", power="700W", power_limit="15kW", regulator_efficiency=1.0)
    yield near(16, "NPUs by power", 21, npus["limits"]["power"], 0)
    yield near(16, "NPUs in a mesh", 20, math.prod(npus["mesh"]), 0)


def sakurai() -> Iterator[Row]:
    sections = [
        (1, 1, 1, 1),
        (1, 1, 2, 1),
        (2, 2, 1, 1),
        (2, 2, 2, 1.5),
        (2.5, 2.5, 2, 2),
        (5, 5, 2, 2),
        (3, 7, 2, 3),
    ]
    columns = [np.array(column) * 1e-6 for column in zip(*sections, strict=True)]
    published = _core.wire_columns(*columns)["sakurai_c_f_per_m"]
    for section, ours in zip(sections, published, strict=True):
        solved = bus_capacitance(*section)[2, 2] * 3.9 * EPS0
        yield near(17, f"Sakurai on the solver, w s t h = {section}", solved, ours, 0.04)


SOURCES = (link_of_2017, loss_and_crosstalk, modern_node, density, bonds_and_power, packing, sakurai)


def test_the_seventeen_rows_hold() -> None:
    rows = [row for source in SOURCES for row in source()]
    print()
    for row in rows:
        verdict = "holds" if row.holds else "FAILS"
        print(f"{row.number:2d}  {row.what:48s} {row.claimed:12.5g} {row.ours:12.5g}  {row.rule:16s} {verdict}")
    assert {row.number for row in rows} == set(range(1, 18))
    assert not [row for row in rows if not row.holds]


@pytest.mark.parametrize("pitch_m", PITCHES)
def test_the_abstract_fails_without_a_plane_and_shields_mend_it(pitch_m: float) -> None:
    by_return = {row["return"]: row["limits"] for row in limits(pitch_m=[pitch_m])}
    assert by_return["distant"]["crosstalk_15db_hz"] < 20e9
    assert by_return["plane"]["crosstalk_15db_hz"] is None or by_return["plane"]["crosstalk_15db_hz"] > 20e9
    assert by_return["distant-and-shields"]["crosstalk_15db_hz"] is None


def test_the_latency_is_mostly_transceiver() -> None:
    near_point, far_point = fabric("si-if-2017", frequency_points=0)["references"]
    growth = far_point["latency_s"] - near_point["latency_s"]
    assert 1e-12 < growth < 5e-12


def test_fifteen_per_cent_of_power_needs_a_sixth_of_it_in_links() -> None:
    assert _core.share_needed(0.15, 10e-12, 0.3e-12) == pytest.approx(0.1546, abs=1e-4)
    assert _core.power_saving(0.155, 10e-12, 0.3e-12) > 0.15


def test_twentyfold_needs_a_kernel_bound_by_bandwidth() -> None:
    assert _core.roofline_gain(0.04, 25) > 20
    assert _core.roofline_gain(0.5, 25) < 20

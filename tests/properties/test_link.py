"""What must hold of every link and wafer, whatever its geometry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dielet import _core
from dielet.technology import fabric, load_technology, wafer

UM = 1e-6
pitches = st.floats(2, 10).map(lambda x: x * UM)
lengths = st.floats(50, 500).map(lambda x: x * UM)


@settings(deadline=None, max_examples=40)
@given(pitch=pitches, length=lengths, more=st.floats(1.05, 1.9))
def test_a_longer_wire_is_slower_dearer_and_lossier(pitch: float, length: float, more: float) -> None:
    short, long = (fabric("si-if", pitch=pitch, length=x, frequency=5e9, frequency_to=5e9, frequency_points=1)
                   for x in (length, length * more))  # fmt: skip
    assert long["latency_s"] > short["latency_s"]
    assert long["energy_j_per_bit"] > short["energy_j_per_bit"]
    assert long["insertion_loss_db"][0] < short["insertion_loss_db"][0] < 0


@settings(deadline=None, max_examples=40)
@given(pitch=pitches, length=lengths, shielded=st.booleans(), reference=st.floats(20, 100))
def test_a_passive_bus_gives_back_no_more_than_it_takes(
    pitch: float, length: float, shielded: bool, reference: float
) -> None:
    columns = load_technology("si-if").response(
        np.array([pitch]), np.array([length]), np.geomspace(1e8, 1e11, 50), shielded, reference
    )
    power = sum(10 ** (columns[key] / 10) for key in (
        "insertion_loss_db", "near_end_crosstalk_sum_db", "far_end_crosstalk_sum_db"))  # fmt: skip
    assert np.all(power <= 1 + 1e-9)
    assert columns["near_end_crosstalk_sum_db"] - columns["near_end_crosstalk_db"] == pytest.approx(3.0103, abs=1e-4)


@settings(deadline=None, max_examples=60)
@given(
    w=st.floats(0.2, 5),
    s=st.floats(0.2, 4),
    t=st.floats(0.3, 2),
    h=st.floats(0.8, 2),
    scale=st.floats(0.1, 10),
)
def test_capacitance_depends_on_ratios_alone(w: float, s: float, t: float, h: float, scale: float) -> None:
    def columns(factor: float) -> dict[str, np.ndarray]:
        return _core.wire_columns(*(np.array([x * factor * UM]) for x in (w, s, t, h)))

    one, other = columns(1), columns(scale)
    for key in ("c_f_per_m", "c_coupling_f_per_m", "l_h_per_m"):
        assert other[key][0] == pytest.approx(one[key][0], rel=1e-9)


@settings(deadline=None, max_examples=30)
@given(pitch=pitches, length=lengths)
def test_shields_quieten_the_bus_and_halve_its_signals(pitch: float, length: float) -> None:
    frequency = {"frequency": 10e9, "frequency_to": 10e9, "frequency_points": 1}
    plain, quiet = (fabric("si-if", pitch=pitch, length=length, shielded=x, **frequency) for x in (False, True))
    assert quiet["near_end_crosstalk_db"][0] < plain["near_end_crosstalk_db"][0]
    assert quiet["edge_bandwidth_bit_per_s_per_m"] <= plain["edge_bandwidth_bit_per_s_per_m"]
    assert quiet["eye"]["opening"] > plain["eye"]["opening"]


@settings(deadline=None, max_examples=30)
@given(side=st.floats(5, 60), diameter=st.floats(150, 300), more=st.floats(1.01, 1.3))
def test_a_larger_wafer_or_a_smaller_die_holds_no_fewer(side: float, diameter: float, more: float) -> None:
    def dies(a: float, d: float) -> int:
        return wafer(f"{a}mmx{a}mm", gap="0.1mm", usable_diameter=f"{d}mm")["limits"]["grid"]

    assert dies(side, diameter) <= dies(side, diameter * more)
    assert dies(side * more, diameter) <= dies(side, diameter)


@settings(deadline=None, max_examples=30)
@given(y=st.floats(0.99, 1), pads=st.integers(1, 5000), spares=st.integers(0, 5))
def test_a_second_pillar_and_a_spare_never_hurt(y: float, pads: int, spares: int) -> None:
    asked = {"pads": pads, "pillar_yield": y}
    one, two = (wafer("100mm2", pillars=k, **asked)["yield"]["bond"] for k in (1, 2))
    assert two >= one
    few, many = (wafer("2000mm2", spares=k, **asked)["yield"]["system"] for k in (spares, spares + 1))
    assert 0 <= few <= many <= 1

"""Links against scikit-rf: cascading a line of two halves, and another reference impedance."""

import sys
from pathlib import Path

import numpy as np
import pytest
import skrf

from dielet import _core

sys.path.insert(0, str(Path(__file__).parent))
import field_solver as solver
from coupled_lines import resistance, s_matrix

FREQUENCY = np.array([1e9, 5e9, 10e9, 20e9, 30e9])
WIRE = (2e-6, 2e-6, 2e-6, 1.5e-6)
EPS = 3.9 * solver.EPS0


def network(length: float, reference: float) -> skrf.Network:
    """The five-wire bus as ten ports, near then far, from the solver's matrices."""
    w, s, t, h = WIRE
    c = solver.bus_capacitance(w, s, t, h) * EPS
    inductance = solver.MU0 * EPS * np.linalg.inv(c)
    matrices = [
        s_matrix(c, inductance, resistance(w, t, f), 2 * np.pi * f * 0.001 * c, length, f, reference) for f in FREQUENCY
    ]
    return skrf.Network(frequency=skrf.Frequency.from_f(FREQUENCY, unit="hz"), s=np.array(matrices), z0=reference)


def ours(length: float, reference: float) -> dict[str, np.ndarray]:
    return _core.bus_response(*WIRE, length, FREQUENCY, reference_ohm=reference)


def decibels(net: skrf.Network, out: int, into: int) -> np.ndarray:
    return net.s_db[:, out, into]


@pytest.mark.parametrize("reference", [25.0, 50.0, 85.0])
def test_loss_and_crosstalk_of_two_halves_in_cascade(reference: float) -> None:
    half = network(250e-6, 50.0)
    whole = half**half
    whole.renormalize(reference)
    answer = ours(500e-6, reference)
    assert answer["insertion_loss_db"] == pytest.approx(decibels(whole, 7, 2), abs=0.05)
    assert answer["near_end_crosstalk_db"] == pytest.approx(decibels(whole, 2, 3), abs=0.3)
    assert answer["far_end_crosstalk_db"] == pytest.approx(decibels(whole, 7, 3), abs=0.5)


def test_a_single_line_is_skrf_media() -> None:
    """Far apart, the middle wire is a line of its own: its S21 is that of scikit-rf's distributed circuit."""
    w, t, h = 4e-6, 2e-6, 1.5e-6
    gap = 11e-6
    columns = _core.wire_columns(*(np.array([x]) for x in (w, gap, t, h)))
    c, inductance = columns["c_f_per_m"][0], columns["l_h_per_m"][0]
    band = skrf.Frequency.from_f(FREQUENCY, unit="hz")
    media = skrf.media.DistributedCircuit(
        band,
        z0_port=50.0,
        C=c,
        L=inductance,
        R=np.array([resistance(w, t, f) for f in FREQUENCY]),
        G=2 * np.pi * FREQUENCY * 0.001 * c,
    )
    line = media.line(500e-6, "m")
    answer = _core.bus_response(w, gap, t, h, 500e-6, FREQUENCY)
    assert answer["insertion_loss_db"] == pytest.approx(line.s_db[:, 1, 0], abs=0.02)

"""The skin effect against a filament solver: what the even shell and the external inductance leave out."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
import field_solver as solver
from coupled_lines import resistance, resistivity
from filament import impedance

Array = NDArray[np.float64]
UM = 1e-6
EPS = 3.9 * solver.EPS0
FREQUENCY = np.array([1e6, 1e9, 5e9, 10e9, 20e9, 30e9])


def through(r: Array, inductance: Array, c: float, length: float, z0: float = 50.0) -> Array:
    """S21 of a single line in dB."""
    omega = 2 * np.pi * FREQUENCY
    z, y = r + 1j * omega * inductance, omega * c * (0.001 + 1j)
    gamma, zc = np.sqrt(z * y), np.sqrt(z / y)
    s21 = 2 / (2 * np.cosh(gamma * length) + (zc / z0 + z0 / zc) * np.sinh(gamma * length))
    return 20 * np.log10(np.abs(s21))


@pytest.mark.parametrize(("width", "shortfall"), [(1.0, 0.08), (2.0, 0.20), (5.0, 0.27)])
def test_the_shell_falls_short_but_the_loss_hardly_moves(width: float, shortfall: float) -> None:
    thickness, height = min(width, 2.0), min(width, 1.5)
    w, t, h = width * UM, thickness * UM, height * UM
    r, inductance = impedance(w, t, h, resistivity(w, t), FREQUENCY, (20, 16))
    shell = np.array([resistance(w, t, f) for f in FREQUENCY])
    assert shell[0] == pytest.approx(r[0], rel=1e-6)
    assert np.all(shell <= r * 1.001)
    assert np.all(shell >= r * (1 - shortfall))
    c = solver.bus_capacitance(width, 1, thickness, height, lines=1)[0, 0] * EPS
    external = np.full(len(FREQUENCY), solver.MU0 * EPS / c)
    internal = (inductance - external) / external
    lost = through(shell, external, c, 500 * UM) - through(r, inductance, c, 500 * UM)
    print(f"\n{width} um: R {np.round(shell / r - 1, 3)}, L {np.round(internal, 3)}, dB {np.round(lost, 3)}")
    assert np.all(internal > 0)
    assert np.max(np.abs(lost)) < 0.2

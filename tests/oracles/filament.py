"""Resistance and inductance of one wire over an ideal plane, by filaments that share its current.

An oracle for the skin effect: the cross-section is cut into rectangles of even current density that couple
by their mean distance; the plane enters by the image of each.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MU0 = 1.25663706212e-6


def cells(side: float, n: int) -> tuple[Array, Array]:
    """Middles and widths of `n` cells, thin at both faces where the current crowds."""
    edge = side * (1 - np.cos(np.linspace(0, np.pi, n + 1))) / 2
    return (edge[1:] + edge[:-1]) / 2, np.diff(edge)


def impedance(
    w: float, t: float, h: float, rho: float, frequency: Array, n: tuple[int, int] = (36, 24)
) -> tuple[Array, Array]:
    """Resistance (ohm/m) and inductance (H/m) at each frequency."""
    (x, dx), (y, dy) = cells(w, n[0]), cells(t, n[1])
    px, py = np.repeat(x, n[1]), np.tile(y, n[0]) + h
    wide, high = np.repeat(dx, n[1]), np.tile(dy, n[0])
    direct = np.hypot(px[:, None] - px, py[:, None] - py)
    # A rectangle's geometric mean distance from itself is 0.2235 (a + b).
    np.fill_diagonal(direct, 0.2235 * (wide + high))
    image = np.hypot(px[:, None] - px, py[:, None] + py)
    inductance = MU0 / (2 * np.pi) * np.log(image / direct)
    resistance = np.diag(rho / (wide * high))
    ones = np.ones(len(px))
    total = [1 / np.linalg.solve(resistance + 2j * np.pi * f * inductance, ones).sum() for f in frequency]
    z = np.array(total)
    return z.real, z.imag / (2 * np.pi * frequency)

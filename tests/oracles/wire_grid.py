"""The geometry grid of the capacitance fit, in units of the height: what is fitted, what is held out."""

import functools
import itertools
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from field_solver import bus_capacitance

Array = NDArray[np.float64]

WIDTHS = [0.04, 0.08, 0.16, 0.3, 0.5, 0.8, 1.3, 2.0, 3.2, 5.0, 8.0]
THICKNESSES = [0.02, 0.04, 0.08, 0.16, 0.3, 0.5, 0.8, 1.3, 2.0, 3.2]
ASPECT = (0.15, 4.0)  # thickness over width, and over spacing
WIDEST_GAP_IN_SLOT = 5.0  # beyond it, nothing couples between two planes
THINNEST_IN_SLOT = 0.16


def admitted(w: float, s: float, t: float, both: bool) -> bool:
    low, high = ASPECT
    if not (low <= t / w <= high and low <= t / s <= high):
        return False
    return not both or (min(w, s) >= THINNEST_IN_SLOT and s <= WIDEST_GAP_IN_SLOT)


def points(both: bool) -> Array:
    every = itertools.product(WIDTHS, WIDTHS, THICKNESSES)
    return np.array([p for p in every if admitted(*p, both)])


GRID = {both: points(both) for both in (False, True)}


def held_out(grid: Array) -> NDArray[np.bool_]:
    """A checkerboard: neighbours in any direction lie in opposite halves."""
    index = [WIDTHS.index(w) + WIDTHS.index(s) + THICKNESSES.index(t) for w, s, t in grid]
    return np.array(index) % 2 == 1


@functools.cache
def matrices(both: bool) -> Array:
    """Capacitance matrices over eps of a five-wire bus, at each grid point."""
    return np.array([bus_capacitance(w, s, t, 1.0, both=both, per_side=10) for w, s, t in GRID[both]])

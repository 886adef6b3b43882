"""A 2-D boundary-element solver for parallel conductors over one plane or between two.

An oracle: it shares no formula with the Rust core. The charge on each conductor's outline is constant over
short straight panels, the potential is matched at the panels' midpoints (collocation), the planes enter
through Green's function, so they need no panels.
Lengths are in any one unit, capacitances in units of the dielectric's permittivity:
multiply by eps to get F/m.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
EPS0 = 8.8541878128e-12
MU0 = 1.25663706212e-6


@dataclass(frozen=True)
class Panels:
    """Straight panels: start and end points (n, 2), and the conductor that each belongs to."""

    start: Array
    end: Array
    owner: NDArray[np.int64]

    @property
    def middle(self) -> Array:
        return (self.start + self.end) / 2

    @property
    def length(self) -> Array:
        return np.hypot(*(self.end - self.start).T)


def graded(n: int) -> Array:
    """Break points on [0, 1], crowded at both ends, where the charge at a corner is singular."""
    return (1 - np.cos(np.linspace(0, np.pi, n + 1))) / 2


def outline(corners: Array, owner: int, per_side: int) -> Panels:
    """The panels of one polygon."""
    starts, ends = [], []
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        points = a + graded(per_side)[:, None] * (b - a)
        starts.append(points[:-1])
        ends.append(points[1:])
    start, end = np.concatenate(starts), np.concatenate(ends)
    return Panels(start, end, np.full(len(start), owner))


def joined(parts: list[Panels]) -> Panels:
    return Panels(*(np.concatenate([getattr(p, k) for p in parts]) for k in ("start", "end", "owner")))


def bus(w: float, s: float, t: float, h: float, lines: int = 5, per_side: int = 14) -> Panels:
    """`lines` equal rectangles of width w, thickness t, gap s, their bottom h above the plane y = 0."""
    parts = []
    for k in range(lines):
        x = k * (w + s)
        parts.append(outline(np.array([[x, h], [x + w, h], [x + w, h + t], [x, h + t]]), k, per_side))
    return joined(parts)


def log_integral(at: Array, start: Array, end: Array) -> Array:
    """Integral of ln(distance) over each panel (columns) seen from each point (rows), in closed form."""
    along = end - start
    length = np.hypot(*along.T)
    unit = along / length[:, None]
    rel = at[:, None, :] - start[None, :, :]
    u = np.einsum("ijk,jk->ij", rel, unit)
    v = rel[..., 0] * unit[:, 1] - rel[..., 1] * unit[:, 0]

    def primitive(x: Array) -> Array:
        r2 = x * x + v * v
        log = np.where(r2 > 0, 0.5 * np.log(np.where(r2 > 0, r2, 1.0)), 0.0)
        return x * log - x + np.abs(v) * np.arctan2(x, np.abs(v))

    return primitive(u) - primitive(u - length)


def potential_one_plane(p: Panels) -> Array:
    """2 pi eps times the potential at midpoints of unit charge density on each panel, above y = 0."""
    mirror = np.array([1.0, -1.0])
    direct = log_integral(p.middle, p.start, p.end)
    image = log_integral(p.middle, p.start * mirror, p.end * mirror)
    return image - direct


def potential_two_planes(p: Panels, gap: float) -> Array:
    """The same between the planes y = 0 and y = gap: the panel itself exact, its images by Gauss points."""
    nodes, weights = np.polynomial.legendre.leggauss(4)
    direct = log_integral(p.middle, p.start, p.end)
    smooth = np.zeros_like(direct)
    for node, weight in zip(nodes, weights, strict=True):
        q = p.middle + 0.5 * node * (p.end - p.start)
        dx = (p.middle[:, None, 0] - q[None, :, 0]) * np.pi / gap
        below = (p.middle[:, None, 1] - q[None, :, 1]) * np.pi / gap
        above = (p.middle[:, None, 1] + q[None, :, 1]) * np.pi / gap
        # cosh a - cos b = 2 (sinh^2(a/2) + sin^2(b/2)); both are divided by exp|dx| against overflow.
        damp = np.exp(-np.abs(dx))
        even = ((1 - damp) ** 2 + 4 * damp * np.sin(above / 2) ** 2) / 4
        odd = ((1 - damp) ** 2 + 4 * damp * np.sin(below / 2) ** 2) / 4
        distance2 = (p.middle[:, None, 0] - q[None, :, 0]) ** 2 + (p.middle[:, None, 1] - q[None, :, 1]) ** 2
        limit = distance2 == 0
        ratio = np.where(limit, (np.pi / gap) ** 2 / 4, odd / np.where(limit, 1.0, distance2))
        smooth += 0.5 * weight * (0.5 * np.log(even) - 0.5 * np.log(ratio))
    return smooth * p.length - direct


def capacitance(p: Panels, gap: float | None = None) -> Array:
    """Maxwell capacitance matrix over eps; `gap` is the distance of the two planes, None for one plane."""
    matrix = potential_one_plane(p) if gap is None else potential_two_planes(p, gap)
    conductors = int(p.owner.max()) + 1
    unit = (p.owner[:, None] == np.arange(conductors)).astype(float)
    density = np.linalg.solve(matrix / (2 * np.pi), unit)
    c = unit.T @ (density * p.length[:, None])
    return (c + c.T) / 2


def bus_capacitance(
    w: float, s: float, t: float, h: float, *, both: bool = False, lines: int = 5, per_side: int = 14
) -> Array:
    """Capacitance matrix over eps of a bus; `both` puts a second plane h above the wires."""
    return capacitance(bus(w, s, t, h, lines, per_side), 2 * h + t if both else None)

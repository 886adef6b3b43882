"""Fits the correction of capacitance to the field solver; writes rust/core/src/wire/coefficients.rs.

Half of the grid is fitted, the other half is held out and only measured (tests/oracles/test_wire.py).
Run: python benchmarks/fit_wire.py
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "oracles"))
from wire_grid import GRID, Array, held_out, matrices  # noqa: E402

DEGREE = 4
POWERS = [(i, j, k) for i in range(DEGREE + 1) for j in range(DEGREE + 1 - i) for k in range(DEGREE + 1 - i - j)]


def monomials(grid: Array) -> Array:
    x = np.log(grid)
    return np.stack([np.prod(x ** np.array(p), axis=1) for p in POWERS], axis=1)


def wong(w: Array, s: Array, t: Array) -> tuple[Array, Array]:
    """Structure 1 of Wong et al. 2000: the base over one plane (`published.rs` documents it)."""
    ground = w + 2.22 * (s / (s + 0.70)) ** 3.19 + 1.17 * (s / (s + 1.51)) ** 0.76 * (t / (t + 4.53)) ** 0.12
    coupling = (
        1.14 * (t / s) * (1 + 2.06 * s) ** -0.09
        + 0.74 * (w / (w + 1.59 * s)) ** 1.14
        + 1.16 * (w / (w + 1.87 * s)) ** 0.16 * (1 + 0.98 * s) ** -1.18
    )
    return ground, coupling


def slot(w: Array, s: Array, t: Array) -> tuple[Array, Array]:
    """Between two planes: parallel plates, and a field that dies as exp(-pi s / H) in a slot of height H."""
    return 2 * (w + t / 4), (1 + t / s) * np.exp(-np.pi * s / (2 + t))


def targets(both: bool) -> tuple[Array, dict[str, tuple[Array, NDArray[np.bool_]]]]:
    base: Callable[[Array, Array, Array], tuple[Array, Array]] = slot if both else wong
    grid, c = GRID[both], matrices(both)
    w, s, t = grid.T
    ground, coupling = base(w, s, t)
    near, far = -c[:, 2, 1], np.maximum(-c[:, 2, 0], 1e-12)
    middle, edge, beside = c[:, 2].sum(1), c[:, 0].sum(1), c[:, 1].sum(1)
    decay = np.exp(-np.pi * (s + w) / (2 + t)) if both else np.ones_like(w)
    every = np.ones(len(w), dtype=bool)
    # Where the second neighbour takes less than 1e-4 of the first, its share is solver noise.
    return grid, {
        "GROUND": (np.log(middle / ground), every),
        "COUPLING": (np.log(near / coupling), every),
        "EDGE": (np.log(edge / middle), every),
        "SECOND": (np.log(far / near / decay), far / near > 1e-4),
        "BESIDE EDGE": (np.log(beside / middle), every),
        "EDGE COUPLING": (np.log(-c[:, 0, 1] / near), every),
    }


def table(both: bool) -> str:
    grid, wanted = targets(both)
    basis, test = monomials(grid), held_out(grid)
    lines = []
    for name, (target, use) in wanted.items():
        fitted, *_ = np.linalg.lstsq(basis[use & ~test], target[use & ~test], rcond=None)
        error = np.abs(np.expm1(basis @ fitted - target))[use & test]
        print(f"both={both} {name}: held out median {np.median(error):.2%} max {error.max():.2%}")
        values = ", ".join(f"{v:.6e}" for v in fitted)
        lines.append(f"    [{values}],")
    return "\n".join(lines)


def main() -> None:
    text = f"""//! Written by `benchmarks/fit_wire.py`: least squares on half of a grid. Not edited by hand.

#![allow(clippy::unreadable_literal)]

/// Monomials of total degree up to {DEGREE} in three variables.
pub(super) const TERMS: usize = {len(POWERS)};
/// The degree.
pub(super) const DEGREE: usize = {DEGREE};
/// One plane: logarithms of the corrections of ground, coupling, edge, second neighbour, beside the edge,
/// edge coupling.
#[rustfmt::skip]
pub(super) const ONE_PLANE: [[f64; TERMS]; 6] = [
{table(False)}
];
/// Two planes, likewise.
#[rustfmt::skip]
pub(super) const TWO_PLANES: [[f64; TERMS]; 6] = [
{table(True)}
];
"""
    (ROOT / "rust" / "core" / "src" / "wire" / "coefficients.rs").write_text(text)


if __name__ == "__main__":
    main()

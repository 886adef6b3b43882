"""Capacitance against the boundary-element solver, on the half of the grid that was not fitted."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dielet import _core

sys.path.insert(0, str(Path(__file__).parent))
import field_solver as solver
from coupled_lines import scattering
from wire_grid import GRID, held_out, matrices

Array = NDArray[np.float64]
EPS = 3.9 * solver.EPS0
UM = 1e-6


def columns(grid: Array, both: bool) -> dict[str, Array]:
    w, s, t = (grid * UM).T
    return _core.wire_columns(w.copy(), s.copy(), t.copy(), np.full(len(grid), UM), both)


def errors(ours: Array, solved: Array) -> Array:
    return np.abs(ours / (solved * EPS) - 1)


def test_the_solver_meets_a_round_wire_over_a_plane() -> None:
    angle = np.linspace(0, 2 * np.pi, 129)[:-1]
    circle = np.stack([np.cos(angle), np.sin(angle) + 2], axis=1)
    solved = solver.capacitance(solver.outline(circle, 0, 1))[0, 0]
    assert solved == pytest.approx(2 * np.pi / np.arccosh(2), rel=1e-3)


def test_the_solver_meets_parallel_plates_between_two_planes() -> None:
    """Widening a strip adds plate capacitance on both sides; what the rims add stays the same."""
    wide, narrow = (solver.bus_capacitance(w, 1, 1, 1, both=True, lines=1, per_side=40)[0, 0] for w in (12, 8))
    assert wide - narrow == pytest.approx(2 * (12 - 8), rel=5e-3)


def test_the_solver_has_converged_on_the_grid() -> None:
    for section in ((1, 1, 1, 1), (0.3, 0.3, 0.3, 1), (5, 0.8, 2, 1)):
        coarse, fine = (solver.bus_capacitance(*section, per_side=n) for n in (10, 24))
        assert np.max(np.abs(coarse[2, 1:3] / fine[2, 1:3] - 1)) < 3e-3


@pytest.mark.parametrize("both", [False, True])
def test_capacitance_on_the_held_out_half(both: bool) -> None:
    grid, solved = GRID[both], matrices(both)
    test = held_out(grid)
    ours = columns(grid, both)
    total = errors(ours["c_f_per_m"], solved[:, 2, 2])[test]
    coupling = errors(ours["c_coupling_f_per_m"], -solved[:, 2, 1])[test]
    old_total = errors(ours["wong_c_f_per_m"], solved[:, 2, 2])[test]
    old_coupling = errors(ours["wong_c_coupling_f_per_m"], -solved[:, 2, 1])[test]
    for name, new, old in (("total", total, old_total), ("coupling", coupling, old_coupling)):
        print(f"\ntwo planes {both}, {name}: ours median {np.median(new):.2%} worst {new.max():.2%}; "
              f"published median {np.median(old):.1%} worst {old.max():.1%}")  # fmt: skip
    assert ours["in_range"][test].all()
    assert total.max() < 0.05
    assert coupling.max() < 0.10
    assert np.median(old_coupling) > 5 * np.median(coupling)


@pytest.mark.parametrize("both", [False, True])
def test_inductance_of_the_middle_wire(both: bool) -> None:
    grid, solved = GRID[both], matrices(both)
    test = held_out(grid)
    own = np.linalg.inv(solved)[:, 2, 2] * solver.MU0
    assert np.max(np.abs(columns(grid, both)["l_h_per_m"] / own - 1)[test]) < 0.05


def test_outside_the_fit_it_says_so() -> None:
    one = np.array([1e-6])
    assert not _core.wire_columns(one, one, one, one * 100)["in_range"][0]
    assert _core.wire_columns(one, one, one, one)["in_range"][0]


def test_loss_and_crosstalk_of_the_held_out_half_to_30_ghz() -> None:
    """Every third held-out ratio with wires 2 um wide and 500 um long; both programs see the same metal.

    Crosstalk weaker than 0.1 % of the swing (near) and 2 % (far, a difference of large terms) is left out.
    """
    frequency = np.array([1e9, 3e9, 10e9, 20e9, 30e9])
    worst = {"loss": 0.0, "near": 0.0, "far": 0.0}
    for both in (False, True):
        grid, solved = GRID[both], matrices(both)
        for k in np.flatnonzero(held_out(grid))[::3]:
            w, s, t = grid[k]
            scale = 2 * UM / w
            ours = _core.bus_response(w * scale, s * scale, t * scale, scale, 500e-6, frequency, both_planes=both)
            oracle = scattering(solved[k] * EPS, EPS, w * scale, t * scale, 500e-6, frequency)
            for key, name in (("insertion_loss_db", "loss"), ("near_end_crosstalk_db", "near")):
                seen = oracle[name] > -60
                off = np.abs(ours[key] - oracle[name])[seen]
                worst[name] = max(worst[name], off.max(initial=0))
            off = np.abs(ours["far_end_crosstalk_db"] - oracle["far"])[oracle["far"] > -34]
            worst["far"] = max(worst["far"], off.max(initial=0))
    print(f"\nworst error to 30 GHz in dB: {worst}")
    assert worst["loss"] < 0.3
    assert worst["near"] < 1.0
    assert worst["far"] < 1.0

"""The equations of Pal et al. 2019 and their closed forms under the hyperbola, in numbers."""

import math

import pytest

from dielet.errors import PlanError
from dielet.projection import equations as eq

B_C, B = 8985.0, 128.0


@pytest.mark.parametrize(
    ("mp_speedup", "epochs_ratio", "gain"),
    [
        (1.32, 23 / 12, 0.265),
        (1.32, 7 / 4, 0.155),
        (1.15, 15 / 8, 0.078),
        (1.15, 1.8783, 0.080),
        (1.22, 2.0, 0.220),
        (1.32, 1.5152, 0.0),
        (1.15, 1.7391, 0.0),
        (1.22, 1.6393, 0.0),
    ],
)
def test_gain_follows_from_speedup_and_epochs(mp_speedup, epochs_ratio, gain):
    assert eq.hybrid_gain(2, mp_speedup, 1, epochs_ratio) == pytest.approx(gain, abs=1e-3)


@pytest.mark.parametrize(
    ("mp_speedup", "x", "batch_in_critical", "limit"),
    [(1.32, 1.0625, 2.125, 0.32), (1.15, 2.833, 5.667, 0.15), (1.22, 1.773, 3.545, 0.22)],
)
def test_closed_form_crossover_and_limit(mp_speedup, x, batch_in_critical, limit):
    assert eq.crossover_batch_ratio(2, mp_speedup) == pytest.approx(x, abs=1e-3)
    assert eq.crossover_devices(2, mp_speedup, 1, 1) == pytest.approx(batch_in_critical, abs=1e-3)
    assert eq.hybrid_gain_under_hyperbola(1e9, 2, mp_speedup, 1, 1) == pytest.approx(limit, abs=1e-3)


@pytest.mark.parametrize(("mp_speedup", "ratio"), [(1.32, 1.515), (1.15, 1.739), (1.22, 1.639)])
def test_epochs_must_grow_so_much_for_hybrid_to_win(mp_speedup, ratio):
    assert eq.required_epochs_ratio(2, mp_speedup, 1) == pytest.approx(ratio, abs=1e-3)
    assert eq.required_mp_speedup(2, 1, ratio) == pytest.approx(mp_speedup, abs=1e-3)


def test_gain_is_the_ratio_of_the_two_speedups():
    hybrid = eq.hybrid_speedup(8, 1.3, 0.9, 1 / 3)
    alone = eq.dp_speedup(16, 0.8, 1 / 5)
    assert eq.hybrid_gain(2, 1.3, 0.9 / 0.8, 5 / 3) == pytest.approx(hybrid / alone - 1)


def test_gain_vanishes_at_the_crossover():
    for mp, mp_speedup in [(2, 1.15), (2, 1.32), (4, 2.5), (8, 3.0)]:
        workers = eq.crossover_batch_ratio(mp, mp_speedup) * B_C / B
        assert eq.hybrid_gain_under_hyperbola(workers, mp, mp_speedup, B, B_C) == pytest.approx(0, abs=1e-12)


def test_dp_saturates_at_one_plus_critical_over_worker_batch():
    assert eq.dp_speedup_under_hyperbola(1, B, B_C) == pytest.approx(1)
    assert eq.dp_speedup_under_hyperbola(1e9, B, B_C) == pytest.approx(eq.dp_speedup_limit(B, B_C), rel=1e-6)


@pytest.mark.parametrize(("b", "devices"), [(128, 398), (64, 796), (32, 1591)])
def test_gnmt_crossover(b, devices):
    assert eq.crossover_devices(2, 1.15, b, B_C) == pytest.approx(devices, abs=0.5)


@pytest.mark.parametrize(("devices", "gain"), [(256, -0.054), (512, 0.026), (1024, 0.081), (2048, 0.113)])
def test_gnmt_gain_by_device_count(devices, gain):
    assert eq.hybrid_gain_under_hyperbola(devices / 2, 2, 1.15, B, B_C) == pytest.approx(gain, abs=1e-3)


@pytest.mark.parametrize(("mp_speedup", "critical", "b", "devices"), [(1.32, 47_080, 64, 1563), (1.22, 5000, 128, 138)])
def test_other_crossovers(mp_speedup, critical, b, devices):
    assert eq.crossover_devices(2, mp_speedup, b, critical) == pytest.approx(devices, abs=1)


def test_epochs_never_double_when_the_batch_does_so_the_limit_is_never_reached():
    gains = [eq.hybrid_gain_under_hyperbola(10**k, 2, 1.22, B, B_C) for k in range(7)]
    assert gains == sorted(gains)
    assert gains[-1] < 0.22


def test_mp_that_gains_nothing_never_wins_and_perfect_mp_always_does():
    assert eq.crossover_devices(2, 1.0, B, B_C) == math.inf
    assert eq.crossover_devices(2, 2.0, B, B_C) == 0


def test_training_time_is_the_product():
    assert eq.training_time_s(0.5, 1000.5, 4) == 2001.0


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf])
def test_what_is_not_positive_and_finite_is_refused_by_name(bad):
    with pytest.raises(PlanError, match=r"`mp_speedup` is .* it must be a positive, finite number"):
        eq.hybrid_gain(2, bad, 1, 2)

"""Laws that every convergence curve keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dielet.convergence import Curve, Dataset, Hyperbola, Point, curve_names, fit_hyperbola, load_curve

sizes = st.floats(1.0, 1e7)
rules = st.sampled_from(["hyperbola", "slope"])


@st.composite
def curves(draw) -> Curve:
    batches = draw(st.lists(st.integers(1, 10**6), min_size=2, max_size=8, unique=True))
    means = draw(st.lists(st.floats(0.1, 1e3), min_size=len(batches), max_size=len(batches)))
    points = tuple(Point(batch=float(b), mean=m) for b, m in zip(batches, means, strict=True))
    dataset = Dataset("own", "sample", "own", "read", samples=1e5)
    unit = draw(st.sampled_from(["epochs", "samples", "steps"]))
    return Curve("own", "own", "own", "read", unit, dataset, points)


@given(curves(), rules, st.lists(sizes, min_size=2, max_size=20))
def test_a_larger_batch_never_needs_fewer_samples(curve, rule, batch):
    values = curve.samples(np.sort(batch), rule)
    assert (np.diff(values) >= -1e-9 * values[1:]).all()


@given(curves(), rules)
def test_continuous_at_both_ends_of_the_table(curve, rule):
    for end in curve.range:
        left, right = curve.samples([end * (1 - 1e-12), end * (1 + 1e-12)], rule)
        assert left == pytest.approx(right, rel=1e-6)


@given(curves())
def test_interpolation_passes_through_the_knots_and_through_points_that_never_fall(curve):
    batch, value = curve.knots
    scale = 1e5 if curve.unit == "epochs" else 1.0
    assert curve.samples(batch) == pytest.approx(value * scale, rel=1e-9)
    if not curve.pooled:
        assert value == pytest.approx(curve._merged[1], rel=1e-12)


@given(curves())
def test_pooling_keeps_the_mean_log(curve):
    assert np.log(curve.knots[1]).mean() == pytest.approx(np.log(curve._merged[1]).mean(), abs=1e-9)


@given(curves(), rules, sizes)
def test_steps_times_batch_are_samples(curve, rule, batch):
    assert curve.steps(batch, rule) * batch == pytest.approx(curve.samples(batch, rule))
    assert curve.epochs(batch, rule) * curve.samples_per_epoch == pytest.approx(curve.samples(batch, rule))


@given(curves(), sizes)
def test_inside_is_the_closed_measured_range(curve, batch):
    low, high = curve.range
    assert curve.inside(batch) == (low <= batch <= high)


@given(
    st.floats(1e-2, 1e3),
    st.floats(10, 1e6),
    st.lists(st.floats(0.01, 100), min_size=2, max_size=9, unique=True),
)
def test_fit_recovers_a_hyperbola(minimum, critical, multiples):
    batch = critical * np.array(sorted(multiples))
    if batch[-1] / batch[0] < 1.5:
        return
    fit = fit_hyperbola(batch, Hyperbola(minimum, critical).value(batch))
    # A range of small batches alone pins the product less sharply than each value.
    assert fit.value(batch) == pytest.approx(Hyperbola(minimum, critical).value(batch), rel=1e-5)
    assert fit.worst_error < 1e-5


@given(st.floats(1e-3, 1e3), st.floats(1e-2, 1e2))
def test_fit_scales_with_its_units(value_unit, batch_unit):
    batch = np.array([2048.0, 3072, 8192, 12_288, 16_384])
    value = np.array([4.1, 4.2, 6.2, 7.6, 9.2])
    base, scaled = fit_hyperbola(batch, value), fit_hyperbola(batch * batch_unit, value * value_unit)
    assert scaled.minimum == pytest.approx(base.minimum * value_unit, rel=1e-6)
    assert scaled.critical_batch == pytest.approx(base.critical_batch * batch_unit, rel=1e-6)
    assert scaled.worst_error == pytest.approx(base.worst_error, abs=1e-6)


@pytest.mark.parametrize("name", curve_names())
@pytest.mark.parametrize("rule", ["hyperbola", "slope"])
def test_shipped_curves_never_fall(name, rule):
    samples = load_curve(name).samples if name != "transformer-mlperf" else load_curve(name).epochs
    values = samples(np.geomspace(1, 1e8, 500), rule)
    assert np.isfinite(values).all()
    assert (np.diff(values) >= -1e-9 * values[1:]).all()

"""A convergence curve: what training to the target costs at a global batch."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dielet.errors import SpecError

from .hyperbola import Hyperbola, fit_hyperbola
from .monotone import pool_adjacent

Array = NDArray[np.float64]
Rule = Literal["hyperbola", "slope"]

UNITS: Final = ("epochs", "samples", "steps", "tokens")
RULES: Final = ("hyperbola", "slope")
# Curves that count samples need no data set; their "epoch" is then so many samples (see `nominal_epoch`).
NOMINAL_EPOCH_SAMPLES: Final = 1e6
# Two nearly equal batches can have any slope; growth of 1e100 is never reached in training and stays finite.
_LOG_MOST_GROWTH: Final = 100 * np.log(10.0)


@dataclass(frozen=True, slots=True)
class Point:
    """One measured batch; `mean` is in the unit of the curve."""

    batch: float
    mean: float
    min: float | None = None
    max: float | None = None
    runs: int | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """What an epoch passes over; `sample` says what is counted."""

    name: str
    sample: str
    source: str
    confidence: str
    samples: float | None = None


@dataclass(frozen=True)
class Curve:
    """Epochs, samples and steps to the target at any global batch, given in samples per step.

    Inside the measured range values are interpolated linearly in log-log and never fall with batch. Above it
    the rule `hyperbola` (default) follows the fitted hyperbola, rescaled through the last point; the rule
    `slope` keeps the last slope in log-log. Below it the value is constant. A curve given by constants
    follows its hyperbola everywhere.
    """

    name: str
    summary: str
    source: str
    confidence: str
    unit: str
    dataset: Dataset
    points: tuple[Point, ...] = ()
    constants: Hyperbola | None = None
    constants_range: tuple[float, float] | None = None
    target: str = ""
    note: str = ""
    tokens_per_sample: float = 1.0

    # what people ask

    @overload
    def epochs(self, batch: float, extrapolate: Rule = ...) -> float: ...
    @overload
    def epochs(self, batch: ArrayLike, extrapolate: Rule = ...) -> Array: ...
    def epochs(self, batch: ArrayLike, extrapolate: Rule = "hyperbola") -> float | Array:
        """Passes over the data until the target; real numbers."""
        if self.unit == "epochs":
            return _like(batch, self._value(batch, extrapolate))
        return _like(batch, self._samples(batch, extrapolate) / self.samples_per_epoch)

    @overload
    def samples(self, batch: float, extrapolate: Rule = ...) -> float: ...
    @overload
    def samples(self, batch: ArrayLike, extrapolate: Rule = ...) -> Array: ...
    def samples(self, batch: ArrayLike, extrapolate: Rule = "hyperbola") -> float | Array:
        """Samples processed until the target."""
        return _like(batch, self._samples(batch, extrapolate))

    @overload
    def steps(self, batch: float, extrapolate: Rule = ...) -> float: ...
    @overload
    def steps(self, batch: ArrayLike, extrapolate: Rule = ...) -> Array: ...
    def steps(self, batch: ArrayLike, extrapolate: Rule = "hyperbola") -> float | Array:
        """Parameter updates until the target; real numbers."""
        return _like(batch, self._samples(batch, extrapolate) / _checked(batch))

    @overload
    def inside(self, batch: float) -> bool: ...
    @overload
    def inside(self, batch: ArrayLike) -> NDArray[np.bool_]: ...
    def inside(self, batch: ArrayLike) -> bool | NDArray[np.bool_]:
        """Whether a batch lies in the measured range; what is not is extrapolated."""
        low, high = self.range
        within = (_checked(batch) >= low) & (_checked(batch) <= high)
        return bool(within) if np.ndim(batch) == 0 else within

    def hyperbola(self) -> Hyperbola:
        """The constants of the curve, or the fit to its points, in the curve's unit (`steps` as samples)."""
        return self._hyperbola

    def as_hyperbola(self) -> "Curve":
        """The same curve, replaced by its fitted hyperbola."""
        fit = self.hyperbola()
        summary = f"{self.name} as E = {fit.minimum:.4g} (1 + B/{fit.critical_batch:.4g})"
        unit = "samples" if self.unit == "steps" else self.unit
        return replace(
            self,
            name=f"{self.name}-fitted",
            summary=summary,
            unit=unit,
            constants=fit,
            constants_range=self.range,
            points=(),
        )

    # what it is

    @property
    def range(self) -> tuple[float, float]:
        """Smallest and largest measured batch."""
        if self.constants is not None:
            return self.constants_range or (0.0, float("inf"))
        return float(self._merged[0][0]), float(self._merged[0][-1])

    @property
    def nominal_epoch(self) -> bool:
        """Whether an epoch is a nominal million samples, for want of a data-set size."""
        return self.dataset.samples is None and self.unit != "epochs"

    @property
    def samples_per_epoch(self) -> float:
        """Samples of one pass over the data."""
        if self.dataset.samples is not None:
            return self.dataset.samples
        if self.nominal_epoch:
            return NOMINAL_EPOCH_SAMPLES
        raise SpecError(f"curve `{self.name}` counts epochs but its data set has no size: give the samples of an epoch")

    @property
    def pooled(self) -> bool:
        """Whether points that fall with batch were pooled."""
        _, raw = self._merged
        return self.constants is None and not np.array_equal(np.sort(raw), raw)

    @cached_property
    def knots(self) -> tuple[Array, Array]:
        """What is interpolated: batches, and values that never fall (curve's unit; `steps` as samples)."""
        batch, value = self._merged
        return batch, np.exp(pool_adjacent(np.log(value)))

    def to_dict(self) -> dict[str, Any]:
        """What the curve says of itself, for JSON."""
        fit = self.hyperbola()
        return {
            "name": self.name,
            "summary": self.summary,
            "source": self.source,
            "confidence": self.confidence,
            "unit": self.unit,
            "target": self.target,
            "note": self.note,
            "dataset": {
                "name": self.dataset.name,
                "sample": self.dataset.sample,
                "samples": self.dataset.samples,
            },
            "range": list(self.range),
            "hyperbola": {
                "minimum": fit.minimum,
                "critical_batch": fit.critical_batch,
                "rms_error": fit.rms_error,
                "worst_error": fit.worst_error,
            },
            "points": [{"batch": p.batch, "mean": p.mean, "min": p.min, "max": p.max} for p in self.points],
        }

    # how

    @cached_property
    def _merged(self) -> tuple[Array, Array]:
        """One value a batch: several at one batch are averaged. Steps become samples, which never fall."""
        batches = np.array(sorted({point.batch for point in self.points}), dtype=np.float64)
        means = [np.mean([point.mean for point in self.points if point.batch == batch]) for batch in batches]
        values = np.array(means, dtype=np.float64)
        return batches, values * batches if self.unit == "steps" else values

    @cached_property
    def _hyperbola(self) -> Hyperbola:
        return self.constants or fit_hyperbola(*self._merged)

    def _samples(self, batch: ArrayLike, extrapolate: Rule) -> Array:
        scale = {"samples": 1.0, "steps": 1.0, "tokens": 1.0 / self.tokens_per_sample}.get(self.unit)
        return self._value(batch, extrapolate) * (self.samples_per_epoch if scale is None else scale)

    def _value(self, batch: ArrayLike, extrapolate: Rule) -> Array:
        """The value in the curve's unit, `steps` as samples."""
        if extrapolate not in RULES:
            raise SpecError(f"`{extrapolate}` is no rule of extrapolation: use one of {', '.join(RULES)}")
        size = _checked(batch)
        if self.constants is not None:
            return self.constants.value(size)
        batches, values = self.knots
        inside = np.exp(np.interp(np.log(size), np.log(batches), np.log(values)))
        return np.asarray(inside * self._growth(np.maximum(size, batches[-1]), extrapolate), dtype=np.float64)

    def _growth(self, batch: Array, extrapolate: Rule) -> Array:
        """Growth from the last point on; 1 there."""
        last = self.knots[0][-1]
        if extrapolate == "slope":
            log_growth = np.minimum(self._last_slope * np.log(batch / last), _LOG_MOST_GROWTH)
            return np.asarray(np.exp(log_growth), dtype=np.float64)
        fit = self.hyperbola()
        return fit.value(batch) / fit.value(np.asarray(last))

    @property
    def _last_slope(self) -> float:
        """Slope of log value over log batch between the last two measured batches."""
        batches, values = self.knots
        return float(np.log(values[-1] / values[-2]) / np.log(batches[-1] / batches[-2]))


def _checked(batch: ArrayLike) -> Array:
    size = np.asarray(batch, dtype=np.float64)
    if size.size and not (np.isfinite(size).all() and (size > 0).all()):
        bad = size[~(np.isfinite(size) & (size > 0))].flat[0]
        raise SpecError(f"a global batch of {bad:g} samples has no meaning: it must be positive and finite")
    return size


def _like(batch: ArrayLike, value: Array) -> float | Array:
    """A float for a float, an array for an array."""
    return float(value) if np.ndim(batch) == 0 else value

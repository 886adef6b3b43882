"""The hyperbola `E = E_min (1 + B/B_c)` and its fit.

S. McCandlish et al., "An Empirical Model of Large-Batch Training", 2018: at the critical batch B_c both the
steps and the examples are twice their minimum.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# The search for B_c spans this far (natural log) below the smallest and above the largest batch. At the lower
# end the law is E ~ B, at the upper end E is constant, to better than 1e-4: data beyond either end up there.
_MARGIN = 10.0
_GRID = 257
_ZOOMS = 7


@dataclass(frozen=True, slots=True)
class Hyperbola:
    """`value(B) = minimum (1 + B/critical_batch)`, and how far the data lie from it."""

    minimum: float
    critical_batch: float
    rms_error: float = 0.0
    worst_error: float = 0.0

    def value(self, batch: Array) -> Array:
        """The value at each batch, in the unit of `minimum`."""
        return np.asarray(self.minimum * (1.0 + batch / self.critical_batch), dtype=np.float64)


def fit_hyperbola(batch: Array, value: Array) -> Hyperbola:
    """Least squares in log value; errors are relative to the fit.

    For a given B_c the best E_min is the mean of the log residuals, so that only B_c is searched: over a grid
    in log B_c which zooms in on its best point (the same bits on every run; no starting value to choose).
    """
    low, high = np.log(batch.min()) - _MARGIN, np.log(batch.max()) + _MARGIN
    for _ in range(_ZOOMS):
        grid = np.linspace(low, high, _GRID)
        best = int(np.argmin(_log_ratio(batch, value, grid).var(axis=1)))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
    log_critical = 0.5 * (low + high)
    log_ratio = _log_ratio(batch, value, np.array([log_critical]))[0]
    error = np.exp(log_ratio - log_ratio.mean()) - 1.0
    return Hyperbola(
        minimum=float(np.exp(log_ratio.mean())),
        critical_batch=float(np.exp(log_critical)),
        rms_error=float(np.sqrt((error**2).mean())),
        worst_error=float(np.abs(error).max()),
    )


def _log_ratio(batch: Array, value: Array, log_critical: Array) -> Array:
    """`log(value / (1 + B/B_c))`, a row for each B_c."""
    shape = np.log1p(batch[None, :] / np.exp(log_critical)[:, None])
    return np.asarray(np.log(value)[None, :] - shape, dtype=np.float64)

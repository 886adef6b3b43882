"""The answer of `dielet.plan`: columns over device counts, the crossover, the gain, and the plans behind them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dielet._core import Model, System, __version__
from dielet.projection.request import Request, Rule
from dielet.projection.search import Column, Counts

if TYPE_CHECKING:
    from dielet.convergence import Curve

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Choice:
    """One way to use the devices, at every count: T, S, E and their product; NaN where it cannot run."""

    mp: NDArray[np.int64]
    workers: NDArray[np.int64]
    batch: Floats
    step_s: Floats
    steps_per_epoch: Floats
    epochs: Floats
    time_to_target_s: Floats
    plans: list[dict[str, Any] | None]
    kinds: list[str | None]
    why: list[dict[str, Any] | None]

    @classmethod
    def of(cls, column: Column, curve: Curve, rule: Rule) -> Choice:
        """Steps and epochs of a column of step times."""
        known = np.isfinite(column.step_s)
        steps, epochs = np.full_like(column.step_s, np.nan), np.full_like(column.step_s, np.nan)
        steps[known] = curve.samples_per_epoch / column.batch[known]
        epochs[known] = curve.epochs(column.batch[known], rule)
        total = column.step_s * steps * epochs
        mp = np.full(len(total), column.mp, dtype=np.int64)
        return cls(
            mp,
            column.workers,
            column.batch,
            column.step_s,
            steps,
            epochs,
            total,
            column.plans,
            column.kinds,
            column.why,
        )

    @classmethod
    def best(cls, choices: list[Choice]) -> Choice:
        """At every count the fastest to the target; the first of equals."""
        if len(choices) == 1:
            return choices[0]
        times = np.array([choice.time_to_target_s for choice in choices])
        winner = np.argmin(np.where(np.isfinite(times), times, np.inf), axis=0)
        rows = np.arange(times.shape[1])

        def pick(name: str) -> Any:
            return np.array([getattr(choice, name) for choice in choices])[winner, rows]

        def pick_list(name: str) -> list[Any]:
            return [getattr(choices[int(w)], name)[row] for row, w in enumerate(winner)]

        arrays = ("mp", "workers", "batch", "step_s", "steps_per_epoch", "epochs", "time_to_target_s")
        lists = ("plans", "kinds", "why")
        fields: dict[str, Any] = {name: pick(name) for name in arrays}
        fields |= {name: pick_list(name) for name in lists}
        return cls(**fields)


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """Data parallelism alone against the best hybrid at every device count."""

    model: Model
    system: System
    request: Request
    curve: Curve
    choices: list[Choice]
    counts: Counts
    notes: tuple[str, ...]
    seconds: float

    @property
    def devices(self) -> NDArray[np.int64]:
        """The device counts."""
        return self.request.devices.astype(np.int64)

    @property
    def dp(self) -> Choice:
        """Data parallelism alone."""
        return self.choices[0]

    @cached_property
    def hybrid(self) -> Choice | None:
        """The best of the larger workers at every count; none if only data parallelism was asked for."""
        return Choice.best(self.choices[1:]) if len(self.choices) > 1 else None

    @cached_property
    def serial_time_s(self) -> float:
        """Time to target of one device; NaN where it cannot run."""
        from dielet.projection.plan import plan

        if self.devices[0] == 1:
            return float(self.dp.time_to_target_s[0])
        request = self.request
        alone = plan(
            self.model,
            system=self.system,
            devices=1,
            curve=self.curve,
            mp=(1,),
            per_device_batch=request.worker_batch if request.batch is None else None,
            batch=request.batch,
            sequence=request.sequence or None,
            precision=request.precision,
            dense_gradients=request.dense_gradients,
            extrapolate=request.extrapolate,
        )
        return float(alone.dp.time_to_target_s[0])

    def speedup(self, choice: Choice) -> Floats:
        """Over one device."""
        return self.serial_time_s / choice.time_to_target_s

    @property
    def status(self) -> Literal["feasible", "infeasible"]:
        """Whether any plan fits."""
        fits = any(np.isfinite(choice.time_to_target_s).any() for choice in self.choices)
        return "feasible" if fits else "infeasible"

    @cached_property
    def best(self) -> list[str | None]:
        """`dp_only` or `hybrid` at each count; None where nothing runs."""
        dp = _or_never(self.dp.time_to_target_s)
        hybrid = _or_never(self.hybrid.time_to_target_s) if self.hybrid else np.full_like(dp, np.inf)
        return [_winner(a, b) for a, b in zip(dp, hybrid, strict=True)]

    @cached_property
    def crossover_devices(self) -> int | None:
        """See `crossover`."""
        return crossover(self.devices, self.dp, self.hybrid)

    @cached_property
    def gain_at_scale(self) -> float | None:
        """Best data parallelism on at most the largest count over the best hybrid there, minus 1."""
        if self.hybrid is None:
            return None
        dp, hybrid = np.min(_or_never(self.dp.time_to_target_s)), np.min(_or_never(self.hybrid.time_to_target_s))
        return float(dp / hybrid - 1) if np.isfinite(dp) and np.isfinite(hybrid) else None

    @cached_property
    def under_other_rule(self) -> Answer:
        """The same step times with the other rule of extrapolation."""
        from dataclasses import replace

        rule: Rule = "slope" if self.request.extrapolate == "hyperbola" else "hyperbola"
        again = [_again(choice, self.curve, rule) for choice in self.choices]
        return replace(self, choices=again, request=replace(self.request, extrapolate=rule))

    @cached_property
    def crossover_inside(self) -> bool | None:
        """Whether the batches at the crossover lie inside the curve's measured range."""
        at = self.crossover_devices
        if at is None or self.hybrid is None:
            return None
        row = int(np.searchsorted(self.devices, at))
        batches = [choice.batch[row] for choice in (self.dp, self.hybrid) if np.isfinite(choice.batch[row])]
        return all(bool(self.curve.inside(float(batch))) for batch in batches)

    def __repr__(self) -> str:
        from dielet.report.terminal import answer_text

        return answer_text(self, width=100)

    def to_dict(self, top: int = 10) -> dict[str, Any]:
        """The keys that scripts rely on; numbers that are not finite are None."""
        from dielet.projection.tree import answer_tree

        return answer_tree(self, top)

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Columns of equal length, one row per device count."""
        from dielet.projection.tree import answer_columns

        return answer_columns(self)

    def to_csv(self, path: str | Path) -> None:
        """The columns as a file, with full precision."""
        from dielet.report.table import write_csv

        write_csv(self.to_columns(), Path(path))

    @property
    def version(self) -> str:
        """Of dielet."""
        return __version__


def crossover(devices: NDArray[np.int64], dp: Choice, hybrid: Choice | None) -> int | None:
    """The smallest count from which hybrid wins.

    There the best hybrid on at most N devices beats the best data parallelism on at most N, and does so at every
    larger count that the hybrid's workers use up. (Where a count is no multiple of the worker, hybrid leaves devices
    idle, and near the crossover that alone would let data parallelism lead by a hair.)
    """
    if hybrid is None:
        return None
    best_dp = np.minimum.accumulate(_or_never(dp.time_to_target_s))
    best_hybrid = np.minimum.accumulate(_or_never(hybrid.time_to_target_s))
    ahead = best_hybrid < best_dp
    whole = devices % np.maximum(hybrid.mp, 1) == 0
    behind = np.flatnonzero(~ahead & whole)
    first = behind[-1] + 1 if len(behind) else 0
    later = np.flatnonzero(ahead[first:])
    return int(devices[first + later[0]]) if len(later) else None


def _again(choice: Choice, curve: Curve, rule: Rule) -> Choice:
    from dataclasses import replace

    known = np.isfinite(choice.step_s)
    epochs = np.full_like(choice.step_s, np.nan)
    epochs[known] = curve.epochs(choice.batch[known], rule)
    return replace(choice, epochs=epochs, time_to_target_s=choice.step_s * choice.steps_per_epoch * epochs)


def _or_never(times: Floats) -> Floats:
    return np.where(np.isfinite(times), times, np.inf)


def _winner(dp: float, hybrid: float) -> str | None:
    if not np.isfinite(min(dp, hybrid)):
        return None
    return "hybrid" if hybrid < dp else "dp_only"

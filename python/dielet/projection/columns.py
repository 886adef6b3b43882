"""Many plans priced at once: columns in, columns out."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dielet import _core
from dielet._core import Model, System
from dielet.errors import PlanError
from dielet.hardware.system import load_system
from dielet.model.load import load_model

__all__ = ["PriceColumns", "price_columns"]


@dataclass(frozen=True)
class PriceColumns:
    """One entry a plan; NaN where it cannot run."""

    step_s: NDArray[np.float64]
    peak_bytes: NDArray[np.float64]
    mfu: NDArray[np.float64]
    reason: NDArray[np.uint8]
    """0 where the plan runs, else a position in `reasons`."""
    reasons: tuple[str, ...]
    """Why plans cannot run; the first is empty."""

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Which plans run."""
        runs: NDArray[np.bool_] = self.reason == 0
        return runs

    def __len__(self) -> int:
        return len(self.step_s)


def price_columns(
    model: Model | str, system: System | str, columns: Mapping[str, ArrayLike], *, precision: str = "mixed"
) -> PriceColumns:
    """Step time, memory and utilisation of many plans of one model on one system.

    `columns` maps fields of a plan to equally long arrays or to a value for all plans; words (`schedule`,
    `recompute`, `precision`, `mapping`) are text. What is left out is as in the plan of one
    device. Each entry equals the price of that plan alone, to the last bit.

    >>> answer = price_columns("gpt3-175b", "dgx-a100", {
    ...     "tp": 8, "pp": [8, 16], "dp": [2, 1], "micro_batch": 1, "batch": 64, "dense_gradients": True})
    >>> answer.feasible.tolist()
    [False, True]
    """
    model = load_model(model) if isinstance(model, str) else model
    system = load_system(system) if isinstance(system, str) else system
    base = _core.serial_plan(model, precision)
    known = {name: _numbers(name, column, base) for name, column in columns.items()}
    rows = _rows(known)
    numbers = [(name, np.ascontiguousarray(np.broadcast_to(column, rows))) for name, column in known.items()]
    priced = _core.price_columns(model, system, base, numbers)
    return PriceColumns(**{**priced, "reasons": ("", *priced["reasons"])})


def _rows(columns: Mapping[str, NDArray[np.uint64]]) -> int:
    """The common length; 1 where every column is a single value."""
    lengths = {name: len(column) for name, column in columns.items() if column.ndim}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"`{name}` {length}" for name, length in lengths.items())
        raise PlanError(f"columns are not equally long: {listed}; give equal lengths or single values")
    return next(iter(lengths.values()), 1)


def _numbers(name: str, column: ArrayLike, base: Mapping[str, Any]) -> NDArray[np.uint64]:
    """A column as the numbers that the core takes."""
    if name not in base:
        close = get_close_matches(name, base, n=1)
        nearest = f"did you mean `{close[0]}`" if close else f"use one of {', '.join(base)}"
        raise PlanError(f"`{name}` is no column of a plan: {nearest}")
    values = np.asarray(column)
    if values.ndim > 1:
        raise PlanError(f"column `{name}` has {values.ndim} dimensions: give one value or one array")
    words = _core.plan_words().get(name)
    return _counts(name, values) if words is None else _positions(name, values, words)


def _positions(name: str, values: NDArray[Any], words: list[str]) -> NDArray[np.uint64]:
    """Positions of texts among the words of a field."""
    unknown = len(words)
    positions = np.full(values.shape, unknown, dtype=np.uint64)
    for position, word in enumerate(words):
        positions[values == word] = position
    if np.any(positions == unknown):
        wrong = values[positions == unknown].flat[0]
        raise PlanError(f"`{name}` = `{wrong}` is unknown: use one of {', '.join(words)}")
    return positions


def _counts(name: str, values: NDArray[Any]) -> NDArray[np.uint64]:
    """Numbers that are whole and not negative."""
    if values.dtype.kind not in "buif":
        raise PlanError(f"column `{name}` holds {values.dtype}: give whole numbers")
    flat = values.reshape(-1)
    whole = np.isfinite(flat) & (flat >= 0) & (flat < 2.0**53) & (flat == np.floor(flat))
    if not np.all(whole):
        row = int(np.argmin(whole))
        raise PlanError(f"`{name}[{row}] = {flat[row]}` is no whole number of at least 0: give counts")
    return values.astype(np.uint64)

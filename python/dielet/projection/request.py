"""What is asked of a projection, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dielet._core import Model, System
from dielet.errors import PlanError

Objective = Literal["time", "step", "cost", "energy"]
Rule = Literal["hyperbola", "slope"]
Precision = Literal["fp32", "mixed", "bf16", "fp8"]
PRECISIONS: dict[str, str] = {"fp32": "fp32", "mixed": "fp16", "bf16": "bf16", "fp8": "fp8"}
MOST_DEVICES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Request:
    """Options of `dielet.plan`, in range and consistent."""

    devices: NDArray[np.uint64]
    mp: tuple[int, ...]
    worker_batch: int | None
    batch: int | None
    sequence: int
    precision: str
    objective: Objective
    extrapolate: Rule
    scaling_efficiency: float | None
    mp_speedup: Mapping[int, float] = field(default_factory=dict)
    tp: tuple[int, ...] = ()
    pp: tuple[int, ...] = ()
    dense_gradients: bool = False


def device_counts(devices: int | Iterable[int]) -> NDArray[np.uint64]:
    """Sorted distinct device counts, each at least 1."""
    counts = [devices] if isinstance(devices, int) else list(devices)
    if not counts:
        raise PlanError("no device counts given: give at least one, as in 64, 1..1024 or 8,16,32")
    for count in counts:
        if isinstance(count, bool) or int(count) != count:
            raise PlanError(f"device count {count} is no whole number")
        if not 1 <= count <= MOST_DEVICES:
            raise PlanError(f"device count {count} is out of range: give 1 to {MOST_DEVICES:,}")
    return np.unique(np.asarray(counts, dtype=np.uint64))


def precision_of(model: Model, system: System, asked: str | None) -> str:
    """The precision asked for, or mixed where the device has it; a measured model keeps what it was measured in."""
    has = set(system.device.numbers)
    if asked is None:
        if model.measured_batch is not None:
            return "fp32"
        return next((name for name in ("mixed", "bf16", "fp32") if PRECISIONS[name] in has), "fp32")
    if asked not in PRECISIONS:
        raise PlanError(f"precision `{asked}` is unknown: {nearest(asked, PRECISIONS)}")
    if PRECISIONS[asked] not in has:
        usable = [name for name, number in PRECISIONS.items() if number in has]
        raise PlanError(f"`{system.device.name}` has no {PRECISIONS[asked]}: use one of {', '.join(usable)}")
    return asked


def nearest(word: str, known: Iterable[str]) -> str:
    """The remedy for a misspelt word."""
    names = list(known)
    close = get_close_matches(word, names, n=1)
    return f"did you mean `{close[0]}`?" if close else f"use one of {', '.join(names)}"


def check_choice(what: str, value: str, known: object) -> None:
    """Refuses a word that is none of a Literal's."""
    names = get_args(known)
    if value not in names:
        raise PlanError(f"{what} `{value}` is unknown: {nearest(value, names)}")


def check_speedups(speedups: Mapping[int, float]) -> dict[int, float]:
    """Measured speedups by devices per worker."""
    for mp, speedup in speedups.items():
        if mp < 2:
            raise PlanError(f"a speedup of {mp} devices per worker makes no sense: give 2 or more")
        if not (np.isfinite(speedup) and speedup > 0):
            raise PlanError(f"speedup {speedup} of {mp} devices is out of range: give a number above 0")
    return dict(speedups)


def check_positive(what: str, value: int | None) -> int | None:
    """A count of at least 1, if given."""
    if value is not None and not 1 <= value < 2**53:
        raise PlanError(f"{what} {value} is out of range: give at least 1")
    return value


def check_degrees(what: str, degrees: Sequence[int]) -> tuple[int, ...]:
    """Degrees of at least 1."""
    for degree in degrees:
        check_positive(what, degree)
    return tuple(degrees)


def check_efficiency(value: float | None) -> float | None:
    """A scaling efficiency in (0, 1], if given."""
    if value is not None and not 0 < value <= 1:
        raise PlanError(f"scaling efficiency {value} is out of range: give a number above 0, at most 1")
    return value

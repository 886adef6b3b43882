"""`dielet.plan`: data parallelism alone or hybrid, at how many devices, by how much.

End-to-end time is time per step x steps per epoch x epochs(batch) (Pal et al. 2019). The step comes from the Rust
search over workers, steps and epochs from a convergence curve.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dielet._core import Model, System
from dielet.errors import PlanError
from dielet.projection.answer import Answer, Choice
from dielet.projection.defaults import CURVES
from dielet.projection.request import (
    Objective,
    Request,
    Rule,
    check_choice,
    check_degrees,
    check_efficiency,
    check_positive,
    check_speedups,
    device_counts,
    precision_of,
)
from dielet.projection.search import Column, Counts, columns

if TYPE_CHECKING:
    from dielet.convergence import Curve
    from dielet.hardware.system import Fabric

# Mini-batches per worker that `batch="auto"` tries, as multiples of the model's own.
AUTO_FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
WORKER_SIZES = (1, 2, 4, 8)


def plan(
    model: str | Path | Model,
    *,
    system: str | Path | System,
    devices: int | Iterable[int],
    curve: str | Path | Curve | None = None,
    batch: int | str | None = None,
    per_device_batch: int | None = None,
    sequence: int | None = None,
    mp: Sequence[int] = WORKER_SIZES,
    mp_speedup: Mapping[int, float] | None = None,
    scaling_efficiency: float | None = None,
    objective: Objective = "time",
    precision: str | None = None,
    fabric: str | Path | Fabric | None = None,
    tp: Sequence[int] = (),
    pp: Sequence[int] = (),
    dense_gradients: bool = False,
    extrapolate: Rule = "hyperbola",
) -> Answer:
    """The best of data parallelism alone and of the best hybrid at every device count.

    Parameters
    ----------
    model, system, fabric, curve
        Names of the package, files, or objects. `fabric` takes the place of the system's innermost tier. A model
        of the zoo has a default curve; anything else needs one.
    devices
        One count or several.
    batch
        Samples per step of all workers together; `"auto"` chooses the mini-batch per worker at every count.
        Left out, each worker takes `per_device_batch` (default: the model's own), whatever its size.
    mp
        Devices per worker to consider.
    mp_speedup
        Measured speedups of a step, by devices per worker; then only these sizes compete with 1.
    scaling_efficiency
        A fixed T_1/T_N instead of the modelled one; 1 is the assumption of Pal et al.

    Returns
    -------
    Answer
        A readable table as `repr`; `to_dict()`, `to_columns()` and `to_csv()` give the numbers.

    Raises
    ------
    DieletError
        One line that says what to mend.

    Examples
    --------
    >>> import dielet
    >>> answer = dielet.plan("gnmt", system="dgx1-v100", devices=[256, 512, 1024], curve="gnmt-mlperf-hyperbola",
    ...     mp_speedup={2: 1.15}, scaling_efficiency=1, per_device_batch=128)
    >>> round(answer.gain_at_scale, 3)
    0.081
    """
    started = time.perf_counter()
    loaded, machine = _model(model, sequence), _system(system, fabric)
    curve_of, notes = _curve(loaded, curve)
    request = _request(
        loaded,
        machine,
        devices=device_counts(devices),
        mp=mp,
        mp_speedup=mp_speedup,
        scaling_efficiency=scaling_efficiency,
        objective=objective,
        precision=precision,
        tp=tp,
        pp=pp,
        dense_gradients=dense_gradients,
        extrapolate=extrapolate,
        batch=batch,
        per_device_batch=per_device_batch,
        sequence=sequence,
    )
    counts = Counts()
    choices = _choices(loaded, machine, request, curve_of, counts, auto=batch == "auto")
    notes += _model_notes(loaded, request)
    seconds = time.perf_counter() - started
    return Answer(loaded, machine, request, curve_of, choices, counts, tuple(notes), seconds)


def _model(model: str | Path | Model, sequence: int | None) -> Model:
    from dielet.model import load_model

    return model if isinstance(model, Model) else load_model(model, sequence)


def _system(system: str | Path | System, fabric: str | Path | Fabric | None) -> System:
    from dielet.hardware.system import Fabric, load_fabric, load_system

    if isinstance(system, System):
        swap = fabric if fabric is None or isinstance(fabric, Fabric) else load_fabric(fabric)
        return system if swap is None else system.with_fabric(swap)
    return load_system(system, fabric=fabric)


def _curve(model: Model, curve: str | Path | Curve | None) -> tuple[Curve, list[str]]:
    """The curve asked for or the model's own, and what must be said of it."""
    from dielet.convergence import Curve, load_curve

    if isinstance(curve, Curve):
        return curve, []
    default, note = CURVES.get(model.name, (None, None))
    if curve is None:
        if default is None:
            raise PlanError(f"model `{model.name}` has no convergence curve of its own: name one with `--curve`")
        return load_curve(default), [note] if note else []
    size = load_curve(default).samples_per_epoch if default and Path(curve).is_file() else None
    return load_curve(curve, samples_per_epoch=size), []


def _request(
    model: Model,
    system: System,
    *,
    devices: np.ndarray,
    mp: Sequence[int],
    mp_speedup: Mapping[int, float] | None,
    batch: int | str | None,
    per_device_batch: int | None,
    scaling_efficiency: float | None,
    objective: Objective,
    precision: str | None,
    tp: Sequence[int],
    pp: Sequence[int],
    dense_gradients: bool,
    extrapolate: Rule,
    sequence: int | None,
) -> Request:
    check_choice("objective", objective, Objective)
    check_choice("rule of extrapolation", extrapolate, Rule)
    if isinstance(batch, str) and batch != "auto":
        raise PlanError(f"batch `{batch}` is neither a number nor `auto`")
    if batch is not None and per_device_batch is not None:
        raise PlanError("batch and per-device batch contradict each other: give one")
    speedups = check_speedups(mp_speedup or {})
    sizes = {1, *speedups} if speedups else {1, *check_degrees("devices per worker", mp)}
    return Request(
        devices=devices,
        mp=tuple(sorted(sizes)),
        mp_speedup=speedups,
        worker_batch=check_positive("per-device batch", per_device_batch),
        batch=check_positive("batch", None if isinstance(batch, str) else batch),
        sequence=check_positive("sequence", sequence) or model.sequence,
        precision=precision_of(model, system, precision),
        objective=objective,
        extrapolate=extrapolate,
        scaling_efficiency=check_efficiency(scaling_efficiency),
        tp=check_degrees("tp", tp),
        pp=check_degrees("pp", pp),
        dense_gradients=dense_gradients,
    )


def _choices(
    model: Model, system: System, request: Request, curve: Curve, counts: Counts, *, auto: bool
) -> list[Choice]:
    """Data parallelism alone and each size of worker, with the mini-batch chosen if asked for."""
    requests = [request]
    if auto:
        shares = {max(1, round(model.worker_batch * factor)) for factor in AUTO_FACTORS}
        requests = [replace(request, worker_batch=share) for share in sorted(shares)]
    searched = [columns(model, system, one, counts) for one in requests]
    by_size: list[tuple[Column, ...]] = list(zip(*searched, strict=True))
    return [Choice.best([Choice.of(column, curve, request.extrapolate) for column in same]) for same in by_size]


def _model_notes(model: Model, request: Request) -> list[str]:
    notes = []
    measured = model.measured_batch
    share = request.worker_batch or model.worker_batch
    if measured is not None and (share != measured or request.batch is not None):
        notes.append(f"times were measured at {measured} samples and scale linearly to other mini-batches")
    if request.scaling_efficiency is not None:
        notes.append(f"scaling efficiency is fixed at {request.scaling_efficiency:g}, not modelled")
    if request.mp_speedup:
        given = ", ".join(f"{mp} devices {speedup:g}x" for mp, speedup in sorted(request.mp_speedup.items()))
        notes.append(f"speedup of a worker is given, not modelled: {given}")
    return notes

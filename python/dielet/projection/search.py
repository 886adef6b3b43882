"""The best worker of each size at each device count, as columns from the Rust search."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dielet import _core
from dielet._core import Model, System
from dielet.projection.request import Request

Floats = NDArray[np.float64]


@dataclass
class Column:
    """Workers of `mp` devices: one entry per device count; NaN and None where none can run."""

    mp: int
    workers: NDArray[np.int64]
    batch: Floats
    step_s: Floats
    plans: list[dict[str, Any] | None]
    kinds: list[str | None]
    why: list[dict[str, Any] | None]


@dataclass
class Counts:
    """What the search looked at."""

    space: int = 0
    priced: int = 0
    infeasible: Counter[str] = field(default_factory=Counter)
    pruned: Counter[str] = field(default_factory=Counter)

    def add(self, counts: dict[str, Any]) -> None:
        """Counts of one more search."""
        self.space += counts["space"]
        self.priced += counts["priced"]
        self.infeasible.update(counts["infeasible"])
        self.pruned.update(counts.get("pruned", {}))


def columns(model: Model, system: System, request: Request, counts: Counts) -> list[Column]:
    """One column per size of worker; sizes with a measured speedup are scaled data parallelism."""
    searched = [mp for mp in request.mp if mp not in request.mp_speedup]
    found = {mp: _column(model, system, request, mp, counts) for mp in searched}
    for mp, speedup in request.mp_speedup.items():
        found[mp] = _measured(model, system, request, mp, speedup, counts)
    return [found[mp] for mp in sorted(found)]


def _measured(model: Model, system: System, request: Request, mp: int, speedup: float, counts: Counts) -> Column:
    """Workers of `mp` devices that step `speedup` times as fast as the same number of single devices."""
    workers = request.devices // np.uint64(mp)
    alone = _by_workers(model, system, request, 1, workers, counts)
    kinds = [None if plan is None else "measured_speedup" for plan in alone.plans]
    return Column(mp, alone.workers, alone.batch, alone.step_s / speedup, alone.plans, kinds, alone.why)


def _column(model: Model, system: System, request: Request, mp: int, counts: Counts) -> Column:
    return _by_workers(model, system, request, mp, request.devices // np.uint64(mp), counts)


def _by_workers(
    model: Model, system: System, request: Request, mp: int, workers: NDArray[np.uint64], counts: Counts
) -> Column:
    """Each distinct number of workers once; a fixed global batch is shared out among them."""
    distinct = [int(count) for count in np.unique(workers) if count > 0]
    shares: dict[int, list[int]] = {}
    for count in distinct:
        share = _share(model, request, count)
        if share is not None:
            shares.setdefault(share, []).append(count)
    found: dict[int, tuple[float, dict[str, Any] | None, str | None, dict[str, Any] | None]] = {}
    for share, group in shares.items():
        found.update(_search(model, system, request, mp, share, group, counts))
    return _fill(mp, workers.astype(np.int64), found, shares)


def _share(model: Model, request: Request, workers: int) -> int | None:
    """Samples per worker; none where the global batch does not divide."""
    if request.batch is None:
        return request.worker_batch or model.worker_batch
    share, rest = divmod(request.batch, workers)
    return share if rest == 0 and share > 0 else None


def _search(
    model: Model, system: System, request: Request, mp: int, share: int, workers: list[int], counts: Counts
) -> dict[int, tuple[float, dict[str, Any] | None, str | None, dict[str, Any] | None]]:
    asked = {
        "mp": [mp],
        "worker_batch": share,
        "sequence": request.sequence,
        "precision": request.precision,
        "dense_gradients": request.dense_gradients,
        "tp": list(request.tp) if mp > 1 else [],
        "pp": list(request.pp) if mp > 1 else [],
    }
    efficiency = request.scaling_efficiency
    at = [1] if efficiency is not None else workers
    answer = _core.workers(model, system, asked, np.asarray(at, dtype=np.uint64) * np.uint64(mp))
    counts.add(answer["counts"])
    [table] = answer["columns"]
    found = {}
    for position, count in enumerate(workers):
        row = 0 if efficiency is not None else position
        index = int(table["plan"][row])
        step = float(table["step_s"][row]) / (1.0 if efficiency is None else _efficiency(efficiency, count))
        named = answer["plans"][index] if index >= 0 else None
        plan = _with_workers(named["plan"], count) if named else None
        found[count] = (step, plan, named["kind"] if named else None, table["why"][row])
    return found


def _efficiency(fixed: float, workers: int) -> float:
    return fixed if workers > 1 else 1.0


def _with_workers(plan: dict[str, Any], workers: int) -> dict[str, Any]:
    return {**plan, "dp": workers, "batch": plan["batch"] // plan["dp"] * workers}


def _fill(
    mp: int,
    workers: NDArray[np.int64],
    found: dict[int, tuple[float, dict[str, Any] | None, str | None, dict[str, Any] | None]],
    shares: dict[int, list[int]],
) -> Column:
    share_of = {count: share for share, group in shares.items() for count in group}
    nothing = (np.nan, None, None, None)
    rows = [found.get(int(count), nothing) for count in workers]
    batch = np.array([count * share_of.get(int(count), np.nan) for count in workers], dtype=np.float64)
    return Column(
        mp,
        workers,
        batch,
        np.array([row[0] for row in rows], dtype=np.float64),
        [row[1] for row in rows],
        [row[2] for row in rows],
        [row[3] for row in rows],
    )

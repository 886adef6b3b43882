"""The answer as a tree of plain values, and as columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dielet import _core

if TYPE_CHECKING:
    from dielet.projection.answer import Answer, Choice


def finite(value: float) -> float | None:
    """The number, or None where it is none."""
    return float(value) if math.isfinite(value) else None


def answer_tree(answer: Answer, top: int) -> dict[str, Any]:
    """The keys of `dielet plan --json`."""
    other = answer.under_other_rule
    rules = {
        answer.request.extrapolate: [answer.crossover_devices, answer.gain_at_scale],
        other.request.extrapolate: [other.crossover_devices, other.gain_at_scale],
    }
    return {
        "status": answer.status,
        "model": answer.model.name,
        "system": answer.system.name,
        "precision": answer.request.precision,
        "convergence": answer.curve.name,
        "notes": list(answer.notes),
        "curve": _curve(answer),
        "crossover_devices": answer.crossover_devices,
        "crossover_inside_measured_range": answer.crossover_inside,
        "gain_at_scale": answer.gain_at_scale,
        "by_extrapolation": {
            rule: {"crossover_devices": at, "gain_at_scale": gain} for rule, (at, gain) in rules.items()
        },
        "plans": plans(answer, top),
        "search": _search(answer),
        "version": answer.version,
        "seconds": answer.seconds,
    }


def _curve(answer: Answer) -> list[dict[str, Any]]:
    dp, dp_speedup = answer.dp, answer.speedup(answer.dp)
    hybrid = answer.hybrid
    speedup = answer.speedup(hybrid) if hybrid else None
    rows = []
    for row, devices in enumerate(answer.devices):
        entry: dict[str, Any] = {"devices": int(devices), "dp_only": _row(dp, row, dp_speedup)}
        if hybrid is not None and speedup is not None:
            entry["hybrid"] = _row(hybrid, row, speedup)
            entry["hybrid"]["mp"] = int(hybrid.mp[row])
            entry["hybrid"]["kind"] = hybrid.kinds[row]
            entry["hybrid"]["idle_devices"] = int(devices - hybrid.workers[row] * hybrid.mp[row])
        entry["best"] = answer.best[row]
        rows.append(entry)
    return rows


def _row(choice: Choice, row: int, speedup: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "step_s": finite(choice.step_s[row]),
        "steps_per_epoch": finite(choice.steps_per_epoch[row]),
        "epochs": finite(choice.epochs[row]),
        "time_to_target_s": finite(choice.time_to_target_s[row]),
        "batch": finite(choice.batch[row]),
        "speedup": finite(speedup[row]),
        "workers": int(choice.workers[row]),
        "why": choice.why[row],
    }


def plans(answer: Answer, top: int) -> list[dict[str, Any]]:
    """The best plans by the objective, each priced with its breakdown."""
    rows = [
        (choice, int(row)) for choice in answer.choices for row in np.flatnonzero(np.isfinite(choice.time_to_target_s))
    ]
    rows.sort(key=lambda entry: _rank(answer, *entry))
    return [priced(answer, choice, row) for choice, row in rows[:top]]


def _rank(answer: Answer, choice: Choice, row: int) -> tuple[float, int]:
    devices = int(answer.devices[row])
    match answer.request.objective:
        case "time":
            value = choice.time_to_target_s[row]
        case "step":
            value = choice.step_s[row]
        case "cost":
            value = choice.time_to_target_s[row] * devices
        case "energy":
            entry = priced(answer, choice, row)
            value = entry["energy_j"] if entry["energy_j"] is not None else math.inf
    return float(value), devices


def priced(answer: Answer, choice: Choice, row: int) -> dict[str, Any]:
    """One plan of the answer with its breakdown, and energy and money to the target."""
    plan = choice.plans[row] or {}
    entry = dict(_core.price(answer.model, answer.system, plan))
    entry["kind"] = choice.kinds[row]
    steps = choice.steps_per_epoch[row] * choice.epochs[row]
    own = entry["step_s"]
    entry["modelled_step_s"] = own
    entry["step_s"] = float(choice.step_s[row])
    entry["time_to_target_s"] = finite(choice.time_to_target_s[row])
    # Energy and hire scale with the step where its time is given or fixed instead of modelled.
    scale = entry["step_s"] / own * steps
    for key in ("energy_j", "cost_usd"):
        entry[f"{key}_per_step"] = entry[key]
        entry[key] = None if entry[key] is None else finite(entry[key] * scale)
    return entry


def _search(answer: Answer) -> dict[str, Any]:
    counts = answer.counts
    heuristic = any(kind == "placement" for choice in answer.choices for kind in choice.kinds)
    return {
        "space": counts.space,
        "priced": counts.priced,
        "pruned": dict(sorted(counts.pruned.items())),
        "infeasible": dict(sorted(counts.infeasible.items())),
        "proven": not heuristic,
        "gap": None if heuristic else 0.0,
        "stop": "exhausted",
    }


def answer_columns(answer: Answer) -> dict[str, NDArray[Any]]:
    """Columns of equal length with the unit in the name."""
    table: dict[str, NDArray[Any]] = {"devices": answer.devices}
    named = {"dp_only": answer.dp} | ({"hybrid": answer.hybrid} if answer.hybrid else {})
    for name, choice in named.items():
        table[f"{name}_workers"] = choice.workers
        for column in ("batch", "step_s", "steps_per_epoch", "epochs", "time_to_target_s"):
            table[f"{name}_{column}"] = getattr(choice, column)
        table[f"{name}_speedup"] = answer.speedup(choice)
    if answer.hybrid is not None:
        table["hybrid_mp"] = answer.hybrid.mp
        table["hybrid_kind"] = np.array([kind or "" for kind in answer.hybrid.kinds])
    table["best"] = np.array([best or "" for best in answer.best])
    return table

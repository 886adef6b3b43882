"""Our own number for a claim: each check is a function, registered by its name.

A check returns the number in the unit of the claim, or None when no check is possible. It may raise
`Unavailable` to say why. What it needs beyond convergence and equations is imported late.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from dielet.convergence import Curve, load_curve
from dielet.projection import equations

Check = Callable[..., float | None]

CHECKS: Final[dict[str, Check]] = {}


class Unavailable(Exception):  # noqa: N818 - no error: a reason
    """Why a check cannot be made."""


def check(function: Check) -> Check:
    """Register a check by the name of its function."""
    CHECKS[function.__name__] = function
    return function


@check
def none() -> None:
    """Kept for its context: nothing of ours can be compared."""


# Hybrid parallelism


@check
def plan_gain(model: str, system: str, devices: int, precision: str) -> float | None:
    """Gain of the best hybrid over the best of data parallelism alone on at most `devices`, all modelled."""
    gain = _plan(model, system, devices, precision).gain_at_scale
    return None if gain is None else float(gain)


@check
def mp_speedup(model: str, system: str, mp: int, precision: str) -> float | None:
    """Speedup of a step when one worker is split over `mp` devices, its mini-batch unchanged."""
    points = {int(point["devices"]): point for point in _plan(model, system, mp, precision).to_dict()["curve"]}
    hybrid = points[mp]["hybrid"]
    steps = (points[1]["dp_only"]["step_s"], hybrid["step_s"] if hybrid and hybrid["mp"] == mp else None)
    if None in steps:
        raise Unavailable(f"no hybrid of {mp} devices is feasible on {system}")
    return float(points[1]["dp_only"]["step_s"] / hybrid["step_s"])


@check
def gain_from(mp: float, mp_speedup: float, epochs_ratio: float) -> float:
    """Gain of hybrid on equal devices at scaling efficiency 1."""
    return equations.hybrid_gain(mp, mp_speedup, 1.0, epochs_ratio)


@check
def epochs_ratio_needed(mp: float, mp_speedup: float) -> float:
    """Growth of epochs from which on hybrid wins at scaling efficiency 1."""
    return equations.required_epochs_ratio(mp, mp_speedup, 1.0)


@check
def saturated_gain(mp_speedup: float) -> float:
    """Gain over data parallelism that has stopped to speed up (epochs double as devices do)."""
    return equations.hybrid_gain(2.0, mp_speedup, 1.0, 2.0)


@check
def crossover(curve: str, mp: float, mp_speedup: float, worker_batch: float) -> float:
    """Devices from which on hybrid wins under the hyperbola of a curve at scaling efficiency 1."""
    critical = load_curve(curve).hyperbola().critical_batch
    return float(math.ceil(equations.crossover_devices(mp, mp_speedup, worker_batch, critical)))


@check
def gain_under_hyperbola(curve: str, devices: float, mp: float, mp_speedup: float, worker_batch: float) -> float:
    """Gain on `devices` in all under the hyperbola of a curve at scaling efficiency 1."""
    critical = load_curve(curve).hyperbola().critical_batch
    return equations.hybrid_gain_under_hyperbola(devices / mp, mp, mp_speedup, worker_batch, critical)


# Networks


@check
def parameters(model: str) -> float:
    """Parameters of a model."""
    return float(_public("load_model")(model).parameters()["total"])


@check
def forward_gmac(model: str) -> float:
    """Multiply-adds of a forward pass, in units of 1e9 a sample."""
    flops = _public("load_model")(model).forward_flops_per_sample
    return float(flops() if callable(flops) else flops) / 2e9


# Convergence


@check
def critical_batch(curve: str) -> float:
    """Critical batch of our fit to a curve."""
    return load_curve(curve).hyperbola().critical_batch


@check
def epochs_at(curve: str, batch: float) -> float:
    """Epochs to the target at a batch."""
    return load_curve(curve).epochs(batch)


@check
def examples_at_critical_batch(curves: list[str]) -> float:
    """Measured value at the fitted critical batch over the fitted minimum; of several the farthest from 2.

    Curves that were not measured around their critical batch are left out.
    """
    loaded = [load_curve(curve) for curve in curves]
    measured = [one for one in loaded if one.inside(one.hyperbola().critical_batch)]
    ratios = [_value_over_minimum(one) for one in measured]
    return max(ratios, key=lambda ratio: abs(ratio - 2.0))


@check
def twenty_per_cent_batch(curve: str, optimum: float) -> float:
    """Batch at which steps exceed linear scaling from the optimum by 20 %: `1.2 B_opt + 0.2 B_c`."""
    return 1.2 * optimum + 0.2 * load_curve(curve).hyperbola().critical_batch


@check
def twenty_per_cent_exponent(curves: dict[str, float], optimum: float) -> float:
    """Exponent of that batch in the number of parameters (in millions), least squares in log-log."""
    batch = [twenty_per_cent_batch(curve, optimum) for curve in curves]
    return float(np.polyfit(np.log(list(curves.values())), np.log(np.asarray(batch, dtype=np.float64)), 1)[0])


def _value_over_minimum(curve: Curve) -> float:
    fitted = curve.as_hyperbola()
    critical = curve.hyperbola().critical_batch
    return 2.0 * curve.epochs(critical) / fitted.epochs(critical)


def _public(name: str) -> Any:
    import dielet

    found = getattr(dielet, name, None)
    if found is None:
        raise Unavailable(f"`dielet.{name}` is not part of this version")
    return found


@cache
def _plan(model: str, system: str, devices: int, precision: str) -> Any:
    return _public("plan")(model, system=system, devices=range(1, devices + 1), precision=precision)

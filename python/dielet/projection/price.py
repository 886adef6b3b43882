"""`dielet.price`: one given plan of any model on any system, explained."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dielet import _core
from dielet._core import Model, System, __version__
from dielet.errors import PlanError
from dielet.projection.request import nearest, precision_of

if TYPE_CHECKING:
    from dielet.convergence import Curve
    from dielet.hardware.system import Fabric

DEGREES = ("dp", "tp", "pp", "cp", "ep", "placed", "virtual_stages", "micro_batch", "batch", "sequence", "time_chunks")


@dataclass(frozen=True, eq=False, repr=False)
class Priced:
    """A plan's verdict: feasible with its breakdown, or infeasible with its reason."""

    model: Model
    system: System
    verdict: Mapping[str, Any]
    time_to_target_s: float | None
    seconds: float

    @property
    def status(self) -> str:
        """`feasible` or `infeasible`."""
        return str(self.verdict["status"])

    @property
    def step_s(self) -> float | None:
        """Time of a step; none if infeasible."""
        return self.verdict.get("step_s")

    def to_dict(self) -> dict[str, Any]:
        """The keys that scripts rely on."""
        answer = {**self.verdict, "model": self.model.name, "system": self.system.name}
        if self.status == "feasible":
            answer["time_to_target_s"] = self.time_to_target_s
        return {**answer, "version": __version__, "seconds": self.seconds}

    def __repr__(self) -> str:
        from dielet.report.terminal import priced_text

        return priced_text(self, width=100)


def price(
    model: str | Path | Model,
    *,
    system: str | Path | System,
    fabric: str | Path | Fabric | None = None,
    devices: int | None = None,
    precision: str | None = None,
    curve: str | Path | Curve | None = None,
    **plan: Any,
) -> Priced:
    """The price of one plan.

    `plan` holds any of dp, tp, pp, cp, ep, virtual_stages, micro_batch, batch, sequence, schedule (`gpipe`, `1f1b`),
    recompute (`none`, `selective`, `full`), sharding (0..3), sequence_parallel, dense_gradients, mapping
    (`tp-cp-dp-pp`, `tp-pp-cp-dp`). Either of `devices` and `dp` gives the other; the batch defaults to the model's
    mini-batch for each worker, the micro-batch to that mini-batch.

    Examples
    --------
    >>> import dielet
    >>> priced = dielet.price("gpt3-175b", system="dgx-a100", tp=8, pp=8, micro_batch=1, batch=64,
    ...     recompute="full", precision="mixed")
    >>> priced.status
    'feasible'
    """
    from dielet.projection.plan import _model, _system

    started = time.perf_counter()
    loaded, machine = _model(model, plan.get("sequence")), _system(system, fabric)
    full = complete(loaded, precision_of(loaded, machine, precision), devices, plan)
    verdict = _core.price(loaded, machine, full)
    total = _time_to_target(loaded, verdict, curve) if verdict["status"] == "feasible" else None
    return Priced(loaded, machine, verdict, total, time.perf_counter() - started)


def complete(model: Model, precision: str, devices: int | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Every field of a plan from those given."""
    plan = _core.serial_plan(model, precision)
    for name, value in given.items():
        if name not in plan:
            raise PlanError(f"a plan has no `{name}`: {nearest(name, plan)}")
        if name in DEGREES and (isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**53):
            raise PlanError(f"`{name} = {value}` is out of range: give a whole number of at least 1")
    plan.update({name: value for name, value in given.items() if value is not None})
    plan["dp"] = _workers(plan, devices, given.get("dp"))
    share = model.worker_batch
    if "batch" not in given:
        plan["batch"] = plan["dp"] * max(share, given.get("micro_batch", share))
    if "micro_batch" not in given:
        plan["micro_batch"] = max(1, plan["batch"] // plan["dp"])
    return plan


def _workers(plan: dict[str, Any], devices: int | None, dp: int | None) -> int:
    mp: int = plan["tp"] * plan["pp"] * plan["cp"] * plan["placed"]
    if devices is None:
        return dp or 1
    if devices < 1:
        raise PlanError(f"device count {devices} is out of range: give at least 1")
    if dp is not None and dp * mp != devices:
        raise PlanError(f"{devices} devices contradict dp {dp} x {mp} devices per worker = {dp * mp}: give one")
    if devices % mp:
        raise PlanError(f"{devices} devices are no multiple of the {mp} devices per worker")
    return devices // mp


def _time_to_target(model: Model, verdict: Mapping[str, Any], curve: str | Path | Curve | None) -> float | None:
    from dielet.projection.defaults import CURVES
    from dielet.projection.plan import _curve

    if curve is None and model.name not in CURVES:
        return None
    batch = verdict["plan"]["batch"]
    found, _ = _curve(model, curve)
    return float(verdict["step_s"] * found.samples_per_epoch / batch * found.epochs(float(batch)))

"""Put the ops of a dataflow graph on a few devices, in the order that ends the step soonest, with a proof.

>>> import networkx as nx
>>> from dielet.placement import place
>>> graph = nx.DiGraph()
>>> for name in "abcd":
...     graph.add_node(name, time=1.0, bytes=0.0)
>>> graph.add_edges_from([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
>>> answer = place(graph, devices=2, bandwidth_bytes_per_s=1e9, latency_s=0.25)
>>> answer.status, answer.makespan_s
('optimal', 3.25)
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dielet import _core
from dielet._core import Model, System
from dielet.errors import PlanError
from dielet.hardware.system import load_system
from dielet.model import load_model
from dielet.model.taskgraph import TaskGraph, TaskOp, TaskTensor, read_taskgraph
from dielet.projection.request import precision_of

if TYPE_CHECKING:
    import networkx as nx

Links = Literal["delay", "serial", "port"]
LINKS = ("delay", "serial", "port")


@dataclass(frozen=True)
class PlacedOp:
    """Where and when one op runs."""

    id: str
    phase: str
    device: int
    start_s: float
    finish_s: float
    critical: bool = False


@dataclass(frozen=True)
class Transfer:
    """When the output of op ``tensor`` travels between two devices."""

    tensor: str
    phase: str
    source: int
    destination: int
    start_s: float
    finish_s: float
    critical: bool = False


@dataclass(frozen=True)
class Placement:
    """A schedule and its proof: ``lower_bound_s <= optimum <= makespan_s``."""

    status: str
    makespan_s: float | None
    lower_bound_s: float | None
    gap: float | None
    serial_s: float | None
    speedup: float | None
    devices: int
    links: str
    ops: tuple[PlacedOp, ...]
    transfers: tuple[Transfer, ...]
    search: dict[str, Any]
    seconds: float
    unit: str = "s"
    reason: str | None = None
    notes: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        if self.makespan_s is None:
            return f"Placement({self.status}: {self.reason})"
        bound = "" if self.status == "optimal" else f", at least {self.lower_bound_s:.6g} {self.unit}"
        speedup = "" if self.speedup is None else f", {self.speedup:.4g}x over one device"
        value = f"{self.makespan_s:.6g} {self.unit}"
        return f"Placement({self.status}, {value} on {self.devices} devices{bound}{speedup})"

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain objects, ready for JSON."""
        answer = {"version": _core.__version__, **asdict(self)}
        answer["transfers"] = [_renamed(transfer) for transfer in answer["transfers"]]
        return answer

    def device_map(self) -> dict[str, int]:
        """Device of each op by name, as ``torch`` and ``accelerate`` take it."""
        return {op.id: op.device for op in self.ops}

    def to_csv(self) -> str:
        """A table with one row per op and transfer."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("kind", "id", "phase", "from", "to", "start_s", "finish_s", "critical"))
        for op in self.ops:
            rows.writerow(("op", op.id, op.phase, op.device, op.device, op.start_s, op.finish_s, op.critical))
        for t in self.transfers:
            row = (t.tensor, t.phase, t.source, t.destination, t.start_s, t.finish_s, t.critical)
            rows.writerow(("transfer", *row))
        return text.getvalue()

    def trace(self) -> dict[str, Any]:
        """The timeline in the trace event format that Perfetto and Chrome open."""
        from dielet.report.timeline import trace

        return trace(self)

    def html(self) -> str:
        """The timeline as one self-contained page."""
        from dielet.report.timeline import html

        return html(self)


def _renamed(transfer: dict[str, Any]) -> dict[str, Any]:
    names = {"source": "from", "destination": "to"}
    return {names.get(key, key): value for key, value in transfer.items()}


def place(
    graph: str | Path | TaskGraph | nx.DiGraph | Model,
    devices: int | None = None,
    *,
    system: str | Path | System | None = None,
    precision: str | None = None,
    batch: int | None = None,
    bandwidth_bytes_per_s: float | None = None,
    latency_s: float | None = None,
    links: Links | None = None,
    overlap: bool = True,
    forward_only: bool = False,
    memory_bytes: float | None = None,
    drop: Iterable[str] = (),
    as_given: bool = False,
    time_limit_s: float | None = None,
) -> Placement:
    """The placement and order of ``graph`` on ``devices`` that end soonest, or the best in the time limit.

    A graph with backward times is placed as a training step, its backward the mirror of its forward.
    ``as_given`` takes graphs of Tarnawski et al. as they are in the file. Files that state transfer times
    need neither bandwidth nor latency, and are read as pure delays unless ``links`` says otherwise.

    A model (an object or a name of the package) is placed as a training step of ``batch`` samples on the first
    devices of a ``system``, which gives times, memory and links; what else is given takes their place.
    """
    if system is not None:
        machine = load_system(system) if not isinstance(system, System) else system
        tasks, problem = _of_model(graph, machine, 2 if devices is None else devices, precision, batch)
        problem |= _given(problem, links, overlap, memory_bytes, bandwidth_bytes_per_s, latency_s)
        return _placement(tasks, problem, _core.place_solve(problem, time_limit_s))
    if isinstance(graph, Model):
        raise PlanError(f"model `{graph.name}` has no times without a machine: give a system")
    tasks = read_taskgraph(graph, as_given).without(drop)
    if forward_only:
        tasks = tasks.forward_only()
    problem = placement_problem(
        tasks,
        devices,
        bandwidth_bytes_per_s=bandwidth_bytes_per_s,
        latency_s=latency_s,
        links=links,
        overlap=overlap,
        memory_bytes=memory_bytes,
    )
    return _placement(tasks, problem, _core.place_solve(problem, time_limit_s))


def _of_model(
    graph: Any, system: System, devices: int, precision: str | None, batch: int | None
) -> tuple[TaskGraph, dict[str, Any]]:
    """A model on a system as the solver takes it, and what its answer needs to know of it."""
    _checked_count(devices)
    model = graph if isinstance(graph, Model) else load_model(graph)
    plan = _core.serial_plan(model, precision_of(model, system, precision))
    samples = batch or model.worker_batch
    verdict = _core.place_model(model, system, plan | {"placed": devices, "micro_batch": samples, "batch": samples})
    if verdict.pop("status") == "infeasible":
        raise PlanError(f"`{model.name}` cannot be placed: {verdict['reason']}; nearest: {verdict['nearest']}")
    note = (
        f"{samples} samples in {plan['precision']} on {devices} devices of {system.name}; links as the system has them"
    )
    return TaskGraph(source=model.name, ops=(), tensors=(), devices=devices, notes=(note,)), verdict


def _given(
    problem: dict[str, Any],
    links: Links | None,
    overlap: bool,
    memory: float | None,
    bandwidth: float | None,
    latency: float | None,
) -> dict[str, Any]:
    """What the caller puts in the place of the system's."""
    count = len(problem["memory_bytes"])
    given: dict[str, Any] = {"overlap": overlap}
    if links is not None:
        given["links"] = links
    if memory is not None:
        given["memory_bytes"] = [memory] * count
    for name, value in (("bandwidth_bytes_per_s", bandwidth), ("latency_s", latency)):
        if value is not None:
            given[name] = [[value] * count for _ in range(count)]
    return given


def placement_problem(
    tasks: TaskGraph,
    devices: int | None = None,
    *,
    bandwidth_bytes_per_s: float | None = None,
    latency_s: float | None = None,
    links: Links | None = None,
    overlap: bool = True,
    memory_bytes: float | None = None,
) -> dict[str, Any]:
    """The problem as the solver and ``dielet._core.place_check`` take it."""
    count = _device_count(tasks, devices)
    timed = _states_times(tasks, bandwidth_bytes_per_s)
    if not timed and (bandwidth_bytes_per_s is None or latency_s is None):
        raise PlanError(f"{tasks.source}: give bandwidth and latency of the links (the graph states sizes, not times)")
    bandwidth = 1.0 if timed else bandwidth_bytes_per_s
    latency = 0.0 if timed else latency_s
    chosen = links or ("delay" if timed else "serial")
    if chosen not in LINKS:
        raise PlanError(f"links `{chosen}` is no link model: use one of {', '.join(LINKS)}")
    ops, tensors = _ops_and_tensors(tasks, count, timed)
    memory = memory_bytes if memory_bytes is not None else tasks.memory_bytes
    return {
        "memory_bytes": [float("inf") if memory is None else float(memory)] * count,
        "ops": ops,
        "tensors": tensors,
        "latency_s": [[latency] * count for _ in range(count)],
        "bandwidth_bytes_per_s": [[bandwidth] * count for _ in range(count)],
        "links": chosen,
        "overlap": overlap,
    }


def _device_count(tasks: TaskGraph, devices: int | None) -> int:
    count = devices if devices is not None else tasks.devices
    if count is None:
        raise PlanError(f"{tasks.source}: give the number of devices; the graph does not state it")
    return _checked_count(count)


def _checked_count(count: int) -> int:
    """Refused before a matrix of links is laid out for it."""
    most = _core.place_most_devices
    if count < 1:
        raise PlanError(f"{count} devices given; place needs at least 1")
    if count > most:
        raise PlanError(f"{count} devices given; place handles at most {most}, use `dielet plan` or `dielet partition`")
    return count


def _states_times(tasks: TaskGraph, bandwidth: float | None) -> bool:
    """Whether transfers take the times of the file: its only statement, or no bandwidth is given."""
    sized = all(tensor.bytes is not None for tensor in tasks.tensors)
    if tasks.unit != "s":
        return True
    timed = all(tensor.seconds is not None for tensor in tasks.tensors) and tasks.tensors != ()
    return timed and (not sized or bandwidth is None)


def _ops_and_tensors(tasks: TaskGraph, devices: int, timed: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    index = {op.id: i for i, op in enumerate(tasks.ops)}
    groups = {name: k for k, name in enumerate(sorted({op.group for op in tasks.ops if op.group is not None}))}
    tensors = [_tensor(tensor, index, timed) for tensor in tasks.tensors]
    common = [
        {"id": op.id, "memory_bytes": op.memory_bytes, "group": groups.get(op.group or ""), "pin": op.pin}
        for op in tasks.ops
    ]
    if all(op.backward_s is None for op in tasks.ops):
        times = (_times(op, op.forward_s, devices) for op in tasks.ops)
        rows = zip(tasks.ops, common, times, strict=True)
        return [{**shared, "phase": op.phase, "time_s": time} for op, shared, time in rows], tensors
    forward = [
        {
            **shared,
            "forward_s": _times(op, op.forward_s, devices),
            "backward_s": _times(op, op.backward_s or (0.0,), devices),
        }
        for op, shared in zip(tasks.ops, common, strict=True)
    ]
    return _core.place_training_step(forward, tensors)


def _tensor(tensor: TaskTensor, index: dict[str, int], timed: bool) -> dict[str, Any]:
    size = tensor.seconds if timed else tensor.bytes
    consumers = [index[name] for name in tensor.consumers]
    return {
        "producer": index[tensor.producer],
        "consumers": consumers,
        "bytes": 0.0 if size is None else size,
    }


def _times(op: TaskOp, times: tuple[float, ...], devices: int) -> list[float]:
    if len(times) == 1:
        return list(times) * devices
    if len(times) != devices:
        raise PlanError(f"op `{op.id}` has times for {len(times)} devices, not {devices}; use --devices {len(times)}")
    return list(times)


def _placement(tasks: TaskGraph, problem: dict[str, Any], outcome: dict[str, Any]) -> Placement:
    schedule = outcome["schedule"] or {"ops": (), "transfers": (), "makespan_s": None}
    critical = outcome["critical_path"] or {"ops": (), "transfers": ()}
    proof = outcome["proof"] or {}
    ops = tuple(
        PlacedOp(
            op["id"],
            op["phase"],
            slot["device"],
            slot["start_s"],
            slot["finish_s"],
            i in set(critical["ops"]),
        )
        for i, (op, slot) in enumerate(zip(problem["ops"], schedule["ops"], strict=False))
    )
    transfers = tuple(
        _transfer(problem, slot, k in set(critical["transfers"])) for k, slot in enumerate(schedule["transfers"])
    )
    return Placement(
        status=outcome["status"],
        makespan_s=schedule["makespan_s"],
        lower_bound_s=proof.get("lower_bound"),
        gap=outcome["gap"],
        serial_s=outcome["serial_s"],
        speedup=outcome["speedup"],
        devices=len(problem["memory_bytes"]),
        links=problem["links"],
        ops=ops,
        transfers=transfers,
        search={name: proof.get(name) for name in ("explored", "pruned", "stop")},
        seconds=outcome["seconds"],
        unit=tasks.unit if tasks.unit == "s" else "time units of the file",
        reason=outcome["reason"],
        notes=tasks.notes,
    )


def _transfer(problem: dict[str, Any], slot: dict[str, Any], critical: bool) -> Transfer:
    producer = problem["ops"][problem["tensors"][slot["tensor"]]["producer"]]
    ends = slot["from"], slot["to"], slot["start_s"], slot["finish_s"]
    return Transfer(producer["id"], producer["phase"], *ends, critical)

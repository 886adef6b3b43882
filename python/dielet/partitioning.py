r"""Cut a dataflow graph into pipeline stages so that throughput is highest, and prove it.

>>> import dielet
>>> layers = [f"{i} -- layer -- forward_compute_time=1.0, backward_compute_time=2.0, activation_size=1e6, "
...           "parameter_size=4e6" for i in range(8)]
>>> order = [f"\t{i} -- {i + 1}" for i in range(7)]
>>> answer = dielet.partition("\n".join(layers + order), levels=(4,), bandwidths_bytes_per_s=(10e9,))
>>> answer
Partition(optimal, 0.006 s, 4 stages 1-1-1-1)
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dielet import _core
from dielet.errors import PlanError
from dielet.model.partition_input import Graph, HybridGraph, LoadGraph, ReplicaGraph, parse, read

CONVENTIONS = ("tarnawski", "pipedream", "piper")
"""Published cost conventions; each comes with a file format."""


@dataclass(frozen=True)
class Stage:
    """One stage: its ops, who runs it and what it costs."""

    ops: tuple[str, ...]
    kind: str
    replicas: int
    tensor: int
    load: float
    memory_bytes: float


@dataclass(frozen=True)
class Partition:
    """Stages in pipeline order and the proof. Costs are in ``unit``, the convention's own."""

    status: str
    convention: str
    unit: str
    bottleneck: float | None
    lower_bound: float | None
    gap: float | None
    stages: tuple[Stage, ...]
    search: dict[str, Any]
    seconds: float
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain objects, ready for JSON."""
        return {
            "version": _core.__version__,
            **asdict(self),
            "stages": [asdict(stage) for stage in self.stages],
        }

    def __repr__(self) -> str:
        if self.bottleneck is None:
            return f"Partition({self.status}: {self.reason})"
        shape = "-".join(_width(stage) for stage in self.stages)
        return f"Partition({self.status}, {self.bottleneck:.6g} {self.unit}, {len(self.stages)} stages {shape})"


def _width(stage: Stage) -> str:
    if stage.kind == "cpu":
        return "cpu"
    return f"{stage.replicas}x{stage.tensor}" if stage.tensor > 1 else f"{stage.replicas}"


def partition(
    graph: str | Path | Graph,
    *,
    convention: str | None = None,
    devices: int | None = None,
    cpus: int | None = None,
    memory_bytes: float | None = None,
    contiguous: bool = True,
    levels: tuple[int, ...] | None = None,
    bandwidths_bytes_per_s: tuple[float, ...] | None = None,
    micro_batches: int | None = None,
    time_limit_s: float | None = None,
    memory_limit_bytes: int | None = None,
) -> Partition:
    """The best partition of ``graph`` into stages, in the cost convention of its file.

    What the file states (devices, CPUs, memory, micro-batches, bandwidth) holds unless given here. ``levels``
    are the devices of a node and the nodes of a PipeDream machine, ``bandwidths_bytes_per_s`` those inside a
    node and between nodes. A limit that is reached gives the best so far with its gap.
    """
    graph = _graph(graph, convention)
    if not contiguous and not isinstance(graph, LoadGraph):
        raise PlanError(f"non-contiguous stages are defined for convention tarnawski, not for {graph.convention}")
    if memory_bytes is not None and isinstance(graph, ReplicaGraph):
        raise PlanError("memory is no part of convention pipedream here: leave it out, or use another convention")
    limits = {"time_limit_s": time_limit_s, "memory_limit_bytes": memory_limit_bytes}
    start = time.perf_counter()
    match graph:
        case LoadGraph():
            answer = _load(graph, devices, cpus, memory_bytes, contiguous, limits)
        case ReplicaGraph():
            answer = _replicas(graph, devices, levels, bandwidths_bytes_per_s, limits)
        case HybridGraph():
            answer = _hybrid(graph, devices, memory_bytes, bandwidths_bytes_per_s, micro_batches, limits)
    return _report(graph, answer, time.perf_counter() - start)


def _graph(graph: str | Path | Graph, convention: str | None) -> Graph:
    """A graph from a file, from the text of one (it has lines), or as it is."""
    if isinstance(graph, str) and "\n" in graph:
        graph = parse(graph)
    elif isinstance(graph, str | Path):
        graph = read(graph)
    if convention not in (None, graph.convention):
        raise PlanError(f"the graph is in the format of convention {graph.convention}, not of {convention}")
    return graph


def _given(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value


def _load(
    graph: LoadGraph,
    devices: int | None,
    cpus: int | None,
    memory_bytes: float | None,
    contiguous: bool,
    limits: dict[str, Any],
) -> dict[str, Any]:
    return _core.partition_load(
        graph.columns,
        _given(devices, graph.accelerators),
        _given(cpus, graph.cpus),
        _given(memory_bytes, graph.memory_bytes),
        contiguous=contiguous,
        **limits,
    )


def _replicas(
    graph: ReplicaGraph,
    devices: int | None,
    levels: tuple[int, ...] | None,
    bandwidths: tuple[float, ...] | None,
    limits: dict[str, Any],
) -> dict[str, Any]:
    if levels is None and devices is None:
        raise PlanError("a PipeDream graph names no machine; give devices or levels, and bandwidths")
    levels = levels or (_given(devices, 0),)
    if not 1 <= len(levels) <= 2 or min(levels) < 1:
        raise PlanError(f"levels {levels} must be one count, or devices of a node and nodes")
    if bandwidths is None or len(bandwidths) != len(levels) or min(bandwidths) <= 0:
        raise PlanError(f"levels {levels} need as many positive bandwidths, not {bandwidths}")
    if devices is not None and devices != math.prod(levels):
        raise PlanError(f"levels {levels} make {math.prod(levels)} devices, not {devices}; give either of them")
    return _core.partition_replicas(
        graph.columns,
        levels[0],
        _second(levels, 1),
        bandwidths[0],
        _second(bandwidths, bandwidths[0]),
        **limits,
    )


def _second(values: tuple[Any, ...], otherwise: Any) -> Any:
    return values[1] if len(values) > 1 else otherwise


def _hybrid(
    graph: HybridGraph,
    devices: int | None,
    memory_bytes: float | None,
    bandwidths: tuple[float, ...] | None,
    micro_batches: int | None,
    limits: dict[str, Any],
) -> dict[str, Any]:
    problem = {
        "ops": graph.ops,
        "edges": graph.edges,
        "devices": _given(devices, graph.devices),
        "memory": float(_given(memory_bytes, graph.memory_bytes)),
        "bandwidth": bandwidths[0] if bandwidths else graph.bandwidth_bytes_per_s,
        "micro_batches": _given(micro_batches, graph.micro_batches),
    }
    return _core.partition_hybrid(problem, **limits)


def _report(graph: Graph, answer: dict[str, Any], seconds: float) -> Partition:
    proof = answer["proof"]
    found = bool(answer["stages"])
    proven = proof["stop"] == "optimal"
    status = ("optimal" if proven else "feasible") if found else ("infeasible" if proven else "unknown")
    reason = None if found else answer.get("reason") or f"no partition found: {proof['stop']}"
    return Partition(
        status=status,
        convention=graph.convention,
        unit=graph.unit,
        bottleneck=proof["value"] if found else None,
        lower_bound=proof["lower_bound"] if math.isfinite(proof["lower_bound"]) else None,
        gap=answer["gap"] if found else None,
        stages=tuple(_stage(graph.ids, stage) for stage in answer["stages"]),
        search={key: proof[key] for key in ("explored", "pruned", "stop")},
        seconds=seconds,
        reason=reason,
    )


def _stage(ids: tuple[str, ...], stage: dict[str, Any]) -> Stage:
    return Stage(
        ops=tuple(ids[op] for op in stage["ops"]),
        kind=stage["kind"],
        replicas=stage["replicas"],
        tensor=stage["tensor"],
        load=stage["load"],
        memory_bytes=stage["memory_bytes"],
    )

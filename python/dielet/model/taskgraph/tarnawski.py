"""JSON of Tarnawski et al. (NeurIPS 2020, github msr-fiddle/dnn-partitioning): nodes with latencies, edges with costs.

Latencies are milliseconds. The cost of an edge is the time to move its source's output: in seconds in the throughput
set, in milliseconds in the latency set; which of the two follows from the edge's bytes where it states them. Training
graphs have no edge from the forward to the backward part: for the time of a step they need them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dielet.errors import ModelError
from dielet.model.taskgraph.graph import TaskGraph, TaskOp, TaskTensor, number
from dielet.model.taskgraph.scale import milliseconds

# Costs were made with 2 GiB/s: bytes over the cost in seconds is near 2^31, over one in ms a thousandth of it.
_BYTES_PER_COST = 2.0**26


@dataclass(frozen=True)
class _Edge:
    source: str
    target: str
    cost: float
    size: float | None


def recognises(data: Any) -> bool:
    """Whether the object has the keys of the format."""
    return isinstance(data, dict) and "nodes" in data and ("maxFPGAs" in data or "maxSizePerFPGA" in data)


def read(data: dict[str, Any], source: str, as_given: bool) -> TaskGraph:
    """The graph; ``as_given`` takes costs as milliseconds and adds no edge from forward to backward."""
    ops = tuple(_op(node, source) for node in data["nodes"])
    edges = [_edge(edge, source) for edge in data.get("edges", [])]
    in_seconds = not as_given and any(e.size and e.cost and e.cost * _BYTES_PER_COST < e.size for e in edges)
    notes = []
    if in_seconds:
        notes.append("edge costs are seconds while latencies are ms (judged by the bytes of the edges)")
    seconds: Callable[[float, str], float] = number if in_seconds else milliseconds
    tensors = _tensors(edges, lambda cost: seconds(cost, source))
    backward = any(op.phase == "backward" for op in ops)
    if backward and not as_given:
        tensors += _forward_to_backward(ops)
        notes.append(
            "the edges from forward to backward, which the file lacks, are added: a backward op waits for its forward"
        )
    if backward and as_given:
        notes.append("taken as given: backward does not wait for forward, which no training step can do")
    memory = data.get("maxSizePerFPGA")
    return TaskGraph(
        source,
        ops,
        tuple(tensors),
        devices=data.get("maxFPGAs"),
        memory_bytes=None if memory is None else number(memory, f"{source}, maxSizePerFPGA"),
        notes=tuple(notes),
    )


def _op(node: dict[str, Any], source: str) -> TaskOp:
    try:
        name = str(node["id"])
        where = f"{source}, node {name}"
        time = milliseconds(node["fpgaLatency"], where) if node.get("supportedOnFpga", True) else float("inf")
        color = node.get("colorClass")
        group = None if color is None else str(color)
        phase = "backward" if node.get("isBackwardNode") else "forward"
        return TaskOp(name, (time,), None, number(node.get("size", 0.0), where), group, phase=phase)
    except KeyError as missing:
        raise ModelError(f"{source}: a node has no {missing}") from None


def _edge(edge: dict[str, Any], source: str) -> _Edge:
    try:
        ends = str(edge["sourceId"]), str(edge["destId"])
        where = f"{source}, edge {ends[0]} to {ends[1]}"
        size = edge.get("size")
        return _Edge(*ends, number(edge["cost"], where), None if size is None else number(size, where))
    except KeyError as missing:
        raise ModelError(f"{source}: an edge has no {missing}") from None


def _tensors(edges: list[_Edge], seconds: Callable[[float], float]) -> list[TaskTensor]:
    by_source: dict[str, list[_Edge]] = {}
    for edge in edges:
        by_source.setdefault(edge.source, []).append(edge)
    return [
        TaskTensor(
            producer,
            tuple(edge.target for edge in out),
            bytes=max((edge.size for edge in out if edge.size is not None), default=None),
            seconds=seconds(max(edge.cost for edge in out)),
        )
        for producer, out in by_source.items()
    ]


def _forward_to_backward(ops: tuple[TaskOp, ...]) -> list[TaskTensor]:
    forward: dict[str | None, list[str]] = {}
    for op in ops:
        if op.phase == "forward" and op.group is not None:
            forward.setdefault(op.group, []).append(op.id)
    backward = [op for op in ops if op.phase == "backward"]
    pairs = ((f, op.id) for op in backward for f in forward.get(op.group, []))
    return [TaskTensor(f, (b,), bytes=0.0, seconds=0.0) for f, b in pairs]

"""JSON of Piper (NeurIPS 2021, github msr-fiddle/piper): the plain variant without tensor parallelism.

Times are for forward and backward together, so a placement sees one op per node.
"""

from typing import Any

from dielet.errors import ModelError
from dielet.model.taskgraph.graph import TaskGraph, TaskOp, TaskTensor, number
from dielet.model.taskgraph.scale import milliseconds


def recognises(data: Any) -> bool:
    """Whether the object has the keys of the format."""
    return isinstance(data, dict) and "nodes" in data and "maxMemoryPerDevice" in data


def read(data: dict[str, Any], source: str) -> TaskGraph:
    """One op per node with the time of forward and backward together."""
    ops = tuple(_op(node, source) for node in data["nodes"])
    outputs: dict[str, list[tuple[str, float]]] = {}
    for edge in data.get("edges", []):
        ends = str(edge.get("sourceId")), str(edge.get("destId"))
        size = number(edge.get("communicationCost"), f"{source}, edge {ends[0]} to {ends[1]}")
        outputs.setdefault(ends[0], []).append((ends[1], size))
    tensors = (TaskTensor(u, (v,), bytes=size) for u, out in outputs.items() for v, size in out)
    memory = number(data["maxMemoryPerDevice"], f"{source}, maxMemoryPerDevice")
    note = "times are forward and backward together: each node is one op"
    return TaskGraph(
        source, ops, tuple(tensors), devices=data.get("maxDevices"), memory_bytes=memory, notes=(note,)
    )


def _op(node: dict[str, Any], source: str) -> TaskOp:
    where = f"{source}, node {node.get('id')}"
    try:
        plain = next(choice for choice in node["TMPCs"]["1"] if choice["id"] == "vanilla")
        memory = number(plain["memoryUsageA"], where) + number(plain["memoryUsageB"], where)
        return TaskOp(str(node["id"]), (milliseconds(plain["timePerSample"], where),), None, memory)
    except (KeyError, TypeError, StopIteration):
        raise ModelError(f"{where}: no `vanilla` entry of tensor degree 1 with time and memory") from None

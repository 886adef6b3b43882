"""PipeDream's ``graph.txt``: a line per layer, then a line per edge (github msr-fiddle/pipedream).

Times are milliseconds, sizes bytes; an activation size may be a list, which is summed. The input layer
only loads data: it is dropped. Memory of an op is its parameters and its activation.
"""

import re

from dielet.errors import ModelError
from dielet.model.taskgraph.graph import TaskGraph, TaskOp, TaskTensor, number
from dielet.model.taskgraph.scale import milliseconds

_FIELD = re.compile(r"(\w+)=(\[[^\]]*\]|[^,\s]+)")
_NEEDED = ("forward_compute_time", "backward_compute_time", "activation_size", "parameter_size")


def recognises(text: str) -> bool:
    """Whether the first line is a layer."""
    return " -- " in text.lstrip().split("\n", 1)[0] and "forward_compute_time=" in text


def read(text: str, source: str) -> TaskGraph:
    """The forward graph with the times of its mirrored backward."""
    ops: dict[str, TaskOp] = {}
    outputs: dict[str, float] = {}
    edges: list[tuple[str, str]] = []
    loads: set[str] = set()
    for at, line in enumerate(text.splitlines(), start=1):
        where = f"{source}, line {at}"
        if not line.strip():
            continue
        parts = line.strip().split(" -- ")
        if line[0].isspace():
            edges.append(_edge(parts, where))
        elif len(parts) >= 3:
            op, size = _layer(parts, where)
            ops[op.id], outputs[op.id] = op, size
            if parts[1].startswith("Input"):
                loads.add(op.id)
        else:
            raise ModelError(f"{where}: neither a layer nor an edge: `{line.strip()[:60]}`")
    return _graph(source, ops, outputs, edges, loads)


def _edge(parts: list[str], where: str) -> tuple[str, str]:
    if len(parts) != 2:
        raise ModelError(f"{where}: an edge is `source -- destination`, not `{' -- '.join(parts)[:60]}`")
    return parts[0], parts[1]


def _layer(parts: list[str], where: str) -> tuple[TaskOp, float]:
    fields = dict(_FIELD.findall(parts[2]))
    for name in _NEEDED:
        if name not in fields:
            raise ModelError(f"{where}: layer `{parts[0]}` has no {name}")
    forward, backward = (milliseconds(fields[name], where) for name in _NEEDED[:2])
    activation = sum(
        number(part, where) for part in fields[_NEEDED[2]].strip("[]").split(";") if part.strip()
    )
    memory = number(fields[_NEEDED[3]], where) + activation
    return TaskOp(parts[0], (forward,), (backward,), memory), activation


def _graph(
    source: str,
    ops: dict[str, TaskOp],
    outputs: dict[str, float],
    edges: list[tuple[str, str]],
    loads: set[str],
) -> TaskGraph:
    consumers: dict[str, list[str]] = {}
    for producer, consumer in edges:
        if producer not in loads and consumer not in loads:
            consumers.setdefault(producer, []).append(consumer)
    tensors = (TaskTensor(u, tuple(vs), bytes=outputs.get(u)) for u, vs in consumers.items())
    kept = tuple(op for op in ops.values() if op.id not in loads)
    notes = (f"the data-loading layer {', '.join(sorted(loads))} is left out",) if loads else ()
    return TaskGraph(source, kept, tuple(tensors), notes=notes)

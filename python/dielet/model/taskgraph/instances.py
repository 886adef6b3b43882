"""A JSON list of random DAGs, ``{n, D, p, edges [[u, v, c]], mem, M}``: one by its index, ``FILE#k``.

Times and transfer times are in the file's unit; each edge is a tensor of its own.
"""

from typing import Any

from dielet.errors import ModelError
from dielet.model.taskgraph.graph import TaskGraph, TaskOp, TaskTensor, number


def recognises(data: Any) -> bool:
    """Whether this is a list of instances or one instance."""
    first = data[0] if isinstance(data, list) and data else data
    return isinstance(first, dict) and "p" in first and "edges" in first


def read(data: Any, source: str, index: str | None) -> TaskGraph:
    """The instance of that index, or the only one."""
    instance = _pick(data, source, index)
    try:
        memory = instance.get("mem") or [0.0] * len(instance["p"])
        rows = zip(instance["p"], memory, strict=True)
        ops = (
            TaskOp(str(i), (number(p, f"{source}, p[{i}]"),), None, number(m, f"{source}, mem[{i}]"))
            for i, (p, m) in enumerate(rows)
        )
        tensors = (
            TaskTensor(str(u), (str(v),), seconds=number(c, f"{source}, edge {u} to {v}"))
            for u, v, c in instance["edges"]
        )
        capacity = instance.get("M")
        return TaskGraph(
            source,
            tuple(ops),
            tuple(tensors),
            unit="file",
            devices=instance.get("D"),
            memory_bytes=None if capacity is None else number(capacity, f"{source}, M"),
        )
    except (KeyError, TypeError, ValueError) as fault:
        raise ModelError(f"{source}: not an instance of {{p, edges [[u, v, c]], mem, M}}: {fault}") from None


def _pick(data: Any, source: str, index: str | None) -> dict[str, Any]:
    if isinstance(data, dict):
        return data
    last = len(data) - 1
    if index is None and len(data) > 1:
        raise ModelError(f"{source}: holds {len(data)} graphs; name one by `{source}#0` to `#{last}`")
    try:
        k = int(index or 0)
        if k < 0:
            raise IndexError
        chosen: dict[str, Any] = data[k]
    except (ValueError, IndexError):
        raise ModelError(f"{source}: no graph `#{index}`; use `#0` to `#{last}`") from None
    return chosen

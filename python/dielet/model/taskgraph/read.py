"""A task graph from a path, a networkx graph, or itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dielet.errors import FileError, ModelError
from dielet.model.taskgraph import dot, fused, hetero, instances, pipedream, piper, tarnawski
from dielet.model.taskgraph.graph import TaskGraph, TaskOp, TaskTensor, number

if TYPE_CHECKING:
    import networkx as nx

_TEXTS = (dot, fused, hetero, pipedream)
_KNOWN = "PipeDream graph.txt, Tarnawski or Piper JSON, random DAG JSON, DOT, hetero_dag text, fused CSV"


def read_taskgraph(graph: str | Path | TaskGraph | nx.DiGraph, as_given: bool = False) -> TaskGraph:
    """The task graph in a file (``FILE#k`` for one of a list); the content tells the format."""
    if isinstance(graph, TaskGraph):
        return graph.validated()
    if not isinstance(graph, (str, Path)):
        return from_networkx(graph)
    path, index = _split(graph)
    text = _text(path)
    return _parse(text, path.name, index, as_given).validated()


def _split(graph: str | Path) -> tuple[Path, str | None]:
    name, mark, index = str(graph).rpartition("#")
    if mark and not Path(graph).exists():
        return Path(name), index
    return Path(graph), None


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise FileError(f"{path} is not UTF-8 text (byte {fault.start}); give one of {_KNOWN}") from None
    except OSError as fault:
        raise FileError(f"cannot read {path}: {fault.strerror or fault}") from None


def _parse(text: str, source: str, index: str | None, as_given: bool) -> TaskGraph:
    if not text.strip():
        raise ModelError(f"{source}: the file is empty; give one of {_KNOWN}")
    if text.lstrip()[0] in "{[":
        return _parse_json(text, source, index, as_given)
    for reader in _TEXTS:
        if reader.recognises(text):
            graph: TaskGraph = reader.read(text, source)
            return graph
    raise ModelError(f"{source}: no known task graph format; give one of {_KNOWN}")


def _parse_json(text: str, source: str, index: str | None, as_given: bool) -> TaskGraph:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as fault:
        raise ModelError(
            f"{source}, line {fault.lineno}: not JSON: {fault.msg}; the file may be truncated"
        ) from None
    if tarnawski.recognises(data):
        return tarnawski.read(data, source, as_given)
    if piper.recognises(data):
        return piper.read(data, source)
    if instances.recognises(data):
        return instances.read(data, source, index)
    raise ModelError(f"{source}: JSON of no known format; give one of {_KNOWN}")


def from_networkx(graph: nx.DiGraph) -> TaskGraph:
    """A ``networkx.DiGraph`` with ``time`` (seconds, or one per device), ``bytes`` on nodes or edges.

    Optional on nodes: ``backward_time``, ``memory`` (bytes), ``group``, ``pin``. Edges of one node with
    unequal ``bytes`` are separate tensors.
    """
    if not hasattr(graph, "nodes") or not hasattr(graph, "successors"):
        raise ModelError(
            f"a {type(graph).__name__} is no task graph; give a path, a TaskGraph or a networkx.DiGraph"
        )
    ops = tuple(_op(str(name), data) for name, data in graph.nodes(data=True))
    outputs: dict[tuple[str, float], list[str]] = {}
    for u, v, data in graph.edges(data=True):
        size = data.get("bytes", graph.nodes[u].get("bytes", 0.0))
        outputs.setdefault((str(u), number(size, f"edge {u} to {v}")), []).append(str(v))
    tensors = (TaskTensor(u, tuple(vs), bytes=size) for (u, size), vs in outputs.items())
    return TaskGraph("networkx graph", ops, tuple(tensors)).validated()


def _op(name: str, data: dict[str, Any]) -> TaskOp:
    if "time" not in data:
        raise ModelError(f"node `{name}` has no `time`; give its seconds")
    backward = data.get("backward_time")
    return TaskOp(
        name,
        _times(data["time"], name),
        None if backward is None else _times(backward, name),
        number(data.get("memory", 0.0), f"memory of node `{name}`"),
        None if data.get("group") is None else str(data["group"]),
        data.get("pin"),
    )


def _times(time: Any, name: str) -> tuple[float, ...]:
    entries = time if isinstance(time, (list, tuple)) else (time,)
    return tuple(number(entry, f"time of node `{name}`") for entry in entries)

"""DOT with ``Weight`` on nodes and edges: times and transfer times in the file's unit."""

import re

from dielet.errors import ModelError
from dielet.model.taskgraph.graph import TaskGraph, TaskOp, TaskTensor, number

_NAME = r"(?:\"([^\"]*)\"|([\w.]+))"
_NODE = re.compile(rf"^{_NAME}\s*(?:\[(.*)\])?$", re.DOTALL)
_EDGE = re.compile(rf"^{_NAME}\s*->\s*{_NAME}\s*(?:\[(.*)\])?$", re.DOTALL)
_WEIGHT = re.compile(r"weight\s*=\s*\"?([^\s,\";\]]+)", re.IGNORECASE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*", re.DOTALL | re.MULTILINE)
# A semicolon or a line end, unless inside brackets or before an attribute list.
_SEPARATOR = re.compile(r"(?:;|\n(?!\s*\[))(?![^\[\]]*\])")
_KEYWORDS = ("graph", "node", "edge")


def recognises(text: str) -> bool:
    """Whether this is a directed graph in DOT."""
    return re.match(r"\s*(strict\s+)?digraph\b", _COMMENT.sub("", text)) is not None


def read(text: str, source: str) -> TaskGraph:
    """The graph; edges of one op with equal weight are one tensor, unequal ones are separate."""
    ops: dict[str, TaskOp] = {}
    outputs: dict[tuple[str, float], list[str]] = {}
    for statement in _statements(text, source):
        edge, node = _EDGE.match(statement), _NODE.match(statement)
        if edge:
            ends = edge[1] or edge[2], edge[3] or edge[4]
            weight = _weight(edge[5], f"{source}, edge {ends[0]} -> {ends[1]}")
            outputs.setdefault((ends[0], weight), []).append(ends[1])
        elif node and (node[1] or node[2]).lower() not in _KEYWORDS:
            name = node[1] or node[2]
            ops[name] = TaskOp(name, (_weight(node[3], f"{source}, node {name}"),))
        elif not node and not re.match(r"^[\w.]+\s*=", statement):
            raise ModelError(
                f"{source}: cannot read `{statement[:60]}`; use `a [Weight=1]` and `a -> b [Weight=1]`"
            )
    tensors = (TaskTensor(u, tuple(vs), seconds=weight) for (u, weight), vs in outputs.items())
    return TaskGraph(source, tuple(ops.values()), tuple(tensors), unit="file")


def _statements(text: str, source: str) -> list[str]:
    plain = _COMMENT.sub("", text)
    begin, end = plain.find("{"), plain.rfind("}")
    if begin < 0 or end < begin:
        raise ModelError(f"{source}: the braces of the digraph do not close; the file may be truncated")
    statements = (_joined(part) for part in _SEPARATOR.sub("\0", plain[begin + 1 : end]).split("\0"))
    return [statement for statement in statements if statement]


def _joined(statement: str) -> str:
    return " ".join(statement.split())


def _weight(attributes: str | None, where: str) -> float:
    found = _WEIGHT.search(attributes or "")
    if not found:
        raise ModelError(f"{where}: no Weight; give its time as `[Weight=1]`")
    return number(found[1], where)

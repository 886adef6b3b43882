"""Textbook graphs of unequal devices: ``#tasks`` with a time per device, ``#edges`` with transfer times."""

from dielet.errors import ModelError
from dielet.model.taskgraph.graph import TaskGraph, TaskOp, TaskTensor, number


def recognises(text: str) -> bool:
    """Whether the sections of the format are there."""
    lines = {line.strip() for line in text.splitlines()}
    return "#tasks" in lines and "#edges" in lines


def read(text: str, source: str) -> TaskGraph:
    """The graph; the number of devices is the number of times of a task."""
    ops: list[TaskOp] = []
    tensors: list[TaskTensor] = []
    section = ""
    for at, line in enumerate(text.splitlines(), start=1):
        where = f"{source}, line {at}"
        if line.startswith("#"):
            section = line.strip()
        elif line.strip() and section == "#tasks":
            name, fields = _fields(line, where)
            ops.append(TaskOp(name, tuple(number(f, where) for f in fields)))
        elif line.strip() and section == "#edges":
            _, fields = _fields(line, where)
            if len(fields) != 3:
                raise ModelError(
                    f"{where}: an edge is `index: source, destination, time`, not `{line.strip()}`"
                )
            tensors.append(TaskTensor(fields[0], (fields[1],), seconds=number(fields[2], where)))
    _same_width(ops, source)
    return TaskGraph(
        source, tuple(ops), tuple(tensors), unit="file", devices=len(ops[0].forward_s) if ops else None
    )


def _fields(line: str, where: str) -> tuple[str, list[str]]:
    name, colon, rest = line.partition(":")
    if not colon:
        raise ModelError(f"{where}: `{line.strip()}` has no `index:`")
    return name.strip(), [field.strip() for field in rest.split(",")]


def _same_width(ops: list[TaskOp], source: str) -> None:
    for op in ops:
        if len(op.forward_s) != len(ops[0].forward_s):
            has, needs = len(op.forward_s), len(ops[0].forward_s)
            raise ModelError(f"{source}: task {op.id} has {has} times, task {ops[0].id} has {needs}")

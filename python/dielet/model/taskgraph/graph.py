"""A task graph as plain data, whatever file it came from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from dielet.errors import ModelError


@dataclass(frozen=True)
class TaskOp:
    """One op: seconds on each kind of device (one entry: the same on all), and what it keeps in memory."""

    id: str
    forward_s: tuple[float, ...]
    backward_s: tuple[float, ...] | None = None
    memory_bytes: float = 0.0
    group: str | None = None
    pin: int | None = None
    phase: str = "forward"


@dataclass(frozen=True)
class TaskTensor:
    """What an op hands to others: a size, or a transfer time that the file states, or both."""

    producer: str
    consumers: tuple[str, ...]
    bytes: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class TaskGraph:
    """Ops and tensors. ``devices`` and ``memory_bytes`` are what the file asks for, where it does.

    ``unit`` is the unit of all times: ``s``, or ``file`` where the file does not say.
    """

    source: str
    ops: tuple[TaskOp, ...]
    tensors: tuple[TaskTensor, ...]
    unit: str = "s"
    devices: int | None = None
    memory_bytes: float | None = None
    notes: tuple[str, ...] = field(default=())

    def validated(self) -> TaskGraph:
        """The graph itself, or an error that names the first fault of its text; cycles are found later."""
        if not self.ops:
            raise ModelError(f"{self.source}: the graph has no ops; give at least one")
        names = _unique(self)
        for op in self.ops:
            for time in (*op.forward_s, *(op.backward_s or ())):
                _non_negative(time, f"{self.source}: time of op `{op.id}`", may_forbid=True)
            _non_negative(op.memory_bytes, f"{self.source}: memory of op `{op.id}`")
        for tensor in self.tensors:
            _check_tensor(self.source, tensor, names)
        return self

    def without(self, drop: Iterable[str]) -> TaskGraph:
        """The graph without some ops and the edges that touch them."""
        gone = set(drop)
        unknown = sorted(gone - {op.id for op in self.ops})
        if unknown:
            raise ModelError(f"{self.source}: cannot drop op `{unknown[0]}`: the graph has no such op")
        kept = (replace(t, consumers=tuple(c for c in t.consumers if c not in gone)) for t in self.tensors)
        return replace(
            self,
            ops=tuple(op for op in self.ops if op.id not in gone),
            tensors=tuple(t for t in kept if t.producer not in gone and t.consumers),
        )

    def forward_only(self) -> TaskGraph:
        """The forward ops alone."""
        graph = self.without(op.id for op in self.ops if op.phase == "backward")
        return replace(graph, ops=tuple(replace(op, backward_s=None) for op in graph.ops))


def _unique(graph: TaskGraph) -> set[str]:
    names: set[str] = set()
    for op in graph.ops:
        if op.id in names:
            raise ModelError(f"{graph.source}: op `{op.id}` is given twice; ids must be unique")
        names.add(op.id)
    return names


def _non_negative(value: float, what: str, may_forbid: bool = False) -> None:
    fine = value >= 0 and (may_forbid or math.isfinite(value))
    if not fine:
        raise ModelError(f"{what} is {value}; it must be a number >= 0")


def _check_tensor(source: str, tensor: TaskTensor, names: set[str]) -> None:
    for name in (tensor.producer, *tensor.consumers):
        if name not in names:
            raise ModelError(f"{source}: an edge names op `{name}`, which is not in the graph; add it or drop the edge")
    for value in (tensor.bytes, tensor.seconds):
        if value is not None:
            _non_negative(value, f"{source}: the output of op `{tensor.producer}`")


def number(text: str | float, where: str) -> float:
    """A float, or an error that says where the text is."""
    try:
        return float(text)
    except (TypeError, ValueError):
        raise ModelError(f"{where}: `{text}` is no number") from None

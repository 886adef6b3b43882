"""Graphs whose ops carry times that others measured: they can be placed and pipelined, but not sharded."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from dielet._core import parse_quantity
from dielet.errors import FileError, ModelError
from dielet.model import zoo
from dielet.model.builder import OUTPUT, Builder, Tensor, Tree, Weight

# Profiles are of FP32 training: an element has 4 bytes.
ELEMENT_BYTES = 4

PACKAGED = {"inception-v3-measured": "inception_v3.toml"}


@dataclass(frozen=True, slots=True)
class Task:
    """One measured op: its times, what it writes per sample, its parameters and its inputs' positions."""

    name: str
    forward_s: float
    backward_s: float
    elements: int
    parameters: int
    inputs: tuple[int, ...]
    data: bool = False


def names() -> Iterable[str]:
    """The names of the packaged measured graphs."""
    return PACKAGED


def packaged(name: str) -> Tree:
    """The tree of a packaged measured graph: the ops of a network of the zoo, with the times of a profile."""
    times = _profile(PACKAGED[name])
    shapes = zoo.build(times["model"])
    tasks = timed(shapes, times["times"])
    return from_tasks(
        tasks,
        name=name,
        summary=times["summary"],
        source=times["source"],
        sample=shapes["sample"],
        batch=times["batch"],
        optimizer=shapes["optimizer"],
    )


@cache
def _profile(file: str) -> dict[str, Any]:
    return tomllib.loads(files(__name__).joinpath(file).read_text(encoding="utf-8"))


def from_tasks(
    tasks: Sequence[Task],
    *,
    name: str,
    summary: str,
    source: str,
    batch: int,
    sample: str = "sample",
    optimizer: str = "momentum",
) -> Tree:
    """The tree of a graph of measured ops, each its own segment so that the chain can be cut anywhere."""
    net = Builder(
        name=name,
        summary=summary,
        source=source,
        sample=sample,
        worker_batch=batch,
        optimizer=optimizer,
        measured_batch=batch,
    )
    written: list[Tensor] = []
    for position, task in enumerate(tasks):
        _check_order(task, position, tasks)
        written.append(_op(net, task, [written[index] for index in task.inputs]))
    return net.build()


def _check_order(task: Task, position: int, tasks: Sequence[Task]) -> None:
    late = next((index for index in task.inputs if index >= position), None)
    if late is not None:
        raise ModelError(f"op `{task.name}` reads `{tasks[late].name}`, which is not before it: order them")


def _op(net: Builder, task: Task, inputs: Sequence[Tensor]) -> Tensor:
    net.segment(task.name)
    axes = {"batch": 1}
    if task.elements:
        axes["elements"] = task.elements
    output = tuple(axes)
    weights = [Weight(("parameters",))] if task.parameters else []
    if task.parameters:
        axes["parameters"] = task.parameters
    reads = []
    for index, tensor in enumerate(inputs):
        axes[f"input_{index}"] = tensor.axes.get("elements", 1)
        reads.append(tensor.over("batch", f"input_{index}"))
    if task.data:
        return net.op("", {"kind": "data"}, axes, output)
    work = {"kind": "measured", "forward_s": task.forward_s, "backward_s": task.backward_s}
    return net.op("", work, axes, output, inputs=reads, weights=weights, saves=[OUTPUT])


FORMATS = ("pipedream", "table")


def from_text(text: str, path: Path, batch: int | None = None) -> Tree:
    """The tree of a profile; `batch` says for how many samples its times hold, if the text does not."""
    if not text.strip():
        raise FileError(f"`{path}` is empty: give a model or a profile")
    for name in FORMATS:
        reader = import_module(f"{__name__}.{name}")
        if reader.recognise(text):
            tasks, batch = reader.read(text, path, batch)
            told = f"batch {batch}" if batch else "a batch that it does not tell, taken as one sample"
            summary = f"profile of {len(tasks)} ops, times of {told}"
            return from_tasks(tasks, name=path.name, summary=summary, source=str(path), batch=batch or 1)
    known = "a model (JSON, TOML), a PipeDream graph.txt or a table of ops"
    raise FileError(f"`{path}` has no known format: give {known}")


def ordered(tasks: Sequence[Task], edges: Iterable[tuple[int, int]]) -> list[Task]:
    """The tasks in topological order, with the inputs that the edges (from, to) state."""
    before: dict[int, list[int]] = {index: [] for index in range(len(tasks))}
    for tail, head in edges:
        before[head].append(tail)
    try:
        order = list(TopologicalSorter(before).static_order())
    except CycleError as error:
        cycle = " -> ".join(f"`{tasks[index].name}`" for index in error.args[1])
        raise ModelError(f"the graph has a cycle, {cycle}: remove one of its edges") from None
    position = {index: place for place, index in enumerate(order)}
    return [replace(tasks[i], inputs=tuple(sorted({position[b] for b in before[i]}))) for i in order]


def milliseconds(value: float) -> float:
    """So many milliseconds, in seconds."""
    return value * 1e-3


def megabytes(value: float) -> float:
    """So many megabytes, in bytes."""
    return value * 1e6


def elements_per_sample(size_bytes: float, batch: int, op: str) -> int:
    """Elements per sample of a tensor of a measured batch."""
    if batch < 1:
        raise ModelError(f"batch {batch} of measured op `{op}` is out of range: give at least 1")
    return _elements(size_bytes, op, "a tensor") // batch


def parameters(size_bytes: float, op: str) -> int:
    """Parameters of so many bytes."""
    return _elements(size_bytes, op, "parameters")


def _elements(size_bytes: float, op: str, what: str) -> int:
    if not (math.isfinite(size_bytes) and size_bytes >= 0):
        raise ModelError(f"op `{op}` has {what} of {size_bytes} bytes: it must be finite and not negative")
    return round(size_bytes / ELEMENT_BYTES)


# A kernel of a unit: the profile timed convolution, norm and ReLU together.
KERNELS = ("conv", "norm", "relu")


def unit(op: str) -> str:
    """The name of the timed unit that an op belongs to: `module/branch` for `module/branch/conv`."""
    head, _, kernel = op.rpartition("/")
    return head if kernel in KERNELS and "/" in head else op


def timed(shapes: Tree, times: dict[str, list[str]]) -> list[Task]:
    """The ops of a network joined to units, with their times; ops without a time are skipped over."""
    tasks: list[Task] = []
    wrote: list[int] = []  # the task whose output stands for that of each op
    for op in shapes["ops"]:
        name = unit(op["name"])
        data = op["work"]["kind"] == "data"
        inputs = tuple(dict.fromkeys(wrote[read["op"]] for read in op["inputs"]))
        if not data and name not in times:
            wrote.append(inputs[0])
            continue
        joined = bool(tasks) and tasks[-1].name == name
        before = tasks.pop() if joined else None
        inputs = before.inputs if before else inputs
        counted = (before.parameters if before else 0) + _count(op)
        forward, backward = (0.0, 0.0) if data else (parse_quantity(text, "time") for text in times[name])
        size = _size(op, op["output"])
        tasks.append(Task(name, forward, backward, size, counted, inputs, data))
        wrote.append(len(tasks) - 1)
    return tasks


def _size(op: Tree, axes: Iterable[int]) -> int:
    return math.prod(op["axes"][axis]["size"] for axis in axes)


def _count(op: Tree) -> int:
    return sum(weight["count"] * _size(op, weight["axes"]) for weight in op["weights"])

"""PipeDream's `graph.txt`: a line per op, then one per edge; milliseconds and bytes of one batch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dielet.errors import FileError
from dielet.model.measured import ELEMENT_BYTES, Task, elements_per_sample, milliseconds, ordered, parameters

NODE = re.compile(r"(\S+) -- (.*) -- (forward_compute_time=.*?)(?: -- stage_id=\d+)?\s*")
EDGE = re.compile(r"\s+(\S+) -- (\S+)\s*")
FIGURES = ("forward_compute_time", "backward_compute_time", "activation_size", "parameter_size")

# A classifier or a recurrent layer: its text tells how many elements a sample has in its last output.
FEATURES = re.compile(r"Linear\(in_features=\d+, out_features=(\d+)|LSTM\(\d+, (\d+)\)")


@dataclass(frozen=True)
class _Node:
    name: str
    what: str
    forward_ms: float
    backward_ms: float
    outputs: tuple[float, ...]
    parameters: float

    @property
    def data(self) -> bool:
        """Whether it loads data, whose time is none of the network's."""
        return self.what.startswith("Input")


def recognise(text: str) -> bool:
    """Whether a text is of this format."""
    return any(NODE.fullmatch(line) for line in text.splitlines()[:3])


def read(text: str, path: Path, batch: int | None) -> tuple[list[Task], int | None]:
    """The ops in topological order and the batch of the profile, where it is given or the text tells it."""
    nodes: dict[str, _Node] = {}
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if node := NODE.fullmatch(line):
            nodes[node[1]] = _node(node, f"`{path}` line {number}")
        elif edge := EDGE.fullmatch(line):
            pairs.append((edge[1], edge[2]))
        elif line.strip():
            raise FileError(f"`{path}` line {number} is neither an op nor an edge: is the file complete?")
    batch = batch or _batch(list(nodes.values()))
    return _tasks(nodes, pairs, path, batch or 1), batch


def _node(match: re.Match[str], place: str) -> _Node:
    figures = dict(re.findall(r"(\w+)=(\[[^\]]*\]|[^,\s]+)", match[3]))
    missing = next((name for name in FIGURES if name not in figures), None)
    if missing is not None:
        raise FileError(f"{place} has no `{missing}`: is the file complete?")
    try:
        forward, backward, outputs, weights = (_numbers(figures[name]) for name in FIGURES)
    except ValueError as error:
        raise FileError(f"{place} has no number where one must be: {error}") from None
    return _Node(match[1], match[2], forward[0], backward[0], outputs, weights[0])


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.strip("[]").split(";"))


def _batch(nodes: Sequence[_Node]) -> int | None:
    """The batch that the last output of a classifier or the state of a recurrent layer tells."""
    for node in nodes:
        features = FEATURES.match(node.what)
        # A classifier of a sequence has an output per token, a state one per sample.
        if features and (features[1] or len(node.outputs) > 1):
            return round(node.outputs[-1] / (ELEMENT_BYTES * int(features[1] or features[2])))
    return None


def _tasks(nodes: dict[str, _Node], pairs: list[tuple[str, str]], path: Path, batch: int) -> list[Task]:
    position = {name: index for index, name in enumerate(nodes)}
    unknown = next((end for pair in pairs for end in pair if end not in position), None)
    if unknown is not None:
        raise FileError(f"`{path}` has an edge of `{unknown}`, which is no op of it: is the file complete?")
    tasks = [_task(node, batch) for node in nodes.values()]
    return ordered(tasks, [(position[tail], position[head]) for tail, head in pairs])


def _task(node: _Node, batch: int) -> Task:
    return Task(
        name=f"{node.name} {node.what}",
        forward_s=milliseconds(node.forward_ms),
        backward_s=milliseconds(node.backward_ms),
        elements=elements_per_sample(sum(node.outputs), batch, node.name),
        parameters=parameters(node.parameters, node.name),
        inputs=(),
        data=node.data,
    )

"""A model is written down op by op; the builder turns names of axes into the dict tree that Rust checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Tree = dict[str, Any]
Save = Tree | str

OUTPUT: Save = "output"
MASK: Save = "mask"


def kept_input(index: int) -> Save:
    """The input of this position is kept for the backward pass."""
    return {"input": index}


def kept_elements(per_output: float) -> Save:
    """So many elements per element of the output are kept for the backward pass."""
    return {"elements": float(per_output)}


@dataclass(frozen=True, slots=True)
class Tensor:
    """What an op wrote: the op's position and the tensor's axes in order."""

    op: int
    axes: Mapping[str, int]

    def over(self, *names: str) -> tuple[Tensor, tuple[str, ...]]:
        """The tensor as an op reads it, under the reader's names of the axes."""
        return self, names


@dataclass(frozen=True, slots=True)
class Weight:
    """A parameter tensor over some axes of its op."""

    axes: tuple[str, ...]
    name: str = "weight"
    count: int = 1
    tied: str | None = None
    sparse: Mapping[str, int] | None = None


Operand = Tensor | tuple[Tensor, tuple[str, ...]]
Split = Literal["whole", "follow"] | tuple[str, ...]


@dataclass
class Builder:
    """Collects ops in topological order, segment after segment."""

    name: str
    summary: str
    source: str
    sample: str
    worker_batch: int
    optimizer: str
    sequence: int = 0
    token_streams: int = 1
    length_variation: float = 0.0
    overlap: bool = True
    fused_update: bool = True
    padding: float = 0.0
    measured_batch: int | None = None
    _segments: list[Tree] = field(default_factory=list)
    _ops: list[Tree] = field(default_factory=list)

    def segment(self, name: str, repeat: int = 1) -> None:
        """Start the next link of the chain."""
        self._segments.append({"name": name, "repeat": repeat, "ops": 0})

    def op(
        self,
        name: str,
        work: Tree,
        axes: Mapping[str, int],
        output: Iterable[str],
        *,
        inputs: Sequence[Operand] = (),
        weights: Sequence[Weight] = (),
        split: Split = "whole",
        saves: Sequence[Save] = (),
        whole: Mapping[str, int] | None = None,
        selective: bool = False,
        on_chip: bool = False,
    ) -> Tensor:
        """One op over named axes; the segment's name stands before its own, and for it if it has none."""
        position = {axis: index for index, axis in enumerate(axes)}
        segment = self._segments[-1]["name"]
        full, output = f"{segment}/{name}" if name else segment, tuple(output)
        kept = whole or {}
        self._segments[-1]["ops"] += 1
        self._ops.append(
            {
                "name": full,
                "work": work,
                "axes": [{"name": a, "size": size, "whole": kept.get(a, 0)} for a, size in axes.items()],
                "inputs": [_input(operand, position) for operand in inputs],
                "output": [position[axis] for axis in output],
                "weights": [_weight(weight, full, position) for weight in weights],
                "tensor": split if isinstance(split, str) else {"split": [position[axis] for axis in split]},
                "saves": list(saves),
                "selective": selective,
                "on_chip": on_chip,
            }
        )
        return Tensor(len(self._ops) - 1, {axis: axes[axis] for axis in output})

    def weight_name(self, tensor: Tensor, weight: str = "weight") -> str:
        """The full name of a weight of the op that wrote a tensor, to tie another to it."""
        return f"{self._ops[tensor.op]['name']}.{weight}"

    def data(self, name: str, axes: Mapping[str, int]) -> Tensor:
        """Training data that enters here."""
        return self.op(name, {"kind": "data"}, axes, axes)

    def elementwise(
        self,
        name: str,
        inputs: Sequence[Operand],
        passes: tuple[float, float],
        *,
        axes: Mapping[str, int] | None = None,
        output: Iterable[str] | None = None,
        weights: Sequence[Weight] = (),
        split: Split = "follow",
        saves: Sequence[Save] = (),
        whole: Mapping[str, int] | None = None,
        selective: bool = False,
        on_chip: bool = False,
    ) -> Tensor:
        """A memory-bound op; `passes` are its reads and writes of the output's size, forward and backward."""
        first = inputs[0] if isinstance(inputs[0], Tensor) else inputs[0][0]
        axes = first.axes if axes is None else axes
        return self.op(
            name,
            {"kind": "elementwise", "forward_passes": float(passes[0]), "backward_passes": float(passes[1])},
            axes,
            axes if output is None else output,
            inputs=inputs,
            weights=weights,
            split=split,
            saves=saves,
            whole=whole,
            selective=selective,
            on_chip=on_chip,
        )

    def build(self) -> Tree:
        """The dict tree of the model."""
        return {
            "name": self.name,
            "summary": self.summary,
            "source": self.source,
            "sample": self.sample,
            "sequence": self.sequence,
            "token_streams": self.token_streams,
            "length_variation": self.length_variation,
            "worker_batch": self.worker_batch,
            "optimizer": self.optimizer,
            "overlap": self.overlap,
            "fused_update": self.fused_update,
            "padding": self.padding,
            "measured_batch": self.measured_batch,
            "segments": self._segments,
            "ops": self._ops,
        }


def _input(operand: Operand, position: Mapping[str, int]) -> Tree:
    tensor, names = (operand, tuple(operand.axes)) if isinstance(operand, Tensor) else operand
    return {"op": tensor.op, "axes": [position[name] for name in names]}


def _weight(weight: Weight, op: str, position: Mapping[str, int]) -> Tree:
    return {
        "name": f"{op}.{weight.name}",
        "axes": [position[axis] for axis in weight.axes],
        "count": weight.count,
        "tied": weight.tied,
        "sparse": None if weight.sparse is None else dict(weight.sparse),
    }


def contraction(density: float = 1.0, again: bool = False) -> Tree:
    """A sum of products; `density` of it is computed; `again`: the backward kernel repeats it."""
    return {"kind": "contraction", "density": density, "again": again}


def recurrent(passes: tuple[float, float]) -> Tree:
    """A contraction per time step; `passes` are its reads and writes of the gates, forward and backward."""
    return {"kind": "recurrent", "forward_passes": float(passes[0]), "backward_passes": float(passes[1])}

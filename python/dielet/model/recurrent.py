"""LSTM layers: one fused layer as cuDNN runs it, or a cell per time step as TensorFlow's graphs did."""

from __future__ import annotations

from dielet.model.builder import (
    OUTPUT,
    Builder,
    Tensor,
    Weight,
    contraction,
    kept_elements,
    kept_input,
    recurrent,
)

GATES = 4

# Passes are reads and writes of a step's four gates; a state or cell is a quarter of them.
# cuDNN adds both products (2), reads and writes the cell (1/2), writes the state (1/4), keeps the gates (1);
# backward reads gates (1), cells (1/2), gradients of state and cell (1/2), writes two (5/4).
FUSED_PASSES = (3.75, 3.25)
# What it keeps per element of the state: four gates and the cell.
FUSED_ELEMENTS = 5.0
# TensorFlow's cell, a kernel per function: bias (2), split (2), sigmoids and tanh (2), two products, their
# sum, tanh and the product with the output gate (3.5). Backward: activations (3.75), products (4.5), sums
# where two gradients meet (1.5), concatenation (2), bias reduction (1).
CELL_PASSES = (9.5, 12.75)
# Four activated gates, the cell and its tanh.
CELL_ELEMENTS = 6.0
# A projection of the state is a product and nothing else.
PROJECTION_PASSES = (0.0, 0.0)
# A mask of a byte is a quarter of an FP32 element.
DROPOUT_PASSES = (2.25, 2.25)


def lstm(net: Builder, name: str, x: Tensor, hidden: int, directions: int = 1) -> Tensor:
    """A cuDNN layer with two bias vectors: inputs of all steps in one product, then the state step by step.

    Several directions run beside each other, and their states stand side by side in the output.
    """
    features = [axis for axis in x.axes if axis not in ("batch", "sequence")]
    inputs = {f"{axis}_in": x.axes[axis] for axis in features}
    tokens = {"batch": 1, "sequence": x.axes["sequence"]}
    sides = {"direction": directions} if directions > 1 else {}
    wide = {**tokens, **sides, "gates": GATES, "hidden": hidden}
    bias = Weight((*sides, "gates", "hidden"), "bias")
    projected = net.op(
        f"{name}/input",
        contraction(),
        {**wide, **inputs},
        wide,
        inputs=[x.over("batch", "sequence", *inputs)],
        weights=[Weight((*inputs, *sides, "gates", "hidden")), bias],
        saves=[kept_input(0)],
    )
    return net.op(
        f"{name}/state",
        recurrent(FUSED_PASSES),
        {**wide, "state": hidden},
        (*tokens, *sides, "hidden"),
        # The operand is the state that the step before left; the projected inputs are added to the product.
        inputs=[projected.over(*tokens, *sides, "state")],
        weights=[Weight((*sides, "state", "gates", "hidden")), bias],
        saves=[kept_elements(FUSED_ELEMENTS), OUTPUT],
    )


def projected_lstm(net: Builder, name: str, x: Tensor, hidden: int, projection: int) -> Tensor:
    """A TensorFlow cell over input and state side by side, with a projected output that is fed back."""
    tokens = {"batch": 1, "sequence": x.axes["sequence"]}
    beside = x.axes["embed"] + projection
    cell = net.op(
        f"{name}/cell",
        recurrent(CELL_PASSES),
        {**tokens, "gates": GATES, "hidden": hidden, "beside": beside},
        (*tokens, "hidden"),
        inputs=[x.over(*tokens, "beside")],
        weights=[Weight(("beside", "gates", "hidden")), Weight(("gates", "hidden"), "bias")],
        # Input and state were copied side by side for the product, and are kept so.
        saves=[kept_elements(CELL_ELEMENTS + beside / hidden), OUTPUT],
    )
    return net.op(
        f"{name}/projection",
        recurrent(PROJECTION_PASSES),
        {**tokens, "embed": projection, "hidden": hidden},
        (*tokens, "embed"),
        inputs=[cell.over(*tokens, "hidden")],
        weights=[Weight(("hidden", "embed"))],
        saves=[kept_input(0)],
    )


def embedding(
    net: Builder,
    name: str,
    x: Tensor,
    vocab: int,
    *,
    embed: int,
    tied: str | None = None,
    sparse: bool = False,
) -> Tensor:
    """Rows of a table, one per token; a sparse gradient touches no other rows."""
    tokens = {"batch": 1, "sequence": x.axes["sequence"]}
    touched = {"fixed": 0, "per_sample": x.axes["sequence"], "rows": vocab} if sparse else None
    return net.op(
        name,
        {"kind": "lookup"},
        {**tokens, "embed": embed, "vocab": vocab},
        (*tokens, "embed"),
        inputs=[x],
        weights=[Weight(("vocab", "embed"), tied=tied, sparse=touched)],
        split=("vocab",),
    )


def dropout(net: Builder, name: str, x: Tensor) -> Tensor:
    """Some elements set to zero; which ones is kept as a byte each."""
    return net.elementwise(name, [x], DROPOUT_PASSES, saves=["mask"])


def linear(net: Builder, name: str, x: Tensor, axis: str, size: int, *, bias: bool = False) -> Tensor:
    """A product per time step, over all steps at once; its output axis can be split."""
    features = {name: size for name, size in x.axes.items() if name not in ("batch", "sequence")}
    tokens = {"batch": 1, "sequence": x.axes["sequence"]}
    shift = [Weight((axis,), "bias")] if bias else []
    return net.op(
        name,
        contraction(),
        {**tokens, axis: size, **features},
        (*tokens, axis),
        inputs=[x],
        weights=[Weight((*features, axis)), *shift],
        split=(axis,),
        saves=[kept_input(0)],
    )

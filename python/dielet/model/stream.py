"""The residual stream of a transformer: what stands between the split contractions, whole on every rank.

Passes are reads and writes of the output's size, forward and backward, of the fused kernels that Megatron-LM
runs in 16-bit precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dielet.model.builder import MASK, Builder, Tensor, Weight, kept_input

if TYPE_CHECKING:
    from dielet.model.transformer import Transformer

STREAM = ("batch", "sequence", "embed")

# One pass in, one out; backward reads input and gradient for the result, and again for scale and shift.
NORM_PASSES = (2.0, 5.0)
# Two in, one out; backward sums the gradients of the residual stream and of the branch.
ADD_PASSES = (3.0, 3.0)
# Bias, dropout and sum in one kernel, with a mask of half an element; backward also unmasks (2.5) and
# reduces the gradient of the bias (1).
DROPOUT_ADD_PASSES = (3.5, 6.5)


def norm(net: Builder, shape: Transformer, name: str, x: Tensor) -> Tensor:
    """Layer norm (scale and shift) or RMS norm (scale)."""
    scale = Weight(("embed",), count=2 if shape.norm == "layer" else 1)
    return net.elementwise(name, [x], NORM_PASSES, weights=[scale], saves=[kept_input(0)], split="whole")


def residual(net: Builder, shape: Transformer, branch: str, y: Tensor, x: Tensor, *, biased: bool) -> Tensor:
    """The bias of the branch's last product, dropout and the sum with the stream `x`, in one kernel."""
    passes, saves = (DROPOUT_ADD_PASSES, [MASK]) if shape.dropout else (ADD_PASSES, [])
    bias = [Weight(("embed",), "bias")] if biased else []
    return net.elementwise(f"{branch}_residual", [y, x], passes, weights=bias, saves=saves, split="whole")

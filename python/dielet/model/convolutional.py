"""Layers of convolutional networks, one op per kernel as frameworks of 2017-2018 ran them (unfused, FP32).

The passes of each memory-bound kernel are counted in reads and writes of its output.
"""

from __future__ import annotations

from collections.abc import Sequence

from dielet.model.builder import MASK, OUTPUT, Builder, Split, Tensor, Weight, contraction, kept_input

# Forward reads the input for the statistics and again to normalise, and writes. Backward reads input and
# gradient for the two reductions, both again for the result, and writes.
BATCH_NORM_PASSES = (3.0, 5.0)
# Read, write; output and gradient in, gradient out.
RELU_PASSES = (2.0, 3.0)
# A kernel of its own after the convolution; its gradient is a reduction that reads once.
BIAS_PASSES = (2.0, 1.0)
# Two in, one out; backward passes the gradient on, and sums the two that meet where the shortcut left.
ADD_PASSES = (3.0, 3.0)
# Reads for the maximum, reads and writes the exponentials; gradient from probabilities and labels.
CROSS_ENTROPY_PASSES = (3.0, 2.0)
# Input in, output and a mask of a byte (a quarter of an FP32 element) out; the reverse.
DROPOUT_PASSES = (2.25, 2.25)

Pair = tuple[int, int]


def image(net: Builder, side: int) -> Tensor:
    """An RGB image."""
    return net.data("image", {"batch": 1, "y": side, "x": side, "channels": 3})


def _out(size: int, kernel: int, stride: int, padding: int) -> int:
    return (size + 2 * padding - kernel) // stride + 1


def _pair(value: int | Pair) -> Pair:
    return (value, value) if isinstance(value, int) else value


def _extent(x: Tensor, kernel: Pair, stride: int, padding: Pair) -> dict[str, int]:
    height = _out(x.axes["y"], kernel[0], stride, padding[0])
    width = _out(x.axes["x"], kernel[1], stride, padding[1])
    return {"batch": 1, "y": height, "x": width}


def convolution(
    net: Builder,
    name: str,
    x: Tensor,
    channels: int,
    kernel: int | Pair,
    *,
    stride: int = 1,
    padding: int | Pair = 0,
) -> Tensor:
    """A convolution without bias, as the GEMM of patches that it is: its output channels can be split."""
    kernel, padding = _pair(kernel), _pair(padding)
    axes = _extent(x, kernel, stride, padding) | {
        "channels": channels,
        "channels_in": x.axes["channels"],
        "k_y": kernel[0],
        "k_x": kernel[1],
    }
    patch = ("channels_in", "k_y", "k_x")
    return net.op(
        name,
        contraction(),
        axes,
        ("batch", "y", "x", "channels"),
        inputs=[x.over("batch", "y", "x", *patch)],
        weights=[Weight(("channels", *patch))],
        split=("channels",),
        saves=[kept_input(0)],
    )


def batch_norm(net: Builder, name: str, x: Tensor) -> Tensor:
    """Normalisation over the batch with a scale and a shift per channel."""
    scale_and_shift = Weight(("channels",), count=2)
    return net.elementwise(name, [x], BATCH_NORM_PASSES, weights=[scale_and_shift], saves=[kept_input(0)])


def relu(net: Builder, name: str, x: Tensor) -> Tensor:
    """The positive part; where the output is positive the gradient passes."""
    return net.elementwise(name, [x], RELU_PASSES, saves=[OUTPUT])


def bias(net: Builder, name: str, x: Tensor) -> Tensor:
    """A number per channel added."""
    return net.elementwise(name, [x], BIAS_PASSES, weights=[Weight(("channels",))])


def conv_bn_relu(
    net: Builder,
    name: str,
    x: Tensor,
    channels: int,
    kernel: int | Pair,
    *,
    stride: int = 1,
    padding: int | Pair = 0,
) -> Tensor:
    """Convolution, batch norm and ReLU as three kernels."""
    x = convolution(net, f"{name}/conv", x, channels, kernel, stride=stride, padding=padding)
    return relu(net, f"{name}/relu", batch_norm(net, f"{name}/norm", x))


def conv_bias_relu(
    net: Builder,
    name: str,
    x: Tensor,
    channels: int,
    kernel: int | Pair,
    *,
    stride: int = 1,
    padding: int | Pair = 0,
) -> Tensor:
    """Convolution, bias and ReLU as three kernels."""
    x = convolution(net, f"{name}/conv", x, channels, kernel, stride=stride, padding=padding)
    return relu(net, f"{name}/relu", bias(net, f"{name}/bias", x))


def _elements(axes: dict[str, int]) -> int:
    return axes["y"] * axes["x"]


def _shrinking(x: Tensor, kernel: int, stride: int, padding: int) -> tuple[dict[str, int], float]:
    axes = _extent(x, (kernel, kernel), stride, (padding, padding)) | {"channels": x.axes["channels"]}
    return axes, _elements(dict(x.axes)) / _elements(axes)


def max_pool(net: Builder, name: str, x: Tensor, kernel: int, *, stride: int, padding: int = 0) -> Tensor:
    """The largest of each window; backward reads input, output and gradient, and writes one."""
    axes, ratio = _shrinking(x, kernel, stride, padding)
    passes = (ratio + 1, 2 * ratio + 2)
    return net.elementwise(name, [x], passes, axes=axes, saves=[kept_input(0), OUTPUT])


def average_pool(net: Builder, name: str, x: Tensor, kernel: int, *, stride: int, padding: int = 0) -> Tensor:
    """The mean of each window; nothing is kept."""
    axes, ratio = _shrinking(x, kernel, stride, padding)
    return net.elementwise(name, [x], (ratio + 1, ratio + 1), axes=axes)


def add(net: Builder, name: str, x: Tensor, shortcut: Tensor) -> Tensor:
    """A residual sum."""
    return net.elementwise(name, [x, shortcut], ADD_PASSES)


def concat(net: Builder, name: str, branches: Sequence[Tensor], fork: Tensor | None = None) -> Tensor:
    """Branches copied into one tensor, and their gradients out of it.

    Where the branches left one tensor (`fork`), as many gradients of its size are read and one is written.
    """
    axes = {**branches[0].axes, "channels": sum(branch.axes["channels"] for branch in branches)}
    backward = 2.0
    if fork is not None:
        share = fork.axes["channels"] * _elements(dict(fork.axes)) / (axes["channels"] * _elements(axes))
        backward += (len(branches) + 1) * share
    return net.elementwise(name, branches, (2.0, backward), axes=axes)


def linear(net: Builder, name: str, x: Tensor, features: int, split: Split = ("channels",)) -> Tensor:
    """A layer that sums over all of an image, with bias; its output features can be split."""
    inner = {axis: size for axis, size in x.axes.items() if axis not in ("batch", "channels")}
    axes = {"batch": 1, "channels": features, **inner, "channels_in": x.axes["channels"]}
    return net.op(
        name,
        contraction(),
        axes,
        ("batch", "channels"),
        inputs=[x.over("batch", *inner, "channels_in")],
        weights=[Weight((*inner, "channels_in", "channels")), Weight(("channels",), "bias")],
        split=split,
        saves=[kept_input(0)],
    )


def dropout(net: Builder, name: str, x: Tensor) -> Tensor:
    """Some elements set to zero; which ones is kept as a byte each."""
    return net.elementwise(name, [x], DROPOUT_PASSES, saves=[MASK])


def cross_entropy(net: Builder, name: str, x: Tensor) -> Tensor:
    """The loss: softmax against the label; the probabilities are kept."""
    return net.elementwise(name, [x], CROSS_ENTROPY_PASSES, saves=[OUTPUT])

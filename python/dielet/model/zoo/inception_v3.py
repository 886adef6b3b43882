"""Inception-V3 for 299 x 299 images, as trained in TF-slim and torchvision."""

from __future__ import annotations

from dielet.model.builder import Builder, Tensor, Tree
from dielet.model.convolutional import (
    Pair,
    average_pool,
    concat,
    conv_bn_relu,
    cross_entropy,
    dropout,
    image,
    linear,
    max_pool,
)

CLASSES = 1000
SOURCE = "Szegedy et al., Rethinking the Inception Architecture, CVPR 2016, as in TF-slim and torchvision"


def build(name: str, auxiliary: bool = True) -> Tree:
    """The training graph, with or without the auxiliary classifier after the last 17 x 17 module."""
    head = "with" if auxiliary else "without"
    net = Builder(
        name=name,
        summary=f"Inception-V3, 299 x 299 images, {head} auxiliary classifier",
        source=SOURCE,
        sample="image",
        worker_batch=64,
        optimizer="momentum",
    )
    x = _stem(net)
    for module, pooled in (("mixed_5b", 32), ("mixed_5c", 64), ("mixed_5d", 64)):
        x = _module_a(net, module, x, pooled)
    x = _module_b(net, "mixed_6a", x)
    for module, inner in (("mixed_6b", 128), ("mixed_6c", 160), ("mixed_6d", 160), ("mixed_6e", 192)):
        x = _module_c(net, module, x, inner)
    if auxiliary:
        _auxiliary(net, x)
    x = _module_d(net, "mixed_7a", x)
    for module in ("mixed_7b", "mixed_7c"):
        x = _module_e(net, module, x)
    _classifier(net, x)
    return net.build()


def _chain(net: Builder, branch: str, x: Tensor, *layers: tuple[int, int | Pair]) -> Tensor:
    """Convolutions that keep height and width."""
    for index, (channels, kernel) in enumerate(layers, start=1):
        sides = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = (sides[0] // 2, sides[1] // 2)
        x = conv_bn_relu(net, f"{branch}_{index}", x, channels, kernel, padding=padding)
    return x


def _pooled(net: Builder, x: Tensor, channels: int) -> Tensor:
    x = average_pool(net, "pool", x, 3, stride=1, padding=1)
    return conv_bn_relu(net, "pool_1", x, channels, 1)


def _stem(net: Builder) -> Tensor:
    net.segment("stem_1a")
    x = conv_bn_relu(net, "3x3", image(net, 299), 32, 3, stride=2)
    for segment, channels, kernel, padding in (("2a", 32, 3, 0), ("2b", 64, 3, 1)):
        net.segment(f"stem_{segment}")
        x = conv_bn_relu(net, f"{kernel}x{kernel}", x, channels, kernel, padding=padding)
    net.segment("stem_3a")
    x = max_pool(net, "pool", x, 3, stride=2)
    for segment, channels, kernel in (("3b", 80, 1), ("4a", 192, 3)):
        net.segment(f"stem_{segment}")
        x = conv_bn_relu(net, f"{kernel}x{kernel}", x, channels, kernel)
    net.segment("stem_5a")
    return max_pool(net, "pool", x, 3, stride=2)


def _module_a(net: Builder, name: str, x: Tensor, pooled: int) -> Tensor:
    net.segment(name)
    branches = [
        _chain(net, "1x1", x, (64, 1)),
        _chain(net, "5x5", x, (48, 1), (64, 5)),
        _chain(net, "3x3", x, (64, 1), (96, 3), (96, 3)),
        _pooled(net, x, pooled),
    ]
    return concat(net, "concat", branches, fork=x)


def _module_b(net: Builder, name: str, x: Tensor) -> Tensor:
    net.segment(name)
    double = _chain(net, "double", x, (64, 1), (96, 3))
    branches = [
        conv_bn_relu(net, "3x3_1", x, 384, 3, stride=2),
        conv_bn_relu(net, "double_3", double, 96, 3, stride=2),
        max_pool(net, "pool", x, 3, stride=2),
    ]
    return concat(net, "concat", branches, fork=x)


def _module_c(net: Builder, name: str, x: Tensor, inner: int) -> Tensor:
    net.segment(name)
    row, column = (1, 7), (7, 1)
    branches = [
        _chain(net, "1x1", x, (192, 1)),
        _chain(net, "7x7", x, (inner, 1), (inner, row), (192, column)),
        _chain(net, "double", x, (inner, 1), (inner, column), (inner, row), (inner, column), (192, row)),
        _pooled(net, x, 192),
    ]
    return concat(net, "concat", branches, fork=x)


def _module_d(net: Builder, name: str, x: Tensor) -> Tensor:
    net.segment(name)
    narrow = _chain(net, "3x3", x, (192, 1))
    branches = [
        conv_bn_relu(net, "3x3_2", narrow, 320, 3, stride=2),
        conv_bn_relu(net, "7x7_4", _chain(net, "7x7", x, (192, 1), (192, (1, 7)), (192, (7, 1))), 192, 3, stride=2),
        max_pool(net, "pool", x, 3, stride=2),
    ]
    return concat(net, "concat", branches, fork=x)


def _fan(net: Builder, name: str, x: Tensor) -> Tensor:
    branches = [_chain(net, f"{name}_row", x, (384, (1, 3))), _chain(net, f"{name}_column", x, (384, (3, 1)))]
    return concat(net, f"{name}_concat", branches, fork=x)


def _module_e(net: Builder, name: str, x: Tensor) -> Tensor:
    net.segment(name)
    branches = [
        _chain(net, "1x1", x, (320, 1)),
        _fan(net, "3x3", _chain(net, "3x3", x, (384, 1))),
        _fan(net, "double", _chain(net, "double", x, (448, 1), (384, 3))),
        _pooled(net, x, 192),
    ]
    return concat(net, "concat", branches, fork=x)


def _auxiliary(net: Builder, x: Tensor) -> None:
    net.segment("auxiliary")
    x = average_pool(net, "pool", x, 5, stride=3)
    x = conv_bn_relu(net, "1x1", x, 128, 1)
    x = conv_bn_relu(net, "5x5", x, 768, 5)
    cross_entropy(net, "loss", linear(net, "linear", x, CLASSES))


def _classifier(net: Builder, x: Tensor) -> None:
    net.segment("head")
    x = dropout(net, "dropout", average_pool(net, "pool", x, 8, stride=1))
    cross_entropy(net, "loss", linear(net, "linear", x, CLASSES))

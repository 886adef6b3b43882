"""ResNet-50 (v1.5: the 3 x 3 convolution of a block carries its stride)."""

from __future__ import annotations

from dielet.model.builder import Builder, Tensor, Tree
from dielet.model.convolutional import (
    add,
    average_pool,
    batch_norm,
    conv_bn_relu,
    convolution,
    cross_entropy,
    image,
    linear,
    max_pool,
    relu,
)

STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))  # blocks, inner channels, stride
EXPANSION = 4


def build(name: str) -> Tree:
    """The training graph for 224 x 224 images."""
    net = Builder(
        name=name,
        summary="ResNet-50 v1.5, 224 x 224 images",
        source="He et al., Deep Residual Learning, CVPR 2016; stride as in torchvision and MLPerf (v1.5)",
        sample="image",
        worker_batch=64,
        optimizer="momentum",
    )
    net.segment("stem")
    x = conv_bn_relu(net, "7x7", image(net, 224), 64, 7, stride=2, padding=3)
    x = max_pool(net, "pool", x, 3, stride=2, padding=1)
    for stage, (blocks, channels, stride) in enumerate(STAGES, start=1):
        for block in range(blocks):
            net.segment(f"stage_{stage}_{block}")
            x = _bottleneck(net, x, channels, stride if block == 0 else 1, project=block == 0)
    net.segment("head")
    x = average_pool(net, "pool", x, 7, stride=1)
    cross_entropy(net, "loss", linear(net, "linear", x, 1000))
    return net.build()


def _bottleneck(net: Builder, x: Tensor, channels: int, stride: int, project: bool) -> Tensor:
    shortcut = x
    x = conv_bn_relu(net, "reduce", x, channels, 1)
    x = conv_bn_relu(net, "3x3", x, channels, 3, stride=stride, padding=1)
    x = batch_norm(net, "expand/norm", convolution(net, "expand/conv", x, EXPANSION * channels, 1))
    if project:
        shortcut = convolution(net, "shortcut/conv", shortcut, EXPANSION * channels, 1, stride=stride)
        shortcut = batch_norm(net, "shortcut/norm", shortcut)
    return relu(net, "relu", add(net, "add", x, shortcut))

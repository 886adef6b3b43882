"""VGG-16 (configuration D)."""

from __future__ import annotations

from dielet.model.builder import Builder, Tree
from dielet.model.convolutional import conv_bias_relu, cross_entropy, dropout, image, linear, max_pool, relu

STAGES = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))  # convolutions, channels


def build(name: str) -> Tree:
    """The training graph for 224 x 224 images."""
    net = Builder(
        name=name,
        summary="VGG-16, 224 x 224 images",
        source="Simonyan and Zisserman, Very Deep Convolutional Networks, ICLR 2015, configuration D",
        sample="image",
        worker_batch=64,
        optimizer="momentum",
    )
    net.segment("conv_1_1")
    x = image(net, 224)
    for stage, (convolutions, channels) in enumerate(STAGES, start=1):
        for layer in range(1, convolutions + 1):
            if (stage, layer) != (1, 1):
                net.segment(f"conv_{stage}_{layer}")
            x = conv_bias_relu(net, "3x3", x, channels, 3, padding=1)
        x = max_pool(net, "pool", x, 2, stride=2)
    for layer in (6, 7):
        net.segment(f"linear_{layer}")
        x = dropout(net, "dropout", relu(net, "relu", linear(net, "linear", x, 4096)))
    net.segment("head")
    cross_entropy(net, "loss", linear(net, "linear", x, 1000))
    return net.build()

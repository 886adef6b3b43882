"""AlexNet in the one-tower form that frameworks train."""

from __future__ import annotations

from dielet.model.builder import Builder, Tree
from dielet.model.convolutional import conv_bias_relu, cross_entropy, dropout, image, linear, max_pool, relu

# channels, kernel, stride, padding, whether a pool follows
LAYERS = (
    (64, 11, 4, 2, True),
    (192, 5, 1, 2, True),
    (384, 3, 1, 1, False),
    (256, 3, 1, 1, False),
    (256, 3, 1, 1, True),
)


def build(name: str) -> Tree:
    """The training graph for 224 x 224 images."""
    net = Builder(
        name=name,
        summary="AlexNet (one tower), 224 x 224 images",
        source="Krizhevsky, One weird trick for parallelizing convolutional networks, 2014 (torchvision)",
        sample="image",
        worker_batch=512,
        optimizer="momentum",
    )
    net.segment("conv_1")
    x = image(net, 224)
    for layer, (channels, kernel, stride, padding, pooled) in enumerate(LAYERS, start=1):
        if layer > 1:
            net.segment(f"conv_{layer}")
        x = conv_bias_relu(net, "conv", x, channels, kernel, stride=stride, padding=padding)
        if pooled:
            x = max_pool(net, "pool", x, 3, stride=2)
    for layer in (6, 7):
        net.segment(f"linear_{layer}")
        x = relu(net, "relu", linear(net, "linear", dropout(net, "dropout", x), 4096))
    net.segment("head")
    cross_entropy(net, "loss", linear(net, "linear", x, 1000))
    return net.build()

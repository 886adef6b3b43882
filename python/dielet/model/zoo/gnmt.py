"""GNMT v2 as NVIDIA and MLPerf train it: WMT16 English-German, 32,000 joint subwords padded to 32,320.

One table serves encoder and decoder. PyTorch's embedding has a dense gradient unless told otherwise, and
NVIDIA's trainer does not tell it; that trainer also reduces the gradients after the whole backward pass.
"""

from __future__ import annotations

from dielet.model.builder import (
    OUTPUT,
    Builder,
    Tensor,
    Tree,
    Weight,
    contraction,
    kept_elements,
    kept_input,
)
from dielet.model.recurrent import dropout, embedding, linear, lstm

HIDDEN = 1_024
VOCABULARY = 32_320
# Standard deviation over mean of the sentence lengths of WMT data: a round figure of general knowledge, not
# measured.
LENGTH_VARIATION = 0.55

# NVIDIA's trainer draws batches from 5 buckets of 10 tokens up to 50, so that a sentence is padded by half a
# bucket of its mean of 27 tokens: derived from its data loader, not measured.
PADDING = 5 / 27

# Additive attention works on a tensor of [query, key, unit]: sum of both (1), bias (2), tanh (2), dot
# product (1); backward the outer product (2), tanh (3), the reductions to bias, queries, keys (3). Per unit.
ENERGY_PASSES = (6, 8)
SOFTMAX_PASSES = (2.0, 3.0)
# State and context copied side by side, and their gradients out.
CONCAT_PASSES = (2.0, 2.0)
ADD_PASSES = (3.0, 3.0)
# log-softmax reads twice and writes, label smoothing reads once; backward writes two gradients, sums them
# (5), and reads log-probabilities and gradient and writes (3).
LOSS_PASSES = (4.0, 8.0)


def build(name: str, layers: int = 4, sequence: int = 25) -> Tree:
    """The training graph; encoder and decoder have `layers` each, source and target `sequence` tokens."""
    net = Builder(
        name=name,
        summary=f"GNMT v2, {layers} + {layers} layers of {HIDDEN}, {sequence} + {sequence} tokens",
        source="Wu et al., Google's Neural Machine Translation System, 2016, as in MLPerf Training v0.5",
        sample="sentence pair",
        worker_batch=128,
        optimizer="adam",
        sequence=sequence,
        token_streams=2,
        length_variation=LENGTH_VARIATION,
        overlap=False,
        fused_update=False,
        padding=PADDING,
    )
    encoded, table = _encoder(net, layers, sequence)
    _decoder(net, layers, sequence, encoded, table)
    return net.build()


def _encoder(net: Builder, layers: int, sequence: int) -> tuple[Tensor, str]:
    net.segment("encoder_embedding")
    tokens = net.data("tokens", {"batch": 1, "sequence": sequence})
    x = embedding(net, "table", tokens, VOCABULARY, embed=HIDDEN)
    table = net.weight_name(x)
    for layer in range(layers):
        net.segment(f"encoder_{layer}")
        below = x
        x = lstm(net, "lstm", dropout(net, "dropout", x), HIDDEN, directions=2 if layer == 0 else 1)
        if layer >= 2:
            x = _residual(net, x, below)
    return x, table


def _residual(net: Builder, x: Tensor, below: Tensor) -> Tensor:
    return net.elementwise("residual", [x, below], ADD_PASSES)


def _decoder(net: Builder, layers: int, sequence: int, encoded: Tensor, table: str) -> None:
    net.segment("decoder_embedding")
    tokens = net.data("tokens", {"batch": 1, "sequence": sequence})
    x = embedding(net, "table", tokens, VOCABULARY, embed=HIDDEN, tied=table)
    net.segment("decoder_0")
    x = lstm(net, "lstm", dropout(net, "dropout", x), HIDDEN)
    context = _attention(net, x, encoded)
    for layer in range(1, layers):
        net.segment(f"decoder_{layer}")
        below = x
        x = lstm(net, "lstm", _beside(net, dropout(net, "dropout", x), context), HIDDEN)
        if layer >= 2:
            x = _residual(net, x, below)
    net.segment("classifier")
    logits = linear(net, "logits", x, "vocab", VOCABULARY, bias=True)
    net.elementwise("loss", [logits], LOSS_PASSES, saves=[OUTPUT])


def _beside(net: Builder, x: Tensor, context: Tensor) -> Tensor:
    axes = {**x.axes, "hidden": 2 * HIDDEN}
    names = tuple(axes)
    return net.elementwise("concat", [x.over(*names), context.over(*names)], CONCAT_PASSES, axes=axes)


def _attention(net: Builder, states: Tensor, encoded: Tensor) -> Tensor:
    """Normalised additive attention of all decoder states to all encoder outputs."""
    sequence = states.axes["sequence"]
    queries = _whole_linear(net, "queries", states)
    keys = _whole_linear(net, "keys", encoded)
    square = {"batch": 1, "sequence": sequence, "key_sequence": sequence}
    # The weights are the direction, its length, and the bias of the tanh.
    weights = [Weight(("attention",), count=2), Weight((), "scale")]
    energies = net.elementwise(
        "energies",
        [queries, keys.over("batch", "key_sequence", "attention")],
        (ENERGY_PASSES[0] * HIDDEN, ENERGY_PASSES[1] * HIDDEN),
        axes={**square, "attention": HIDDEN},
        output=square,
        weights=weights,
        saves=[kept_elements(HIDDEN)],
        split="whole",
    )
    shares = net.elementwise("softmax", [energies], SOFTMAX_PASSES, saves=[OUTPUT], split="whole")
    return net.op(
        "context",
        contraction(),
        {**square, "hidden": HIDDEN},
        ("batch", "sequence", "hidden"),
        inputs=[shares, encoded.over("batch", "key_sequence", "hidden")],
        saves=[kept_input(0), kept_input(1)],
    )


def _whole_linear(net: Builder, name: str, x: Tensor) -> Tensor:
    tokens = {"batch": 1, "sequence": x.axes["sequence"]}
    return net.op(
        name,
        contraction(),
        {**tokens, "attention": HIDDEN, "hidden": HIDDEN},
        (*tokens, "attention"),
        inputs=[x],
        weights=[Weight(("hidden", "attention"))],
        saves=[kept_input(0)],
    )

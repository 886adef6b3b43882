"""BigLSTM: two projected LSTM layers on the One Billion Word Benchmark, with sampled softmax.

TensorFlow's gathers have sparse gradients: a step touches the rows of its tokens, the sampled classes and
its targets.
"""

from __future__ import annotations

from dielet.model.builder import OUTPUT, Builder, Tensor, Tree, Weight, contraction, kept_input
from dielet.model.recurrent import dropout, embedding, projected_lstm

VOCABULARY = 793_470
EMBED = 1_024
HIDDEN = 8_192
SAMPLES = 8_192
LAYERS = 2

# A target's row and a state are read per token; backward reads them and writes both gradients.
TARGET_PASSES = (2 * EMBED + 1, 4 * EMBED + 1)
# Reads for the maximum, reads and writes the exponentials; gradient from probabilities.
LOSS_PASSES = (3.0, 2.0)


def build(name: str, sequence: int = 20) -> Tree:
    """The training graph of one truncated back-propagation through `sequence` steps."""
    net = Builder(
        name=name,
        summary=f"BigLSTM, 2 layers of 8192 projected to 1024, vocabulary 793470, {sequence} steps",
        source="Jozefowicz et al., Exploring the Limits of Language Modeling, 2016, and the authors' code",
        sample="sequence",
        worker_batch=128,
        optimizer="adagrad",
        sequence=sequence,
    )
    net.segment("embedding")
    words = net.data("words", {"batch": 1, "sequence": sequence})
    x = dropout(net, "dropout", embedding(net, "table", words, VOCABULARY, embed=EMBED, sparse=True))
    for layer in range(LAYERS):
        net.segment(f"lstm_{layer}")
        x = dropout(net, "dropout", projected_lstm(net, "lstm", x, HIDDEN, EMBED))
    _sampled_softmax(net, x)
    return net.build()


def _sampled_softmax(net: Builder, x: Tensor) -> None:
    """Scores of the sampled classes, the same for the whole batch, and of each token's own target."""
    net.segment("softmax")
    sequence = x.axes["sequence"]
    labels = net.data("labels", {"batch": 1, "sequence": sequence})
    rows = _rows(net, labels, sequence)
    sampled = net.op(
        "sampled_logits",
        contraction(),
        {"batch": 1, "sequence": sequence, "samples": SAMPLES, "embed": EMBED},
        ("batch", "sequence", "samples"),
        inputs=[x, rows],
        saves=[kept_input(0), kept_input(1)],
    )
    target = _target(net, x, labels, net.weight_name(rows))
    classes = {"batch": 1, "sequence": sequence, "classes": SAMPLES + 1}
    inputs = [sampled.over(*classes), target.over("batch", "sequence")]
    net.elementwise("loss", inputs, LOSS_PASSES, axes=classes, saves=[OUTPUT], split="whole")


def _touched(sequence: int) -> dict[str, int]:
    return {"fixed": SAMPLES, "per_sample": sequence, "rows": VOCABULARY}


def _rows(net: Builder, labels: Tensor, sequence: int) -> Tensor:
    touched = _touched(sequence)
    return net.op(
        "sampled_rows",
        {"kind": "lookup"},
        {"samples": SAMPLES, "embed": EMBED, "vocab": VOCABULARY, "batch": 1, "sequence": sequence},
        ("samples", "embed"),
        inputs=[labels],
        weights=[Weight(("vocab", "embed"), sparse=touched), Weight(("vocab",), "bias", sparse=touched)],
    )


def _target(net: Builder, x: Tensor, labels: Tensor, table: str) -> Tensor:
    tokens = {"batch": 1, "sequence": x.axes["sequence"]}
    row = net.op(
        "target_rows",
        {"kind": "lookup"},
        {**tokens, "embed": EMBED, "vocab": VOCABULARY},
        (*tokens, "embed"),
        inputs=[labels],
        weights=[Weight(("vocab", "embed"), tied=table, sparse=_touched(tokens["sequence"]))],
    )
    return net.elementwise(
        "target_logit",
        [x, row],
        TARGET_PASSES,
        axes={**tokens, "embed": EMBED},
        output=tokens,
        saves=[kept_input(0), kept_input(1)],
        split="whole",
    )

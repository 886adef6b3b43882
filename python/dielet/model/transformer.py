"""Decoder-only transformers of any shape: attention, grouped heads, gated MLPs and experts are axes, not cases.

What is kept for the backward pass is that of Korthikanti et al., Reducing Activation Recomputation in Large
Transformer Models, 2022: s b h (34 + 5 a s / h) bytes for a layer in 16-bit precision, 34 s b h with flash attention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dielet.model.builder import (
    MASK,
    OUTPUT,
    Builder,
    Operand,
    Save,
    Split,
    Tensor,
    Tree,
    Weight,
    contraction,
    kept_elements,
    kept_input,
)

# Reads and writes of the output's size, (forward, backward), of the fused kernels that Megatron-LM runs in 16 bits.
# One pass in, one out; backward reads input and gradient for the result, and again for scale and shift.
NORM_PASSES = (2.0, 5.0)
# The bias of a projection: in and out; its gradient is a reduction.
BIAS_PASSES = (2.0, 1.0)
# Bias and GeLU in one kernel; backward reads both, writes, and the bias gradient reads what was written.
GELU_PASSES = (2.0, 4.0)
# Gate and value in, product out; backward reads them and the gradient, and writes two gradients.
GATED_PASSES = (3.0, 5.0)
# Scale, mask and softmax in one kernel; probabilities and gradient in, gradient out.
SOFTMAX_PASSES = (2.0, 3.0)
# In and out, and a mask of one byte, which is half an element.
DROPOUT_PASSES = (2.5, 2.5)
# Two in, one out; backward sums the gradients of the residual stream and of the branch.
ADD_PASSES = (3.0, 3.0)
# Bias, dropout and add in one kernel; backward also unmasks (2.5) and reduces the bias gradient (1).
DROPOUT_ADD_PASSES = (3.5, 6.5)
# Token and position rows added, then dropout.
EMBEDDING_PASSES = (5.5, 2.5)
# 16-bit logits to FP32 (3), maximum (2), difference in place (4), exponential (4), sum (2), quotient in place (4);
# backward scales the kept probabilities in place (4) and returns to 16 bits (3).
CROSS_ENTROPY_PASSES = (19.0, 7.0)
# The probabilities are kept in FP32: two 16-bit elements each.
CROSS_ENTROPY_ELEMENTS = 2.0

# Kernels that skip the masked half compute this share of the products; others compute all of them.
CAUSAL = 0.5

ATTENTION = ("kv_heads", "group")


@dataclass(frozen=True, kw_only=True)
class Transformer:
    """The shape of a decoder-only transformer."""

    name: str
    summary: str
    source: str
    layers: int
    hidden: int
    heads: int
    ffn: int
    vocab: int
    sequence: int
    kv_heads: int
    head_dim: int
    positions: int = 0
    """Rows of learned positions; 0 for rotary ones."""
    gated: bool = True
    norm: Literal["layer", "rms"] = "rms"
    biases: bool = False
    tied: bool = False
    dropout: bool = False
    attention: Literal["unfused", "flash"] = "flash"
    experts: int = 0
    top_k: int = 0
    shared_ffn: int = 0
    """Width of an MLP that every token takes besides its experts."""
    expert_ffn: int = 0
    dense_layers: int = 0
    """Leading layers without experts."""
    worker_batch: int = 1
    optimizer: str = "adam"

    def build(self) -> Tree:
        """The dict tree of the training graph."""
        net = Builder(
            name=self.name,
            summary=self.summary,
            source=self.source,
            sample="sequence",
            worker_batch=self.worker_batch,
            optimizer=self.optimizer,
            sequence=self.sequence,
        )
        x, table = _embedding(net, self)
        routed = self.layers - self.dense_layers if self.experts else 0
        if self.layers > routed:
            net.segment("dense_block" if routed else "block", repeat=self.layers - routed)
            x = _mlp(net, self, _attention(net, self, x), self.ffn)
        if routed:
            net.segment("block", repeat=routed)
            x = _experts(net, self, _attention(net, self, x))
        _head(net, self, x, table)
        return net.build()

    @property
    def group(self) -> int:
        """Query heads that share a key and value head."""
        return self.heads // self.kv_heads

    def tokens(self, **more: int) -> dict[str, int]:
        """The axes of a token, and others."""
        return {"batch": 1, "sequence": self.sequence, **more}


STREAM = ("batch", "sequence", "embed")


def _embedding(net: Builder, shape: Transformer) -> tuple[Tensor, str]:
    net.segment("embedding")
    tokens = net.data("tokens", shape.tokens())
    axes = shape.tokens(embed=shape.hidden, vocab=shape.vocab)
    rows = [Weight(("vocab", "embed"))]
    x = net.op("tokens_table", {"kind": "lookup"}, axes, STREAM, inputs=[tokens], weights=rows, split=("vocab",))
    table = net.weight_name(x)
    if shape.positions:
        axes = shape.tokens(embed=shape.hidden, positions=shape.positions)
        rows = [Weight(("positions", "embed"))]
        place = net.op("positions_table", {"kind": "lookup"}, axes, STREAM, inputs=[tokens], weights=rows)
        passes, saves = (EMBEDDING_PASSES, [MASK]) if shape.dropout else (ADD_PASSES, [])
        x = net.elementwise("sum", [x, place], passes, saves=saves, split="whole")
    return x, table


def _norm(net: Builder, shape: Transformer, name: str, x: Tensor) -> Tensor:
    scale = Weight(("embed",), count=2 if shape.norm == "layer" else 1)
    return net.elementwise(name, [x], NORM_PASSES, weights=[scale], saves=[kept_input(0)], split="whole")


def _residual(net: Builder, shape: Transformer, name: str, branch: Tensor, x: Tensor) -> Tensor:
    weights = [Weight(("embed",), "bias")] if shape.biases else []
    passes, saves = (DROPOUT_ADD_PASSES, [MASK]) if shape.dropout else (ADD_PASSES, [])
    return net.elementwise(name, [branch, x], passes, weights=weights, saves=saves, split="whole")


def _attention(net: Builder, shape: Transformer, x: Tensor) -> Tensor:
    heads = _queries_keys_values(net, shape, _norm(net, shape, "attention_norm", x))
    context = _core(net, shape, heads)
    inner = ("kv_heads", "group", "head_dim")
    axes = shape.tokens(embed=shape.hidden, kv_heads=shape.kv_heads, group=shape.group, head_dim=shape.head_dim)
    projected = net.op(
        "projection",
        contraction(),
        axes,
        STREAM,
        inputs=[context.over("batch", "sequence", *inner)],
        weights=[Weight((*inner, "embed"))],
        split=ATTENTION,
        saves=[kept_input(0)],
    )
    return _residual(net, shape, "attention_residual", projected, x)


def _queries_keys_values(net: Builder, shape: Transformer, x: Tensor) -> Tensor:
    """Per key and value head its queries, its key and its value: `group + 2` vectors of `head_dim`.

    Once tensor parallelism exceeds the key and value heads, it splits the queries, and every rank keeps the two.
    """
    inner = {"kv_heads": shape.kv_heads, "group_qkv": shape.group + 2, "head_dim": shape.head_dim}
    axes = shape.tokens(**inner, embed=shape.hidden)
    split, whole = ("kv_heads", "group_qkv"), {"group_qkv": 2}
    # The core of attention may be recomputed; it starts from what is kept here.
    last: list[Save] = [OUTPUT]
    changed = shape.biases or not shape.positions
    saves = [kept_input(0)] + ([] if changed else last)
    weights, output = [Weight(("embed", *inner))], ("batch", "sequence", *inner)
    inputs = [x.over(*STREAM)]
    heads = net.op(
        "qkv", contraction(), axes, output, inputs=inputs, weights=weights, split=split, saves=saves, whole=whole
    )
    if shape.biases:
        weights = [Weight(tuple(inner))]
        saves = last if shape.positions else []
        heads = net.elementwise("qkv_bias", [heads], BIAS_PASSES, weights=weights, saves=saves, whole=whole)
    if not shape.positions:
        turned = 2.0 * (shape.group + 1) / (shape.group + 2)  # queries and the key, in and out, of what is there
        heads = net.elementwise("rotary", [heads], (turned, turned), saves=last, whole=whole)
    return heads


def _core(net: Builder, shape: Transformer, heads: Tensor) -> Tensor:
    """Scores, softmax, dropout and context: kernels of their own, or one whose inner tensors stay on the chip."""
    flash = shape.attention == "flash"
    share = CAUSAL if flash else 1.0
    sizes = {"batch": 1, "kv_heads": shape.kv_heads, "group": shape.group, "sequence": shape.sequence}
    square = {**sizes, "key_sequence": shape.sequence}
    axes = {**square, "head_dim": shape.head_dim}
    keys = heads.over("batch", "key_sequence", "kv_heads", "head_dim")
    x = net.op(
        "scores",
        contraction(share, again=flash),
        axes,
        square,
        inputs=[heads.over("batch", "sequence", *ATTENTION, "head_dim"), keys],
        split=ATTENTION,
        saves=[kept_input(0), kept_input(1)],
        selective=not flash,
        on_chip=flash,
    )
    x = _probabilities(net, shape, x)
    return net.op(
        "context",
        contraction(share),
        axes,
        ("batch", "sequence", *ATTENTION, "head_dim"),
        inputs=[x, keys],
        split=ATTENTION,
        saves=[kept_input(1)] if flash else [kept_input(0), kept_input(1)],
        selective=not flash,
    )


def _probabilities(net: Builder, shape: Transformer, scores: Tensor) -> Tensor:
    if shape.attention == "flash":
        return net.elementwise("softmax", [scores], (0.0, 0.0), on_chip=True)
    x = net.elementwise("softmax", [scores], SOFTMAX_PASSES, saves=[OUTPUT], selective=True)
    if shape.dropout:
        x = net.elementwise("attention_dropout", [x], DROPOUT_PASSES, saves=[MASK], selective=True)
    return x


def _mlp(net: Builder, shape: Transformer, x: Tensor, width: int) -> Tensor:
    normed = _norm(net, shape, "mlp_norm", x)
    return _residual(net, shape, "mlp_residual", _dense(net, shape, normed, width, ""), x)


def _dense(net: Builder, shape: Transformer, x: Tensor, width: int, prefix: str) -> Tensor:
    return _feed(net, shape, x.over(*STREAM), shape.tokens(), width, prefix)


def _feed(
    net: Builder,
    shape: Transformer,
    x: Operand,
    rows: dict[str, int],
    width: int,
    prefix: str,
    grouped: dict[str, int] | None = None,
) -> Tensor:
    """Up, activation, down; `grouped` axes choose the matrices that a row meets."""
    which = grouped or {}
    gate = {"gate": 2} if shape.gated else {}
    inner = {**gate, "ffn": width}
    up = net.op(
        f"{prefix}up",
        contraction(),
        {**rows, **inner, "embed": shape.hidden, **which},
        (*rows, *inner),
        inputs=[x],
        weights=[Weight((*which, "embed", *inner))],
        split=("ffn",),
        saves=[kept_input(0)],
    )
    act = _activation(net, shape, up, {**rows, "ffn": width}, gate, prefix)
    split: Split = ("ffn",)
    return net.op(
        f"{prefix}down",
        contraction(),
        {**rows, "ffn": width, "embed": shape.hidden, **which},
        (*rows, "embed"),
        inputs=[act],
        weights=[Weight((*which, "ffn", "embed"))],
        split=split,
        saves=[kept_input(0)],
    )


def _activation(
    net: Builder, shape: Transformer, x: Tensor, axes: dict[str, int], gate: dict[str, int], prefix: str
) -> Tensor:
    passes = GATED_PASSES if gate else GELU_PASSES
    weights = [Weight((*gate, "ffn"), "bias")] if shape.biases else []
    return net.elementwise(
        f"{prefix}activation",
        [x],
        passes,
        axes={**axes, **gate},
        output=axes,
        weights=weights,
        saves=[kept_input(0)],
    )


def _experts(net: Builder, shape: Transformer, x: Tensor) -> Tensor:
    """Each token goes to `top_k` experts and comes back as their weighted sum."""
    normed = _norm(net, shape, "mlp_norm", x)
    gates = _router(net, shape, normed)
    copies = shape.tokens(top_k=shape.top_k, embed=shape.hidden)
    sent = net.op("dispatch", {"kind": "exchange"}, copies, copies, inputs=[normed.over(*STREAM), gates_of(gates)])
    rows = shape.tokens(top_k=shape.top_k)
    operand = sent.over(*copies)
    done = _feed(net, shape, operand, rows, shape.expert_ffn, "expert_", {"experts": shape.experts})
    back = net.op("combine", {"kind": "exchange"}, copies, copies, inputs=[done])
    # Reads the copies, writes their sum; backward reads the gradient and writes it to each copy.
    passes = (shape.top_k + 1.0, shape.top_k + 1.0)
    inputs: list[Operand] = [back, gates_of(gates)]
    mixed = net.elementwise(
        "mix", inputs, passes, axes=copies, output=STREAM, saves=[kept_input(0)], split="whole"
    )
    if shape.shared_ffn:
        shared = _dense(net, shape, normed, shape.shared_ffn, "shared_")
        mixed = net.elementwise("shared_sum", [mixed, shared], ADD_PASSES, split="whole")
    return _residual(net, shape, "mlp_residual", mixed, x)


def gates_of(gates: Tensor) -> tuple[Tensor, tuple[str, ...]]:
    """The routing weights as a reader of token copies sees them."""
    return gates.over("batch", "sequence", "top_k")


def _router(net: Builder, shape: Transformer, x: Tensor) -> Tensor:
    """Which experts a token meets; the axis is `routes` since every token meets the whole matrix."""
    axes = shape.tokens(routes=shape.experts, embed=shape.hidden)
    scores = net.op(
        "router",
        contraction(),
        axes,
        ("batch", "sequence", "routes"),
        inputs=[x.over(*STREAM)],
        weights=[Weight(("embed", "routes"))],
        saves=[kept_input(0)],
    )
    axes = shape.tokens(top_k=shape.top_k, routes=shape.experts)
    # Per token: read all scores, write probabilities, read them again to choose; the reverse without choosing.
    share = shape.experts / shape.top_k
    output = ("batch", "sequence", "top_k")
    passes = (3 * share + 1, 2 * share + 1)
    scored: list[Operand] = [scores.over("batch", "sequence", "routes")]
    kept = [kept_elements(share)]
    return net.elementwise("gates", scored, passes, axes=axes, output=output, saves=kept, split="whole")


def _head(net: Builder, shape: Transformer, x: Tensor, table: str) -> None:
    net.segment("head")
    x = _norm(net, shape, "norm", x)
    logits = net.op(
        "logits",
        contraction(),
        shape.tokens(vocab=shape.vocab, embed=shape.hidden),
        ("batch", "sequence", "vocab"),
        inputs=[x.over(*STREAM)],
        weights=[Weight(("vocab", "embed"), tied=table if shape.tied else None)],
        split=("vocab",),
        saves=[kept_input(0)],
    )
    net.elementwise("loss", [logits], CROSS_ENTROPY_PASSES, saves=[kept_elements(CROSS_ENTROPY_ELEMENTS)])

"""Decoder-only transformers of any shape: grouped heads, gated MLPs and experts are axes, not cases.

What is kept for the backward pass is that of Korthikanti et al., Reducing Activation Recomputation in Large
Transformer Models, 2022: s b h (34 + 5 a s / h) bytes for a layer in 16-bit precision, 34 s b h with flash
attention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dielet.errors import ModelError
from dielet.model.attention import Attention
from dielet.model.builder import MASK, Builder, Tensor, Tree, Weight, contraction, kept_elements, kept_input
from dielet.model.feed_forward import expert_block, mlp_block
from dielet.model.stream import ADD_PASSES, STREAM, norm

# Passes as in `dielet.model.stream`.
# Token and position rows added, then dropout.
EMBEDDING_PASSES = (5.5, 2.5)
# 16-bit logits to FP32 (3), maximum (2), difference in place (4), exponential (4), sum (2), quotient in
# place (4); backward scales the kept probabilities in place (4) and returns to 16 bits (3).
CROSS_ENTROPY_PASSES = (19.0, 7.0)
# The probabilities are kept in FP32: two 16-bit elements each.
CROSS_ENTROPY_ELEMENTS = 2.0


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

    def __post_init__(self) -> None:
        for name in ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "sequence"):
            self._refuse(getattr(self, name) < 1, name, "at least 1")
        self._refuse(self.heads % self.kv_heads != 0, "heads", f"a multiple of its {self.kv_heads} kv_heads")
        if self.experts:
            self._refuse(not 1 <= self.top_k <= self.experts, "top_k", f"1 to its {self.experts} experts")
            self._refuse(self.expert_ffn < 1, "expert_ffn", "at least 1")
            self._refuse(not 0 <= self.dense_layers < self.layers, "dense_layers", f"below its {self.layers} layers")
        if self.positions:
            self._refuse(self.sequence > self.positions, "sequence", f"at most its {self.positions} positions")

    def _refuse(self, wrong: bool, name: str, limit: str) -> None:
        if wrong:
            raise ModelError(f"model `{self.name}` has {name} {getattr(self, name)}: it must be {limit}")

    @property
    def group(self) -> int:
        """Query heads that share a key and value head."""
        return self.heads // self.kv_heads

    def tokens(self, **more: int) -> dict[str, int]:
        """The axes of a token, and others."""
        return {"batch": 1, "sequence": self.sequence, **more}

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
        x = _blocks(net, self, x)
        _head(net, self, x, table)
        return net.build()


def _blocks(net: Builder, shape: Transformer, x: Tensor) -> Tensor:
    dense = shape.dense_layers if shape.experts else shape.layers
    attention = Attention(net, shape)
    if dense:
        net.segment("dense_block" if shape.experts else "block", repeat=dense)
        x = mlp_block(net, shape, attention.block(x))
    if shape.experts:
        net.segment("block", repeat=shape.layers - dense)
        x = expert_block(net, shape, attention.block(x))
    return x


def _embedding(net: Builder, shape: Transformer) -> tuple[Tensor, str]:
    net.segment("embedding")
    tokens = net.data("tokens", shape.tokens())
    x = _table(net, shape, tokens, "vocab", shape.vocab)
    table = net.weight_name(x)
    if shape.positions:
        place = _table(net, shape, tokens, "positions", shape.positions)
        passes, saves = (EMBEDDING_PASSES, [MASK]) if shape.dropout else (ADD_PASSES, [])
        x = net.elementwise("sum", [x, place], passes, saves=saves, split="whole")
    return x, table


def _table(net: Builder, shape: Transformer, tokens: Tensor, axis: str, rows: int) -> Tensor:
    return net.op(
        f"{axis}_table",
        {"kind": "lookup"},
        {**shape.tokens(embed=shape.hidden), axis: rows},
        STREAM,
        inputs=[tokens],
        weights=[Weight((axis, "embed"))],
        split=("vocab",) if axis == "vocab" else "whole",
    )


def _head(net: Builder, shape: Transformer, x: Tensor, table: str) -> None:
    net.segment("head")
    logits = net.op(
        "logits",
        contraction(),
        shape.tokens(vocab=shape.vocab, embed=shape.hidden),
        ("batch", "sequence", "vocab"),
        inputs=[norm(net, shape, "norm", x).over(*STREAM)],
        weights=[Weight(("vocab", "embed"), tied=table if shape.tied else None)],
        split=("vocab",),
        saves=[kept_input(0)],
    )
    net.elementwise("loss", [logits], CROSS_ENTROPY_PASSES, saves=[kept_elements(CROSS_ENTROPY_ELEMENTS)])

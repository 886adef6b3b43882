"""Self-attention over the past, with as many key and value heads as one likes.

Heads are key and value heads times the group of queries that shares one. Tensor parallelism splits the
former, then the latter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dielet.model.builder import MASK, OUTPUT, Builder, Save, Tensor, Weight, contraction, kept_input
from dielet.model.stream import STREAM, norm, residual

if TYPE_CHECKING:
    from dielet.model.transformer import Transformer

# Passes as in `dielet.model.stream`.
# The bias of a projection: in and out; its gradient is a reduction.
BIAS_PASSES = (2.0, 1.0)
# Scale, mask and softmax in one kernel; probabilities and gradient in, gradient out.
SOFTMAX_PASSES = (2.0, 3.0)
# In and out, and a mask of one byte, which is half an element.
DROPOUT_PASSES = (2.5, 2.5)

# Kernels that skip the masked half compute this share of the products; others compute all of them.
CAUSAL = 0.5

HEADS = ("kv_heads", "group")
# A key and a value per key and value head, which every rank that has some of its queries keeps.
KEY_AND_VALUE = 2


@dataclass(frozen=True)
class Attention:
    """The attention half of a block."""

    net: Builder
    shape: Transformer

    @property
    def flash(self) -> bool:
        """Whether scores and probabilities never leave the chip."""
        return self.shape.attention == "flash"

    def block(self, x: Tensor) -> Tensor:
        """Norm, attention and residual."""
        shape = self.shape
        context = self._context(self._heads(norm(self.net, shape, "attention_norm", x)))
        return residual(self.net, shape, "attention", self._projection(context), x, biased=shape.biases)

    def _projection(self, context: Tensor) -> Tensor:
        shape, inner = self.shape, (*HEADS, "head_dim")
        sizes = {"kv_heads": shape.kv_heads, "group": shape.group, "head_dim": shape.head_dim}
        return self.net.op(
            "projection",
            contraction(),
            shape.tokens(embed=shape.hidden, **sizes),
            STREAM,
            inputs=[context.over("batch", "sequence", *inner)],
            weights=[Weight((*inner, "embed"))],
            split=HEADS,
            saves=[kept_input(0)],
        )

    def _heads(self, x: Tensor) -> Tensor:
        """Per key and value head its queries, its key and its value: `group + 2` vectors of `head_dim`."""
        shape, rotary = self.shape, not self.shape.positions
        # The core of attention may be computed again; it starts from what the last op here keeps.
        heads = self._qkv(x, [] if shape.biases or rotary else [OUTPUT])
        if shape.biases:
            weights = [Weight(("kv_heads", "group_qkv", "head_dim"))]
            heads = self._each("qkv_bias", heads, BIAS_PASSES, weights, [] if rotary else [OUTPUT])
        if rotary:
            # Queries and the key, in and out, of what is there.
            turned = 2.0 * (shape.group + 1) / (shape.group + KEY_AND_VALUE)
            heads = self._each("rotary", heads, (turned, turned), [], [OUTPUT])
        return heads

    def _qkv(self, x: Tensor, saves: list[Save]) -> Tensor:
        shape, inner = self.shape, ("kv_heads", "group_qkv", "head_dim")
        sizes = dict(zip(inner, (shape.kv_heads, shape.group + KEY_AND_VALUE, shape.head_dim), strict=True))
        return self.net.op(
            "qkv",
            contraction(),
            shape.tokens(**sizes, embed=shape.hidden),
            ("batch", "sequence", *inner),
            inputs=[x.over(*STREAM)],
            weights=[Weight(("embed", *inner))],
            split=("kv_heads", "group_qkv"),
            saves=[kept_input(0), *saves],
            whole={"group_qkv": KEY_AND_VALUE},
        )

    def _each(
        self, name: str, heads: Tensor, passes: tuple[float, float], weights: list[Weight], saves: list[Save]
    ) -> Tensor:
        whole = {"group_qkv": KEY_AND_VALUE}
        return self.net.elementwise(name, [heads], passes, weights=weights, saves=saves, whole=whole)

    def _context(self, heads: Tensor) -> Tensor:
        """Scores, softmax, dropout and context: kernels of their own, or one."""
        shape = self.shape
        square = {"batch": 1, "kv_heads": shape.kv_heads, "group": shape.group, "sequence": shape.sequence}
        square["key_sequence"] = shape.sequence
        axes = {**square, "head_dim": shape.head_dim}
        share = CAUSAL if self.flash else 1.0
        queries = heads.over("batch", "sequence", *HEADS, "head_dim")
        keys = heads.over("batch", "key_sequence", "kv_heads", "head_dim")
        scores = self.net.op(
            "scores",
            contraction(share, again=self.flash),
            axes,
            square,
            inputs=[queries, keys],
            split=HEADS,
            saves=[kept_input(0), kept_input(1)],
            selective=not self.flash,
            on_chip=self.flash,
        )
        return self.net.op(
            "context",
            contraction(share),
            axes,
            ("batch", "sequence", *HEADS, "head_dim"),
            inputs=[self._shares(scores), keys],
            split=HEADS,
            saves=[kept_input(1)] if self.flash else [kept_input(0), kept_input(1)],
            selective=not self.flash,
        )

    def _shares(self, scores: Tensor) -> Tensor:
        if self.flash:
            return self.net.elementwise("softmax", [scores], (0.0, 0.0), on_chip=True)
        x = self.net.elementwise("softmax", [scores], SOFTMAX_PASSES, saves=[OUTPUT], selective=True)
        if self.shape.dropout:
            x = self.net.elementwise("attention_dropout", [x], DROPOUT_PASSES, saves=[MASK], selective=True)
        return x

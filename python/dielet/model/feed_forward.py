"""The MLP half of a block: one for all tokens, or experts among which each token chooses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dielet.model.builder import Builder, Operand, Tensor, Weight, contraction, kept_elements, kept_input
from dielet.model.stream import ADD_PASSES, STREAM, norm, residual

if TYPE_CHECKING:
    from dielet.model.transformer import Transformer

# Passes as in `dielet.model.stream`.
# Bias and GeLU in one kernel; backward reads both, writes, and the bias gradient reads what was written.
GELU_PASSES = (2.0, 4.0)
# Gate and value in, product out; backward reads them and the gradient, and writes two gradients.
GATED_PASSES = (3.0, 5.0)


def mlp_block(net: Builder, shape: Transformer, x: Tensor) -> Tensor:
    """Norm, MLP and residual."""
    normed = norm(net, shape, "mlp_norm", x)
    done = FeedForward(net, shape, shape.ffn).run(normed.over(*STREAM))
    return residual(net, shape, "mlp", done, x, biased=shape.biases)


def expert_block(net: Builder, shape: Transformer, x: Tensor) -> Tensor:
    """Norm, experts and residual: a token goes to `top_k` experts and comes back as their weighted sum."""
    normed = norm(net, shape, "mlp_norm", x)
    mixed = _routed(net, shape, normed)
    if shape.shared_ffn:
        shared = FeedForward(net, shape, shape.shared_ffn, "shared_").run(normed.over(*STREAM))
        mixed = net.elementwise("shared_sum", [mixed, shared], ADD_PASSES, split="whole")
    # Each expert has its own bias.
    return residual(net, shape, "mlp", mixed, x, biased=False)


@dataclass(frozen=True)
class FeedForward:
    """Up, activation, down."""

    net: Builder
    shape: Transformer
    width: int
    prefix: str = ""
    experts: int = 0

    @property
    def rows(self) -> dict[str, int]:
        """The axes of what goes through: tokens, or the copies that go to their experts."""
        return self.shape.tokens(top_k=self.shape.top_k) if self.experts else self.shape.tokens()

    @property
    def which(self) -> dict[str, int]:
        """The axis that chooses the matrices a row meets."""
        return {"experts": self.experts} if self.experts else {}

    @property
    def gate(self) -> dict[str, int]:
        """The axis of value and gate."""
        return {"gate": 2} if self.shape.gated else {}

    def run(self, x: Operand) -> Tensor:
        """The three ops."""
        return self._down(self._activation(self._up(x)))

    def _up(self, x: Operand) -> Tensor:
        inner = {**self.gate, "ffn": self.width}
        return self.net.op(
            f"{self.prefix}up",
            contraction(),
            {**self.rows, **inner, "embed": self.shape.hidden, **self.which},
            (*self.rows, *inner),
            inputs=[x],
            weights=[Weight((*self.which, "embed", *inner))],
            split=("ffn",),
            saves=[kept_input(0)],
        )

    def _activation(self, x: Tensor) -> Tensor:
        output = {**self.rows, "ffn": self.width}
        bias = Weight((*self.which, *self.gate, "ffn"), "bias")
        return self.net.elementwise(
            f"{self.prefix}activation",
            [x],
            GATED_PASSES if self.gate else GELU_PASSES,
            axes={**output, **self.gate, **self.which},
            output=output,
            weights=[bias] if self.shape.biases else [],
            saves=[kept_input(0)],
        )

    def _down(self, x: Tensor) -> Tensor:
        bias = Weight((*self.which, "embed"), "bias")
        return self.net.op(
            f"{self.prefix}down",
            contraction(),
            {**self.rows, "ffn": self.width, "embed": self.shape.hidden, **self.which},
            (*self.rows, "embed"),
            inputs=[x],
            weights=[
                Weight((*self.which, "ffn", "embed")),
                *([bias] if self.shape.biases and self.which else []),
            ],
            split=("ffn",),
            saves=[kept_input(0)],
        )


def _routed(net: Builder, shape: Transformer, normed: Tensor) -> Tensor:
    copies = shape.tokens(top_k=shape.top_k, embed=shape.hidden)
    gates = _gates(net, shape, normed).over("batch", "sequence", "top_k")
    sent = net.op("dispatch", {"kind": "exchange"}, copies, copies, inputs=[normed.over(*STREAM), gates])
    done = FeedForward(net, shape, shape.expert_ffn, "expert_", shape.experts).run(sent)
    back = net.op("combine", {"kind": "exchange"}, copies, copies, inputs=[done])
    # Reads the copies, writes their sum; backward reads the gradient and writes it to each copy.
    passes = (shape.top_k + 1.0, shape.top_k + 1.0)
    inputs: list[Operand] = [back, gates]
    saves = [kept_input(0)]
    return net.elementwise("mix", inputs, passes, axes=copies, output=STREAM, saves=saves, split="whole")


def _gates(net: Builder, shape: Transformer, x: Tensor) -> Tensor:
    """The chosen experts' weights; the axis is `routes` since a token meets the router's whole matrix."""
    scores = net.op(
        "router",
        contraction(),
        shape.tokens(routes=shape.experts, embed=shape.hidden),
        ("batch", "sequence", "routes"),
        inputs=[x.over(*STREAM)],
        weights=[Weight(("embed", "routes"))],
        saves=[kept_input(0)],
    )
    # Per token: read all scores, write probabilities, read them to choose; backward reads and writes them
    # once.
    share = shape.experts / shape.top_k
    return net.elementwise(
        "gates",
        [scores],
        (3 * share + 1, 2 * share + 1),
        axes=shape.tokens(top_k=shape.top_k, routes=shape.experts),
        output=("batch", "sequence", "top_k"),
        saves=[kept_elements(share)],
        split="whole",
    )

"""GPT-style transformers as Megatron-LM trains them: GPT-3 and the models of Korthikanti et al."""

from __future__ import annotations

from dielet.model.builder import Tree
from dielet.model.transformer import Transformer

POSITIONS = 2048
VOCABULARY = 51_200  # 50,257 padded to a multiple of 1,024

MODELS = {  # layers, hidden, heads
    "megatron-22b": (48, 6_144, 64),
    "gpt3-175b": (96, 12_288, 96),
    "megatron-530b": (105, 20_480, 128),
    "megatron-1t": (128, 25_600, 160),
}


def build(name: str, sequence: int = POSITIONS) -> Tree:
    """The training graph: attention unfused, dropout everywhere, learned positions, tied head."""
    layers, hidden, heads = MODELS[name]
    return Transformer(
        name=name,
        summary=f"GPT, {layers} layers of {hidden}, {heads} heads, sequence {sequence}",
        source="Korthikanti et al., Reducing Activation Recomputation in Large Transformers, 2022, table 3",
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads,
        ffn=4 * hidden,
        vocab=VOCABULARY,
        sequence=sequence,
        positions=POSITIONS,
        gated=False,
        norm="layer",
        biases=True,
        tied=True,
        dropout=True,
        attention="unfused",
    ).build()

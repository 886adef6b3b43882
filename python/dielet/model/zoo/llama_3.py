"""Llama 3: grouped heads, gated MLP, rotary positions, flash attention over the causal half."""

from __future__ import annotations

from dielet.model.builder import Tree
from dielet.model.transformer import Transformer

MODELS = {  # layers, hidden, heads, ffn
    "llama-3-8b": (32, 4_096, 32, 14_336),
    "llama-3-70b": (80, 8_192, 64, 28_672),
}


def build(name: str, sequence: int = 8_192) -> Tree:
    """The training graph."""
    layers, hidden, heads, ffn = MODELS[name]
    return Transformer(
        name=name,
        summary=f"Llama 3, {layers} layers of {hidden}, {heads} heads on 8, sequence {sequence}",
        source="Grattafiori et al., The Llama 3 Herd of Models, 2024, table 3",
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=8,
        head_dim=128,
        ffn=ffn,
        vocab=128_256,
        sequence=sequence,
    ).build()

"""Mixtral 8x7B: a Llama-like decoder whose MLP is eight experts, two of them per token."""

from __future__ import annotations

from dielet.model.builder import Tree
from dielet.model.transformer import Transformer


def build(name: str, sequence: int = 4_096) -> Tree:
    """The training graph."""
    return Transformer(
        name=name,
        summary=f"Mixtral, 32 layers of 4096, 8 experts of which 2 per token, sequence {sequence}",
        source="Jiang et al., Mixtral of Experts, 2024, table 1",
        layers=32,
        hidden=4_096,
        heads=32,
        kv_heads=8,
        head_dim=128,
        ffn=14_336,
        vocab=32_000,
        sequence=sequence,
        experts=8,
        top_k=2,
        expert_ffn=14_336,
    ).build()

"""The models that dielet knows by name: one module per network, imported when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dielet.model.builder import Tree

# name: module and what its `build` is told
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "inception-v3": ("inception_v3", {"auxiliary": True}),
    "inception-v3-no-aux": ("inception_v3", {"auxiliary": False}),
    "gnmt": ("gnmt", {"layers": 4}),
    "gnmt-8x8": ("gnmt", {"layers": 8}),
    "big-lstm": ("big_lstm", {}),
    "resnet-50": ("resnet_50", {}),
    "vgg-16": ("vgg_16", {}),
    "alexnet": ("alexnet", {}),
    "gpt3-175b": ("gpt", {}),
    "megatron-22b": ("gpt", {}),
    "megatron-530b": ("gpt", {}),
    "megatron-1t": ("gpt", {}),
    "llama-3-8b": ("llama_3", {}),
    "llama-3-70b": ("llama_3", {}),
    "mixtral-8x7b": ("mixtral", {}),
}

# Networks whose graph is built for a sequence length.
SEQUENCES = ("gnmt", "big_lstm", "gpt", "llama_3", "mixtral")


def build(name: str, sequence: int | None = None) -> Tree:
    """The dict tree of a network, at a sequence length if it has one."""
    module, options = NETWORKS[name]
    length = {} if sequence is None or module not in SEQUENCES else {"sequence": sequence}
    tree: Tree = import_module(f"dielet.model.zoo.{module}").build(name, **options, **length)
    return tree

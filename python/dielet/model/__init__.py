"""Models: graphs of ops over named axes, by name, from a file, or built in code."""

from dielet._core import Model
from dielet.model.builder import Builder, Tensor, Weight
from dielet.model.load import load_model, model_names
from dielet.model.network import from_networkx, to_networkx
from dielet.model.transformer import Transformer

__all__ = [
    "Builder",
    "Model",
    "Tensor",
    "Transformer",
    "Weight",
    "from_networkx",
    "load_model",
    "model_names",
    "to_networkx",
]

"""Models: graphs of ops over named axes, by name, from a file, or built in code."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dielet._core import Model

if TYPE_CHECKING:
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

# Where each name lives: imported when first used, since importing dielet must stay fast.
_HOMES = {
    "Builder": "builder",
    "Tensor": "builder",
    "Weight": "builder",
    "load_model": "load",
    "model_names": "load",
    "from_networkx": "network",
    "to_networkx": "network",
    "Transformer": "transformer",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)

"""How to split training of a model over devices, and what time, energy and money it takes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dielet.projection.columns import price_columns

__all__ = ["price_columns"]

# Imported when first used, so that `import dielet` stays cheap.
_HOMES = {"price_columns": "dielet.projection.columns"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `dielet` has no attribute `{name}`")
    return getattr(import_module(_HOMES[name]), name)

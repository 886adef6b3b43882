"""How to split training of a model over devices, and what time, energy and money it takes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dielet._core import Model, System, __version__
from dielet.errors import DieletError, FileError, ModelError, PlanError, SpecError

if TYPE_CHECKING:
    from dielet.convergence import Curve, curve_names, load_curve
    from dielet.hardware.system import Fabric, fabric_names, load_fabric, load_system, system_names
    from dielet.model import load_model, model_names
    from dielet.partitioning import Partition, partition
    from dielet.placement import Placement, place
    from dielet.projection import Answer, Priced
    from dielet.projection.columns import price_columns
    from dielet.projection.plan import plan
    from dielet.projection.price import price
    from dielet.technology import compare, fabric, wafer

# Where each public name lives: imported when first used, since importing dielet must stay fast.
_HOMES = {
    "Answer": "projection",
    "Curve": "convergence",
    "Fabric": "hardware.system",
    "Placement": "placement",
    "Partition": "partitioning",
    "Priced": "projection",
    "compare": "technology",
    "curve_names": "convergence",
    "fabric": "technology",
    "fabric_names": "hardware.system",
    "load_curve": "convergence",
    "load_fabric": "hardware.system",
    "load_model": "model",
    "load_system": "hardware.system",
    "model_names": "model",
    "place": "placement",
    "partition": "partitioning",
    "plan": "projection",
    "price": "projection",
    "price_columns": "projection.columns",
    "system_names": "hardware.system",
    "wafer": "technology",
}

__all__ = [
    "Answer",
    "Curve",
    "DieletError",
    "Fabric",
    "FileError",
    "Model",
    "ModelError",
    "Partition",
    "Placement",
    "PlanError",
    "Priced",
    "SpecError",
    "System",
    "__version__",
    "compare",
    "curve_names",
    "fabric",
    "fabric_names",
    "load_curve",
    "load_fabric",
    "load_model",
    "load_system",
    "model_names",
    "partition",
    "place",
    "plan",
    "price",
    "price_columns",
    "system_names",
    "wafer",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)

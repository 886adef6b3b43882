"""Systems and fabrics by name or file, and the collectives of their devices."""

from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dielet import _core
from dielet._core import Fabric, System
from dielet.errors import FileError, PlanError
from dielet.hardware.device import load_device

__all__ = [
    "Collectives",
    "Fabric",
    "System",
    "collective_s",
    "collectives",
    "fabric_names",
    "load_fabric",
    "load_system",
    "system_names",
]

OPERATIONS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "point-to-point")


@dataclass(frozen=True)
class Collectives:
    """One operation for a column of messages: time, energy of the links, algorithm."""

    bytes: NDArray[np.float64]
    seconds: NDArray[np.float64]
    joules: NDArray[np.float64]
    algorithms: list[str]


def system_names() -> list[str]:
    """Names of the systems in the package."""
    return _names("systems")


def fabric_names() -> list[str]:
    """Names of the fabrics in the package."""
    return _names("fabrics")


def load_system(name_or_path: str | Path, *, fabric: str | Path | Fabric | None = None) -> System:
    """A system of the package by its name, or a user's own by the path of its file.

    The device that the file asks for is looked for beside the file, then in the package. A `fabric` takes the
    place of the innermost tier and keeps the devices.
    """
    text, origin = _read("system", name_or_path)
    system = System.from_toml(text, load_device(_device_of(text, origin)), origin)
    if fabric is None:
        return system
    return system.with_fabric(fabric if isinstance(fabric, Fabric) else load_fabric(fabric))


def load_fabric(name_or_path: str | Path) -> Fabric:
    """A fabric by its name, by the path of its file, or by wires, as in `si-if:pitch=4um,layers=2`."""
    if isinstance(name_or_path, str) and ":" in name_or_path and not Path(name_or_path).is_file():
        from dielet.technology import fabric_on_wires

        return fabric_on_wires(name_or_path)
    return Fabric.from_toml(*_read("fabric", name_or_path))


def collective_s(
    system: System,
    operation: str,
    bytes: ArrayLike,
    *,
    devices: int,
    size: int | None = None,
    stride: int = 1,
) -> NDArray[np.float64]:
    """Seconds of one operation for each message; see `collectives`."""
    return collectives(system, operation, bytes, devices=devices, size=size, stride=stride).seconds


def collectives(
    system: System,
    operation: str,
    bytes: ArrayLike,
    *,
    devices: int,
    size: int | None = None,
    stride: int = 1,
    placed: bool = True,
    algorithm: str | None = None,
) -> Collectives:
    """Time, energy and algorithm of one operation for each message.

    The group has `size` ranks (all devices if left out), `stride` device ids apart; all groups like it among
    the first `devices` devices communicate at once. `placed=False` takes the first `devices` devices as they
    are numbered, as a benchmark does. With an `algorithm`, its time (NaN where the fabric does not allow it).
    """
    messages = np.atleast_1d(np.asarray(bytes, dtype=np.float64))
    if not np.all(np.isfinite(messages) & (messages >= 0)):
        raise PlanError("a message is negative or not finite: give bytes of at least 0")
    size = devices if size is None else size
    for name, count in (("devices", devices), ("size", size), ("stride", stride)):
        if not 1 <= count < 2**63:
            raise PlanError(f"`{name} = {count}` is out of range: at least 1")
    if not placed and (size, stride) != (devices, 1):
        raise PlanError("`placed=False` is one group of all devices: leave `size` and `stride` out")
    columns = _core.collective_columns(system, operation, messages.ravel(), devices, size, stride, placed, algorithm)
    seconds, joules, algorithms = columns
    return Collectives(messages, seconds.reshape(messages.shape), joules.reshape(messages.shape), algorithms)


def _device_of(text: str, origin: str) -> str | Path:
    device = System.device_name(text, origin)
    beside = Path(origin).with_name(f"{device}.toml")
    return beside if Path(origin).is_file() and beside.is_file() else device


def _specs(kind: str) -> Traversable:
    return resources.files("dielet.hardware").joinpath("specs", kind)


def _names(kind: str) -> list[str]:
    files = (entry.name for entry in _specs(kind).iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def _read(kind: str, name_or_path: str | Path) -> tuple[str, str]:
    """Text and origin of a file of the package or of a user's own."""
    if isinstance(name_or_path, str) and name_or_path in _names(f"{kind}s"):
        shipped = _specs(f"{kind}s").joinpath(f"{name_or_path}.toml")
        return shipped.read_text(encoding="utf-8"), shipped.name
    path = Path(name_or_path)
    if not path.is_file():
        raise FileError(f"{kind} `{name_or_path}` is neither a file nor one of {', '.join(_names(f'{kind}s'))}")
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except (OSError, UnicodeDecodeError) as fault:
        raise FileError(f"{kind} `{path}` cannot be read: {fault}") from fault

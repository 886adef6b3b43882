"""Devices by name or file."""

import reprlib
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dielet import _core
from dielet._core import Device
from dielet.errors import FileError, SpecError

__all__ = ["Device", "device_names", "gemm_time_s", "load_device"]

_LARGEST = 2**40


def _specs() -> Traversable:
    return resources.files("dielet.hardware").joinpath("specs", "devices")


def device_names() -> list[str]:
    """Names of the devices in the package."""
    return sorted(_names())


def _names() -> Iterator[str]:
    for entry in _specs().iterdir():
        if entry.name.endswith(".toml"):
            yield entry.name.removesuffix(".toml")


def load_device(name_or_path: str | Path) -> Device:
    """Load a device of the package by its name, or a user's own by the path of its file."""
    shipped = _specs().joinpath(f"{name_or_path}.toml")
    if isinstance(name_or_path, str) and shipped.is_file():
        return Device.from_toml(shipped.read_text(encoding="utf-8"), shipped.name)
    path = Path(name_or_path)
    if not path.is_file():
        known = ", ".join(device_names())
        raise FileError(f"device `{name_or_path}` is neither a file nor one of {known}")
    return Device.from_toml(path.read_text(encoding="utf-8"), str(path))


def gemm_time_s(
    device: Device, number: str, *, m: ArrayLike, n: ArrayLike, k: ArrayLike, batch: ArrayLike = 1
) -> NDArray[np.float64]:
    """Seconds of GEMM kernels `C[m,n] += A[m,k] B[k,n]`; the sizes broadcast."""
    sizes = np.broadcast_arrays(_counts(batch), _counts(m), _counts(n), _counts(k))
    flat = [np.ascontiguousarray(size).ravel() for size in sizes]
    return _core.gemm_time_s(device, number, *flat).reshape(sizes[0].shape)


def _counts(sizes: ArrayLike) -> NDArray[np.uint64]:
    array = np.asarray(sizes)
    if array.dtype.kind not in "iu" or np.any(array < 0) or np.any(array > _LARGEST):
        shown = reprlib.repr(array.tolist())
        raise SpecError(f"GEMM size `{shown}` is no count: use whole numbers from 0 to {_LARGEST}")
    return array.astype(np.uint64)

# Typed face of the Rust core.

from collections.abc import Mapping, Sequence
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Device",
    "Fabric",
    "Model",
    "Packaging",
    "System",
    "Technology",
    "__version__",
    "build_profile",
    "bus_response",
    "collective_columns",
    "compare_links",
    "crossover_batch_ratio",
    "crossover_devices",
    "dp_speedup",
    "dp_speedup_limit",
    "dp_speedup_under_hyperbola",
    "edge_bandwidth",
    "epochs_over_minimum",
    "format_quantity",
    "gemm_time_s",
    "hybrid_gain",
    "hybrid_gain_under_hyperbola",
    "hybrid_speedup",
    "op_costs",
    "parse_quantity",
    "partition_hybrid",
    "partition_load",
    "partition_replicas",
    "perimeter_bandwidth",
    "pipeline_ends_s",
    "place_check",
    "place_model",
    "place_most_devices",
    "place_solve",
    "place_training_step",
    "plan_words",
    "power_saving",
    "price",
    "price_columns",
    "required_epochs_ratio",
    "required_mp_speedup",
    "roofline_gain",
    "serial_plan",
    "share_needed",
    "stream_time_s",
    "training_time_s",
    "wire_columns",
    "workers",
]

__version__: Final[str]
build_profile: Final[str]
place_most_devices: Final[int]

# model
@final
class Model:
    @staticmethod
    def from_dict(tree: Mapping[str, Any]) -> Model: ...
    def to_dict(self) -> dict[str, Any]: ...
    def parameters(self) -> dict[str, int]: ...
    def op_table(self) -> dict[str, list[Any]]: ...
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def sample(self) -> str: ...
    @property
    def sequence(self) -> int: ...
    @property
    def worker_batch(self) -> int: ...
    @property
    def measured_batch(self) -> int | None: ...
    @property
    def forward_flops_per_sample(self) -> float: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

# device
@final
class Device:
    @staticmethod
    def from_toml(text: str, origin: str) -> Device: ...
    def to_dict(self) -> dict[str, Any]: ...
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def numbers(self) -> list[str]: ...

def gemm_time_s(
    device: Device,
    number: str,
    batch: NDArray[np.uint64],
    m: NDArray[np.uint64],
    n: NDArray[np.uint64],
    k: NDArray[np.uint64],
) -> NDArray[np.float64]: ...
def stream_time_s(device: Device, bytes: float) -> float: ...

# quantity
def parse_quantity(text: str, what: str) -> float: ...
def format_quantity(value: float, what: str) -> str: ...

# projection
def training_time_s(step_s: float, steps_per_epoch: float, epochs: float) -> float: ...
def dp_speedup(devices: float, scaling_efficiency: float, statistical_efficiency: float) -> float: ...
def hybrid_speedup(
    workers: float, mp_speedup: float, scaling_efficiency: float, statistical_efficiency: float
) -> float: ...
def hybrid_gain(mp: float, mp_speedup: float, scaling_ratio: float, epochs_ratio: float) -> float: ...
def required_mp_speedup(mp: float, scaling_ratio: float, epochs_ratio: float) -> float: ...
def required_epochs_ratio(mp: float, mp_speedup: float, scaling_ratio: float) -> float: ...
def epochs_over_minimum(batch: float, critical_batch: float) -> float: ...
def dp_speedup_under_hyperbola(devices: float, worker_batch: float, critical_batch: float) -> float: ...
def dp_speedup_limit(worker_batch: float, critical_batch: float) -> float: ...
def hybrid_gain_under_hyperbola(
    workers: float, mp: float, mp_speedup: float, worker_batch: float, critical_batch: float
) -> float: ...
def crossover_batch_ratio(mp: float, mp_speedup: float) -> float: ...
def crossover_devices(mp: float, mp_speedup: float, worker_batch: float, critical_batch: float) -> float: ...

# system
@final
class System:
    @staticmethod
    def from_toml(text: str, device: Device, origin: str) -> System: ...
    @staticmethod
    def device_name(text: str, origin: str) -> str: ...
    def with_fabric(self, fabric: Fabric) -> System: ...
    def to_dict(self) -> dict[str, Any]: ...
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def device(self) -> Device: ...
    @property
    def capacity(self) -> int | None: ...

@final
class Fabric:
    @staticmethod
    def from_toml(text: str, origin: str) -> Fabric: ...
    def to_dict(self) -> dict[str, Any]: ...
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...

def collective_columns(
    system: System,
    operation: str,
    bytes: NDArray[np.float64],
    devices: int,
    size: int,
    stride: int,
    placed: bool,
    algorithm: str | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]: ...

# price
def serial_plan(model: Model, precision: str) -> dict[str, Any]: ...
def price(model: Model, system: System, plan: Mapping[str, Any]) -> dict[str, Any]: ...
def op_costs(model: Model, system: System, plan: Mapping[str, Any]) -> dict[str, Any]: ...

# partition
def partition_load(
    columns: dict[str, Any],
    accelerators: int,
    cpus: int,
    memory: float,
    *,
    contiguous: bool,
    time_limit_s: float | None,
    memory_limit_bytes: int | None,
) -> dict[str, Any]: ...
def partition_replicas(
    columns: dict[str, Any],
    devices: int,
    nodes: int,
    inner: float,
    outer: float,
    *,
    time_limit_s: float | None,
    memory_limit_bytes: int | None,
) -> dict[str, Any]: ...
def partition_hybrid(
    problem: dict[str, Any], *, time_limit_s: float | None, memory_limit_bytes: int | None
) -> dict[str, Any]: ...

# place
def place_solve(problem: dict[str, Any], time_limit_s: float | None = None) -> dict[str, Any]: ...
def place_model(model: Model, system: System, plan: Mapping[str, Any]) -> dict[str, Any]: ...
def place_check(problem: dict[str, Any], schedule: dict[str, Any]) -> float: ...
def place_training_step(
    ops: list[dict[str, Any]], tensors: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]: ...
def plan_words() -> dict[str, list[str]]: ...
def price_columns(
    model: Model,
    system: System,
    base: Mapping[str, Any],
    columns: Sequence[tuple[str, NDArray[np.uint64]]],
) -> dict[str, Any]: ...

# plan
def workers(
    model: Model, system: System, request: Mapping[str, Any], devices: NDArray[np.uint64]
) -> dict[str, Any]: ...

# pipeline
def pipeline_ends_s(
    forward: list[float],
    backward: list[float],
    send: list[float],
    stages: int,
    micro_batches: int,
    schedule: str,
) -> list[float]: ...

# link
@final
class Technology:
    @staticmethod
    def from_toml(text: str, origin: str) -> Technology: ...
    def to_dict(self) -> dict[str, Any]: ...
    def report(self, asked: Mapping[str, Any]) -> dict[str, Any]: ...
    def tier(self, asked: Mapping[str, Any], edge_m: float) -> dict[str, Any]: ...
    def fabric(
        self,
        like: Fabric,
        asked: Mapping[str, Any],
        name: str,
        die_m2: float = 500e-6,
        share: float = 0.5,
        topology: str | None = None,
    ) -> Fabric: ...
    def limits(
        self, pitch_m: list[float], length_m: float = 500e-6, reference_ohm: float = 50.0
    ) -> list[dict[str, Any]]: ...
    def sweep(
        self,
        pitch_m: NDArray[np.float64],
        length_m: NDArray[np.float64],
        layers: NDArray[np.uint32],
        shielded: bool = False,
    ) -> dict[str, NDArray[np.float64]]: ...
    def response(
        self,
        pitch_m: NDArray[np.float64],
        length_m: NDArray[np.float64],
        frequency_hz: NDArray[np.float64],
        shielded: bool = False,
        reference_ohm: float = 50.0,
    ) -> dict[str, NDArray[np.float64]]: ...
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def has_geometry(self) -> bool: ...

def compare_links(
    technologies: list[Technology], against: int, asked: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]: ...
def wire_columns(
    width_m: NDArray[np.float64],
    spacing_m: NDArray[np.float64],
    thickness_m: NDArray[np.float64],
    height_m: NDArray[np.float64],
    both_planes: bool = False,
    permittivity: float = 3.9,
) -> dict[str, NDArray[np.float64]]: ...
def bus_response(
    width_m: float,
    spacing_m: float,
    thickness_m: float,
    height_m: float,
    length_m: float,
    frequency_hz: NDArray[np.float64],
    both_planes: bool = False,
    shielded: bool = False,
    reference_ohm: float = 50.0,
) -> dict[str, NDArray[np.float64]]: ...
def edge_bandwidth(pitch_m: float, layers: int, rate_bit_per_s: float, signal_fraction: float = 1.0) -> float: ...
def perimeter_bandwidth(area_m2: float, pitch_m: float, layers: int, rate_bit_per_s: float) -> float: ...
def power_saving(share: float, old_j_per_bit: float, new_j_per_bit: float) -> float: ...
def share_needed(saving: float, old_j_per_bit: float, new_j_per_bit: float) -> float: ...
def roofline_gain(intensity: float, gain: float) -> float: ...

# packaging
@final
class Packaging:
    @staticmethod
    def from_toml(text: str, origin: str) -> Packaging: ...
    def to_dict(self) -> dict[str, Any]: ...
    def wafer(self, asked: Mapping[str, Any]) -> dict[str, Any]: ...
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...

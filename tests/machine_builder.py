"""A whole machine written for a test: devices and two tiers, every rate and delay by name."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from dielet.hardware.device import Device
from dielet.hardware.system import System
from fabric_builder import tier

NUMBERS = ("fp32", "fp16", "bf16")
RATES = ("peak", "memory_bandwidth", "inner_bandwidth", "outer_bandwidth", "copy")
DELAYS = ("kernel_overhead", "inner_latency", "outer_latency", "launch", "step")


@dataclass(frozen=True)
class Machine:
    """Rates per second and delays in seconds; `memory` is ample unless a test is about it."""

    peak: float = 1e14
    memory_bandwidth: float = 1e12
    inner_bandwidth: float = 1e11
    outer_bandwidth: float = 1e10
    copy: float = 3e11
    kernel_overhead: float = 3e-6
    inner_latency: float = 1e-6
    outer_latency: float = 5e-6
    launch: float = 1e-5
    step: float = 2e-6
    inner: str = "switch"
    members: int = 8
    multiprocessors: int = 64
    memory_gib: float = 1e6
    names: str = "test"

    def faster(self, times: float) -> Machine:
        """All rates times, all delays over a factor."""
        rates = {name: getattr(self, name) * times for name in RATES}
        delays = {name: getattr(self, name) / times for name in DELAYS}
        return replace(self, **rates, **delays)

    def build(self) -> System:
        name = f"{self.names}-device"
        device = Device.from_toml(self._device(name), f"{name}.toml")
        way = {"launch": self.launch, "step": self.step}
        inner = tier(
            self.inner,
            self.members,
            bandwidth=self.inner_bandwidth,
            latency=self.inner_latency,
            efficiency=0.8,
            copy=f'"{self.copy!r} B/s"',
            **way,
        )
        outer = tier("switch", None, bandwidth=self.outer_bandwidth, latency=self.outer_latency, efficiency=0.9, **way)
        outer = outer.replace('name = "switch"', f'name = "{self.names} outside"')
        head = f'name = "{self.names}"\nsummary = "written by a test"\ndevice = "{name}"'
        return System.from_toml("\n".join([head, inner, outer]), device, f"{self.names}.toml")

    def _device(self, name: str) -> str:
        rate = [
            f'peak = "{self.peak!r} FLOP/s"',
            "ceiling = 0.9",
            "feed = 10.0",
            "ramp = 50.0",
            "split = 500.0",
        ]
        lines = [
            f'name = "{name}"',
            'summary = "written by a test"',
            f'memory = "{self.memory_gib!r} GiB"',
            f'memory_bandwidth = "{self.memory_bandwidth!r} B/s"',
            "memory_efficiency = 0.8",
            f"multiprocessors = {self.multiprocessors}",
            f'kernel_overhead = "{self.kernel_overhead!r} s"',
            'power = "400 W"',
        ]
        for number in NUMBERS:
            lines += [f"[rates.{number}]", *rate]
        return "\n".join(lines)


assert {*RATES, *DELAYS} <= {field.name for field in fields(Machine)}

"""Systems written for a test: ideal tiers, so that what is tested is the structure and not the constants."""

from dielet.hardware.device import load_device
from dielet.hardware.system import System


def tier(
    topology: str,
    members: int | None,
    *,
    bandwidth: float = 1e9,
    latency: float = 0.0,
    launch: float = 0.0,
    step: float = 0.0,
    efficiency: float = 1.0,
    **more: object,
) -> str:
    """One `[[tiers]]` table; `more` are further keys with TOML values."""
    lines = [f'name = "{topology}"', f'topology = "{topology}"']
    lines += [f"members = {members}"] if members else []
    lines += [f'bandwidth = "{bandwidth!r} B/s"', f'latency = "{latency!r} s"', 'energy = "1 pJ/bit"']
    lines += [f"{key} = {value}" for key, value in more.items()]
    lines += [f'bulk = {{ launch = "{launch!r} s", step = "{step!r} s", efficiency = {efficiency!r} }}']
    return "\n".join(["[[tiers]]", *lines])


def system(*tiers: str) -> System:
    """A system of these tiers, innermost first."""
    head = 'name = "test"\nsummary = "written by a test"\ndevice = "v100-sxm2-16gb"'
    return System.from_toml("\n".join([head, *tiers]), load_device("v100-sxm2-16gb"), "test.toml")

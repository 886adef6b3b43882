"""The fabric: from the geometry of a wire to bandwidth, latency, energy, and to a wafer of dies.

Formulas live in Rust (`wire`, `link`, `packaging`); here specs are found, and answers get
their version and time.
Quantities are texts with a unit (`"10um"`) or floats in SI.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from dielet import _core
from dielet.errors import FileError, SpecError

Quantity = str | float
Answer = dict[str, Any]

DEFAULT_POINTS = 200
WIRE_KEYS = (
    "pitch",
    "length",
    "layers",
    "width",
    "thickness",
    "height",
    "planes",
    "shielded",
    "topology",
    "die",
    "share",
)
MERIT = "merit = (Gbit/s per mm of edge) / (pJ/bit); merit_per_latency = merit / (latency in ns)"


def _folder(kind: str) -> Traversable:
    return resources.files("dielet").joinpath("hardware", "specs", kind)


def _names(kind: str) -> list[str]:
    files = (entry.name for entry in _folder(kind).iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def technology_names() -> list[str]:
    """Names of the technologies that the package knows."""
    return _names("technologies")


def packaging_names() -> list[str]:
    """Names of the packaging processes that the package knows."""
    return _names("packaging")


def _text(kind: str, noun: str, name: str) -> tuple[str, str]:
    """The text of a spec and what to call it; a name, or a path to a file."""
    if name in _names(kind):
        return _folder(kind).joinpath(f"{name}.toml").read_text(encoding="utf-8"), f"{name}.toml"
    path = Path(name)
    if path.suffix != ".toml":
        raise SpecError(f"no {noun} `{name}`: use one of {', '.join(_names(kind))}, or a path to a .toml file")
    try:
        return path.read_text(encoding="utf-8"), name
    except OSError as error:
        raise FileError(f"cannot read `{name}`: {error.strerror}") from None


def load_technology(name: str) -> _core.Technology:
    """Read a technology by name or path.

    >>> load_technology("si-if").summary
    'Si-IF at a modern node: plain inverters, minimal protection'
    """
    text, origin = _text("technologies", "technology", name)
    return _core.Technology.from_toml(text, origin)


def load_packaging(name: str) -> _core.Packaging:
    """Read a packaging process by name or path.

    >>> load_packaging("si-if").name
    'si-if'
    """
    text, origin = _text("packaging", "packaging process", name)
    return _core.Packaging.from_toml(text, origin)


def _given(**asked: Any) -> dict[str, Any]:
    return {key: value for key, value in asked.items() if value is not None}


def fabric(
    technology_name: str,
    *,
    pitch: Quantity | None = None,
    length: Quantity | None = None,
    layers: int | None = None,
    width: Quantity | None = None,
    thickness: Quantity | None = None,
    height: Quantity | None = None,
    planes: str | None = None,
    shielded: bool = False,
    frequency: Quantity | None = None,
    frequency_to: Quantity | None = None,
    frequency_points: int = DEFAULT_POINTS,
    reference: Quantity | None = None,
    die: Quantity | None = None,
) -> Answer:
    """All that is known of one link: R, L, C, loss, crosstalk, eye, rate, latency, energy, density.

    `frequency` to `frequency_to` is swept in equal ratios, ports in `reference` (50 ohm); `die` is the dielet
    whose pads are counted. What a technology does not state is None.

    >>> link = fabric("si-if", pitch="4um", length="500um", layers=4)
    >>> round(link["wires_per_m"] / 1e6, 3)
    1.0
    """
    start = time.perf_counter()
    asked = _given(
        pitch=pitch,
        length=length,
        layers=layers,
        width=width,
        thickness=thickness,
        height=height,
        planes=planes,
        shielded=shielded,
        frequency=frequency,
        frequency_to=frequency_to,
        frequency_points=frequency_points,
        reference=reference,
        die=die,
    )
    answer: Answer = load_technology(technology_name).report(asked)
    return _stamped(answer, start)


def compare(names: Iterable[str], *, against: str | None = None, **geometry: Any) -> Answer:
    """Technologies side by side, with ratios to one of them (the last, if `against` is not given).

    A technology takes the `geometry` where it is offered at it, and else its own defaults. The figures
    of merit are (Gbit/s per mm of edge) / (pJ/bit), and that over the latency in ns.

    >>> table = compare(["pcb", "si-if"], against="si-if")
    >>> table["ratios"]["pcb"]["energy"] > 100
    True
    """
    start = time.perf_counter()
    listed = list(names)
    reference = against or listed[-1]
    if reference not in listed:
        raise SpecError(f"cannot compare against `{reference}`: it is not one of {', '.join(listed)}")
    handles = [load_technology(name) for name in listed]
    reports, ratios = _core.compare_links(handles, listed.index(reference), _given(**geometry))
    answer = {
        "technologies": dict(zip(listed, reports, strict=True)),
        "against": reference,
        "ratios": dict(zip(listed, ratios, strict=True)),
        "merit_formula": MERIT,
    }
    return _stamped(answer, start)


def tier(technology_name: str, edge_m: float, **geometry: Any) -> Mapping[str, Any]:
    """What a technology gives a tier: bandwidth per device and direction, latency of a hop, energy per bit.

    `edge_m` is the die edge whose wires serve the tier, all its neighbours together.

    >>> figures = tier("si-if", 0.0894, pitch="4um", layers=1)
    >>> figures["bandwidth_bytes_per_s"] > 1e12
    True
    """
    figures: Mapping[str, Any] = load_technology(technology_name).tier(_given(**geometry), edge_m)
    return figures


def fabric_on_wires(text: str) -> _core.Fabric:
    """A fabric from a technology and a geometry, as in `si-if:pitch=4um,layers=2`.

    Keys: pitch, length, layers, width, thickness, height, planes, shielded, and topology, die (area of a
    device), share (of the die's edge that serves the tier; memory takes the rest, half if left out). Topology
    and the constants of the library are those of the fabric of that name, or of `si-if`.

    >>> fabric_on_wires("si-if:pitch=4um,layers=2").name
    'si-if:pitch=4um,layers=2'
    """
    from dielet.hardware.system import fabric_names, load_fabric

    name, _, rest = text.partition(":")
    given = dict(_pair(part, text) for part in rest.split(",") if part)
    unknown = [key for key in given if key not in WIRE_KEYS]
    if unknown:
        raise SpecError(f"`{text}`: no key `{unknown[0]}`: use one of {', '.join(WIRE_KEYS)}")
    die = _core.parse_quantity(given.pop("die", "500mm2"), "area")
    share = _number(given.pop("share", "0.5"), text)
    topology = given.pop("topology", None)
    asked: dict[str, Any] = dict(given)
    if "layers" in given:
        asked["layers"] = int(_number(given["layers"], text))
    if "shielded" in given:
        asked["shielded"] = given["shielded"] in ("yes", "true", "1")
    like = load_fabric(name if name in fabric_names() else "si-if")
    return load_technology(name).fabric(like, asked, text, die, share, topology)


def _pair(part: str, text: str) -> tuple[str, str]:
    key, equals, value = part.partition("=")
    if not (equals and value):
        raise SpecError(f"`{text}`: `{part}` is no `key=value`, as in `si-if:pitch=4um,layers=2`")
    return key.strip(), value.strip()


def _number(value: str, text: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise SpecError(f"`{text}`: `{value}` is no number") from None


def limits(
    technology_name: str = "si-if",
    pitch_m: Sequence[float] = (2e-6, 4e-6, 5e-6, 10e-6),
    length_m: float = 500e-6,
) -> list[Answer]:
    """Up to which frequency -2 dB of loss and -15 dB of crosstalk hold, by pitch and return path.

    >>> rows = limits(pitch_m=[2e-6])
    >>> [row["return"] for row in rows]
    ['plane', 'plane-and-shields', 'distant', 'distant-and-shields']
    """
    rows: list[Answer] = load_technology(technology_name).limits(list(pitch_m), length_m)
    return rows


def wafer(die: str, *, process: str = "si-if", **asked: Any) -> Answer:
    """How many dies fit on a wafer, limited by what; yield, power, current, cost.

    `die` is an area (`"500mm2"`, a square) or two sides (`"12mmx12mm"`). Further keys: gap, usable_diameter,
    substrate, reserve, power, power_limit, regulator_efficiency, external, layers, utilisation, pads,
    pillars, pillar_yield, defect_density, spares, supply.

    >>> module = wafer("700mm2", power="270W", power_limit="9300W", regulator_efficiency=0.85)
    >>> module["dies"], module["limited_by"]
    (29, 'power')
    """
    start = time.perf_counter()
    answer: Answer = load_packaging(process).wafer(_given(die=die, **asked))
    return _stamped(answer, start)


def _stamped(answer: Answer, start: float) -> Answer:
    return {**answer, "version": _core.__version__, "seconds": time.perf_counter() - start}

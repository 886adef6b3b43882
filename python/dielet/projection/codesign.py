"""`dielet codesign`: what pitch, length, layers, topology and device count do to time to target.

Every point is a full plan on a fabric derived from its geometry; nothing is interpolated.
"""

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dielet._core import __version__

FIGURES = ("time_to_target_s", "energy_j", "cost_usd")


def codesign(
    model: str,
    *,
    system: str = "si-if-waferscale-24",
    technology: str = "si-if",
    pitch_m: Iterable[float] = (2e-6, 4e-6, 10e-6),
    length_m: Iterable[float] = (100e-6, 500e-6),
    layers: Iterable[int] = (1, 2),
    topology: Sequence[str] = ("mesh",),
    devices: Iterable[int] = (8, 16, 24),
    **asked: Any,
) -> dict[str, Any]:
    """Time to target, energy and cost over the geometry, the Pareto front, the crossover at each geometry.

    `asked` goes to `dielet.plan`. A point that cannot run has no figures and is on no front.
    """
    start = time.perf_counter()
    counts = sorted(devices)
    grid = itertools.product(pitch_m, length_m, layers, topology)
    points = [point for geometry in grid for point in _points(model, system, technology, geometry, counts, asked)]
    for point in points:
        point["pareto"] = _figures(point) is not None and not any(_beats(other, point) for other in points)
    return {
        "status": "feasible" if any(_figures(point) for point in points) else "infeasible",
        "model": model,
        "system": system,
        "technology": technology,
        "points": points,
        "version": __version__,
        "seconds": time.perf_counter() - start,
    }


def _points(
    model: str,
    system: str,
    technology: str,
    geometry: tuple[float, float, int, str],
    counts: list[int],
    asked: Mapping[str, Any],
) -> list[dict[str, Any]]:
    from dielet.hardware.system import load_fabric
    from dielet.projection.plan import plan

    pitch, length, layers, topology = geometry
    fabric = load_fabric(f"{technology}:pitch={pitch!r} m,length={length!r} m,layers={layers},topology={topology}")
    given = dict(asked)
    at = {"pitch_m": pitch, "length_m": length, "layers": layers, "topology": topology}
    crossover = plan(model, system=system, fabric=fabric, devices=counts, **given).crossover_devices
    points = []
    for count in counts:
        answer = plan(model, system=system, fabric=fabric, devices=count, **given).to_dict(1)
        best = answer["plans"][0] if answer["plans"] else {}
        figures = {name: best.get(name) for name in FIGURES}
        points.append({**at, "devices": count, **figures, "crossover_devices": crossover, "pareto": False})
    return points


def _figures(point: Mapping[str, Any]) -> list[float] | None:
    figures = [point[name] for name in FIGURES if point[name] is not None]
    return figures if point["time_to_target_s"] is not None else None


def _beats(other: Mapping[str, Any], point: Mapping[str, Any]) -> bool:
    """No worse in any figure, better in one."""
    theirs, ours = _figures(other), _figures(point)
    if theirs is None or ours is None or len(theirs) != len(ours):
        return False
    pairs = list(zip(theirs, ours, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

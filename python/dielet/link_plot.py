"""Pictures of a link: loss and crosstalk over frequency, bandwidth and energy over pitch and length."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dielet._core import format_quantity
from dielet.errors import FileError, SpecError
from dielet.technology import load_technology

LENGTHS_M = (50e-6, 200e-6, 500e-6, 1e-3)
PITCHES_M = np.linspace(2e-6, 10e-6, 81)


def draw(answer: Mapping[str, Any], path: Path) -> None:
    """Draw the answer of `fabric` or `compare` into a file; its ending says the format."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SpecError("--plot needs matplotlib: pip install 'dielet[plot]'") from None
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    if "technologies" in answer:
        _comparison(figure, answer)
    elif answer["wire"] is None:
        raise SpecError(
            f"`{answer['technology']}` is known by its published figures, which are a point, not a curve: "
            "draw it beside others with --compare"
        )
    else:
        _link(figure, answer)
    try:
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be written: {error}") from None


def _comparison(figure: Any, answer: Mapping[str, Any]) -> None:
    axes = figure.subplots()
    for name, row in answer["technologies"].items():
        density = row["edge_bandwidth_bit_per_s_per_m"]
        if density is None:
            continue
        axes.loglog(row["energy_j_per_bit"], density, "o", markersize=9)
        axes.annotate(name, (row["energy_j_per_bit"], density), xytext=(8, 5), textcoords="offset points")
    axes.margins(0.15)
    _units(axes, "energy per bit", "J/bit", "bandwidth per edge", "bit/s/m")
    axes.set_title("Technologies at the geometry asked for")


def _link(figure: Any, answer: Mapping[str, Any]) -> None:
    (loss, crosstalk), (bandwidth, energy) = figure.subplots(2, 2)
    wire = "shielded" if answer["wire"]["shielded"] else "unshielded"
    _loss(loss, answer)
    _crosstalk(crosstalk, answer)
    shown = [length for length in LENGTHS_M if length != answer["length_m"]] + [answer["length_m"]]
    for length in sorted(shown):
        columns = _over_pitch(answer, length)
        style = "-" if length == answer["length_m"] else "--"
        label = format_quantity(length, "length")
        bandwidth.plot(PITCHES_M, columns["edge_bandwidth_bit_per_s_per_m"], style, label=label)
        energy.plot(PITCHES_M, columns["energy_j_per_bit"], style, label=label)
    for axes in (bandwidth, energy):
        axes.axvline(answer["pitch_m"], color="0.8", zorder=0)
        axes.legend(title="length", fontsize=8, ncols=2)
    _units(bandwidth, "pitch", "m", "bandwidth per edge", "bit/s/m")
    _units(energy, "pitch", "m", "energy per bit", "J/bit")
    for axes in (bandwidth, energy):
        axes.set_ylim(bottom=0)
    figure.suptitle(f"{answer['technology']}, {wire}, signal layers: {answer['layers']}")


def _loss(axes: Any, answer: Mapping[str, Any]) -> None:
    axes.semilogx(answer["frequency_hz"], answer["insertion_loss_db"], label="this link")
    axes.axhline(-2, color="0.6", linestyle=":", label="-2 dB (2017 abstract)")
    axes.set_ylim(top=0.1)
    axes.legend(fontsize=8)
    _units(axes, "frequency", "Hz", "insertion loss S21 (dB)", None)


def _crosstalk(axes: Any, answer: Mapping[str, Any]) -> None:
    for key, label, style in (
        ("near_end_crosstalk_db", "near end, one neighbour", "-"),
        ("near_end_crosstalk_sum_db", "near end, both", "--"),
        ("far_end_crosstalk_db", "far end, one neighbour", "-"),
        ("far_end_crosstalk_sum_db", "far end, both", "--"),
    ):
        axes.semilogx(answer["frequency_hz"], answer[key], style, label=label)
    axes.axhline(-15, color="0.6", linestyle=":", label="-15 dB (2017 abstract)")
    axes.legend(fontsize=8)
    _units(axes, "frequency", "Hz", "crosstalk (dB)", None)


def _over_pitch(answer: Mapping[str, Any], length: float) -> Mapping[str, Any]:
    rows = len(PITCHES_M)
    lengths = np.full(rows, length)
    layers = np.full(rows, answer["layers"], dtype=np.uint32)
    handle = load_technology(answer["technology"])
    return handle.sweep(PITCHES_M, lengths, layers, shielded=answer["wire"]["shielded"])


def _units(axes: Any, x: str, x_unit: str, y: str, y_unit: str | None) -> None:
    from matplotlib.ticker import EngFormatter, NullFormatter

    axes.xaxis.set_major_formatter(EngFormatter(unit=x_unit))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if y_unit is not None:
        axes.yaxis.set_major_formatter(EngFormatter(unit=y_unit))
    axes.grid(alpha=0.3)

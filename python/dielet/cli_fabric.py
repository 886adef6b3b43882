"""`dielet fabric` and `dielet wafer`: a link from its geometry, and a wafer of dies."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dielet.errors import SpecError


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command("fabric")(fabric)
    app.command("wafer")(wafer)
    app.command("codesign")(codesign)


def fabric(
    technology: Annotated[str | None, typer.Argument(help="A technology, by name or path.")] = None,
    compare: Annotated[str | None, typer.Option(help="Technologies side by side: A,B,...")] = None,
    against: Annotated[str | None, typer.Option(help="The one that ratios refer to; the last if not given.")] = None,
    pitch: Annotated[str | None, typer.Option(help="Wire pitch, as in 10um.")] = None,
    length: Annotated[str | None, typer.Option(help="Wire length, as in 500um.")] = None,
    layers: Annotated[int | None, typer.Option(help="Signal layers.")] = None,
    width: Annotated[str | None, typer.Option(help="Wire width; half the pitch if not given.")] = None,
    thickness: Annotated[str | None, typer.Option(help="Metal thickness; by pitch if not given.")] = None,
    height: Annotated[str | None, typer.Option(help="Distance to the plane; by pitch if not given.")] = None,
    planes: Annotated[str | None, typer.Option(help="below or both.")] = None,
    shielded: Annotated[bool, typer.Option(help="A grounded wire between every two signals.")] = False,
    frequency: Annotated[str, typer.Option(help="Sweep, as in 0.1GHz..100GHz.")] = "0.1GHz..100GHz",
    points: Annotated[int, typer.Option(help="Frequencies of the sweep.")] = 200,
    reference: Annotated[str, typer.Option(help="Impedance of the ports.")] = "50 ohm",
    die: Annotated[str | None, typer.Option(help="A dielet whose pads are counted, as in 4mm2.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw loss, crosstalk, bandwidth and energy.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """A link from its geometry: loss, crosstalk, eye, rate, latency, energy, bandwidth."""
    from dielet.technology import compare as side_by_side
    from dielet.technology import fabric as link

    low, _, high = frequency.partition("..")
    geometry: dict[str, Any] = {
        "pitch": pitch,
        "length": length,
        "layers": layers,
        "width": width,
        "thickness": thickness,
        "height": height,
        "planes": planes,
        "shielded": shielded,
        "frequency": low,
        "frequency_to": high or low,
        "frequency_points": points if high else 1,
        "reference": reference,
        "die": die,
    }
    if (technology is None) == (compare is None):
        raise SpecError("name one technology, as in `dielet fabric si-if`, or give --compare A,B,..")
    if compare is not None:
        answer = side_by_side(compare.split(","), against=against, **geometry)
        _show(answer, as_json, _comparison)
    else:
        answer = link(str(technology), **geometry)
        _show(answer, as_json, _link)
    if plot is not None:
        from dielet.link_plot import draw

        draw(answer, plot)


def wafer(
    die: Annotated[str, typer.Option(help="Area of a square die, or its sides: 500mm2, 12mmx12mm.")],
    process: Annotated[str, typer.Option(help="Packaging process, by name or path.")] = "si-if",
    gap: Annotated[str | None, typer.Option(help="Gap between dies.")] = None,
    usable_diameter: Annotated[str | None, typer.Option(help="Usable diameter of the wafer.")] = None,
    substrate: Annotated[str | None, typer.Option(help="A rectangle instead: 300mmx300mm.")] = None,
    reserve: Annotated[str | None, typer.Option(help="Area kept for regulators and external I/O.")] = None,
    power: Annotated[str | None, typer.Option(help="Power of one die.")] = None,
    power_limit: Annotated[str | None, typer.Option(help="What the whole may draw.")] = None,
    regulator_efficiency: Annotated[float | None, typer.Option(help="Output over input power.")] = None,
    external: Annotated[str | None, typer.Option(help="Data rate of one die off the wafer: 512Gbit/s.")] = None,
    layers: Annotated[int | None, typer.Option(help="Metal layers of the substrate.")] = None,
    utilisation: Annotated[float | None, typer.Option(help="Share of a layer that is wire.")] = None,
    pads: Annotated[int | None, typer.Option(help="Pads of a die; one row on its edge if not given.")] = None,
    pillars: Annotated[int | None, typer.Option(help="Pillars per pad.")] = None,
    pillar_yield: Annotated[float | None, typer.Option(help="Yield of one pillar.")] = None,
    defect_density: Annotated[str | None, typer.Option(help="Defects of the die's process: 0.1/cm2.")] = None,
    spares: Annotated[int, typer.Option(help="Dies that may fail without harm.")] = 0,
    supply: Annotated[str | None, typer.Option(help="Supply voltage of the dies.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """How many dies fit on a wafer, limited by what; yield, power, current, cost."""
    from dielet.technology import wafer as reckon

    answer = reckon(
        die,
        process=process,
        gap=gap,
        usable_diameter=usable_diameter,
        substrate=substrate,
        reserve=reserve,
        power=power,
        power_limit=power_limit,
        regulator_efficiency=regulator_efficiency,
        external=external,
        layers=layers,
        utilisation=utilisation,
        pads=pads,
        pillars=pillars,
        pillar_yield=pillar_yield,
        defect_density=defect_density,
        spares=spares,
        supply=supply,
    )
    _show(answer, as_json, _wafer)


def codesign(
    model: Annotated[str, typer.Argument(help="A model, by name or path.")],
    system: Annotated[str, typer.Option(help="Devices; their innermost links are replaced.")] = "si-if-waferscale-24",
    technology: Annotated[str, typer.Option(help="A technology with wires.")] = "si-if",
    pitch: Annotated[str, typer.Option(help="2um,4um,10um or 2um..10um (five steps of equal ratio).")] = "2um,4um,10um",
    length: Annotated[str, typer.Option(help="As pitch.")] = "100um,500um",
    layers: Annotated[str, typer.Option(help="1,2 or 1..4.")] = "1,2",
    topology: Annotated[str, typer.Option(help="mesh, torus, ring, switch; several with commas.")] = "mesh",
    devices: Annotated[str, typer.Option(help="8,16,24 or 1..24.")] = "8,16,24",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time to target, energy and cost over pitch, length, layers, topology and devices; the Pareto front."""
    from dielet.cli import counts
    from dielet.projection.codesign import codesign as search

    answer = search(
        model,
        system=system,
        technology=technology,
        pitch_m=_lengths(pitch),
        length_m=_lengths(length),
        layers=counts(layers, "layers"),
        topology=topology.split(","),
        devices=counts(devices),
    )
    _show(answer, as_json, _points)


def _lengths(text: str) -> list[float]:
    from dielet._core import parse_quantity

    low, dots, high = text.partition("..")
    if not dots:
        return [parse_quantity(part, "length") for part in text.split(",")]
    import numpy as np

    ends = parse_quantity(low, "length"), parse_quantity(high, "length")
    if not 0 < ends[0] <= ends[1]:
        raise SpecError(f"`{text}` is an empty range: give the smaller length first, above 0, as in 2um..10um")
    return [float(value) for value in np.geomspace(*ends, 5)]


def _points(answer: Mapping[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for column in (
        "pitch",
        "length",
        "layers",
        "topology",
        "devices",
        "time",
        "energy",
        "cost",
        "crossover",
        "",
    ):
        table.add_column(column, justify="right")
    for point in answer["points"]:
        table.add_row(
            _text(point["pitch_m"], "length"),
            _text(point["length_m"], "length"),
            str(point["layers"]),
            point["topology"],
            str(point["devices"]),
            _text(point["time_to_target_s"], "time"),
            _text(point["energy_j"], "energy"),
            _text(point["cost_usd"], "price"),
            str(point["crossover_devices"] or "-"),
            "front" if point["pareto"] else "",
        )
    Console().print(table)


def _show(answer: Mapping[str, Any], as_json: bool, table: Any) -> None:
    if as_json:
        print(json.dumps(answer, allow_nan=False))
    else:
        table(answer)


def _text(value: float | None, what: str) -> str:
    from dielet._core import format_quantity

    return "-" if value is None else format_quantity(value, what)


def _print(title: str, rows: list[tuple[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _parts(parts: Mapping[str, float] | None, what: str) -> str:
    if parts is None:
        return ""
    return "  (" + ", ".join(f"{name} {_text(value, what)}" for name, value in parts.items()) + ")"


def _link(answer: Mapping[str, Any]) -> None:
    wire = answer["wire"]
    rows = [("pitch, length", f"{_text(answer['pitch_m'], 'length')}, {_text(answer['length_m'], 'length')}")]
    if wire is not None:
        rows += [
            ("resistance", _text(wire["r_ohm_per_m"], "resistance per length")),
            ("capacitance", f"{_text(wire['c_f_per_m'], 'capacitance per length')}, "
             f"{_text(wire['c_coupling_f_per_m'], 'capacitance per length')} to each neighbour"),
            ("inductance", _text(wire["l_h_per_m"], "inductance per length")),
        ]  # fmt: skip
    if answer["limits"] is not None:
        limits = answer["limits"]
        rows += [
            ("loss better than -2 dB", _until(limits["loss_2db_hz"])),
            ("near-end crosstalk below -15 dB", f"{_until(limits['crosstalk_15db_hz'])}; "
             f"both neighbours {_until(limits['crosstalk_sum_15db_hz'])}"),
        ]  # fmt: skip
    rows += [
        ("data rate per wire", _text(answer["data_rate_bit_per_s_per_wire"], "bit rate") + _eye(answer)),
        ("latency", _text(answer["latency_s"], "time") + _parts(answer["latency_parts_s"], "time")),
        ("energy", _text(answer["energy_j_per_bit"], "energy per bit")
         + _parts(answer["energy_parts_j_per_bit"], "energy per bit")),
        ("bandwidth per edge", _text(answer["edge_bandwidth_bit_per_s_per_m"], "bandwidth per edge")),
        ("bandwidth per area", _text(answer["areal_bandwidth_bit_per_s_per_m2"], "bandwidth per area")),
        ("bandwidth per device", _text(answer["device_bandwidth_bytes_per_s"], "bandwidth")),
        ("pads of the die", f"{answer['pads_area']} over its area, {answer['pads_edge']} on its edge"),
    ]  # fmt: skip
    rows += [("published", _residual(point)) for point in answer["references"]]
    rows += [("out of range", note) for note in answer["range_notes"]]
    _print(f"{answer['technology']}: {answer['summary']}", [row for row in rows if not _empty(row[1])])


def _empty(text: str) -> bool:
    return text == "-" or text.startswith("None")


def _until(frequency: float | None) -> str:
    return "to 200 GHz and beyond" if frequency is None else f"to {_text(frequency, 'frequency')}"


def _eye(answer: Mapping[str, Any]) -> str:
    eye = answer["eye"]
    if eye is None:
        return ", as published"
    opening = f"worst eye {eye['opening']:.0%} of the swing, bit-error rate {eye['bit_error_rate']:.0e}"
    return f", limited by {answer['rate_limited_by']}; {opening}"


def _residual(point: Mapping[str, Any]) -> str:
    kind = "fitted" if point["fitted"] else "not fitted"
    return (
        f"{_text(point['pitch_m'], 'length')}, {_text(point['length_m'], 'length')}: "
        f"{_text(point['published_latency_s'], 'time')} (ours {point['latency_residual']:+.1%}), "
        f"{_text(point['published_energy_j_per_bit'], 'energy per bit')} "
        f"(ours {point['energy_residual']:+.1%}), {kind}"
    )


def _comparison(answer: Mapping[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for column in ("technology", "pitch", "rate per wire", "per edge", "energy", "latency", "merit"):
        table.add_column(column, justify="left" if column == "technology" else "right")
    for name, row in answer["technologies"].items():
        ratio = answer["ratios"][name]
        table.add_row(
            name,
            _text(row["pitch_m"], "length"),
            _text(row["data_rate_bit_per_s_per_wire"], "bit rate"),
            _text(row["edge_bandwidth_bit_per_s_per_m"], "bandwidth per edge") + _times(ratio["edge_bandwidth"]),
            _text(row["energy_j_per_bit"], "energy per bit") + _times(ratio["energy"]),
            _text(row["latency_s"], "time") + _times(ratio["latency"]),
            ("-" if row["merit"] is None else f"{row['merit']:.3g}") + _times(ratio["merit"]),
        )
    console = Console()
    console.print(table)
    console.print(f"in brackets: times `{answer['against']}`; {answer['merit_formula']}", highlight=False)


def _times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f" ({ratio:,.0f}x)" if ratio >= 10 else f" ({ratio:.2g}x)"


def _wafer(answer: Mapping[str, Any]) -> None:
    limits, yields, cost = answer["limits"], answer["yield"], answer["cost"]
    counts = ", ".join(f"{name} {count}" for name, count in limits.items() if count is not None)
    rows = [
        ("dies", f"{answer['dies']}, limited by {answer['limited_by']}"),
        ("by limit", counts),
        ("largest mesh", "{} x {}".format(*answer["mesh"])),
        ("yield of a die", f"{yields['die']:.4f}"),
        ("yield of its bonds", f"{yields['bond']:.5f} "
         f"({yields['bond_single_pillar']:.4f} with one pillar a pad, "
         f"{answer['pads_per_die']} pads)"),
        ("yield of the substrate", f"{yields['substrate']:.4f}"),
        ("yield of the system", f"{yields['system']:.4f} "
         f"({yields['system_without_spares']:.4f} without spares)"),
        ("power drawn", _text(answer["power_w"], "power")),
        ("current", _text(answer["current_a"], "current")),
        ("drop if fed from the edge", _text(answer["edge_fed_drop_v"], "voltage")),
        ("cost", f"{_text(cost['total_usd'], 'price')} (dies {_text(cost['dies_usd'], 'price')}, substrate "
         f"{_text(cost['substrate_usd'], 'price')}, bonding {_text(cost['bonding_usd'], 'price')}, scrap "
         f"{_text(cost['scrap_usd'], 'price')})"),
    ]  # fmt: skip
    rows += [("note", note) for note in answer["notes"]]
    _print("wafer", [row for row in rows if not _empty(row[1])])

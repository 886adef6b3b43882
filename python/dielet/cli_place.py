"""`dielet place`: the provably best placement and schedule of a dataflow graph on a few devices."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dielet.errors import FileError, PlanError, SpecError

if TYPE_CHECKING:
    from dielet.placement import Placement

_WIDTH = 64


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("place")(place)


def place(
    graph: Annotated[str, typer.Argument(help="A task graph file (FILE#k of a list); with --system a model.")],
    devices: Annotated[int | None, typer.Option(help="Number of devices.")] = None,
    system: Annotated[
        str | None, typer.Option(help="Place a model on devices of this system: a name or a file.")
    ] = None,
    precision: Annotated[str | None, typer.Option(help="Of a model: fp32, mixed, bf16 or fp8.")] = None,
    batch: Annotated[int | None, typer.Option(help="Samples of a model per step.")] = None,
    bandwidth: Annotated[str | None, typer.Option(help="Of a link in one direction, as 50GB/s or inf.")] = None,
    latency: Annotated[str | None, typer.Option(help="Of a transfer, as 10us.")] = None,
    links: Annotated[str | None, typer.Option(help="delay, serial or port.")] = None,
    no_overlap: Annotated[bool, typer.Option("--no-overlap", help="A transfer occupies both devices.")] = False,
    forward_only: Annotated[bool, typer.Option("--forward-only", help="Forward ops alone.")] = False,
    memory: Annotated[str | None, typer.Option(help="Of each device, as 16GB.")] = None,
    drop: Annotated[str, typer.Option(help="Ops to leave out, separated by commas.")] = "",
    as_given: Annotated[bool, typer.Option("--as-given", help="Add no forward-to-backward edges.")] = False,
    time_limit: Annotated[str | None, typer.Option(help="Seconds, or with a unit.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Write a table of ops and transfers.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Write a Perfetto/Chrome trace.")] = None,
    device_map: Annotated[Path | None, typer.Option(help="Write op names with devices as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the timeline as a page.")] = None,
) -> None:
    """Place and order the ops of a graph on a few devices so that the step ends soonest, with a proof."""
    from dielet.placement import place as solve

    answer = solve(
        graph,
        devices,
        system=system,
        precision=precision,
        batch=batch,
        bandwidth_bytes_per_s=_quantity(bandwidth, "bandwidth"),
        latency_s=_quantity(latency, "time"),
        links=_links(links),
        overlap=not no_overlap,
        forward_only=forward_only,
        memory_bytes=_quantity(memory, "size"),
        drop=[name.strip() for name in drop.split(",") if name.strip()],
        as_given=as_given,
        time_limit_s=_seconds(time_limit),
    )
    for note in answer.notes:
        print(f"note: {note}", file=sys.stderr)
    _write_files(answer, csv=csv, trace=trace, device_map=device_map, html=html)
    if as_json:
        print(json.dumps(answer.to_dict(), allow_nan=False))
    else:
        _show(answer)
    if answer.search.get("stop") == "interrupted":
        raise typer.Exit(130)


def _quantity(text: str | None, what: str) -> float | None:
    from dielet._core import parse_quantity

    if text is None:
        return None
    if text.strip().lower() in ("inf", "infinity"):
        return math.inf
    return parse_quantity(text, what)


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = _quantity(text, "time") or 0.0
    if not seconds >= 0:
        raise SpecError(f"--time-limit {text} is no time; give seconds >= 0")
    return seconds


def _links(text: str | None) -> Any:
    from dielet.placement import LINKS

    if text is not None and text not in LINKS:
        raise PlanError(f"--links {text} is no link model: use one of {', '.join(LINKS)}")
    return text


def _write_files(answer: "Placement", **files: Path | None) -> None:
    texts = {
        "csv": answer.to_csv,
        "trace": lambda: json.dumps(answer.trace()),
        "device_map": lambda: json.dumps(answer.device_map(), indent=1),
        "html": answer.html,
    }
    for kind, path in files.items():
        if path is not None:
            try:
                path.write_text(texts[kind](), encoding="utf-8")
            except OSError as fault:
                raise FileError(f"cannot write {path}: {fault.strerror or fault}") from None


def _show(answer: "Placement") -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(_headline(answer), highlight=False)
    if answer.makespan_s is None:
        return
    table = Table.grid(padding=(0, 1))
    for name, cells in _bars(answer):
        table.add_row(name, cells)
    console.print(table, highlight=False)
    critical = [op.id + ("'" if op.phase == "backward" else "") for op in answer.ops if op.critical]
    console.print(f"critical path ({len(critical)} ops, ' backward): {' '.join(_shortened(critical))}", highlight=False)


def _headline(answer: "Placement") -> str:
    if answer.makespan_s is None:
        return f"{answer.status}: {answer.reason}"
    time = _time(answer.makespan_s, answer.unit)
    bound = "" if answer.status == "optimal" else f", bound {_time(answer.lower_bound_s or 0.0, answer.unit)}"
    gap = "" if answer.status == "optimal" else f", gap {answer.gap or 0.0:.2%}"
    speedup = "" if answer.speedup is None else f", {answer.speedup:.4f}x over one device"
    return f"{answer.status}: {time} on {answer.devices} devices{speedup}{bound}{gap} ({answer.seconds:.3f} s)"


def _time(value: float, unit: str) -> str:
    return f"{value:.6g} {unit}"


def _bars(answer: "Placement") -> list[tuple[str, str]]:
    from dielet.report.timeline import bars

    return bars(answer, _WIDTH)


def _shortened(names: list[str]) -> list[str]:
    return names if len(names) <= 24 else [*names[:12], "...", *names[-12:]]

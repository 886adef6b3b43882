"""`dielet show`: what the package knows, and one model in figures."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from dielet._core import __version__
from dielet.cli import print_json

LISTS = ("models", "systems", "fabrics", "curves")


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(show)


def show(
    what: Annotated[str, typer.Argument(help="models, systems, fabrics, curves, or a model.")],
    sequence: Annotated[int | None, typer.Option(help="Tokens or time steps per sample.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Names that can be used, or the parameters and work of a model.

    $ dielet show models
    """
    started = time.perf_counter()
    if what in LISTS:
        _show_list(what, entries(what), as_json)
    else:
        answer = model_figures(what, sequence)
        answer.update(version=__version__, seconds=time.perf_counter() - started)
        _show_model(answer, as_json)


def entries(what: str) -> list[dict[str, Any]]:
    """Name, summary and source of everything of a kind."""
    from dielet.convergence import curve_names, load_curve
    from dielet.hardware.system import fabric_names, load_fabric, load_system, system_names
    from dielet.model import load_model, model_names

    loaders: dict[str, tuple[Any, Any]] = {
        "models": (model_names, load_model),
        "systems": (system_names, load_system),
        "fabrics": (fabric_names, load_fabric),
        "curves": (curve_names, load_curve),
    }
    names, load = loaders[what]
    found = [(name, load(name)) for name in names()]
    return [{"name": name, "summary": one.summary, "source": _source(one)} for name, one in found]


def _source(one: Any) -> str:
    """Where a definition comes from; machines state a source with every figure."""
    return str(getattr(one, "source", "") or "every figure in the file with its own source")


def model_figures(name: str, sequence: int | None) -> dict[str, Any]:
    """Exact totals of a model."""
    from dielet.model import load_model

    model = load_model(name, sequence)
    table = model.op_table()
    return {
        "name": model.name,
        "summary": model.summary,
        "source": model.source,
        "sample": model.sample,
        "parameters": model.parameters(),
        "forward_flops_per_sample": model.forward_flops_per_sample,
        "ops": sum(table["repeat"]),
        "segments": len(set(table["segment"])),
    }


def _show_list(what: str, found: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps(found))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(what, style="bold", no_wrap=True)
    table.add_column("summary")
    for entry in found:
        table.add_row(entry["name"], entry["summary"])
    Console(highlight=False).print(table)


def _show_model(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    parameters = answer["parameters"]
    print(f"{answer['name']}: {answer['summary']}")
    print(f"  source      {answer['source']}")
    print(f"  parameters  {parameters['total']:,} (embedding {parameters['embedding']:,})")
    if parameters["active"] != parameters["total"]:
        print(f"  active      {parameters['active']:,} per token")
    print(f"  forward     {answer['forward_flops_per_sample']:.4g} FLOP per {answer['sample']}")
    print(f"  ops         {answer['ops']:,} in {answer['segments']} distinct segments")

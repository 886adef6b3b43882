"""``dielet partition``: the best pipeline stages of a graph, with proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dielet.errors import PlanError

if TYPE_CHECKING:
    from rich.progress_bar import ProgressBar

    from dielet.partitioning import Partition, Stage

INTERRUPTED = 130
BAR = 40
"""Columns of the bar of the slowest stage."""


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("partition")(command)


def command(
    graph: Annotated[Path, typer.Argument(help="PipeDream graph.txt, Tarnawski et al. JSON or Piper JSON.")],
    devices: Annotated[int | None, typer.Option(min=0, help="Accelerators.")] = None,
    cpus: Annotated[int | None, typer.Option(min=0, help="CPUs (tarnawski).")] = None,
    convention: Annotated[str | None, typer.Option(help="tarnawski, pipedream or piper; the file decides.")] = None,
    contiguous: Annotated[bool, typer.Option("--contiguous/--any", help="Stages follow the order, or not.")] = True,
    replicate: Annotated[
        bool, typer.Option("--replicate", help="Stages may be replicated (pipedream, piper).")
    ] = False,
    levels: Annotated[str | None, typer.Option(help="Devices of a node, nodes: 8,2.")] = None,
    bandwidths: Annotated[str | None, typer.Option(help="In a node, between nodes: 20GB/s,3.125GB/s.")] = None,
    memory: Annotated[str | None, typer.Option(help="Of a device: 16GiB.")] = None,
    micro_batches: Annotated[int | None, typer.Option(min=1, help="Of a batch (piper).")] = None,
    time_limit: Annotated[float | None, typer.Option(min=0, help="Seconds; then the best so far.")] = None,
    memory_limit: Annotated[str | None, typer.Option(help="Memory of the search: 1GiB; then the best so far.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Cut a graph into pipeline stages so that throughput is highest, with a proof."""
    from dielet.partitioning import partition

    answer = partition(
        graph,
        convention=convention,
        devices=devices,
        cpus=cpus,
        contiguous=contiguous,
        memory_bytes=_quantity(memory, "size"),
        levels=_counts(levels),
        bandwidths_bytes_per_s=_bandwidths(bandwidths),
        micro_batches=micro_batches,
        time_limit_s=time_limit,
        memory_limit_bytes=_whole(_quantity(memory_limit, "size")),
    )
    if replicate and answer.convention == "tarnawski":
        raise PlanError("convention tarnawski has no replicas; leave out --replicate")
    if as_json:
        from dielet.cli import print_json

        print_json(answer.to_dict())
    else:
        show(answer)
    if answer.search["stop"] == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _quantity(text: str | None, what: str) -> float | None:
    from dielet._core import parse_quantity

    return None if text is None else parse_quantity(text, what)


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


def _counts(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise PlanError(f"`--levels {text}`: write devices of a node and nodes, as in 8,2") from None


def _bandwidths(text: str | None) -> tuple[float, ...] | None:
    from dielet._core import parse_quantity

    return None if text is None else tuple(parse_quantity(part, "bandwidth") for part in text.split(","))


def show(answer: Partition) -> None:
    """Prints the answer for people."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if answer.bottleneck is None:
        console.print(f"[bold]{answer.status}[/]: {answer.reason}")
        return
    console.print(_headline(answer), highlight=False)
    table = Table(box=None, header_style="bold")
    for name in ("stage", "on", "ops", "load", "memory", ""):
        table.add_column(name, justify="right" if name in ("stage", "load", "memory") else "left")
    for number, stage in enumerate(answer.stages):
        load, memory = f"{stage.load:.6g} {answer.unit}", _size(stage.memory_bytes)
        table.add_row(str(number), _on(stage), _ops(stage), load, memory, _bar(stage, answer.bottleneck))
    console.print(table)


def _headline(answer: Partition) -> str:
    proven = answer.status == "optimal"
    proof = "proven optimal" if proven else f"gap {answer.gap:.3%} ({answer.search['stop']})"
    return (
        f"{answer.bottleneck:.6g} {answer.unit} per micro-batch, {proof}; convention {answer.convention}, "
        f"{answer.search['explored']:,} stages visited in {answer.seconds:.3f} s"
    )


def _on(stage: Stage) -> str:
    if stage.kind == "cpu":
        return "CPU"
    tensor = f" of {stage.tensor}" if stage.tensor > 1 else ""
    return f"{stage.replicas} replica{'s' if stage.replicas > 1 else ''}{tensor}"


def _ops(stage: Stage) -> str:
    ops = stage.ops
    return ", ".join(ops) if len(ops) <= 4 else f"{ops[0]}, {ops[1]} .. {ops[-1]} ({len(ops)})"


def _size(number: float) -> str:
    from dielet._core import format_quantity

    return format_quantity(number, "size")


def _bar(stage: Stage, longest: float) -> ProgressBar:
    from rich.progress_bar import ProgressBar

    return ProgressBar(total=longest, completed=stage.load, width=BAR)

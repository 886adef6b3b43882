"""``dielet partition``: the best pipeline stages of a graph, with proof."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dielet.partition import Partition, Stage

BAR = 48
"""Columns of the widest bar in the picture of the stages."""


def register(app: typer.Typer) -> None:
    """Adds the verb to ``app``."""
    app.command("partition")(command)


def command(
    graph: Annotated[Path, typer.Argument(help="PipeDream graph.txt, Tarnawski et al. JSON or Piper JSON")],
    devices: Annotated[int | None, typer.Option(help="accelerators")] = None,
    cpus: Annotated[int | None, typer.Option(help="CPUs (convention tarnawski)")] = None,
    convention: Annotated[str | None, typer.Option(help="tarnawski, pipedream or piper; the file decides")] = None,
    contiguous: Annotated[bool, typer.Option("--contiguous/--any", help="stages follow the order, or any set")] = True,
    replicate: Annotated[bool, typer.Option(help="stages may be replicated (pipedream and piper always may)")] = False,
    levels: Annotated[str | None, typer.Option(help="devices of a node, nodes: 8,2")] = None,
    bandwidths: Annotated[str | None, typer.Option(help="inside a node, between nodes: 20GB/s,3.125GB/s")] = None,
    memory: Annotated[str | None, typer.Option(help="memory of a device: 16GiB")] = None,
    micro_batches: Annotated[int | None, typer.Option(help="micro-batches of a batch (piper)")] = None,
    time_limit: Annotated[float | None, typer.Option(help="seconds until the best so far is given")] = None,
    memory_limit: Annotated[str | None, typer.Option(help="memory of the search itself: 1GiB")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on stdout")] = False,
) -> None:
    """Cut a graph into pipeline stages so that throughput is highest.

    $ dielet partition gnmt_large.graph.txt --levels 8,2 --bandwidths 20GB/s,3.125GB/s
    """
    from dielet import _core
    from dielet.errors import DieletError
    from dielet.partition import partition

    try:
        answer = partition(
            graph,
            devices=devices,
            cpus=cpus,
            convention=convention,
            contiguous=contiguous,
            replicate=replicate,
            memory_bytes=None if memory is None else _core.parse_bytes(memory),
            levels=_counts(levels),
            bandwidths_bytes_per_s=_bandwidths(bandwidths),
            micro_batches=micro_batches,
            time_limit_s=time_limit,
            memory_limit_bytes=None if memory_limit is None else int(_core.parse_bytes(memory_limit)),
        )
    except (DieletError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from error
    if as_json:
        print(json.dumps(answer.to_dict()))
    else:
        show(answer)
    if answer.search["stop"] == "interrupted":
        raise typer.Exit(130)


def _counts(text: str | None) -> tuple[int, ...] | None:
    return None if text is None else tuple(int(part) for part in text.split(","))


def _bandwidths(text: str | None) -> tuple[float, ...] | None:
    from dielet import _core

    return None if text is None else tuple(_core.parse_bandwidth(part) for part in text.split(","))


def show(answer: Partition) -> None:
    """Prints the answer for people."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if answer.bottleneck is None:
        console.print(f"[bold]{answer.status}[/]: {answer.reason}")
        return
    console.print(_headline(answer))
    table = Table(box=None, header_style="bold")
    for name in ("stage", "on", "ops", "load", "memory", ""):
        table.add_column(name, justify="right" if name in ("stage", "load", "memory") else "left")
    for number, stage in enumerate(answer.stages):
        load, memory = f"{stage.load:.6g} {answer.unit}", _size(stage.memory_bytes)
        table.add_row(str(number), _on(stage), _ops(stage), load, memory, _bar(stage, answer.bottleneck))
    console.print(table)


def _headline(answer: Partition) -> str:
    proof = "proven optimal" if answer.status == "optimal" else f"gap {answer.gap:.3%} ({answer.search['stop']})"
    return (
        f"[bold]{answer.bottleneck:.6g} {answer.unit}[/] per micro-batch, {proof}, "
        f"in the convention of {answer.convention}; {answer.search['explored']:,} stages visited in {answer.seconds:.3f} s"
    )


def _on(stage: Stage) -> str:
    if stage.kind == "cpu":
        return "CPU"
    tensor = f" of {stage.tensor}" if stage.tensor > 1 else ""
    return f"{stage.replicas} replica{'s' if stage.replicas > 1 else ''}{tensor}"


def _ops(stage: Stage) -> str:
    ops: Any = stage.ops
    return ", ".join(ops) if len(ops) <= 4 else f"{ops[0]}, {ops[1]} .. {ops[-1]} ({len(ops)})"


def _size(number: float) -> str:
    from dielet import _core

    return _core.format_bytes(number)


def _bar(stage: Stage, longest: float) -> str:
    from dielet import _core

    return "█" * _core.columns(stage.load, longest, BAR)

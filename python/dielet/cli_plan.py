"""`dielet plan` and `dielet price`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dielet.cli import counts, output_file, pairs, print_json
from dielet.errors import PlanError

Fabric = Annotated[str | None, typer.Option(help="Fabric in place of the innermost tier: a name or a file.")]
System = Annotated[str, typer.Option(help="Devices and what joins them: a name or a file.")]
Precision = Annotated[str | None, typer.Option(help="fp32, mixed, bf16 or fp8; mixed where the device has it.")]
Curve = Annotated[str | None, typer.Option(help="Convergence: a name, or a CSV of batch,epochs.")]
Sequence = Annotated[int | None, typer.Option(help="Tokens or time steps per sample.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def register(app: typer.Typer) -> None:
    """Adds the verbs."""
    app.command()(plan)
    app.command()(price)


def plan(
    model: Annotated[str, typer.Argument(help="A name (see `dielet show models`) or a file.")],
    system: System,
    devices: Annotated[str, typer.Option(help="64, 1..1024 or 8,16,32.")],
    batch: Annotated[str | None, typer.Option(help="Samples per step, or `auto`.")] = None,
    per_device_batch: Annotated[int | None, typer.Option(help="Samples per worker and step.")] = None,
    sequence: Sequence = None,
    curve: Curve = None,
    mp: Annotated[str, typer.Option(help="Devices per worker to consider.")] = "1,2,4,8",
    mp_speedup: Annotated[list[str] | None, typer.Option(help="Measured speedup of a worker, as 2=1.32.")] = None,
    scaling_efficiency: Annotated[float | None, typer.Option(help="Fixed T_1/T_N instead of the model's.")] = None,
    objective: Annotated[str, typer.Option(help="time, step, cost or energy.")] = "time",
    precision: Precision = None,
    fabric: Fabric = None,
    tp: Annotated[str | None, typer.Option(help="Tensor degrees to consider.")] = None,
    pp: Annotated[str | None, typer.Option(help="Pipeline degrees to consider.")] = None,
    dense_gradients: Annotated[bool, typer.Option(help="Dense gradients of looked-up tables.")] = False,
    extrapolate: Annotated[str, typer.Option(help="Beyond the curve: hyperbola or slope.")] = "hyperbola",
    top: Annotated[int, typer.Option(help="Plans to list with --json.")] = 10,
    csv: Annotated[Path | None, typer.Option(help="Write all columns to a file.")] = None,
    as_json: Json = False,
) -> None:
    """Data parallel alone or hybrid, at how many devices, by how much.

    $ dielet plan inception-v3 --system dgx1-v100 --devices 1..1024
    """
    from dielet.projection import plan as project

    output_file(csv)
    answer = project(
        model,
        system=system,
        devices=counts(devices),
        batch=_batch(batch),
        per_device_batch=per_device_batch,
        sequence=sequence,
        curve=curve,
        mp=counts(mp, "mp"),
        mp_speedup=pairs(mp_speedup or [], "mp-speedup"),
        scaling_efficiency=scaling_efficiency,
        objective=objective,  # type: ignore[arg-type]  # checked there, with the nearest word
        precision=precision,
        fabric=fabric,
        tp=counts(tp, "tp") if tp else (),
        pp=counts(pp, "pp") if pp else (),
        dense_gradients=dense_gradients,
        extrapolate=extrapolate,  # type: ignore[arg-type]
    )
    if csv is not None:
        answer.to_csv(csv)
    if as_json:
        print_json(answer.to_dict(top))
    else:
        from rich.console import Console

        from dielet.report.terminal import print_answer

        print_answer(answer, Console(highlight=False))


def _batch(text: str | None) -> int | str | None:
    if text is None or text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise PlanError(f"`--batch {text}` is neither a number nor `auto`") from None


def price(
    model: Annotated[str, typer.Argument(help="A name (see `dielet show models`) or a file.")],
    system: System,
    devices: Annotated[int | None, typer.Option(help="Devices in all; gives dp.")] = None,
    dp: Annotated[int | None, typer.Option(help="Data-parallel workers; gives the devices.")] = None,
    tp: Annotated[int, typer.Option(help="Tensor degree.")] = 1,
    pp: Annotated[int, typer.Option(help="Pipeline stages.")] = 1,
    cp: Annotated[int, typer.Option(help="Context degree.")] = 1,
    ep: Annotated[int, typer.Option(help="Expert degree.")] = 1,
    virtual_stages: Annotated[int, typer.Option(help="Chunks per stage (interleaved).")] = 1,
    micro_batch: Annotated[int | None, typer.Option(help="Samples per forward pass.")] = None,
    batch: Annotated[int | None, typer.Option(help="Samples per step, of all workers.")] = None,
    sequence: Sequence = None,
    schedule: Annotated[str | None, typer.Option(help="1f1b or gpipe.")] = None,
    recompute: Annotated[str | None, typer.Option(help="none, selective or full.")] = None,
    sequence_parallel: Annotated[bool, typer.Option(help="Split the sequence between tensor-parallel ops.")] = False,
    sharding: Annotated[int, typer.Option(min=0, max=3, help="ZeRO stage.")] = 0,
    dense_gradients: Annotated[bool, typer.Option(help="Dense gradients of looked-up tables.")] = False,
    mapping: Annotated[str | None, typer.Option(help="tp-cp-dp-pp or tp-pp-cp-dp.")] = None,
    precision: Precision = None,
    fabric: Fabric = None,
    curve: Curve = None,
    as_json: Json = False,
) -> None:
    """One given plan, explained: time by term, memory by stage, energy and money.

    $ dielet price gpt3-175b --system dgx-a100 --tp 8 --pp 8 --micro-batch 1 --batch 64 --recompute full
    """
    from dielet.projection import price as priced

    plan: dict[str, Any] = {
        "dp": dp,
        "tp": tp,
        "pp": pp,
        "cp": cp,
        "ep": ep,
        "virtual_stages": virtual_stages,
        "micro_batch": micro_batch,
        "batch": batch,
        "sequence": sequence,
        "schedule": schedule,
        "recompute": recompute,
        "mapping": mapping,
    }
    given = {name: value for name, value in plan.items() if value is not None}
    flags = {"sequence_parallel": sequence_parallel, "dense_gradients": dense_gradients, "sharding": sharding}
    answer = priced(
        model, system=system, fabric=fabric, devices=devices, precision=precision, curve=curve, **given, **flags
    )
    if as_json:
        print_json(answer.to_dict())
    else:
        from rich.console import Console

        from dielet.report.terminal import print_priced

        print_priced(answer, Console(highlight=False))

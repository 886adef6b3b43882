"""The answers as text: tables that fit 80 columns, then what they mean in sentences."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dielet.report.format import count, digits, duration, energy, gibibytes, money, percent, times

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dielet.projection.answer import Answer, Choice
    from dielet.projection.price import Priced

KINDS = {
    "data": "data",
    "tensor": "tensor",
    "pipeline": "pipe",
    "wavefront": "wave",
    "tensor_pipeline": "tp+pp",
    "placement": "place",
    "measured_speedup": "given",
}
HEURISTIC = "placements of single ops are found by list scheduling, a heuristic: the true optimum is at least as fast"
LEGEND = ("T step, S steps per epoch, E epochs, gain over one device, /DP over data parallel on as many devices",)
BATCH_NORM = "micro-batches of a batch-normalised network see the statistics of their own samples only"


def answer_text(answer: Answer, width: int) -> str:
    """The whole answer as plain text."""
    return _plain(lambda console: print_answer(answer, console), width)


def priced_text(priced: Priced, width: int) -> str:
    """A priced plan as plain text."""
    return _plain(lambda console: print_priced(priced, console), width)


def _plain(show: Any, width: int) -> str:
    from rich.console import Console

    buffer = io.StringIO()
    show(Console(file=buffer, width=width, color_system=None, highlight=False))
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def print_answer(answer: Answer, console: Console) -> None:
    """Both tables, the crossover and the gain, and what to know of them."""
    rows = shown_rows(answer)
    request = answer.request
    head = f"{answer.model.name} on {answer.system.name}, {request.precision}, curve {answer.curve.name}"
    console.print(f"[bold]{head}[/]")
    if answer.status == "infeasible":
        _say_infeasible(answer, console)
        return
    console.print(_table("data parallel alone", answer, answer.dp, rows, hybrid=False))
    if answer.hybrid is not None:
        console.print(_table("hybrid: every worker split over M devices", answer, answer.hybrid, rows, hybrid=True))
    for line in summary(answer):
        console.print(line)
    for note in (*LEGEND, *answer.notes, *_memory_notes(answer, rows), *_kind_notes(answer, rows)):
        console.print(f"[dim]note: {note}[/]")


def shown_rows(answer: Answer) -> list[int]:
    """Powers of two, the crossover, the best of each kind, and the last count."""
    devices = answer.devices
    wanted = {int(n) for n in devices if n & (n - 1) == 0} | {int(devices[-1])}
    wanted.add(answer.crossover_devices or 0)
    for choice in (answer.dp, answer.hybrid):
        if choice is not None and np.isfinite(choice.time_to_target_s).any():
            wanted.add(int(devices[np.nanargmin(choice.time_to_target_s)]))
    if len(devices) <= 12:
        wanted.update(int(n) for n in devices)
    return [row for row, n in enumerate(devices) if int(n) in wanted]


def _table(title: str, answer: Answer, choice: Choice, rows: Iterable[int], *, hybrid: bool) -> Table:
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", title_style="italic", box=None, pad_edge=False, padding=(0, 1, 0, 0)
    )
    table.add_column("devices", justify="right", no_wrap=True)
    if hybrid:
        table.add_column("M split", no_wrap=True)
    for name in ("batch", "T", "S", "E", "time", "gain"):
        table.add_column(name, justify="right", no_wrap=True)
    if hybrid:
        table.add_column("/DP", justify="right", no_wrap=True)
    table.add_column("limit", no_wrap=True)
    speedups = answer.speedup(choice)
    for row in (row for row in rows if choice.workers[row] > 0):
        table.add_row(*_cells(answer, choice, row, speedups[row], hybrid=hybrid), style=_style(answer, row, hybrid))
    return table


def _style(answer: Answer, row: int, hybrid: bool) -> str | None:
    return "bold" if answer.best[row] == ("hybrid" if hybrid else "dp_only") else None


def _cells(answer: Answer, choice: Choice, row: int, speedup: float, *, hybrid: bool) -> list[str]:
    devices = f"{answer.devices[row]:,}"
    idle = int(answer.devices[row] - choice.workers[row] * choice.mp[row])
    if not np.isfinite(choice.time_to_target_s[row]):
        why = choice.why[row]
        reason = "no batch" if why is None else str(why["reason"]).replace("_", " ")
        return [devices, *([str(choice.mp[row])] if hybrid else []), *["-"] * (7 if hybrid else 6), reason]
    cells = [f"{devices} (-{idle})" if idle else devices]
    if hybrid:
        cells.append(f"{choice.mp[row]} {KINDS[choice.kinds[row] or 'data']}")
    cells += [
        count(choice.batch[row]),
        duration(choice.step_s[row]),
        count(choice.steps_per_epoch[row]),
        digits(choice.epochs[row]),
        duration(choice.time_to_target_s[row]),
        times(speedup),
    ]
    if hybrid:
        cells.append(times(answer.dp.time_to_target_s[row] / choice.time_to_target_s[row]))
    return [*cells, limit(answer, choice, row)]


def _why(choice: Choice, row: int) -> str:
    why = choice.why[row]
    if why is None:
        return "batch does not divide" if choice.workers[row] else "too few devices"
    if why["reason"] == "memory":
        return f"needs {gibibytes(why['needs'])} of {gibibytes(why['has'])}"
    return str(why["reason"]).replace("_", " ")


def limit(answer: Answer, choice: Choice, row: int) -> str:
    """The largest term of the step, forward and backward work taken together."""
    from dielet import _core

    plan = choice.plans[row]
    if plan is None:
        return ""
    verdict = _core.price(answer.model, answer.system, plan)
    parts = flattened(verdict["breakdown"])
    name, seconds = max(parts.items(), key=lambda part: part[1])
    return f"{name} {seconds / verdict['step_s']:.0%}"


def flattened(breakdown: dict[str, Any]) -> dict[str, float]:
    """Terms of a step one level deep, those of `data parallel and update` by themselves."""
    parts: dict[str, float] = {}
    for part in breakdown["parts"]:
        inner = part["parts"] if part["name"] == "data parallel and update" else [part]
        parts.update({one["name"]: one["seconds"] for one in inner})
    return parts or {breakdown["name"]: breakdown["seconds"]}


def summary(answer: Answer) -> list[str]:
    """The crossover and the gain at scale, under both rules of extrapolation."""
    last = int(answer.devices[-1])
    if answer.hybrid is None:
        return []
    at = answer.crossover_devices
    lines = []
    if at is None:
        lines.append(f"crossover: none up to {last:,} devices, data parallel alone is at least as fast")
    else:
        where = "inside" if answer.crossover_inside else "outside"
        lines.append(f"crossover: hybrid wins from {at:,} devices on ({where} the curve's measured batches)")
    lines.append(f"gain at {last:,} devices over the best of data parallel alone: {percent(answer.gain_at_scale)}")
    other = answer.under_other_rule
    if (other.crossover_devices, other.gain_at_scale) != (at, answer.gain_at_scale):
        rule, here = other.request.extrapolate, answer.request.extrapolate
        beyond = f"beyond the table: {here}; by {rule}"
        at_other = "no crossover" if other.crossover_devices is None else f"from {other.crossover_devices:,}"
        lines.append(f"{beyond} instead: {at_other}, gain {percent(other.gain_at_scale)}")
    return [*lines, *_best_line(answer)]


def _best_line(answer: Answer) -> list[str]:
    from dielet.projection.tree import plans

    best = plans(answer, 1)[0]
    spent = [f"{duration(best['time_to_target_s'])}", energy(best["energy_j"]), money(best["cost_usd"])]
    basis = f" (energy: {best['energy_basis']})" if best["energy_basis"] else ""
    by = answer.request.objective
    return [f"best by {by}: {best['devices']:,} devices, {', '.join(part for part in spent if part != '-')}{basis}"]


def _memory_notes(answer: Answer, rows: Iterable[int]) -> list[str]:
    """The numbers that clash where data parallelism does not fit, once."""
    unfit = [row for row in rows if (why := answer.dp.why[row]) and why["reason"] == "memory"]
    return [f"data parallel alone at {answer.devices[unfit[0]]:,}: {_why(answer.dp, unfit[0])}"] if unfit else []


def _kind_notes(answer: Answer, rows: Iterable[int]) -> list[str]:
    hybrid = answer.hybrid
    if hybrid is None:
        return []
    kinds = {hybrid.kinds[row] for row in rows}
    notes = [HEURISTIC] if "placement" in kinds else []
    normalised = "batch_norm" in answer.model.source or any("norm" in name for name in answer.model.op_table()["name"])
    images = answer.model.sample == "image"
    return notes + ([BATCH_NORM] if "pipeline" in kinds and images and normalised else [])


def _say_infeasible(answer: Answer, console: Console) -> None:
    for choice in answer.choices:
        row = len(answer.devices) - 1
        why = choice.why[row]
        reason = "" if why is None else f"; nearest: {why['nearest']}"
        console.print(f"no plan fits with {choice.mp[row]} devices per worker: {_why(choice, row)}{reason}")


def print_priced(priced: Priced, console: Console) -> None:
    """One plan: the tree of its terms, memory by stage, and the figures people compare."""
    verdict = priced.verdict
    if priced.status == "infeasible":
        console.print(f"infeasible: {_reason(verdict)}; nearest: {verdict['nearest']}")
        return
    console.print(f"[bold]{priced.model.name} on {priced.system.name}: {_plan_line(verdict['plan'])}[/]")
    for line in _figures(priced):
        console.print(line)
    _print_tree(verdict["breakdown"], verdict["step_s"], console)
    console.print(_memory_table(verdict["memory_bytes"]))


def _reason(verdict: Any) -> str:
    if verdict["reason"] == "memory":
        return f"memory, needs {gibibytes(verdict['needs'])}, has {gibibytes(verdict['has'])}"
    reason = str(verdict["reason"]).replace("_", " ")
    return f"{reason}, needs {digits(verdict['needs'])}, has {digits(verdict['has'])}"


def _plan_line(plan: dict[str, Any]) -> str:
    degrees = [f"{name} {plan[name]}" for name in ("dp", "tp", "pp", "cp", "ep", "placed") if plan[name] > 1]
    more = [f"virtual stages {plan['virtual_stages']}"] if plan["virtual_stages"] > 1 else []
    more += [f"micro-batch {plan['micro_batch']}", f"batch {plan['batch']:,}", str(plan["precision"])]
    more += [f"recompute {plan['recompute']}"] if plan["recompute"] != "none" else []
    more += ["sequence parallel"] if plan["sequence_parallel"] else []
    more += [f"sharding {plan['sharding']}"] if plan["sharding"] else []
    return ", ".join([*degrees, *more])


def _figures(priced: Priced) -> list[str]:
    verdict = priced.verdict
    memory = verdict["memory_bytes"]
    lines = [
        f"step {duration(verdict['step_s'])}, {digits(verdict['tokens_per_s_per_device'])} tokens or samples/s per "
        f"device, MFU {percent(verdict['mfu'], signed=False)}, HFU {percent(verdict['hfu'], signed=False)}",
        f"memory {gibibytes(memory['peak'])} of {gibibytes(memory['capacity'])}",
    ]
    spent = [
        f"energy {digits(verdict['energy_j'])} J ({verdict['energy_basis']})" if verdict["energy_j"] else "",
        f"cost {money(verdict['cost_usd'])}" if verdict["cost_usd"] else "",
    ]
    if any(spent):
        lines.append("per step: " + ", ".join(part for part in spent if part))
    if priced.time_to_target_s is not None:
        lines.append(f"to the target: {duration(priced.time_to_target_s)}")
    return lines


def _print_tree(part: dict[str, Any], whole: float, console: Console, depth: int = 0) -> None:
    name = "  " * depth + part["name"]
    share = part["seconds"] / whole
    console.print(f"{name:<34}{duration(part['seconds']):>10}{share:>7.1%} {'#' * round(share * 24)}")
    for inner in part["parts"]:
        _print_tree(inner, whole, console, depth + 1)


def _memory_table(memory: dict[str, Any]) -> Table:
    from rich.table import Table

    table = Table(title="memory by stage (GiB)", title_justify="left", title_style="italic", box=None, pad_edge=False)
    stages = memory["stages"]
    names = [name for name in stages[0] if any(stage[name] > 0 for stage in stages)]
    for name in ("stage", *names, "sum"):
        table.add_column(name, justify="right")
    shown = sorted({0, len(stages) // 2, len(stages) - 1})
    for index in shown:
        stage = stages[index]
        values = [stage[name] for name in names]
        table.add_row(str(index), *(digits(value / 2**30) for value in values), digits(sum(values) / 2**30))
    return table

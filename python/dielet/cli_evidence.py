"""`dielet evidence`: published claims against our own results."""

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dielet.errors import FileError, SpecError

if TYPE_CHECKING:
    from dielet.evidence import Finding


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("evidence")(evidence)


def evidence(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page that needs nothing else.")] = None,
    only: Annotated[str | None, typer.Option(help="One of supporting, contrasting, mentioning.")] = None,
) -> None:
    """Published claims against our own results: supporting, contrasting, or mentioning."""
    from dielet._core import __version__
    from dielet.evidence import html_page, load_claims, run_claims

    start = time.perf_counter()
    findings = _only(run_claims(load_claims()), only)
    seconds = time.perf_counter() - start
    if html is not None:
        _write(html, html_page(findings, __version__))
    if as_json:
        claims = [finding.to_dict() for finding in findings]
        answer = {"version": __version__, "seconds": seconds, "counts": _counts(findings), "claims": claims}
        print(json.dumps(answer, allow_nan=False))
    else:
        _table(findings)


def _only(findings: "list[Finding]", verdict: str | None) -> "list[Finding]":
    from dielet.evidence.run import CLASSES

    if verdict is None:
        return findings
    if verdict not in CLASSES:
        raise SpecError(f"`--only {verdict}` is no class of evidence: use one of {', '.join(CLASSES)}")
    return [finding for finding in findings if finding.verdict == verdict]


def _counts(findings: "list[Finding]") -> dict[str, int]:
    from dielet.evidence.run import CLASSES

    count = Counter[str](finding.verdict for finding in findings)
    return {name: count[name] for name in CLASSES}


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from error
    print(f"wrote {path}", file=sys.stderr)


def _table(findings: "list[Finding]") -> None:
    from rich.console import Console
    from rich.table import Table

    from dielet.evidence.page import claimed_text, deviation_text, number_text

    table = Table(box=None, header_style="bold")
    for column in ("class", "claim"):
        table.add_column(column, overflow="fold")
    for column in ("claimed", "ours", "deviation"):
        table.add_column(column, justify="right")
    colours = {"supporting": "green", "contrasting": "yellow", "mentioning": "bright_black"}
    for one in findings:
        colour = colours[one.verdict]
        numbers = (claimed_text(one, unit=False), number_text(one.ours), deviation_text(one.deviation))
        table.add_row(f"[{colour}]{one.verdict}[/]", one.claim.id, *numbers)
    console = Console()
    console.print(table)
    for one in findings:
        if one.verdict == "contrasting":
            console.print(f"[yellow]{one.claim.id}[/]: {one.reason}", highlight=False)
    console.print(", ".join(f"{count} {name}" for name, count in _counts(findings).items()), highlight=False)

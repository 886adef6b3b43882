"""The command line: one verb per question."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from dielet._core import __version__, build_profile
from dielet.errors import DieletError, PlanError

BAD_INPUT, INTERRUPTED = 2, 130
# Modules that add verbs of their own.
VERBS = ("cli_plan", "cli_show", "cli_place", "cli_partition", "cli_fabric", "cli_evidence")

app = typer.Typer(
    help="How to split training of a model over devices, and what time, energy and money it takes.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"dielet {__version__} ({build_profile} build)")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print version and build profile.")
    ] = False,
) -> None:
    del version


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line; a fault of the user's is one line on stderr and exit code 2."""
    for name in VERBS:
        if find_spec(f"dielet.{name}") is not None:
            import_module(f"dielet.{name}").register(app)
    try:
        app(arguments, prog_name="dielet")
    except DieletError as error:
        print(f"dielet: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        print("dielet: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()


def print_json(answer: dict[str, Any]) -> None:
    """One JSON object on stdout; whatever is not finite is null."""
    print(json.dumps(_finite(answer), allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value


def counts(text: str, what: str = "devices") -> list[int]:
    """Counts from `64`, `1..1024` or `8,16,32`."""
    found: list[int] = []
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        try:
            low, high = int(first), int(last) if dots else int(first)
        except ValueError:
            raise PlanError(f"`--{what} {text}`: `{part}` is no count: write 64, 1..1024 or 8,16,32") from None
        if low < 1 or high < low:
            raise PlanError(f"`--{what} {text}`: `{part}` is empty or below 1: write 64, 1..1024 or 8,16,32")
        if high > 1_000_000:
            raise PlanError(f"`--{what} {text}`: {high:,} is out of range: give at most 1,000,000")
        found.extend(range(low, high + 1))
    return found


def pairs(texts: Sequence[str], what: str) -> dict[int, float]:
    """Numbers by count from `2=1.32`."""
    found: dict[int, float] = {}
    for text in texts:
        count, equals, value = text.partition("=")
        try:
            found[int(count)] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise PlanError(f"`--{what} {text}`: write devices=speedup, as in 2=1.32")
    return found


def output_file(path: Path | None) -> Path | None:
    """A file to write, refused early if its folder is not there."""
    if path is not None and not path.parent.is_dir():
        raise PlanError(f"`{path}` cannot be written: there is no folder `{path.parent}`")
    return path

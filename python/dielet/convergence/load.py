"""Find a curve by name or path and read it."""

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from dielet.errors import FileError, SpecError

from .curve import Curve
from .parse import curve_from_csv, curve_from_table

_FOLDER: Final = files("dielet.convergence").joinpath("curves")
_SUFFIXES: Final = (".csv", ".toml")


def curve_names() -> list[str]:
    """The curves that come with dielet, sorted."""
    return sorted(entry.name.removesuffix(".toml") for entry in _FOLDER.iterdir() if entry.name.endswith(".toml"))


def load_curve(name_or_path: str | Path, samples_per_epoch: float | None = None) -> Curve:
    """A curve by its name, or a user's own `.toml` or `.csv` file (columns `batch,epochs`).

    `samples_per_epoch` is the data-set size of a file that states none.
    """
    text = str(name_or_path)
    if text in curve_names():
        return curve_from_table(_named_table(text), text)
    path = Path(text)
    if path.suffix.lower() in _SUFFIXES or path.exists():
        return _from_file(path, samples_per_epoch)
    near = get_close_matches(text, curve_names(), n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else "see `dielet show curves`"
    raise SpecError(f"`{text}` is neither a known curve nor a .csv or .toml file; {hint}")


def _named_table(name: str) -> Mapping[str, Any]:
    table = tomllib.loads(_FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    # A stand-in shares the points of another curve, so that they are written once.
    if "points_of" in table:
        other = table.pop("points_of")
        table["points"] = _named_table(other)["points"]
    return table


def _from_file(path: Path, samples_per_epoch: float | None) -> Curve:
    text = _text_of(path)
    if path.suffix.lower() != ".toml":
        return curve_from_csv(text, str(path), samples_per_epoch)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{path} is no valid TOML: {error}") from error
    return curve_from_table(table, str(path))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from error

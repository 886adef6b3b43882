"""From a table or the text of a CSV file to a curve; every refusal names file, key, value and remedy."""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from dielet.confidence import CONFIDENCES
from dielet.errors import FileError, SpecError

from .curve import UNITS, Curve, Dataset, Point
from .hyperbola import Hyperbola

_TEXTS: Final = ("name", "summary", "source", "confidence", "unit", "target", "note")
_CURVE_KEYS: Final = (*_TEXTS, "tokens_per_sample", "points", "hyperbola", "dataset")
_POINT_KEYS: Final = ("batch", "mean", "min", "max", "runs", "source")
_HYPERBOLA_KEYS: Final = ("minimum", "anchor", "critical_batch", "range")
_DATASET_KEYS: Final = ("name", "sample", "samples", "source", "confidence")
_CSV_UNITS: Final = ("epochs", "samples", "steps")
_SIZE_COMMENT: Final = "samples_per_epoch"


def curve_from_table(table: Mapping[str, Any], where: str) -> Curve:
    """A curve from the table of a TOML file."""
    table = _known(table, _CURVE_KEYS, where)
    texts = {key: _text(table, key, where) for key in _TEXTS if key in table or key not in ("target", "note")}
    _one_of(texts["unit"], UNITS, f"{where}: unit")
    _one_of(texts["confidence"], CONFIDENCES, f"{where}: confidence")
    if ("points" in table) == ("hyperbola" in table):
        raise SpecError(f"{where}: give either `points` or `hyperbola`, not both and not neither")
    constants, constants_range = _hyperbola(table["hyperbola"], where) if "hyperbola" in table else (None, None)
    return Curve(
        **texts,
        dataset=_dataset(table.get("dataset", {}), where),
        points=_points(table.get("points", ()), where, needed=2 if constants is None else 0),
        constants=constants,
        constants_range=constants_range,
        tokens_per_sample=_positive(table.get("tokens_per_sample", 1), f"{where}: tokens_per_sample"),
    )


def curve_from_csv(text: str, where: str, samples_per_epoch: float | None = None) -> Curve:
    """A curve from CSV text with the columns `batch` and one of `epochs`, `samples`, `steps`.

    A comment line `# samples_per_epoch = 3975116` states the data-set size.
    """
    lines = text.lstrip("\ufeff").splitlines()
    comments = [line.lstrip("# ") for line in lines if line.lstrip().startswith("#")]
    rows = _rows("\n".join(line for line in lines if _is_data(line)), where)
    unit, columns = _header(rows, where)
    points = [_csv_point(row, columns, number, where) for number, row in enumerate(rows[1:], start=1)]
    samples = _stated_size(comments, where) or samples_per_epoch
    return Curve(
        name=where,
        summary=f"{len(points)} points of {where}",
        source=where,
        confidence="read",
        unit=unit,
        dataset=Dataset(name="user's data", sample="sample", source=where, confidence="read", samples=samples),
        points=_enough(tuple(points), 2, where),
    )


def _rows(text: str, where: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise FileError(f"{where} is no CSV text: {error}") from error


def _is_data(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _header(rows: list[list[str]], where: str) -> tuple[str, tuple[int, int]]:
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    unit = next((name for name in _CSV_UNITS if name in header), None)
    if "batch" not in header or unit is None:
        found = f"`{','.join(header)}`" if header else "nothing"
        raise FileError(f"{where}: the first line is {found}; it must name the columns, as in `batch,epochs`")
    return unit, (header.index("batch"), header.index(unit))


def _csv_point(row: list[str], columns: tuple[int, int], number: int, where: str) -> Point:
    if len(row) <= max(columns):
        raise FileError(f"{where}: row {number} has {len(row)} columns; it needs at least {max(columns) + 1}")
    batch, value = (_positive(row[column].strip(), f"{where}: row {number}") for column in columns)
    return Point(batch=batch, mean=value, source=where)


def _stated_size(comments: Iterable[str], where: str) -> float | None:
    for comment in comments:
        key, _, value = comment.replace(":", "=", 1).partition("=")
        if key.strip() == _SIZE_COMMENT:
            return _positive(value.strip(), f"{where}: {_SIZE_COMMENT}")
    return None


def _points(rows: Iterable[Mapping[str, Any]], where: str, needed: int) -> tuple[Point, ...]:
    if isinstance(rows, str | Mapping) or not isinstance(rows, Iterable):
        raise SpecError(f"{where}: `points` must be a list, as in `[{{ batch = 64, mean = 4 }}, ...]`")
    points = tuple(_point(row, f"{where}: point {number}") for number, row in enumerate(rows, start=1))
    return _enough(points, needed, where)


def _point(row: Mapping[str, Any], where: str) -> Point:
    _known(row, _POINT_KEYS, where)
    numbers = {key: _positive(row.get(key), f"{where}: {key}") for key in ("batch", "mean")}
    spread = {key: _positive(row[key], f"{where}: {key}") for key in ("min", "max") if key in row}
    runs = int(_positive(row["runs"], f"{where}: runs")) if "runs" in row else None
    return Point(**numbers, **spread, runs=runs, source=str(row.get("source", "")))


def _enough(points: tuple[Point, ...], needed: int, where: str) -> tuple[Point, ...]:
    batches = len({point.batch for point in points})
    if batches < needed:
        raise SpecError(f"{where}: {batches} batch sizes are too few for a curve; give at least {needed}")
    return points


def _hyperbola(table: Mapping[str, Any], where: str) -> tuple[Hyperbola, tuple[float, float]]:
    place = f"{where}: hyperbola"
    _known(table, _HYPERBOLA_KEYS, place)
    critical = _positive(table.get("critical_batch"), f"{place}: critical_batch")
    low, high = _range(table.get("range", (1.0, 1e300)), f"{place}: range")
    if "anchor" not in table:
        return Hyperbola(_positive(table.get("minimum"), f"{place}: minimum"), critical), (low, high)
    batch, value = (_positive(table["anchor"].get(key), f"{place}: anchor.{key}") for key in ("batch", "value"))
    return Hyperbola(value / (1.0 + batch / critical), critical), (low, high)


def _range(value: Any, where: str) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise SpecError(f"{where} is `{value}`; it must be two batches, as in `[64, 512]`")
    low, high = (_positive(end, where) for end in value)
    return min(low, high), max(low, high)


def _dataset(table: Mapping[str, Any], where: str) -> Dataset:
    place = f"{where}: dataset"
    _known(table, _DATASET_KEYS, place)
    texts = {key: _text(table, key, place) for key in ("name", "sample", "source", "confidence")}
    _one_of(texts["confidence"], CONFIDENCES, f"{place}: confidence")
    samples = _positive(table["samples"], f"{place}: samples") if "samples" in table else None
    return Dataset(**texts, samples=samples)


def _known(table: Any, keys: Iterable[str], where: str) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise SpecError(f"{where} is `{table}`; it must be a table with the keys {', '.join(keys)}")
    for key in table:
        if key not in keys:
            near = get_close_matches(key, list(keys), n=1, cutoff=0.0)[0]
            raise SpecError(f"{where}: `{key}` is no known key; the nearest is `{near}`")
    return table


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise SpecError(f"{where}: `{key}` is {value!r}; it must be a text")
    return value


def _one_of(value: str, allowed: Iterable[str], where: str) -> None:
    if value not in allowed:
        near = get_close_matches(value, list(allowed), n=1, cutoff=0.0)[0]
        raise SpecError(f"{where} is `{value}`; the nearest valid value is `{near}`")


def _positive(value: Any, where: str) -> float:
    if value is None:
        raise SpecError(f"{where} is missing; give a positive number")
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise SpecError(f"{where} is `{value}`; it must be a number") from None
    if not (math.isfinite(number) and number > 0):
        raise SpecError(f"{where} is {number:g}; it must be positive and finite")
    return number

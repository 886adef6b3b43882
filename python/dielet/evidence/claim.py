"""A published statement with its number, source and context, read from `claims.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from dielet.confidence import CONFIDENCES
from dielet.errors import FileError, SpecError

RELATIONS: Final = ("=", ">=", "<=")

_SOURCE_KEYS: Final = ("authors", "title", "venue", "year", "where")
_REQUIRED: Final = ("id", "statement", "relation", "source", "context", "confidence", "check")
_OPTIONAL: Final = ("value", "unit", "tolerance", "arguments", "extrapolated", "borrowed", "why")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a statement stands."""

    authors: str
    title: str
    venue: str
    year: int
    where: str

    def __str__(self) -> str:
        return f"{self.authors}, {self.title}, {self.venue}, {self.year}, {self.where}"


@dataclass(frozen=True, slots=True)
class Claim:
    """A published statement; `value` is None where it states no number of ours.

    `tolerance` is relative to the value. `borrowed` names inputs of the check that are the source's own
    numbers, `extrapolated` those that lie outside what was measured, `why` what may explain a contrast.
    """

    id: str
    statement: str
    relation: str
    source: Source
    context: str
    confidence: str
    check: str
    value: float | None = None
    unit: str = ""
    tolerance: float = 0.0
    arguments: Mapping[str, Any] = field(default_factory=dict)
    extrapolated: tuple[str, ...] = ()
    borrowed: tuple[str, ...] = ()
    why: str = ""


def load_claims(path: str | Path | None = None) -> list[Claim]:
    """Read the ledger that comes with dielet, or another file of the same form."""
    name = "claims.toml" if path is None else str(path)
    try:
        text = (files(__package__).joinpath(name) if path is None else Path(path)).read_text(encoding="utf-8")
        tables = tomllib.loads(text).get("claim", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"{name} cannot be read as TOML: {error}") from error
    claims = [_claim(table, f"{name}: claim {number}") for number, table in enumerate(tables, start=1)]
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise SpecError(f"{name}: two claims have the id `{claim.id}`; rename one")
        seen.add(claim.id)
    return claims


def _claim(table: Mapping[str, Any], where: str) -> Claim:
    where = f"{where} (`{table.get('id', 'no id')}`)"
    _keys(table, _REQUIRED, _OPTIONAL, where)
    _keys(table["source"], _SOURCE_KEYS, (), f"{where}: source")
    _one_of(table["relation"], RELATIONS, f"{where}: relation")
    _one_of(table["confidence"], CONFIDENCES, f"{where}: confidence")
    if "value" in table and "tolerance" not in table:
        raise SpecError(f"{where}: a claimed value needs a `tolerance`, 0 if it must be met as printed")
    lists = {key: tuple(table.get(key, ())) for key in ("extrapolated", "borrowed")}
    return Claim(**{**table, **lists, "source": Source(**table["source"])})


def _keys(table: Mapping[str, Any], required: tuple[str, ...], optional: tuple[str, ...], where: str) -> None:
    known = (*required, *optional)
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, n=1, cutoff=0.0)[0]
            raise SpecError(f"{where}: `{key}` is no known key; the nearest is `{near}`")
    for key in required:
        if key not in table:
            raise SpecError(f"{where}: `{key}` is missing")


def _one_of(value: str, allowed: tuple[str, ...], where: str) -> None:
    if value not in allowed:
        near = get_close_matches(str(value), allowed, n=1, cutoff=0.0)[0]
        raise SpecError(f"{where} is `{value}`; the nearest valid value is `{near}`")

"""Columns as a file."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from dielet.errors import FileError


def write_csv(columns: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Writes columns of equal length with full precision; what is not finite stays empty."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows([_cell(value) for value in row] for row in rows)
    except OSError as error:
        raise FileError(f"`{path}` cannot be written: {error.strerror}") from None


def _cell(value: Any) -> Any:
    return "" if isinstance(value, float) and math.isnan(value) else value

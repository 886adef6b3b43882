"""Numbers for people: three digits, the unit that fits, nothing that is not there."""

from __future__ import annotations

import math

DASH = "-"
TIMES = ((86_400 * 2, 86_400, "d"), (3_600, 3_600, "h"), (120, 60, "min"), (1, 1, "s"), (1e-3, 1e-3, "ms"))


def digits(value: float, most: int = 3) -> str:
    """Three significant digits without an exponent: 0.0123, 4.10, 93.1, 1,024."""
    if not math.isfinite(value):
        return DASH
    if value == 0:
        return "0"
    places = most - 1 - math.floor(math.log10(abs(value)))
    return f"{value:,.{max(0, places)}f}"


def duration(seconds: float | None) -> str:
    """A time in its own unit: 72.1 ms, 4.10 h."""
    if seconds is None or not math.isfinite(seconds):
        return DASH
    for least, unit, name in TIMES:
        if seconds >= least:
            return f"{digits(seconds / unit)} {name}"
    return f"{digits(seconds / 1e-6)} us"


def times(ratio: float | None) -> str:
    """A ratio: 1.32x."""
    return DASH if ratio is None or not math.isfinite(ratio) else f"{digits(ratio)}x"


def percent(fraction: float | None, signed: bool = True) -> str:
    """A fraction: +8.1 %."""
    if fraction is None or not math.isfinite(fraction):
        return DASH
    return f"{fraction * 100:{'+' if signed else ''}.1f} %"


def gibibytes(size: float) -> str:
    """A size in GiB: 61.3 GiB."""
    return f"{digits(size / 2**30)} GiB"


def count(value: float) -> str:
    """A whole number: 16,384."""
    return DASH if not math.isfinite(value) else f"{value:,.0f}"


def money(dollars: float | None) -> str:
    """An amount: $1,240."""
    if dollars is None or not math.isfinite(dollars):
        return DASH
    return f"${dollars:,.2f}" if dollars < 10 else f"${digits(dollars)}"


def energy(joules: float | None) -> str:
    """An energy in kWh or MWh: 41.2 kWh."""
    if joules is None or not math.isfinite(joules):
        return DASH
    kwh = joules / 3.6e6
    return f"{digits(kwh / 1e3)} MWh" if kwh >= 1e3 else f"{digits(kwh)} kWh"

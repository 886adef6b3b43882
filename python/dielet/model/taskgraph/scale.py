"""Times and sizes of files in SI units: decimal shifts that round as the written number does."""

from decimal import Decimal, InvalidOperation

from dielet.errors import ModelError


def shifted(text: str | float, exponent: int, where: str) -> float:
    """``text`` with its decimal point moved, correctly rounded: ``shifted("0.1", -3, ...)`` is ``0.0001``."""
    try:
        return float(Decimal(str(text).strip()).scaleb(exponent))
    except (InvalidOperation, ValueError):
        raise ModelError(f"{where}: `{text}` is no number") from None


def milliseconds(text: str | float, where: str) -> float:
    """Seconds of a number of milliseconds."""
    return shifted(text, -3, where)

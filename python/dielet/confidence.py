"""How sure we are of a number that we took from elsewhere."""

from typing import Final

# From the surest down; the project's notes abbreviate them as Q, S, C, D, M-hi, M-med, M-lo, G.
CONFIDENCES: Final = (
    "read",
    "read in a secondary source",
    "computed",
    "derived",
    "recalled (high)",
    "recalled (medium)",
    "recalled (low)",
    "general knowledge",
)

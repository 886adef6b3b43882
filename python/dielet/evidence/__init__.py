"""Published claims with source and context, and what our own result says of each."""

from . import link_checks
from .checks import CHECKS, Unavailable, check
from .claim import Claim, load_claims
from .page import html_page
from .run import Finding, judge, run_claims

__all__ = [
    "CHECKS",
    "Claim",
    "Finding",
    "Unavailable",
    "check",
    "html_page",
    "judge",
    "link_checks",
    "load_claims",
    "run_claims",
]

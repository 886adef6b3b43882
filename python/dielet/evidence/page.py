"""The ledger as one HTML page that needs nothing else."""

from collections.abc import Sequence
from html import escape
from string import Template
from typing import Final

from .run import CLASSES, Finding

_PAGE: Final = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>dielet: evidence</title><style>
:root { color-scheme: light dark; --line: #8884; --soft: #8881;
  --supporting: #1a7f4b; --contrasting: #b3541e; --mentioning: #667085; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .25rem; } h2 { font-size: 1.1rem; margin-top: 2.25rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .5rem .75rem .5rem 0;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; font-size: .85rem; } td.n, th.n { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; width: 9rem; padding-right: 0; padding-left: .75rem; }
.badge { color: #fff; border-radius: .3rem; padding: .1rem .45rem; font-size: .8rem; white-space: nowrap; }
.supporting { background: var(--supporting); } .contrasting { background: var(--contrasting); }
.mentioning { background: var(--mentioning); }
.fine { font-size: .85rem; opacity: .8; } details summary { cursor: pointer; } details { margin-top: .25rem; }
code { font-size: .85em; background: var(--soft); padding: 0 .2rem; border-radius: .2rem; }
.total { margin-right: 1.25rem; }
</style></head><body>
<h1>Evidence</h1>
<p>What was published, what dielet $version computes, and what that says of the claim.
A contrast is a result.</p>
<p>$totals</p>
$sections
</body></html>
""")

NOTHING: Final = "n/a"

_TITLES: Final = {
    "contrasting": "Contrasting: our result differs",
    "supporting": "Supporting: our result agrees",
    "mentioning": "Mentioning: kept for context, or not independent",
}
_HEAD: Final = '<tr><th>claim</th><th class="n">claimed</th><th class="n">ours</th><th class="n">deviation</th></tr>'


def html_page(findings: Sequence[Finding], version: str) -> str:
    """The whole page; contrasts come first, within a class the order of the ledger is kept."""
    groups = {name: [one for one in findings if one.verdict == name] for name in CLASSES}
    totals = "".join(
        f'<span class="total"><span class="badge {name}">{name}</span> {len(groups[name])}</span>' for name in _TITLES
    )
    sections = "\n".join(_section(name, groups[name]) for name in _TITLES if groups[name])
    return _PAGE.substitute(version=escape(version), totals=totals, sections=sections)


def _section(name: str, findings: Sequence[Finding]) -> str:
    rows = "\n".join(_row(one) for one in findings)
    return f"<h2>{_TITLES[name]}</h2>\n<table>{_HEAD}\n{rows}\n</table>"


def _row(finding: Finding) -> str:
    claim = finding.claim
    numbers = (
        claimed_text(finding),
        number_text(finding.ours, claim.unit),
        deviation_text(finding.deviation),
    )
    cells = "".join(f'<td class="n">{escape(text)}</td>' for text in numbers)
    return f'<tr id="{escape(claim.id)}"><td>{_statement(finding)}</td>{cells}</tr>'


def _statement(finding: Finding) -> str:
    claim = finding.claim
    facts = {
        "context": claim.context,
        "transcription": claim.confidence,
        "extrapolated": ", ".join(claim.extrapolated),
        "taken from the source": ", ".join(claim.borrowed),
    }
    listed = "".join(f"<br><b>{label}</b>: {escape(text)}" for label, text in facts.items() if text)
    return (
        f'<span class="badge {finding.verdict}">{finding.verdict}</span> {escape(claim.statement)}'
        f'<div>{escape(finding.reason)}</div><div class="fine">{escape(str(claim.source))}</div>'
        f'<details class="fine"><summary>{escape(claim.id)}</summary>check <code>{escape(claim.check)}</code>'
        f"{listed}</details>"
    )


def claimed_text(finding: Finding, unit: bool = True) -> str:
    """The claimed value with its relation, as in `≥ 0.265`."""
    claim = finding.claim
    sign = {"=": "", ">=": "≥ ", "<=": "≤ "}[claim.relation]
    return f"{sign}{number_text(claim.value, claim.unit if unit else '')}" if claim.value is not None else NOTHING


def number_text(value: float | None, unit: str = "") -> str:
    """A number for people; large counts are written out."""
    if value is None:
        return NOTHING
    text = f"{value:,.0f}" if abs(value) >= 1e3 or float(value).is_integer() else f"{value:.4g}"
    return f"{text} {unit}".strip()


def deviation_text(value: float | None) -> str:
    """A relative deviation for people."""
    return NOTHING if value is None else f"{value:+.1%}" if value else "0 %"

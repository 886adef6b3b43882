"""Run the checks and classify: supporting, contrasting, or mentioning."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from dielet.errors import DieletError

from .checks import CHECKS, Unavailable
from .claim import Claim

Class = Literal["supporting", "contrasting", "mentioning"]
CLASSES: Final = ("supporting", "contrasting", "mentioning")


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, our number, how far it lies from the claimed one, and what that says."""

    claim: Claim
    ours: float | None
    deviation: float | None
    verdict: Class
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Give the keys of the JSON answer; `source` is one line of text."""
        claim = self.claim
        return {
            "id": claim.id,
            "statement": claim.statement,
            "source": str(claim.source),
            "claimed": claim.value,
            "ours": self.ours,
            "deviation": self.deviation,
            "class": self.verdict,
            "reason": self.reason,
            "unit": claim.unit,
            "relation": claim.relation,
            "tolerance": claim.tolerance,
            "context": claim.context,
            "confidence": claim.confidence,
            "extrapolated": list(claim.extrapolated),
            "borrowed": list(claim.borrowed),
            "check": claim.check,
        }


def run_claims(claims: Iterable[Claim]) -> list[Finding]:
    """Check every claim, in the order given."""
    return [_finding(claim) for claim in claims]


def judge(claim: Claim, ours: float | None) -> Finding:
    """What our number says of a claim."""
    if ours is None or claim.value is None:
        return Finding(claim, ours, None, "mentioning", "kept for its context: no check is possible")
    deviation = _deviation(ours, claim.value)
    if claim.borrowed:
        reason = f"the check takes in the source's own numbers ({', '.join(claim.borrowed)}), so it proves nothing"
        return Finding(claim, ours, deviation, "mentioning", reason)
    agrees = _agrees(claim, ours)
    return Finding(claim, ours, deviation, "supporting" if agrees else "contrasting", _reason(claim, deviation, agrees))


def _finding(claim: Claim) -> Finding:
    function = CHECKS.get(claim.check)
    if function is None:
        return _not_checked(claim, f"its check `{claim.check}` is not part of this version")
    try:
        return judge(claim, function(**claim.arguments))
    except (Unavailable, DieletError) as reason:
        return _not_checked(claim, str(reason))


def _not_checked(claim: Claim, reason: str) -> Finding:
    return Finding(claim, None, None, "mentioning", f"not checked: {reason}")


def _deviation(ours: float, claimed: float) -> float:
    """Relative to the claimed value, or the plain difference where that is 0."""
    return (ours - claimed) / abs(claimed) if claimed else ours - claimed


def _agrees(claim: Claim, ours: float) -> bool:
    assert claim.value is not None
    slack = claim.tolerance * (abs(claim.value) or 1.0)
    above, below = ours >= claim.value - slack, ours <= claim.value + slack
    return {"=": above and below, ">=": above, "<=": below}[claim.relation]


def _reason(claim: Claim, deviation: float, agrees: bool) -> str:
    stated = {"=": "value", ">=": "minimum", "<=": "maximum"}[claim.relation]
    if deviation == 0:
        parts = [f"ours equals the claimed {stated}"]
    else:
        side = "above" if deviation > 0 else "below"
        allowed = f"{'within' if agrees else 'outside'} the tolerance of {100 * claim.tolerance:g} %"
        parts = [f"ours is {abs(deviation):.1%} {side} the claimed {stated}", allowed]
    if claim.extrapolated:
        parts.append(f"extrapolated: {', '.join(claim.extrapolated)}")
    if claim.why and not agrees:
        parts.append(claim.why)
    return "; ".join(parts)

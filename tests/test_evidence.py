"""The ledger of claims: its form, its classes, its outputs."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import dielet
from dielet.convergence import load_curve
from dielet.errors import FileError, SpecError
from dielet.evidence import CHECKS, Finding, Unavailable, check, html_page, judge, load_claims, run_claims
from dielet.evidence.claim import Claim, Source

SOURCE = Source("A. Author", "A Title", "A Venue", 2019, "table 1")


def claim(**changes) -> Claim:
    base = Claim("id", "Ten things.", "=", SOURCE, "held fixed", "read", "none", value=10.0, tolerance=0.1)
    return replace(base, **changes)


@pytest.fixture(scope="module")
def findings() -> dict[str, Finding]:
    checked_here = [one for one in load_claims() if one.check not in ("plan_gain", "mp_speedup")]
    return {finding.claim.id: finding for finding in run_claims(checked_here)}


@pytest.mark.parametrize(
    ("relation", "ours", "verdict"),
    [
        ("=", 11.0, "supporting"),
        ("=", 11.01, "contrasting"),
        ("=", 9.0, "supporting"),
        ("=", 8.99, "contrasting"),
        (">=", 9.0, "supporting"),
        (">=", 100.0, "supporting"),
        (">=", 8.99, "contrasting"),
        ("<=", 11.0, "supporting"),
        ("<=", 0.0, "supporting"),
        ("<=", 11.01, "contrasting"),
    ],
)
def test_relation_and_tolerance_decide(relation, ours, verdict):
    assert judge(claim(relation=relation), ours).verdict == verdict


def test_relations_hold_for_negative_values():
    loss = claim(relation=">=", value=-2.0, tolerance=0.0)
    assert judge(loss, -1.5).verdict == "supporting"
    assert judge(loss, -2.5).verdict == "contrasting"
    assert judge(loss, -1.5).deviation == pytest.approx(0.25)


def test_deviation_is_relative_to_the_claimed_value():
    assert judge(claim(), 12.0).deviation == pytest.approx(0.2)
    assert judge(claim(value=0.0, tolerance=0.5), 0.4).deviation == pytest.approx(0.4)
    assert judge(claim(value=0.0, tolerance=0.5), 0.4).verdict == "supporting"


def test_a_borrowed_number_can_only_mention():
    finding = judge(claim(borrowed=("SU = 1.32",)), 10.0)
    assert finding.verdict == "mentioning"
    assert finding.ours == 10.0
    assert "SU = 1.32" in finding.reason


def test_no_number_can_only_mention():
    assert judge(claim(), None).verdict == "mentioning"
    assert judge(claim(value=None), 3.0).verdict == "mentioning"


def test_a_contrast_says_why_and_what_is_extrapolated():
    finding = judge(claim(why="another optimizer", extrapolated=("epochs above 16,384",)), 20.0)
    assert finding.reason == (
        "ours is 100.0% above the claimed value; outside the tolerance of 10 %; "
        "extrapolated: epochs above 16,384; another optimizer"
    )
    assert "another optimizer" not in judge(claim(why="another optimizer"), 10.0).reason


def test_a_check_that_is_not_there_or_not_possible_is_a_mention_with_its_reason(monkeypatch):
    def impossible() -> float:
        raise Unavailable("no such system")

    monkeypatch.setitem(CHECKS, "impossible", impossible)
    monkeypatch.setitem(CHECKS, "mistaken", lambda: load_curve("no-such-curve"))
    reasons = {"absent": "is not part of", "impossible": "no such system", "mistaken": "`no-such-curve` is"}
    for name, reason in reasons.items():
        (finding,) = run_claims([claim(check=name)])
        assert finding.verdict == "mentioning"
        assert reason in finding.reason


def test_registering_a_check_makes_it_run():
    def ten_plus(addend: float) -> float:
        return 10.0 + addend

    try:
        check(ten_plus)
        (finding,) = run_claims([claim(check="ten_plus", arguments={"addend": 0.5})])
        assert (finding.ours, finding.verdict) == (10.5, "supporting")
    finally:
        CHECKS.pop("ten_plus", None)


def test_every_shipped_claim_is_complete_and_names_a_check():
    claims = load_claims()
    assert len({one.id for one in claims}) == len(claims) > 50
    for one in claims:
        assert one.context, one.id
        assert one.check in CHECKS or one.check.startswith("link_"), one.id
        assert one.value is None or one.tolerance >= 0, one.id


def test_recalled_speedups_are_declared_wherever_they_go_in():
    for one in load_claims():
        if "mp_speedup" in one.arguments:
            assert any("SU^2" in text for text in one.borrowed), one.id


def test_three_gains_of_the_paper_are_first():
    first = load_claims()[:3]
    assert [(one.value, one.relation) for one in first] == [(0.265, ">="), (0.08, ">="), (0.22, ">=")]
    assert all(one.check == "plan_gain" and one.extrapolated for one in first)


@pytest.mark.skipif(not hasattr(dielet, "plan"), reason="needs dielet.plan")
def test_gains_of_the_paper_are_checked_by_the_plan():
    for finding in run_claims(load_claims()[:3]):
        assert finding.ours is not None, finding.reason
        assert finding.verdict in ("supporting", "contrasting")


@pytest.mark.skipif(not hasattr(dielet, "load_model"), reason="needs dielet.load_model")
def test_networks_support_their_published_sizes(findings):
    checked = [one for one in findings.values() if one.claim.check in ("parameters", "forward_gmac")]
    assert checked
    assert [one.claim.id for one in checked if one.verdict != "supporting"] == []


def test_our_fits_support_the_independent_ones(findings):
    fits = [one for name, one in findings.items() if name.startswith("fit-")]
    assert len(fits) == 15
    assert [one.claim.id for one in fits if one.verdict != "supporting"] == []


def test_published_critical_batches(findings):
    assert findings["zhang-2024-critical-batch-85m"].verdict == "supporting"
    assert findings["zhang-2024-critical-batch-exponent"].ours == pytest.approx(0.468, abs=1e-3)
    assert findings["mccandlish-2018-doubling"].verdict == "supporting"
    contrast = findings["mccandlish-2018-imagenet-critical-batch"]
    assert contrast.verdict == "contrasting"
    assert "LARS" in contrast.reason


def test_gnmt_projection_with_public_epochs_mentions_only(findings):
    gain = findings["pal-2019-gnmt-independent-gain"]
    assert gain.ours == pytest.approx(0.081, abs=0.003)
    assert gain.verdict == "mentioning"
    assert 401 <= findings["pal-2019-gnmt-independent-crossover"].ours <= 410


def test_json_keys(findings):
    for finding in findings.values():
        row = json.loads(json.dumps(finding.to_dict(), allow_nan=False))
        assert {"id", "statement", "source", "claimed", "ours", "deviation", "class", "reason"} <= row.keys()
        assert row["class"] in ("supporting", "contrasting", "mentioning")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.ids += [value for key, value in attrs if key == "id"]
        assert not any(key in ("src", "href") for key, _ in attrs), "the page must need nothing else"
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_html_page_is_well_formed_complete_and_escaped(findings):
    odd = judge(claim(statement="a < b & <script>alert(1)</script>", check="<x>", unit='"bit"'), 10.0)
    text = html_page([*findings.values(), odd], "1.2.3")
    page = _Tags()
    page.feed(text)
    assert page.open == []
    assert sorted(page.ids) == sorted([*findings, "id"])
    assert "<script" not in text
    assert "a < b & <script>alert(1)</script>" in page.text


LEDGER = """
[[claim]]
id = "one"
statement = "One."
value = 1
relation = "="
tolerance = 0
source = { authors = "A", title = "T", venue = "V", year = 2019, where = "p. 1" }
context = "none"
confidence = "read"
check = "none"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('relation = "="', 'relation = "=="', "relation is `==`; the nearest valid value is `=`"),
        ('confidence = "read"', 'confidence = "sure"', "confidence is `sure`"),
        ("statement", "statment", "`statment` is no known key; the nearest is `statement`"),
        ('statement = "One."\n', "", "`statement` is missing"),
        ("tolerance = 0\n", "", "a claimed value needs a `tolerance`"),
        ("year = 2019, ", "", "source: `year` is missing"),
    ],
)
def test_a_bad_ledger_is_refused_in_one_line(tmp_path, old, new, message):
    path = tmp_path / "claims.toml"
    path.write_text(LEDGER.replace(old, new, 1))
    with pytest.raises(SpecError) as refusal:
        load_claims(path)
    assert "claims.toml: claim 1" in str(refusal.value)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_ledger_with_one_id_twice_or_no_toml_is_refused(tmp_path):
    path = tmp_path / "claims.toml"
    path.write_text(LEDGER + LEDGER)
    with pytest.raises(SpecError, match="two claims have the id `one`"):
        load_claims(path)
    path.write_text("[[claim")
    with pytest.raises(FileError, match="cannot be read as TOML"):
        load_claims(path)


def test_command_line(tmp_path, capsys):
    typer = pytest.importorskip("typer")
    from typer.testing import CliRunner

    from dielet.cli_evidence import register

    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)
    page = tmp_path / "evidence.html"
    result = CliRunner().invoke(app, ["evidence", "--json", "--html", str(page)])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["seconds"] > 0
    assert answer["version"] == dielet._core.__version__
    assert sum(answer["counts"].values()) == len(answer["claims"]) == len(load_claims())
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    table = CliRunner().invoke(app, ["evidence", "--only", "contrasting"])
    assert "mccandlish-2018-imagenet" in table.stdout
    assert "supporting   " not in table.stdout

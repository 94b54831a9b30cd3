"""The audit's files and its exit code."""

import json
import xml.etree.ElementTree as ET

import pytest

from scaling_limits.audit.table import (
    Audit,
    FigureClaims,
    collect,
    format_table,
    print_table,
    problems,
    summarise,
    write_audit,
    write_verdicts,
)
from scaling_limits.audit.verdicts import Verdict
from toys import parsed_claim


def verdict(outcome, claim="stays", registered=None, **changes):
    fields = {
        "paper": "mupc",
        "figure": "fig5",
        "claim": claim,
        "statement": "The best rate stays | put <at> N & H.",
        "verdict": outcome,
        "value": None if outcome in ("inconclusive", "not computed") else 0.5,
        "interval": None,
        "threshold": "at most 1 octave",
        "source": "Fig 5",
        "detail": "the best rate moves\x0b by 0.5 octaves",
        "registered": registered,
    }
    return Verdict(**fields | changes)


def audit_of(*verdicts):
    return Audit(preset="smoke", summary=summarise(verdicts), verdicts=verdicts)


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([verdict("holds")], 0),
        ([verdict("fails")], 1),
        ([verdict("fails", registered="known")], 0),
        ([verdict("holds", registered="known")], 1),
        ([verdict("holds"), verdict("inconclusive", "b", registered="known")], 0),
        ([verdict("holds"), verdict("inconclusive", "b")], 0),
        ([verdict("holds"), verdict("inconclusive", "b"), verdict("inconclusive", "c")], 1),
        ([verdict("holds"), verdict("not computed", "b"), verdict("not computed", "c")], 1),
        ([], 0),
    ],
)
def test_what_fails_the_audit(verdicts, code):
    assert bool(problems(audit_of(*verdicts), {"smoke": {"decided": 0.5}})) == bool(code)


def test_problems_say_what_to_do():
    (sentence,) = problems(audit_of(verdict("holds", registered="too short")), {})
    assert sentence == "mupc/fig5 stays starts to hold: remove the registration (too short)"
    (sentence,) = problems(audit_of(verdict("inconclusive")), {"smoke": {"decided": 0.8}})
    assert sentence == (
        "the fraction of decided claims is 0.00; tests/reference/decided.yaml expects at least 0.80"
    )
    assert problems(audit_of(verdict("inconclusive")), {"laptop": {"decided": 0.8}}) == []


def test_claims_of_ones_own_do_not_count_for_the_share() -> None:
    own = verdict("inconclusive").model_copy(update={"paper": "own"})
    assert problems(audit_of(verdict("holds"), own), {"smoke": {"decided": 1.0}}) == []


def test_collect_reports_what_is_missing(tmp_path):
    claim = {
        "kind": "improves_with",
        "along": "width",
        "tolerance": 0.1,
        "source": "Fig 5",
        "grids": ["g"],
    }
    claim |= {"statement": "Wider is better.", "quantity": {"metric": "train_loss"}}
    claims = [parsed_claim(claim | {"id": name}) for name in ("stays", "improves")]
    drawn, absent = tmp_path / "fig5", tmp_path / "figA30"
    drawn.mkdir()
    write_verdicts(drawn, [verdict("holds"), verdict("fails", "withdrawn")])
    audit = collect(
        "smoke",
        [
            FigureClaims("mupc", "fig5", drawn, claims),
            FigureClaims("mupc", "figA30", absent, claims),
        ],
    )
    found = [(v.figure, v.claim, v.verdict) for v in audit.verdicts]
    assert found == [
        ("fig5", "stays", "holds"),
        ("fig5", "improves", "not computed"),
        ("figA30", "stays", "not computed"),
        ("figA30", "improves", "not computed"),
    ]
    assert audit.summary.decided == 0.25
    assert {outcome: count for outcome, count in audit.summary.counts.items() if count} == {
        "holds": 1,
        "not computed": 3,
    }


def test_files(tmp_path):
    audit = audit_of(
        verdict("holds", "a", interval=(0.4, 0.6)),
        verdict("fails", "b"),
        verdict("fails", "c", registered="known & looked into"),
        verdict("holds", "d", registered="known"),
        verdict("inconclusive", "e", paper="pc-tp", figure="fig1"),
        verdict("not computed", "f", paper="pc-tp", figure="fig1"),
    )
    write_audit(audit, tmp_path / "results")
    write_audit(audit, tmp_path / "again")
    for name in ("audit.json", "audit.md", "audit.xml"):
        content = (tmp_path / "results" / name).read_bytes()
        assert content == (tmp_path / "again" / name).read_bytes()

    stored = json.loads((tmp_path / "results" / "audit.json").read_text())
    assert set(stored) == {"preset", "confirmed", "summary", "verdicts"}
    assert Audit.model_validate(stored) == audit

    root = ET.parse(tmp_path / "results" / "audit.xml").getroot()
    assert {k: root.get(k) for k in ("tests", "failures", "skipped", "errors")} == {
        "tests": "6",
        "failures": "2",
        "skipped": "2",
        "errors": "0",
    }
    assert [suite.get("name") for suite in root] == ["mupc", "pc-tp"]
    children = {case.get("name"): case[0].tag for case in root.iter("testcase")}
    assert children == {
        "a": "system-out",
        "b": "failure",
        "c": "system-out",
        "d": "failure",
        "e": "skipped",
        "f": "skipped",
    }

    report = (tmp_path / "results" / "audit.md").read_text()
    assert "| mupc | 2 | 2 | 0 | 0 |" in report
    assert "stays \\| put" in report
    assert "0.5 [0.4, 0.6]" in report
    assert "Registered: known & looked into" in report


def test_table_is_aligned(capsys):
    audit = audit_of(
        verdict("holds", "a"),
        verdict("fails", "much-longer", registered="known"),
        verdict("inconclusive", detail="too narrow"),
    )
    lines = format_table(audit).splitlines()
    assert (
        len({line.index(word) for line, word in zip(lines[2:4], ("holds", "fails"), strict=False)})
        == 1
    )
    assert "fails (registered)" in lines[3]
    assert [line.endswith("too narrow") for line in lines[2:5]] == [False, False, True]
    assert lines[-1] == "smoke: 1 holds, 1 fails, 1 inconclusive; 67% decided"
    print_table(audit)
    assert capsys.readouterr().out == format_table(audit) + "\n"

"""The audit: the verdicts of many figures as one table, one report and one exit code."""

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from pydantic import TypeAdapter

from scaling_limits import markdown
from scaling_limits.audit.verdicts import Verdict, is_weak, remarks, verdict_label
from scaling_limits.claims.base import ClaimBase
from scaling_limits.figures import OWN
from scaling_limits.files import write_file
from scaling_limits.outcomes import DECIDED, OUTCOMES, Outcome, counted, with_interval
from scaling_limits.strict import Strict

EXPLORATORY = (
    "These verdicts are exploratory: grids, learning rates and numbers of seeds were chosen after looking at runs with "
    "the same seeds. A run on fresh seeds has not confirmed them yet."
)
CONFIRMED = "These verdicts are confirmed: all grids and numbers of seeds were chosen before any run with these seeds."
_VERDICTS = TypeAdapter(list[Verdict])


@dataclass(frozen=True)
class FigureClaims:
    """The claims of a figure, and the folder of its records and its `verdicts.json`."""

    paper: str
    figure: str
    folder: Path
    claims: Sequence[ClaimBase]
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of its experiment's grids."""


class Summary(Strict):
    """Counts by outcome, and the fraction of claims that hold or fail (1 without claims)."""

    counts: dict[Outcome, int]
    decided: float


class Audit(Strict):
    """All verdicts of a preset, as in `audit.json`.

    They are `confirmed` if they were computed on seeds that no choice has used.
    """

    preset: str
    confirmed: bool = False
    summary: Summary
    verdicts: tuple[Verdict, ...]


def read_verdicts(folder: Path) -> list[Verdict]:
    """Return the verdicts in a figure's folder, or none without a `verdicts.json`."""
    path = folder / "verdicts.json"
    return _VERDICTS.validate_json(path.read_bytes()) if path.exists() else []


def write_verdicts(folder: Path, verdicts: Sequence[Verdict]) -> None:
    """Write a figure's `verdicts.json`."""
    _write_json(folder / "verdicts.json", [verdict.model_dump(mode="json") for verdict in verdicts])


def collect(
    preset: str,
    figures: Iterable[FigureClaims],
    verdicts_of: Callable[[FigureClaims], Sequence[Verdict]] | None = None,
    *,
    confirmed: bool = False,
) -> Audit:
    """Gather one verdict for each claim of the figures, in order.

    Args:
        preset: the preset at which they were computed.
        figures: the figures.
        verdicts_of: returns the verdicts of a figure (default: those in its `verdicts.json`).
        confirmed: whether the preset's seeds are those of a confirmed run.

    Returns:
        The verdicts, with `not computed` for claims that `verdicts_of` does not judge.
    """
    verdicts_of = verdicts_of or (lambda figure: read_verdicts(figure.folder))
    verdicts: list[Verdict] = []
    for figure in figures:
        judged = {verdict.claim: verdict for verdict in verdicts_of(figure)}
        for claim in figure.claims:
            absent = Verdict(
                paper=figure.paper,
                figure=figure.figure,
                claim=claim.id,
                statement=claim.statement,
                verdict="not computed",
                source=claim.source,
                detail="the figure has not been computed",
            )
            verdicts.append(judged.get(claim.id, absent))
    return gathered(preset, verdicts, confirmed=confirmed)


def gathered(preset: str, verdicts: Sequence[Verdict], *, confirmed: bool) -> Audit:
    """Return the audit of verdicts, with their summary."""
    return Audit(
        preset=preset,
        confirmed=confirmed,
        summary=summarise(verdicts),
        verdicts=tuple(verdicts),
    )


def summarise(verdicts: Sequence[Verdict]) -> Summary:
    """Count verdicts by outcome."""
    counts = Counter(verdict.verdict for verdict in verdicts)
    decided = counts["holds"] + counts["fails"]
    return Summary(
        counts={outcome: counts[outcome] for outcome in OUTCOMES},
        decided=decided / len(verdicts) if verdicts else 1.0,
    )


def in_short(summary: Summary) -> str:
    """Return the counts of all outcomes and the fraction that is decided, as text."""
    each = [counted(outcome, count) for outcome, count in summary.counts.items() if count]
    return f"{', '.join(each) or 'no claims'}; {summary.decided:.0%} decided"


def problem_of(verdict: Verdict) -> str | None:
    """Return why a verdict fails the audit, or None."""
    if verdict.verdict == "fails" and verdict.registered is None:
        return f"fails: {verdict.detail}"
    if verdict.verdict == "holds" and verdict.registered is not None:
        return f"starts to hold: remove the registration ({verdict.registered})"
    return None


def problems(audit: Audit, reference: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return why the audit fails, one sentence for each problem.

    Args:
        audit: the verdicts.
        reference: the smallest fraction of decided claims of the papers, as `{preset: {"decided": fraction}}`.
    """
    sentences = [
        f"{verdict.paper}/{verdict.figure} {verdict.claim} {problem}"
        for verdict in audit.verdicts
        if (problem := problem_of(verdict)) is not None
    ]
    least = reference.get(audit.preset, {}).get("decided", 0.0)
    decided = summarise([verdict for verdict in audit.verdicts if verdict.paper != OWN]).decided
    if decided < least - 1e-9:
        expected = f"tests/reference/decided.yaml expects at least {least:.2f}"
        sentences.append(f"the fraction of decided claims is {decided:.2f}; {expected}")
    return sentences


def write_audit(audit: Audit, folder: Path) -> None:
    """Write `audit.json`, `audit.md` and `audit.xml` (JUnit) into a folder."""
    _write_json(folder / "audit.json", audit.model_dump(mode="json"))
    write_file(folder / "audit.md", _markdown(audit))
    report = _junit(audit)
    ET.indent(report)
    write_file(folder / "audit.xml", ET.tostring(report, "utf-8", xml_declaration=True))


def format_table(audit: Audit) -> str:
    """Return the verdicts as aligned plain text, with the reasons of undecided claims and the counts below."""
    from tabulate import tabulate

    header = ("figure", "claim", "verdict", "value", "threshold", "not decided because")
    rows = [
        (
            f"{v.paper}/{v.figure}",
            v.claim,
            verdict_label(v),
            _value(v),
            v.threshold,
            "" if v.verdict in DECIDED else v.detail,
        )
        for v in audit.verdicts
    ]
    table = tabulate(rows, headers=header, tablefmt="simple", disable_numparse=True)
    return f"{table}\n\n{audit.preset}: {in_short(audit.summary)}"


def print_table(audit: Audit) -> None:
    """Print `format_table` on standard output."""
    print(format_table(audit))


def _markdown(audit: Audit) -> str:
    lines = [f"# Audit of preset `{audit.preset}`", "", status(audit), ""]
    lines += [f"{in_short(audit.summary)}.", ""]
    lines += score_by_paper(audit)
    for paper, group in groupby(audit.verdicts, key=lambda v: v.paper):
        for figure, of_figure in groupby(group, key=lambda v: v.figure):
            verdicts = list(of_figure)
            rows = [
                (v.statement, f"**{_marked(v)}**", _value(v), v.threshold, v.source)
                for v in verdicts
            ]
            lines += ["", f"## {paper} / {figure}", ""]
            lines += markdown.table(("claim", "verdict", "value", "threshold", "source"), rows)
            lines.append("")
            lines += [" ".join([f"- `{v.claim}`: {v.detail}.", *remarks(v)]) for v in verdicts]
    return "\n".join(lines) + "\n"


def score_by_paper(audit: Audit) -> list[str]:
    """Return the lines of a Markdown table with the number of verdicts of each paper, by outcome.

    Outcomes that no claim has are left out.
    """
    outcomes = [outcome for outcome, count in audit.summary.counts.items() if count]
    rows = []
    for paper, group in groupby(audit.verdicts, key=lambda v: v.paper):
        counts = summarise(list(group)).counts
        rows.append([paper, *(str(counts[each]) for each in outcomes)])
    return list(markdown.table(["paper", *outcomes], rows))


def status(audit: Audit) -> str:
    """Return a sentence that states whether the verdicts are confirmed."""
    return CONFIRMED if audit.confirmed else EXPLORATORY


def _marked(verdict: Verdict) -> str:
    """Return a verdict as text, with its power if this is below one half."""
    outcome = verdict_label(verdict)
    return f"{outcome}, power {verdict.power:.2f}" if is_weak(verdict) else outcome


_JUNIT_COUNTS = {
    "tests": "testcase",
    "failures": "failure",
    "skipped": "skipped",
    "errors": "error",
}


def _junit(audit: Audit) -> ET.Element:
    root = ET.Element("testsuites", name=f"audit-{audit.preset}")
    for paper, group in groupby(audit.verdicts, key=lambda v: v.paper):
        suite = ET.SubElement(root, "testsuite", name=_xml(paper))
        for verdict in group:
            where = _xml(f"{verdict.paper}.{verdict.figure}")
            case = ET.SubElement(suite, "testcase", classname=where, name=_xml(verdict.claim))
            problem = problem_of(verdict)
            if problem is not None:
                ET.SubElement(case, "failure", message=_xml(problem)).text = _xml(verdict.statement)
            elif verdict.verdict not in DECIDED:
                message = f"{verdict_label(verdict)}: {verdict.detail}"
                ET.SubElement(case, "skipped", message=_xml(message))
            else:
                text = " ".join([verdict.detail, *remarks(verdict)])
                ET.SubElement(case, "system-out").text = _xml(text)
    for element in (root, *root):
        for name, tag in _JUNIT_COUNTS.items():
            element.set(name, str(len(list(element.iter(tag)))))
    return root


def _value(verdict: Verdict) -> str:
    return "" if verdict.value is None else with_interval(verdict.value, verdict.interval)


def _xml(text: str) -> str:
    """Return a text without the control characters that are invalid in XML."""
    return re.sub(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)


def _write_json(path: Path, value: object) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    write_file(path, text + "\n")

"""The table below a picture that says what was found for each claim, and which claims were changed afterwards."""

import re
from collections.abc import Iterator, Mapping, Sequence

from scaling_limits.files import JsonObject
from scaling_limits.outcomes import Reason, with_interval
from scaling_limits.plotting.page import Note, Row

_REASONS: Mapping[Reason, str] = {
    "interval": "the interval contains a threshold",
    "control": "the control {satisfies} the claim as well",
    "sizes": "there are too few sizes",
    "optimum at the edge": "an optimum is at the edge of its grid",
    "divergence": "compared runs diverged",
    "values": "the values allow no measurement",
}
"""The reasons in words."""
_DETAILED: tuple[Reason, ...] = ("values", "sizes")
"""Reasons for which the verdict's detail says more."""
_AMENDED = "\N{DAGGER}"
"""Mark of claims whose settings or rule were changed after a result was seen."""
_MOST_CHANGES = 2  # most changes to be stated; of more, only what was changed is named
_FOUND, _CLAIMED = "found [95 % interval]", "claimed"


def reasons(verdicts: Sequence[JsonObject]) -> Iterator[Note]:
    """Yield a table of the claims of a figure by their verdicts, and a line on those that were amended.

    A claim that fails is followed by its clause, which says what was found and why. Undecided claims are listed below
    their reason.
    """
    groups: dict[str, list[JsonObject]] = {}
    for verdict in sorted(verdicts, key=_rank):
        groups.setdefault(_heading(verdict), []).append(verdict)
    rows = [row for heading, group in groups.items() for row in _rows(heading, group, verdicts)]
    if any(found or claimed for _, found, claimed in rows):
        # the names of the columns stand next to the first heading, or above the first claim
        if any(rows[0][1:]):
            rows.insert(0, ("", "", ""))
        rows[0] = rows[0][0], _FOUND, _CLAIMED
    # a text without numbers is as wide as the page
    yield from (row if any(row[1:]) else row[0] for row in rows)
    amended = [verdict for verdict in verdicts if verdict["changed"]]
    if not amended:
        return
    changes = list(dict.fromkeys(line for verdict in amended for line in verdict["changed"]))
    if len(changes) > _MOST_CHANGES:
        kinds = dict.fromkeys(kind for verdict in amended for kind in verdict["kinds"])
        changes = [", ".join(kinds)]
    yield f"{_AMENDED} Changed after a result was seen: {'; '.join(changes)}."


def _rank(verdict: JsonObject) -> int:
    """Return the place of a claim's verdict below the picture."""
    decided = ("holds", "fails")
    outcome: str = verdict["verdict"]
    if outcome in decided:
        return decided.index(outcome)
    return len(decided) + (outcome == "data not available")


def _heading(verdict: JsonObject) -> str:
    """Return a verdict in words, with its reason if it is undecided."""
    outcome: str = verdict["verdict"]
    if outcome == "inconclusive":
        return f"Inconclusive, as {_why(verdict)}"
    if outcome == "data not available":
        return "Not decided without the paper's dataset"
    return {"holds": "Reproduced", "fails": "Not reproduced"}.get(outcome, outcome.capitalize())


def _rows(
    heading: str, group: Sequence[JsonObject], verdicts: Sequence[JsonObject]
) -> Iterator[Row]:
    """Yield the rows of claims with the same heading, a group of a figure's verdicts."""
    if len(group) == 1:
        yield _row(f"{heading}: ", group[0], verdicts)
    else:
        yield f"{heading}:", "", ""
        yield from (_row("\N{BULLET} ", verdict, verdicts) for verdict in group)


def _row(start: str, verdict: JsonObject, verdicts: Sequence[JsonObject]) -> Row:
    """Return the row of a claim: its statement with a mark if it was amended, what was found, and what is claimed."""
    statement = verdict["statement"].rstrip(".") + (_AMENDED if verdict["changed"] else "")
    if verdict["verdict"] == "fails" and verdict["clause"]:
        statement = f"{statement} \N{EN DASH} {verdict['clause'].rstrip('.')}"
    found = _minus(_found(verdict))
    if verdict["verdict"] == "data not available" and _is_repeated(verdict, verdicts):
        found = "as above, on other data"
    return f"{start}{statement}.", found, _minus(verdict["threshold"])


def _is_repeated(verdict: JsonObject, verdicts: Sequence[JsonObject]) -> bool:
    """Return whether a claim about the data that were used was judged by the same numbers."""
    same = ("value", "interval", "threshold")
    return verdict["value"] is not None and any(
        all(other[key] == verdict[key] for key in same)
        for other in verdicts
        if other["verdict"] != "data not available"
    )


def _found(verdict: JsonObject) -> str:
    """Return the measured value with its interval and its place, and the control's if it leaves the claim open."""
    value, control = verdict["value"], verdict["control"]
    if value is None:
        return "no value" if verdict["threshold"] else ""
    found = f"{with_interval(value, verdict['interval'])} {verdict['place']}".strip()
    if control:
        quoted = f" \N{LEFT DOUBLE QUOTATION MARK}{control['name']}\N{RIGHT DOUBLE QUOTATION MARK}"
        found += f"; control{quoted if control['name'] else ''}: {_of_control(control)}"
    return found


def _of_control(control: JsonObject) -> str:
    value = control["value"]
    return "no value" if value is None else with_interval(value, control["interval"])


def _minus(words: str) -> str:
    """Return a text with minus signs before its negative numbers."""
    return re.sub(r"(?<!\w)-(?=[\d.\N{INFINITY}])", "\N{MINUS SIGN}", words)


def _why(verdict: JsonObject) -> str:
    """Return the reason for which a claim is undecided."""
    if verdict["reason"] in _DETAILED:
        return str(verdict["detail"])
    holds = verdict["control"] and verdict["control"]["holds"]
    return _REASONS[verdict["reason"]].format(satisfies="satisfies" if holds else "may satisfy")

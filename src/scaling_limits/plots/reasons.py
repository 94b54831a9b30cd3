"""The lines below a picture that say why claims do not hold, and which were changed after a result was seen."""

from collections.abc import Iterator, Mapping, Sequence

from scaling_limits.files import JsonObject
from scaling_limits.outcomes import Reason, with_interval

_REASONS: Mapping[Reason, str] = {
    "interval": "the interval contains a threshold",
    "control": "{control} may satisfy the claim as well",
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


def reasons(verdicts: Sequence[JsonObject]) -> Iterator[str]:
    """Yield the lines on the claims of a figure, and one on those that were amended.

    A claim that fails is followed by its clause, which says what was found and why, or else by what was found; a single
    claim is not stated, as the picture is about it. Undecided claims are listed below their reason, with what was
    found.
    """
    lines = list(_of_claims(verdicts))
    yield from lines
    amended = [verdict for verdict in verdicts if verdict["changed"]]
    if not amended:
        return
    changes = list(dict.fromkeys(line for verdict in amended for line in verdict["changed"]))
    if len(changes) > _MOST_CHANGES:
        kinds = dict.fromkeys(kind for verdict in amended for kind in verdict["kinds"])
        changes = [", ".join(kinds)]
    # a single claim that is not stated has no mark
    mark = f"{_AMENDED} " if any(_AMENDED in line for line in lines) else ""
    yield f"{mark}Changed after a result was seen: {'; '.join(changes)}."


def _of_claims(verdicts: Sequence[JsonObject]) -> Iterator[str]:
    """Yield the lines on the claims, by their verdicts."""
    holding = [_held(verdict) for verdict in verdicts if verdict["verdict"] == "holds"]
    if holding and len(verdicts) > 1:
        yield f"Reproduced: {'; '.join(holding)}."
    undecided: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict["verdict"] == "fails":
            clause = verdict["clause"].rstrip(".") if verdict["clause"] else ""
            if clause and len(verdicts) == 1:
                yield f"Not reproduced: {clause}."
            elif clause:
                yield f"Not reproduced: {_marked(verdict)} \N{EN DASH} {clause}."
            else:
                yield f"Not reproduced: {_marked(verdict)} ({_measured(verdict)})."
        elif verdict["verdict"] == "inconclusive":
            undecided.setdefault(f"Inconclusive, as {_why(verdict)}", []).append(_open(verdict))
    lacking = [verdict for verdict in verdicts if verdict["verdict"] == "data not available"]
    if lacking:
        measured = any(verdict["value"] is not None for verdict in lacking)
        numbers = " (numbers: found here)" if measured else ""
        undecided[f"Not decided without the paper's dataset{numbers}"] = list(map(_open, lacking))
    for reason, claims in undecided.items():
        if len(claims) == 1:
            yield f"{reason}: {claims[0]}."
        else:
            yield f"{reason}:"
            yield from (f"\N{BULLET} {claim}" for claim in claims)


def _statement(verdict: JsonObject) -> str:
    """Return the claim's statement without its full stop."""
    statement: str = verdict["statement"].rstrip(".")
    return statement


def _marked(verdict: JsonObject) -> str:
    """Return the claim's statement, with a mark if the claim was amended."""
    return _statement(verdict) + (_AMENDED if verdict["changed"] else "")


def _held(verdict: JsonObject) -> str:
    """Return a claim that holds, with what was measured if its threshold is a range about a value."""
    return _open(verdict) if "\N{PLUS-MINUS SIGN}" in verdict["threshold"] else _marked(verdict)


def _open(verdict: JsonObject) -> str:
    """Return a claim with what was measured, if anything."""
    measured = "" if verdict["value"] is None else f" ({_measured(verdict)})"
    return _marked(verdict) + measured


def _why(verdict: JsonObject) -> str:
    """Return the reason for which a claim is undecided, with the name of the control or the sizes concerned."""
    if verdict["reason"] in _DETAILED:
        return str(verdict["detail"])
    name = verdict["control"]["name"] if verdict["control"] else ""
    quoted = f"\N{LEFT DOUBLE QUOTATION MARK}{name}\N{RIGHT DOUBLE QUOTATION MARK}"
    return _REASONS[verdict["reason"]].format(
        control=f"the control {quoted}" if name else "the control"
    )


def _measured(verdict: JsonObject) -> str:
    """Return the measured values with their intervals, and the threshold at which a claim holds."""
    value, control, threshold = verdict["value"], verdict["control"], verdict["threshold"]
    found = "no value" if value is None else with_interval(value, verdict["interval"])
    parts = [f"{found} {verdict['place']}".strip()]
    if control and control["value"] is not None:
        parts.append(f"control: {with_interval(control['value'], control['interval'])}")
    else:
        # beyond which a claim fails, but not where it holds
        threshold = threshold.partition(";")[0]
    parts.append(f"claimed: {threshold}")
    return ", ".join(parts).replace("-", "\N{MINUS SIGN}")

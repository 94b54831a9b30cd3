"""The lines below a picture that say why claims do not hold, and which were changed after a result was seen."""

from collections.abc import Iterator, Mapping, Sequence

from scaling_limits.files import JsonObject
from scaling_limits.outcomes import Reason, with_interval

_REASONS: Mapping[Reason, str] = {
    "interval": "the interval contains a threshold",
    "control": "{control} does not clearly fail",
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
_DASH = " \N{EN DASH} "
_MOST_NAMED = 2  # most amended claims that hold to be stated; of more, the number is given


def reasons(verdicts: Sequence[JsonObject]) -> Iterator[str]:
    """Yield the lines on the claims of a figure that do not hold, and one on those that were amended.

    A claim that fails is followed by its clause, which says what was found and why, or else by what was found; a single
    claim is not stated, as the picture is about it. Undecided claims are listed below their reason, with what was
    found.
    """
    undecided: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict["verdict"] == "fails":
            clause = verdict["clause"].rstrip(".") if verdict["clause"] else ""
            if clause and len(verdicts) == 1:
                yield f"Not reproduced: {clause}."
            else:
                found = f"{_DASH}{clause}" if clause else f" ({_measured(verdict)})"
                yield f"Not reproduced: {_marked(verdict)}{found}."
        elif verdict["verdict"] == "inconclusive":
            measured = "" if verdict["value"] is None else f" ({_measured(verdict)})"
            claims = undecided.setdefault(f"Inconclusive, as {_why(verdict)}", [])
            claims.append(_marked(verdict) + measured)
    for reason, claims in undecided.items():
        yield from _listed(reason, claims, verdicts)
    lacking = [_marked(v) for v in verdicts if v["verdict"] == "data not available"]
    if lacking:
        yield from _listed("Not decided without the paper's dataset", lacking, verdicts)
    yield from _amended(verdicts)


def _listed(reason: str, claims: list[str], verdicts: Sequence[JsonObject]) -> Iterator[str]:
    """Yield a reason and the claims that it concerns: one in the same line, several below it."""
    measured = any(verdict["value"] is not None for verdict in verdicts)
    if len(claims) == 1:
        yield f"{reason}: {claims[0]}."
    elif len(claims) == len(verdicts) > 2 and not measured:
        # without values there is nothing to say about each claim
        yield f"{reason}: all {len(claims)} claims."
    else:
        yield f"{reason}:"
        yield from (f"\N{BULLET} {claim}" for claim in claims)


def _amended(verdicts: Sequence[JsonObject]) -> Iterator[str]:
    """Yield what was changed after a result was seen, and for which claims that have no line of their own."""
    amended = [verdict for verdict in verdicts if verdict["changed"]]
    unnamed = [verdict for verdict in amended if verdict["verdict"] == "holds"]
    if not amended:
        return
    changed = ", ".join(dict.fromkeys(what for verdict in amended for what in verdict["changed"]))
    text = f"Changed after a result was seen: {changed}"
    also = "; ".join(_statement(verdict) for verdict in unnamed)
    if len(unnamed) > _MOST_NAMED:
        all_hold = sum(verdict["verdict"] == "holds" for verdict in verdicts) == len(unnamed)
        also = f"{'all ' if all_hold else ''}{len(unnamed)} claims that hold"
    if len(unnamed) < len(amended):
        text = f"{_AMENDED} {text}" + (f"; also for: {also}" if also else "")
    else:
        text = f"{text}; for: {also}"
    yield f"{text}."


def _statement(verdict: JsonObject) -> str:
    """Return the claim's statement without its full stop."""
    statement: str = verdict["statement"].rstrip(".")
    return statement


def _marked(verdict: JsonObject) -> str:
    """Return the claim's statement, with a mark if the claim was amended."""
    return _statement(verdict) + (_AMENDED if verdict["changed"] else "")


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
    value, control = verdict["value"], verdict["control"]
    parts = ["no value" if value is None else with_interval(value, verdict["interval"])]
    if control and control["value"] is not None:
        parts.append(f"control: {with_interval(control['value'], control['interval'])}")
    # where it fails is said elsewhere
    parts.append(f"claimed: {verdict['threshold'].partition(';')[0]}")
    return ", ".join(parts).replace("-", "\N{MINUS SIGN}")

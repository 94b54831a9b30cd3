"""The lines below a picture that say why claims do not hold, and which were changed after a result was seen."""

from collections.abc import Iterator, Sequence

from scaling_limits.files import JsonObject
from scaling_limits.outcomes import REASONS, with_interval

_AMENDED = "\N{DAGGER}"
"""Mark of claims whose settings or rule were changed after a result was seen."""
_DASH = " \N{EN DASH} "
_MOST_NAMED = 2  # most amended claims that hold to be stated; of more, the number is given


def reasons(verdicts: Sequence[JsonObject]) -> Iterator[str]:
    """Yield the lines on the claims of a figure that do not hold, and one on those that were amended.

    A claim that fails is followed by its clause, which says what was found and why, or else by what was found; a single
    claim is not stated, as the picture is about it. Undecided claims are listed below their reason.
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
            undecided.setdefault(f"Inconclusive, as {_why(verdict)}", []).append(_marked(verdict))
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
    """Yield the explanation of the mark of amended claims, with those that have no line of their own."""
    amended = [verdict for verdict in verdicts if verdict.get("amended")]
    unnamed = [verdict for verdict in amended if verdict["verdict"] == "holds"]
    if not amended:
        return
    also = "; ".join(_statement(verdict) for verdict in unnamed)
    if len(unnamed) > _MOST_NAMED:
        all_hold = sum(verdict["verdict"] == "holds" for verdict in verdicts) == len(unnamed)
        also = f"{'all ' if all_hold else ''}{len(unnamed)} claims that hold"
    text = "Settings or rule changed after a result was seen"
    if len(unnamed) < len(amended):
        text = f"{_AMENDED} {text}" + (f"; also for: {also}" if also else "")
    else:
        text = f"{text}: {also}"
    yield f"{text}."


def _statement(verdict: JsonObject) -> str:
    """Return the claim's statement without its full stop."""
    statement: str = verdict["statement"].rstrip(".")
    return statement


def _marked(verdict: JsonObject) -> str:
    """Return the claim's statement, with a mark if the claim was amended."""
    return _statement(verdict) + (_AMENDED if verdict.get("amended") else "")


def _why(verdict: JsonObject) -> str:
    """Return the reason for which a claim is undecided, with the name of the control or the sizes concerned."""
    if verdict["reason"] in ("values", "sizes"):
        return str(verdict["detail"])
    why = REASONS[verdict["reason"]]
    if verdict["reason"] == "control":
        name = verdict["control"]
        quoted = f" \N{LEFT DOUBLE QUOTATION MARK}{name}\N{RIGHT DOUBLE QUOTATION MARK}"
        return why.replace("a control", f"the control{quoted if name else ''}")
    return why


def _measured(verdict: JsonObject) -> str:
    """Return the measured value with its interval, and the threshold at which a claim holds."""
    value, interval = verdict["value"], verdict["interval"]
    found = "no value" if value is None else with_interval(value, interval)
    return f"{found}, claimed: {verdict['threshold']}".replace("-", "\N{MINUS SIGN}")

"""The result of judging a claim."""

import math

from scaling_limits.outcomes import Outcome, Reason, with_interval
from scaling_limits.strict import Strict

WEAK = 0.5
"""A power below this is printed next to a verdict `holds`."""


class Control(Strict):
    """A control that leaves a claim open: its name, whether the claim holds in it, and what was measured, if anything.

    `holds` is null if the control decides nothing.
    """

    name: str
    holds: bool | None = None
    value: float | None = None
    interval: tuple[float | None, float | None] | None = None


class Verdict(Strict):
    """One entry of `verdicts.json`.

    `value` and `interval` are null if nothing was measured, and an end of `interval` if it is infinite. `place` names
    the settings of a value that is one of several. `reason` is null unless the claim is inconclusive, and `control`
    unless a control is the reason. `power`, the fraction of records simulated as recorded that hold, is null unless the
    claim holds. `registered` is the text of a registered failure and `clause` its short form. `amended` is the text of
    an amendment with the lines `changed` and their `kinds`, and `grids_tried` is the number of settings with which the
    claim was judged.
    """

    paper: str
    figure: str
    claim: str
    statement: str
    verdict: Outcome
    reason: Reason | None = None
    value: float | None = None
    interval: tuple[float | None, float | None] | None = None
    place: str = ""
    control: Control | None = None
    threshold: str = ""
    source: str
    detail: str
    power: float | None = None
    registered: str | None = None
    clause: str | None = None
    amended: str | None = None
    changed: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    grids_tried: int = 1


def finite(value: float) -> float | None:
    """Return the value, or None if it is infinite or not a number, since JSON has no such numbers."""
    return value if math.isfinite(value) else None


def verdict_label(verdict: Verdict) -> str:
    """Return a verdict with its marks and reason: `fails (registered)`, `inconclusive (interval, amended)`."""
    registered = None if verdict.registered is None else "registered"
    amended = None if verdict.amended is None else "amended"
    return _marked(verdict.verdict, registered, verdict.reason, amended)


def verdict_text(verdict: Verdict | None) -> str:
    """Return a verdict with the measured value as text, or `no claim` without a verdict."""
    if verdict is None:
        return "no claim"
    outcome = _marked(verdict.verdict, verdict.reason)
    if verdict.value is None:
        return outcome
    return f"{outcome} {with_interval(verdict.value, verdict.interval)}"


def is_weak(verdict: Verdict) -> bool:
    """Return whether the verdict has a power below one half."""
    return verdict.power is not None and verdict.power < WEAK


def _marked(outcome: str, *marks: str | None) -> str:
    """Return an outcome followed by its marks in parentheses."""
    named = ", ".join(filter(None, marks))
    return f"{outcome} ({named})" if named else outcome


def remarks(verdict: Verdict) -> list[str]:
    """Return sentences on a verdict's power, registered failure and amendment."""
    sentences = []
    if is_weak(verdict):
        sentences.append(f"The claim holds in {verdict.power:.0%} of records like these.")
    if verdict.registered is not None:
        sentences.append(f"Registered: {verdict.registered}")
    if verdict.amended is not None:
        sentences.append(f"Amended, {verdict.grids_tried} settings tried: {verdict.amended}")
    return sentences

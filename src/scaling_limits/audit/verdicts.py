"""What judging a claim gives."""

import math

from scaling_limits.claims.measurement import Interval, with_interval
from scaling_limits.outcomes import Outcome, Reason
from scaling_limits.strict import Strict


class Verdict(Strict):
    """One entry of `verdicts.json`.

    `value` and `interval` are null where nothing was measured, `reason` unless the claim is inconclusive, and `power`,
    the share of records simulated as recorded that hold, unless the claim holds. `registered` is the text of a
    registered failure.
    """

    paper: str
    figure: str
    claim: str
    statement: str
    verdict: Outcome
    reason: Reason | None = None
    value: float | None = None
    interval: Interval | None = None
    threshold: str = ""
    source: str
    detail: str
    power: float | None = None
    registered: str | None = None


def finite(value: float) -> float | None:
    """The value, or None where it is infinite or not a number (JSON has neither)."""
    return value if math.isfinite(value) else None


def verdict_word(verdict: Verdict) -> str:
    """Write a verdict with its mark or reason: `holds`, `fails (registered)`, `inconclusive (interval)`."""
    mark = "registered" if verdict.registered is not None else verdict.reason
    return f"{verdict.verdict} ({mark})" if mark else verdict.verdict


def in_words(verdict: Verdict | None) -> str:
    """A verdict with what was measured, as printed; `no claim` without one."""
    if verdict is None:
        return "no claim"
    word = f"{verdict.verdict} ({verdict.reason})" if verdict.reason else verdict.verdict
    if verdict.value is None:
        return word
    return f"{word} {with_interval(verdict.value, verdict.interval)}"

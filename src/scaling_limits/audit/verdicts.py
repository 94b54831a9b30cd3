"""What judging a claim gives."""

import math
from typing import Literal

from scaling_limits.claims.measurement import Interval, with_interval
from scaling_limits.strict import Strict

Outcome = Literal["holds", "fails", "untested", "missing"]


class Verdict(Strict):
    """One entry of `verdicts.json`; `value` and `interval` are null where nothing was measured."""

    paper: str
    figure: str
    claim: str
    statement: str
    verdict: Outcome
    value: float | None = None
    interval: Interval | None = None
    threshold: str = ""
    source: str
    detail: str
    registered: str | None = None


def finite(value: float) -> float | None:
    """The value, or None where it is infinite or not a number (JSON has neither)."""
    return value if math.isfinite(value) else None


def in_words(verdict: Verdict | None) -> str:
    """A verdict with what was measured, as printed; `no claim` without one."""
    if verdict is None:
        return "no claim"
    if verdict.value is None:
        return verdict.verdict
    return f"{verdict.verdict} {with_interval(verdict.value, verdict.interval)}"

"""What judging a claim gives."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

from scaling_limits.strict import Strict

Outcome = Literal["holds", "fails", "untested", "missing"]
Interval = tuple[float, float]


class UndecidedError(Exception):
    """The records cannot decide a claim; the message says why and becomes the verdict's detail."""


@dataclass(frozen=True)
class Measurement:
    """A claim measured on the records of some grids; `value` is not finite after divergence.

    `holds` is None where the interval reaches across what is claimed.
    """

    holds: bool | None
    value: float
    interval: Interval | None
    threshold: str
    detail: str


def diverged(threshold: str, detail: str) -> Measurement:
    """A claim that does not hold because training diverged where it needs a number."""
    return Measurement(False, math.nan, None, threshold, detail)


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


def number(value: float) -> str:
    """Three significant digits, without a sign on zero.

    >>> number(0.98765), number(-0.0), number(1234.5), number(float("inf"))
    ('0.988', '0', '1.23e+03', 'infinite')
    """
    if not math.isfinite(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value + 0.0:.3g}"


def setting(value: object) -> str:
    """A size, a rate or a name as the configuration has it.

    >>> setting(1024), setting(0.05), setting("mupc")
    ('1024', '0.05', 'mupc')
    """
    is_fraction = isinstance(value, Real) and not isinstance(value, Integral)
    return f"{value:g}" if is_fraction else str(value)


def with_interval(value: float, interval: Interval | None) -> str:
    """`0.5 [0.4, 0.6]`, or the value alone."""
    text = number(value)
    return text if interval is None else f"{text} [{number(interval[0])}, {number(interval[1])}]"


def in_words(verdict: Verdict | None) -> str:
    """A verdict with what was measured, as printed; `no claim` without one."""
    if verdict is None:
        return "no claim"
    if verdict.value is None:
        return verdict.verdict
    return f"{verdict.verdict} {with_interval(verdict.value, verdict.interval)}"


def octaves(number_of: float) -> str:
    """A number of octaves in words."""
    return f"{setting(number_of)} octave{'' if number_of == 1 else 's'}"


def words(column: str) -> str:
    """A column's or metric's name as prose."""
    return column.replace("_", " ")

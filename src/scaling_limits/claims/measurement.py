"""What measuring a claim gives, and how its numbers are written."""

import math
from dataclasses import dataclass
from numbers import Integral, Real

from scaling_limits.outcomes import Reason

Interval = tuple[float, float]


class UndecidedError(Exception):
    """The records cannot decide a claim.

    Args:
        message: says why, and becomes the verdict's detail.
        reason: the kind of reason.
    """

    def __init__(self, message: str, reason: Reason = "values") -> None:
        super().__init__(message)
        self.reason: Reason = reason


class DivergedError(UndecidedError):
    """Every cell that a claim is judged by diverged."""

    def __init__(self) -> None:
        super().__init__("every cell diverged", "divergence")


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
    """Return the measurement of a claim that fails because training diverged where a number is needed."""
    return Measurement(False, math.nan, None, threshold, detail)


def number(value: float) -> str:
    """Write a number with three significant digits, without a sign on zero.

    >>> number(0.98765), number(-0.0), number(1234.5), number(float("inf"))
    ('0.988', '0', '1.23e+03', 'infinite')
    """
    if not math.isfinite(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value + 0.0:.3g}"


def setting(value: object) -> str:
    """Write a size, a rate or a name as the configuration has it.

    >>> setting(1024), setting(0.05), setting("mupc")
    ('1024', '0.05', 'mupc')
    """
    is_fraction = isinstance(value, Real) and not isinstance(value, Integral)
    return f"{value:g}" if is_fraction else str(value)


def with_interval(value: float, interval: Interval | None) -> str:
    """Write a value as `0.5 [0.4, 0.6]`, or alone without an interval."""
    text = number(value)
    return text if interval is None else f"{text} [{number(interval[0])}, {number(interval[1])}]"


def octaves(count: float) -> str:
    """Write a number of octaves in prose."""
    return f"{setting(count)} octave{'' if count == 1 else 's'}"


def prose(column: str) -> str:
    """Write the name of a column or metric as prose."""
    return column.replace("_", " ")

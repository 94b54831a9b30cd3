"""The result of measuring a claim, and the format of its numbers."""

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal, NamedTuple

from scaling_limits.outcomes import Reason

Interval = tuple[float, float]


class UndecidedError(Exception):
    """The records cannot decide a claim.

    Args:
        message: the explanation, which becomes the verdict's detail.
        reason: the kind of reason.
    """

    def __init__(self, message: str, reason: Reason = "values") -> None:
        super().__init__(message)
        self.reason: Reason = reason


class DivergedError(UndecidedError):
    """Every cell on which a claim is judged diverged."""

    def __init__(self) -> None:
        super().__init__("every cell diverged", "divergence")


@dataclass(frozen=True)
class Measurement:
    """The result of measuring a claim on the records of some grids; `value` is not finite after divergence.

    `holds` is None if a confidence interval contains a threshold. If a claim has several conditions, value, interval
    and threshold are those of one that decides (`intervals.deciding`). `place` names the settings of the value, if it
    is one of several. `size` is the size of a ratio that pictures show (`RatioRow`).
    """

    holds: bool | None
    value: float
    interval: Interval | None
    threshold: str
    detail: str
    place: str = ""
    size: float | None = None


class OptimumRow(NamedTuple):
    """The optimum at one size, with both ends of its 95 % interval; None for an end beyond the grid."""

    size: float
    value: float | None
    low: float | None
    high: float | None


class SlopeRow(NamedTuple):
    """The slope along a size at the values `group` of other columns, with its 95 % interval.

    `sizes` are the smallest and the largest size that are fitted; None for all.
    """

    group: dict[str, Hashable]
    slope: float
    interval: Interval | None
    sizes: tuple[float, float] | None = None


class ErrorRow(NamedTuple):
    """The largest relative error of means over seeds at the largest size, with its 95 % interval."""

    size: float
    value: float
    interval: Interval | None


RatioTo = Literal["reference", "smallest", "best"]
"""The denominator of a ratio: the value of the grids `reference`, of the smallest size, or the best at equal size."""


class RatioRow(NamedTuple):
    """The judged ratio of the value at a size to another one, with its 95 % interval."""

    to: RatioTo
    size: float
    value: float
    interval: Interval | None


Evidence = Sequence[OptimumRow] | Sequence[SlopeRow | ErrorRow] | Sequence[RatioRow]
"""Numbers behind a verdict that pictures show."""


def diverged(threshold: str, detail: str) -> Measurement:
    """Return the measurement of a claim that fails because training diverged where a number is needed."""
    return Measurement(False, math.nan, None, threshold, detail)


def setting(value: object) -> str:
    """Return a size, a rate or a name as text, written as in the configuration.

    >>> setting(1024), setting(0.05), setting("mupc")
    ('1024', '0.05', 'mupc')
    """
    is_fraction = isinstance(value, Real) and not isinstance(value, Integral)
    return f"{value:g}" if is_fraction else str(value)


def octaves(count: float) -> str:
    """Return a number of octaves as text."""
    return f"{setting(count)} octave{'' if count == 1 else 's'}"


def prose(column: str) -> str:
    """Return the name of a column or metric as prose.

    >>> prose("train_loss"), prose("num_steps")
    ('train loss', 'number of steps')
    """
    return re.sub("^num_", "number_of_", column).replace("_", " ")

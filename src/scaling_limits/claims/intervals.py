"""Confidence intervals of sampled values, the bounds that claims set, and decisions between the two."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from scaling_limits.claims.measurement import Interval, setting

TAIL = 0.025
"""The fraction of samples beyond each end of an interval."""


def interval_of(low: np.ndarray, high: np.ndarray | None = None) -> Interval | None:
    """Return the central 95 % of sampled values [R], or None if the values are exact.

    Args:
        low: the sampled values, or lower bounds of them.
        high: upper bounds of the sampled values, if they are not known exactly.
    """
    high = low if high is None else high
    if low.size == 0 or ((low == low[0]).all() and (high == low[0]).all()):
        return None
    last = low.size - 1
    ends = round(TAIL * last), round((1 - TAIL) * last)
    return float(np.sort(low)[ends[0]]), float(np.sort(high)[ends[1]])


def best_ratio_interval(value: float, ratios: np.ndarray, over: Collection[str]) -> Interval | None:
    """Return the 95 % confidence interval of a ratio of two best values over the hyperparameters `over`.

    The best of several settings is biased by selection. The bias grows with the number of nearly optimal settings,
    which may differ between the two values; see `extreme_of`.

    Args:
        value: the measured ratio.
        ratios: sampled ratios [R].
        over: the hyperparameters; without any, there is no selection.
    """
    if not over:
        return interval_of(ratios)
    return extreme_of(value, ratios, least=0.0, logarithmic=True)


def extreme_of(
    value: float,
    sampled: np.ndarray,
    *,
    least: float = -np.inf,
    most: float | None = None,
    logarithmic: bool = False,
) -> Interval | None:
    """Return the 95 % confidence interval of the smallest or largest of several values.

    The spread biases an extreme away from the other values, once when it is measured and again when it is sampled. The
    interval is therefore extended symmetrically about the measured value.

    Args:
        value: the extreme of the measured values.
        sampled: sampled extremes [R].
        least: the smallest possible value.
        most: the largest possible value, if there is one.
        logarithmic: whether the spread is uniform on a logarithmic scale, so that distances are factors.

    Returns:
        The interval, or None if the values are exact.
    """
    interval = interval_of(sampled)
    if interval is None or not np.isfinite(value):
        return interval
    low, high = interval
    if logarithmic:
        high, low = max(high, value**2 / low), min(low, value**2 / high)
    else:
        high, low = max(high, 2 * value - low), min(low, 2 * value - high)
    return max(low, least), high if most is None else min(high, max(most, value))


class Bounds(NamedTuple):
    """The smallest and the largest value that a claim allows; infinite on a side without a bound."""

    low: float
    high: float

    @classmethod
    def between(cls, at_least: float | None, at_most: float | None) -> Bounds:
        """Return the bounds of a rule; each bound may be absent."""
        return cls(
            -np.inf if at_least is None else at_least, np.inf if at_most is None else at_most
        )

    @classmethod
    def about(cls, expected: float, tolerance: float) -> Bounds:
        """Return the bounds at a distance of `tolerance` from an expected value."""
        return cls(expected - tolerance, expected + tolerance)

    def beyond(self, value: float, interval: Interval | None) -> float:
        """Return the distance of the interval's farther end beyond the bounds."""
        first, last = interval or (value, value)
        return max(self.low - first, last - self.high)

    def __str__(self) -> str:
        if np.isinf(self.low):
            return f"at most {setting(self.high)}"
        if np.isinf(self.high):
            return f"at least {setting(self.low)}"
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return f"{setting(round(middle, 9))} ± {setting(round(half, 9))}"


def decide(value: float, interval: Interval | None, low: float, high: float) -> bool | None:
    """Decide whether a value lies between two bounds.

    Args:
        value: the measured value.
        interval: its 95 % confidence interval; None if it is exact.
        low: the smallest allowed value.
        high: the largest allowed value.

    Returns:
        True if the interval lies between the bounds, False if it lies outside, None if it contains a bound.
    """
    first, last = interval or (value, value)
    if low <= first and last <= high:
        return True
    return False if last < low or first > high else None


class Condition(NamedTuple):
    """A condition of a claim: whether it is satisfied, and what was measured (`Measurement`)."""

    holds: bool | None
    value: float
    interval: Interval | None
    threshold: str
    place: str = ""
    size: float | None = None


def deciding(conditions: Sequence[Condition]) -> Condition:
    """Return the first condition that gives the common answer of all conditions.

    It fails if the claim fails, is open if the claim is open, and is the first one if the claim holds.
    """
    answer = together([condition.holds for condition in conditions])
    return next(condition for condition in conditions if condition.holds is answer)


def together(answers: Collection[bool | None]) -> bool | None:
    """Return whether all answers are True: False if any is False, otherwise None if any is None."""
    if False in answers:
        return False
    return None if None in answers else True

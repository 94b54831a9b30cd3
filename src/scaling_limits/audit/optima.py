"""Optima: where the best value of a hyperparameter lies, or the largest that is nearly as good, as
far as the records tell.

An optimum counts as found if it is interior to its grid and resolved. If not, the records still
bound it: one at the edge of its grid lies there or beyond.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scaling_limits.audit.points import (
    Points,
    by_size,
    generator_of,
    interval_of,
    is_better,
    table_of,
)
from scaling_limits.audit.verdicts import (
    Interval,
    UndecidedError,
    number,
    setting,
    with_interval,
    words,
)
from scaling_limits.figures.claims import OptimumClaim
from scaling_limits.records import Results

OCTAVE = 1.0 - 1e-6
"""A distance that counts as one octave, rounding aside."""


@dataclass(frozen=True)
class Optimum:
    """The best, or largest good, value of a hyperparameter at one size, in octaves (log2): `at` on the grid.

    The records leave it open from `low` to `high`; both are `at` where it is interior and resolved.
    `reason` says why it is open. `drawn` [R] are bootstrap samples of `at` over `num_seeds` seeds.
    """

    at: float
    low: float
    high: float
    reason: str | None
    drawn: np.ndarray
    num_seeds: int


@dataclass(frozen=True)
class Shift:
    """How far an optimum moves between two sizes, in octaves: `value` on the grid.

    The records leave it open from `low` to `high`; `detail` says it in words.
    """

    sizes: tuple[float, float]
    value: float
    low: float
    high: float
    interval: Interval | None
    detail: str
    reason: str | None


def shifts_of(claim: OptimumClaim, results: Results) -> list[Shift]:
    """The shift of the optimum from the smallest size to each of the others.

    Raises:
        UndecidedError: there are fewer than two sizes, or one where every cell diverged or whose
            best point stands between diverged ones.
    """
    columns = [claim.over, *claim.profile]
    sizes = by_size(table_of(claim, results, [claim.along, *columns]), claim.along, columns)
    generator = generator_of(claim)
    optima: dict[float, Optimum] = {}
    for size, points in sizes.items():
        try:
            optima[size] = _optimum(claim, points, generator)
        except UndecidedError as reason:
            raise UndecidedError(f"at {words(claim.along)} {setting(size)}, {reason}") from None
    start, *others = optima
    return [_shift(claim, start, size, optima[start], optima[size]) for size in others]


def _shift(claim: OptimumClaim, start: float, end: float, first: Optimum, last: Optimum) -> Shift:
    value = last.at - first.at
    low, high = last.low - first.high, last.high - first.low
    interval = interval_of(last.drawn - first.drawn, max(first.num_seeds, last.num_seeds))
    measured = with_interval(value, interval)
    detail = (
        f"{_sought(claim)} moves by {measured} octaves "
        f"from {words(claim.along)} {setting(start)} to {setting(end)}"
    )
    reasons = [
        f"at {words(claim.along)} {setting(size)}, {optimum.reason}"
        for size, optimum in ((start, first), (end, last))
        if optimum.reason
    ]
    if reasons and low * high > 0:
        detail += f", by {number(min(abs(low), abs(high)))} at least ({reasons[0]})"
    return Shift((start, end), value, low, high, interval, detail, reasons[0] if reasons else None)


def _sought(claim: OptimumClaim) -> str:
    name = words(claim.over)
    if claim.within is None:
        return f"the best {name}"
    return f"the largest {name} within a factor {setting(1 + claim.within)} of the best"


def _optimum(claim: OptimumClaim, points: Points, generator: np.random.Generator) -> Optimum:
    rates, values = profile(points, claim.over)
    if not np.isfinite(values).all(axis=1).any():
        raise UndecidedError("every cell diverged")
    if claim.within is None:
        rows = points.resampled_means(generator).argmin(axis=0)
        drawn = points.settings[claim.over].to_numpy(float)[rows]
        return _best(claim, rates, values, np.log2(drawn))
    means = Points(pd.DataFrame({claim.over: rates}), values).resampled_means(generator)
    drawn = rates[[_reach(drawn_means, claim.within) for drawn_means in means.T]]
    return _largest(claim, rates, values, np.log2(drawn), claim.within)


def _best(claim: OptimumClaim, rates: np.ndarray, values: np.ndarray, drawn: np.ndarray) -> Optimum:
    """Where the best value lies; resolved means better than the points one octave away on each side
    by more than two standard errors, or next to divergence on one side.

    A side that is not resolved is open as far as points are no worse than the best, and without end
    beyond the edge of the grid.
    """
    best = int(np.argmin(values.mean(axis=1)))
    name = f"{_sought(claim)}, {setting(rates[best])},"
    octaves = np.log2(rates)
    ends = {"lower": float(octaves[best]), "upper": float(octaves[best])}
    diverged, reason = 0, None
    for side, near, far in neighbours(rates, best):
        beyond = np.inf if side == "upper" else -np.inf
        if not all(np.isfinite(values[k]).all() for k in near):
            diverged += 1
        elif not far:
            ends[side] = beyond
            reason = reason or f"{name} is at the {side} edge of the grid"
        elif not is_better(values[best], values[near[-1]], paired=True):
            outward = range(near[-1], len(rates)) if side == "upper" else range(near[-1], -1, -1)
            alike = [k for k in outward if not is_better(values[best], values[k], paired=True)]
            ends[side] = beyond if alike[-1] == outward[-1] else float(octaves[alike[-1]])
            reason = reason or f"{name} is not resolved from {setting(rates[near[-1]])}"
    if diverged == 2:
        raise UndecidedError(f"{name} stands between diverged cells")
    at = float(octaves[best])
    return Optimum(at, ends["lower"], ends["upper"], reason, drawn, values.shape[1])


def _largest(
    claim: OptimumClaim, rates: np.ndarray, values: np.ndarray, drawn: np.ndarray, within: float
) -> Optimum:
    """Where the largest value lies that is nearly as good as the best, all between them included.

    Points count as within or beyond if they are so by more than two standard errors; it is open
    between those, and without end where it is the lowest or highest point of the grid.
    """
    means, octaves, last = values.mean(axis=1), np.log2(rates), len(rates) - 1
    best, at = int(np.argmin(means)), _reach(means, within)
    allowed = (1 + within) * values[best]
    sure = best
    while sure < at and is_better(values[sure + 1], allowed, paired=True):
        sure += 1
    beyond = [k for k in range(at + 1, last + 1) if is_better(allowed, values[k], paired=True)]
    low = float(octaves[sure]) if at else -np.inf
    high = float(octaves[beyond[0] - 1]) if beyond else np.inf
    name, reason = f"{_sought(claim)}, {setting(rates[at])},", None
    if at in (0, last):
        reason = f"{name} is at the {'upper' if at else 'lower'} edge of the grid"
    elif low < high:
        unclear = at if sure < at else at + 1
        reason = (
            f"{name} is not resolved: {setting(rates[unclear])} is as near the limit as its error"
        )
    return Optimum(float(octaves[at]), low, high, reason, drawn, values.shape[1])


def _reach(means: np.ndarray, within: float) -> int:
    """The last of the points from the best one up that cost at most a factor 1 + `within` more."""
    best = int(np.argmin(means))
    good = means[best:] <= (1 + within) * means[best]
    return best + int(np.argmin(np.append(good, False))) - 1


def profile(points: Points, over: str) -> tuple[np.ndarray, np.ndarray]:
    """Values [K] of a hyperparameter and, at each, the seeds [K, S] of its best point."""
    axis = points.settings[over].to_numpy(float)
    rates = np.unique(axis)
    means = points.means
    rows = [min(np.flatnonzero(axis == rate), key=lambda row: means[row]) for rate in rates]
    return rates, points.values[rows]


def neighbours(rates: np.ndarray, best: int) -> Iterator[tuple[str, range, bool]]:
    """On each side of the best rate: its name, the points within an octave, if one is that far."""
    distance = np.abs(np.log2(rates / rates[best]))
    for side, step, end in (("lower", -1, -1), ("upper", 1, len(rates))):
        inside = range(best + step, end, step)
        far = [k for k in inside if distance[k] >= OCTAVE]
        near = range(best + step, far[0] + step, step) if far else inside
        yield side, near, bool(far)


def open_edge(points: Points, over: Sequence[str], tolerance: float) -> str | None:
    """Say which hyperparameter is best at an edge where the quantity still falls; None if none is.

    It still falls if the point one octave inside is worse by more than the factor 1 + `tolerance`:
    a flat direction may end anywhere, since going on would change less than the claim tells apart.
    """
    for column in over:
        rates, values = profile(points, column)
        means = values.mean(axis=1)
        best = int(np.argmin(means))
        sides = list(neighbours(rates, best))
        inward = [near[-1] for _, near, far in sides if far]
        closed = all(far or not np.isfinite(means[list(near)]).all() for _, near, far in sides)
        if not closed and any(means[k] > (1 + tolerance) * means[best] for k in inward):
            return (
                f"the best {words(column)}, {setting(rates[best])}, is at the edge of the grid, "
                "where the quantity still falls"
            )
    return None

"""The slope of a level set of a quantity over two hyperparameters."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from scaling_limits.audit.points import (
    Points,
    decide,
    generator_of,
    grouped,
    interval_of,
    named,
    table_of,
    together,
)
from scaling_limits.audit.verdicts import (
    Interval,
    Measurement,
    UndecidedError,
    number,
    setting,
    with_interval,
    words,
)
from scaling_limits.figures.claims import QUARTER, LevelSet
from scaling_limits.figures.level_sets import MIN_CROSSINGS, LevelSetFit, fit_level_set
from scaling_limits.records import Results


@dataclass(frozen=True)
class _Slope:
    """A slope, or a difference of two, with plausible ones `drawn` [R], NaN where a level set has no fit."""

    value: float
    drawn: np.ndarray
    where: str

    @property
    def interval(self) -> Interval | None:
        low, high = (np.where(np.isnan(self.drawn), end, self.drawn) for end in (-np.inf, np.inf))
        return interval_of(low, high)

    def less(self, other: "_Slope") -> "_Slope":
        where = f"{self.where} less that{other.where}"
        return _Slope(self.value - other.value, self.drawn - other.drawn, where)


def measure(claim: LevelSet, results: Results) -> Measurement:
    """Measure the slope that is farthest from what is claimed, over the groups of `each`.

    With `growing_along` it is the slope at the largest value of this column less that at the smallest; the claim also
    fails if the slope falls from one value to the next for sure.

    Raises:
        UndecidedError: a level set has too few crossings or only cells that diverged, there is a single value of
            `growing_along`, or a value is not positive.
    """
    low, high = bounds(claim)
    threshold = _threshold(claim)
    slopes: dict[tuple[object, ...], list[_Slope]] = {}
    generator = generator_of(claim)
    table = table_of(claim, results, claim.columns)
    for group, points in grouped(table, claim.groups, claim.over).items():
        slope = _slope(claim, points, group, generator)
        slopes.setdefault(group[: len(claim.each)], []).append(slope)
    found: list[tuple[bool | None, _Slope]] = []
    for sizes in slopes.values():
        if claim.growing_along and len(sizes) < 2:
            raise UndecidedError(f"there is only one {words(claim.growing_along)}")
        judged = sizes[-1].less(sizes[0]) if claim.growing_along else sizes[0]
        found.append((decide(judged.value, judged.interval, low, high), judged))
        steps = [large.less(small) for small, large in pairwise(sizes)]
        found += [(False, step) for step in steps if (step.interval or (step.value,))[-1] < -1e-9]
    holds = together([answer for answer, _ in found])

    def beyond(slope: _Slope) -> float:
        ends = slope.interval or (slope.value, slope.value)
        return max(low - ends[0], ends[1] - high)

    worst = max((slope for answer, slope in found if answer is holds), key=beyond)
    x, y = claim.over
    return Measurement(
        holds=holds,
        value=worst.value,
        interval=worst.interval,
        threshold=threshold,
        detail=f"the level set {named(claim)} = {setting(claim.level)} has the slope d log {words(y)} / "
        f"d log {words(x)}{worst.where}, {with_interval(worst.value, worst.interval)}; it should be {threshold}",
    )


def bounds(claim: LevelSet) -> tuple[float, float]:
    """The smallest and the largest slope that the claim allows; with `growing_along`, differences of slopes."""
    if claim.expected is not None:
        return claim.expected - claim.tolerance, claim.expected + claim.tolerance
    low, high = claim.at_least, claim.at_most
    return -np.inf if low is None else low, np.inf if high is None else high


def surface(
    claim: LevelSet, points: Points, means: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrange means [P, R] as values [Y, X, R], NaN where nothing was run, over x [X] and y [Y]."""
    (x, at_x), (y, at_y) = (
        np.unique(points.settings[column].to_numpy(float), return_inverse=True)
        for column in claim.over
    )
    values = np.full((len(y), len(x), means.shape[1]), np.nan)
    values[at_y, at_x] = means
    return x, y, values


def _slope(
    claim: LevelSet, points: Points, group: tuple[object, ...], generator: np.random.Generator
) -> _Slope:
    where = "".join(
        f" at {words(column)} {setting(value)}"
        for column, value in zip(claim.groups, group, strict=True)
    )
    if not np.isfinite(points.means).any():
        raise UndecidedError(f"every cell diverged{where}")
    if points.values.min() <= 0:
        raise UndecidedError(f"{named(claim)} is not positive{where}, so it has no logarithm")
    x, y, means = surface(claim, points, points.means[:, None])
    found = fit_level_set(x, y, means, claim.level)
    if found.counts[0] < MIN_CROSSINGS:
        raise UndecidedError(_too_few(claim, found, means, where))
    drawn = fit_level_set(*surface(claim, points, points.draws(generator)), claim.level).slopes
    return _Slope(float(found.slopes[0]), drawn, where)


def _too_few(claim: LevelSet, found: LevelSetFit, means: np.ndarray, where: str) -> str:
    """Say why a level set has too few crossings."""
    finite = means[np.isfinite(means)]
    if finite.min() > claim.level:
        why = f"its smallest value is {number(finite.min())}"
    elif means[0, 0, 0] <= claim.level:
        why = f"it is {number(means[0, 0, 0])} at the smallest {' and '.join(map(words, claim.over))} already"
    else:
        why = "the level set leaves the grid"
    return (
        f"the level set {named(claim)} = {setting(claim.level)} crosses {found.counts[0]} rows and columns of the "
        f"grid{where}, {MIN_CROSSINGS} are needed: {why}"
    )


def _threshold(claim: LevelSet) -> str:
    if claim.expected is not None:
        return f"{setting(claim.expected)} ± {setting(claim.tolerance)}"
    if claim.at_most is not None:
        return f"at most {setting(claim.at_most)}"
    return f"at least {setting(claim.at_least)}"


def planes(claim: LevelSet, table: pd.DataFrame, means: pd.Series, wrong: float) -> np.ndarray:
    """Simulate values [rows] whose level set is a straight line, with a slope that is `wrong` by this much.

    The logarithm of the values is linear in those of the hyperparameters. It is at the level in the middle of the
    level set of `means` [rows], and as steep as these are.
    """
    low, high = bounds(claim)
    if np.isfinite(low) and np.isfinite(high):
        target = (low + high) / 2 + wrong
    else:
        # the threshold is a quarter from the truth
        target = high - QUARTER + abs(wrong) if np.isfinite(high) else low + QUARTER - abs(wrong)
    parts: dict[tuple[object, ...], list[pd.DataFrame]] = {}
    rows = table.assign(mean=means)
    for group, part in rows.groupby(list(claim.groups)) if claim.groups else [((), rows)]:
        parts.setdefault(group[: len(claim.each)], []).append(part)
    values = np.full(len(table), np.nan)
    for sizes in parts.values():
        start = _plane(claim, sizes[0])[0]
        for k, part in enumerate(sizes):
            _, centre, steepness = _plane(claim, part)
            slope = start + target * k / max(len(sizes) - 1, 1) if claim.growing_along else target
            away = np.log(part[list(claim.over)].to_numpy(float)) - centre
            distance = away @ np.array([-slope, 1.0]) / np.hypot(1.0, slope)
            values[part.index] = claim.level * np.exp(-steepness * distance)
    return values


def _plane(claim: LevelSet, part: pd.DataFrame) -> tuple[float, np.ndarray, float]:
    """The slope of a recorded level set, its middle in log x and log y, and the norm of the gradient of log means.

    Without a level set, the slope -1 and the middle of the grid.
    """
    x, y = claim.over
    points = part[np.isfinite(part["mean"])]
    if points.empty:
        raise UndecidedError("every cell of a level set diverged")
    means = points.pivot_table(index=y, columns=x, values="mean")
    at_x, at_y = (axis.to_numpy(float) for axis in (means.columns, means.index))
    found = fit_level_set(at_x, at_y, means.to_numpy(float)[:, :, None], claim.level)
    # below the level the surface is a bowl
    above = points[points["mean"] >= claim.level]
    points = above if len(above) > MIN_CROSSINGS else points
    logs = np.log(points[[x, y, "mean"]].to_numpy(float))
    design = np.column_stack([logs[:, :2], np.ones(len(logs))])
    gradient = np.linalg.lstsq(design, logs[:, 2])[0][:2]
    is_fitted = found.counts[0] >= MIN_CROSSINGS
    return (
        float(found.slopes[0]) if is_fitted else -1.0,
        np.log(found.ends[..., 0]).mean(axis=0) if is_fitted else logs[:, :2].mean(axis=0),
        float(np.linalg.norm(gradient)),
    )

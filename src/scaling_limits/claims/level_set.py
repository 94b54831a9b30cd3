"""Claim about the slope of a level set of a quantity over two hyperparameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from scaling_limits.claims.base import QUARTER, ClaimBase, Names, Some
from scaling_limits.claims.checks import Problem, size_problems, values_of
from scaling_limits.claims.intervals import Bounds, decide, interval_of, together
from scaling_limits.claims.measurement import Interval, Measurement, UndecidedError, prose, setting
from scaling_limits.claims.points import (
    Points,
    grouped,
    new_generator,
    quantity_name,
    require_positive,
    table_of,
)
from scaling_limits.claims.simulation import NoisySimulation, Recorded, Simulation, exponent_between
from scaling_limits.figures.level_sets import MIN_CROSSINGS, LevelSetFit, fit_level_set
from scaling_limits.figures.needs import Grids, logarithm_problem
from scaling_limits.outcomes import number, with_interval

if TYPE_CHECKING:
    import pandas as pd

    from scaling_limits.records import Results


@dataclass(frozen=True)
class _Slope:
    """A slope, or a difference of two slopes, with `sampled` slopes [R].

    A sampled slope is NaN if the level set of the sample has no fit.
    """

    value: float
    sampled: np.ndarray
    where: str

    @property
    def interval(self) -> Interval | None:
        low, high = (
            np.where(np.isnan(self.sampled), end, self.sampled) for end in (-np.inf, np.inf)
        )
        return interval_of(low, high)

    def less(self, other: _Slope) -> _Slope:
        where = f"{self.where} less that{other.where}"
        return _Slope(self.value - other.value, self.sampled - other.sampled, where)


class Claim(ClaimBase):
    """The slope d log y / d log x of a level set of the quantity over two hyperparameters `over` = [x, y].

    The level set lies on the side of small x and y: it consists of the first crossings, from the smallest values on, at
    which the quantity falls below `level`. The slope is within `tolerance` of `expected`, or `at_most` or `at_least` a
    number, for every combination of values of the columns `each`. With `growing_along`, `at_least` refers to the slope
    at the largest value of this column minus the slope at the smallest, and the slope must not decrease between
    neighbouring values.
    """

    kind: Literal["level_set"]
    over: tuple[str, str]
    level: float = Field(gt=0)
    each: Names = ()
    growing_along: str | None = None
    expected: float | None = None
    tolerance: float = Field(default=QUARTER, gt=0, le=QUARTER)
    at_most: float | None = None
    at_least: float | None = None
    control: Some

    @property
    def columns(self) -> Names:
        """Both hyperparameters, and the columns for whose values level sets are fitted separately."""
        return (*self.groups, *self.over)

    @property
    def groups(self) -> Names:
        """The columns for whose values level sets are fitted separately."""
        return (*self.each, self.growing_along) if self.growing_along else self.each

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        rules = [rule is not None for rule in (self.expected, self.at_most, self.at_least)]
        if sum(rules) != 1:
            raise ValueError("give one of expected, at_most and at_least")
        if self.growing_along and self.at_least is None:
            raise ValueError("growing_along: give at_least, by how much the slope grows")
        return self

    def problems(self, grids: Grids) -> Iterator[Problem]:
        """Yield problems of the claim, including those of its sizes and hyperparameters."""
        yield from super().problems(grids)
        if self.growing_along:
            yield from size_problems(self, "growing_along", self.growing_along, grids)
        for column in self.over:
            values = values_of(self, column, self.grids, grids)
            problem = logarithm_problem(column, values, self.grids)
            if problem is not None:
                yield Problem(("over",), problem)

    def measure(self, results: Results, *_: Results) -> Measurement:
        """Measure the slope that is farthest from the claimed range, over the groups of `each`.

        With `growing_along`, this is the slope at the largest value of the column minus the slope at the smallest. The
        claim also fails if the whole confidence interval of a change between neighbouring values is negative.

        Raises:
            UndecidedError: a level set has too few crossings or only diverged cells, there is a single value of
                `growing_along`, or a value is not positive.
        """
        allowed = bounds(self)
        slopes: dict[tuple[object, ...], list[_Slope]] = {}
        generator = new_generator()
        table = table_of(self, results, self.columns)
        for group, points in grouped(table, self.groups, self.over).items():
            slope = _slope(self, points, group, generator)
            slopes.setdefault(group[: len(self.each)], []).append(slope)
        judged_slopes: list[tuple[bool | None, _Slope]] = []
        for sizes in slopes.values():
            if self.growing_along and len(sizes) < 2:
                raise UndecidedError(f"there is only one {prose(self.growing_along)}", "sizes")
            judged = sizes[-1].less(sizes[0]) if self.growing_along else sizes[0]
            judged_slopes.append((decide(judged.value, judged.interval, *allowed), judged))
            steps = [large.less(small) for small, large in pairwise(sizes)]
            judged_slopes += [
                (False, step) for step in steps if (step.interval or (step.value,))[-1] < -1e-9
            ]
        holds = together([holds_here for holds_here, _ in judged_slopes])
        worst = max(
            (slope for holds_here, slope in judged_slopes if holds_here is holds),
            key=lambda slope: allowed.beyond(slope.value, slope.interval),
        )
        x, y = self.over
        return Measurement(
            holds=holds,
            value=worst.value,
            interval=worst.interval,
            threshold=f"slope {allowed}",
            detail=f"the level set {quantity_name(self)} = {setting(self.level)} has the slope d log {prose(y)} / "
            f"d log {prose(x)}{worst.where}, {with_interval(worst.value, worst.interval)}; it should be {allowed}",
            place=worst.where.strip(),
        )

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of straight level sets."""
        return _Simulation(self, recorded)


def bounds(claim: Claim) -> Bounds:
    """Return the allowed range of slopes or, with `growing_along`, of differences of slopes."""
    if claim.expected is not None:
        return Bounds.about(claim.expected, claim.tolerance)
    return Bounds.between(claim.at_least, claim.at_most)


def surface(
    claim: Claim, points: Points, means: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrange means [P, R] on the grid of x [X] and y [Y] as values [Y, X, R], NaN where nothing was computed."""
    (x, at_x), (y, at_y) = (
        np.unique(points.settings[column].to_numpy(float), return_inverse=True)
        for column in claim.over
    )
    values = np.full((len(y), len(x), means.shape[1]), np.nan)
    values[at_y, at_x] = means
    return x, y, values


def _slope(
    claim: Claim, points: Points, group: tuple[object, ...], generator: np.random.Generator
) -> _Slope:
    """Fit the level set of one group.

    Args:
        claim: the claim.
        points: the points of the group.
        group: the values of the columns `claim.groups`.
        generator: draws the samples.

    Raises:
        UndecidedError: every cell diverged, a value is not positive, or the level set has too few crossings.
    """
    where = "".join(
        f" at {prose(column)} {setting(value)}"
        for column, value in zip(claim.groups, group, strict=True)
    )
    if not np.isfinite(points.means).any():
        raise UndecidedError(f"every cell diverged{where}", "divergence")
    require_positive(claim, points, where)
    x, y, means = surface(claim, points, points.means[:, None])
    fit = fit_level_set(x, y, means, claim.level)
    if fit.counts[0] < MIN_CROSSINGS:
        raise UndecidedError(_too_few(claim, fit, means, where))
    sampled = fit_level_set(*surface(claim, points, points.draws(generator)), claim.level).slopes
    return _Slope(float(fit.slopes[0]), sampled, where)


def _too_few(claim: Claim, fit: LevelSetFit, means: np.ndarray, where: str) -> str:
    """Return the reason why a level set has too few crossings."""
    finite = means[np.isfinite(means)]
    if finite.min() > claim.level:
        why = f"its smallest value is {number(finite.min())}"
    elif means[0, 0, 0] <= claim.level:
        why = f"it is {number(means[0, 0, 0])} at the smallest {' and '.join(map(prose, claim.over))} already"
    else:
        why = "the level set leaves the grid"
    return (
        f"the level set {quantity_name(claim)} = {setting(claim.level)} crosses {fit.counts[0]} rows and columns "
        f"of the grid{where}, {MIN_CROSSINGS} are needed: {why}"
    )


def _plane(claim: Claim, part: pd.DataFrame) -> tuple[float, np.ndarray, float]:
    """Return the slope and centre of a recorded level set, and the norm of the gradient of log means.

    The centre is given in log x and log y. Without a level set, the slope is -1, and the centre of the grid is used.

    Raises:
        UndecidedError: every cell diverged.
    """
    x, y = claim.over
    points = part[np.isfinite(part["mean"])]
    if points.empty:
        raise UndecidedError("every cell of a level set diverged", "divergence")
    means = points.pivot_table(index=y, columns=x, values="mean")
    at_x, at_y = (axis.to_numpy(float) for axis in (means.columns, means.index))
    fit = fit_level_set(at_x, at_y, means.to_numpy(float)[:, :, None], claim.level)
    # a plane is a poor fit below the level, where the surface is a bowl
    above = points[points["mean"] >= claim.level]
    points = above if len(above) > MIN_CROSSINGS else points
    logs = np.log(points[[x, y, "mean"]].to_numpy(float))
    design = np.column_stack([logs[:, :2], np.ones(len(logs))])
    gradient = np.linalg.lstsq(design, logs[:, 2])[0][:2]
    is_fitted = fit.counts[0] >= MIN_CROSSINGS
    return (
        float(fit.slopes[0]) if is_fitted else -1.0,
        np.log(fit.ends[..., 0]).mean(axis=0) if is_fitted else logs[:, :2].mean(axis=0),
        float(np.linalg.norm(gradient)),
    )


class _Simulation(NoisySimulation):
    """Values whose level sets are straight lines."""

    claim: Claim

    # the slope of a level set is the exponent of a power law
    has_exponent = True

    def exact(self, wrong: float) -> np.ndarray:
        """Return values [rows] whose logarithm is linear in the logarithms of the hyperparameters.

        The slope of the level set is wrong by `wrong`. The level set passes through the centre of the recorded one, and
        the norm of the gradient equals the recorded norm.
        """
        claim = self.claim
        target = exponent_between(*bounds(claim), wrong)
        parts: dict[tuple[object, ...], list[pd.DataFrame]] = {}
        rows = self.table.assign(mean=self.means(self.table))
        for group, part in rows.groupby(list(claim.groups)) if claim.groups else [((), rows)]:
            parts.setdefault(group[: len(claim.each)], []).append(part)
        values = np.full(len(rows), np.nan)
        for sizes in parts.values():
            start = _plane(claim, sizes[0])[0]
            for k, part in enumerate(sizes):
                _, centre, steepness = _plane(claim, part)
                growth = target * k / max(len(sizes) - 1, 1)
                slope = start + growth if claim.growing_along else target
                away = np.log(part[list(claim.over)].to_numpy(float)) - centre
                distance = away @ np.array([-slope, 1.0]) / np.hypot(1.0, slope)
                values[part.index] = claim.level * np.exp(-steepness * distance)
        return values

"""A quantity is ordered by a column, or by the ratio of two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from scaling_limits.claims.base import Names, Some, SteppedClaim
from scaling_limits.claims.checks import Problem, ratio_problems
from scaling_limits.claims.measurement import (
    Interval,
    Measurement,
    UndecidedError,
    diverged,
    number,
    prose,
    setting,
    with_interval,
)
from scaling_limits.claims.points import (
    decide,
    generator_of,
    interval_of,
    points_of,
    quantity_name,
    ratio_column,
    steps_of,
    table_of,
    together,
)
from scaling_limits.claims.simulation import NoisySimulation, Recorded, Simulation
from scaling_limits.figures.needs import Grids

if TYPE_CHECKING:
    from scaling_limits.records import Results

MIN_POINTS = 4
POWERS = 2.0 ** np.arange(-2, 2 + 1 / 16, 1 / 16)
"""The powers that are compared."""
ALLOWED_POWERS = (2**-0.5, 2**0.5)
"""Powers that are nearer to 1 than to 1/2 and 2, in logarithms."""


_Power = tuple[bool | None, float, Interval | None]
"""Whether a power is allowed, the power, and its interval."""


class Claim(SteppedClaim):
    """Spearman's correlation of the quantity with a column, or the ratio of two, is at least `above`.

    The correlation with a ratio is high as well if the power of one column is wrong by one half. The power p with which
    the quantity is a function of first / second^p must therefore be nearer to 1 than to 1/2 and 2. A point is one value
    of the columns `by`; with `at`, at each of the steps.
    """

    kind: Literal["rank_correlation"]
    by: Some = ("width", "depth")
    ratio: tuple[str, str] | tuple[str]
    above: float = Field(ge=-1, lt=1)

    @property
    def columns(self) -> Names:
        """The columns `by`."""
        return self.by

    def problems(self, grids: Grids) -> Iterator[Problem]:
        """Yield problems of the ratio as well."""
        yield from super().problems(grids)
        yield from ratio_problems(self, "ratio", self.ratio)

    def measure(self, results: Results, *_: Results) -> Measurement:
        """Measure Spearman's correlation, the smallest over the steps; its interval is that over seeds.

        The claim holds if the intervals of the correlation, and of a ratio's power, lie within what is allowed at every
        step, and fails if one of them lies outside at some step.
        A quantity that is the same everywhere is not ordered: its correlation counts as 0. If
        training diverged at some points the claim fails, since they have no rank.

        Raises:
            UndecidedError: there are fewer than four points, a column of the ratio has a single value, or every cell
                diverged.
        """
        threshold = f"at least {setting(self.above)}"
        generator = generator_of(self)
        correlations, sampled = [], []
        powers: list[_Power] = []
        steps = steps_of(self, results)
        for quantity in steps:
            table = table_of(self, results, self.by, quantity=quantity)
            points = points_of(table, self.by)
            num_points = len(points.settings)
            if num_points < MIN_POINTS:
                raise UndecidedError(f"{num_points} points are too few to rank")
            ratio = ratio_column(self, points.settings, self.ratio)
            means = points.means
            if not np.isfinite(means).all():
                count = int(np.sum(~np.isfinite(means)))
                return diverged(threshold, f"training diverged at {count} of {num_points} points")
            correlations.append(float(_spearman(means[None], ratio[None])[0]))
            sampled_means = points.draws(generator).T
            sampled.append(_spearman(sampled_means, np.broadcast_to(ratio, sampled_means.shape)))
            columns = [points.settings[column].to_numpy(float) for column in self.ratio]
            for name, column in zip(self.ratio, columns, strict=True):
                if len(np.unique(column)) < 2:
                    raise UndecidedError(f"there is only one {prose(name)}", "sizes")
            if len(columns) == 2:
                scale = points.spread.scale
                power = float(_power(scale.to(means)[:, None], *columns)[0])
                ends = interval_of(_power(scale.to(sampled_means.T), *columns))
                powers.append((decide(power, ends, *ALLOWED_POWERS), power, ends))
        value = min(correlations)
        interval = interval_of(np.min(sampled, axis=0))
        lowest = f", the lowest of {len(steps)} steps" if len(steps) > 1 else ""
        named = " / ".join(map(prose, self.ratio))
        detail = (
            f"the rank correlation of {quantity_name(self)} with {named} over {num_points} points is "
            f"{with_interval(value, interval)}{lowest}; it should be {threshold}"
        )
        of_power = together([answer for answer, *_ in powers])
        if powers:
            detail += _in_words(named, powers, of_power)
        return Measurement(
            holds=together((decide(value, interval, self.above, np.inf), of_power)),
            value=value,
            interval=interval,
            threshold=threshold,
            detail=detail,
        )

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of values in the order of the column or ratio, or in a wrong one."""
        return _Simulation(self, recorded)


def _spearman(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the rank correlation of the rows of [R, P] and [R, P]: [R]; 0 where a row is constant."""
    import pandas as pd

    a, b = (pd.DataFrame(values.T).rank().to_numpy().T for values in (first, second))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    norm = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.asarray((a * b).sum(axis=1) / np.where(norm > 0, norm, 1.0))


def _in_words(named: str, powers: Sequence[_Power], of_power: bool | None) -> str:
    """Say which power is farthest from 1, among those of the steps that decide."""
    power, ends = max(
        ((value, ends) for answer, value, ends in powers if answer is of_power),
        key=lambda each: abs(np.log(each[0])),
    )
    low, high = map(number, ALLOWED_POWERS)
    return (
        f"; as a function of {named}^p it has p = {with_interval(power, ends)}, which should be from "
        f"{low} to {high}"
    )


def _power(values: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the power p [R] with which values [P, R] are best a function of `first` / `second`^p.

    The function is a parabola in the ratio's logarithm, the best one by least squares.
    """
    residuals = []
    for power in POWERS:
        logs = np.log(first) - power * np.log(second)
        fit, _ = np.linalg.qr(np.vander(logs - logs.mean(), 3))
        residuals.append(((values - fit @ (fit.T @ values)) ** 2).sum(axis=0))
    return np.asarray(POWERS[np.argmin(residuals, axis=0)])


class _Simulation(NoisySimulation):
    """The recorded values in the order of the ratio, or of one with a wrong power; those of a column, or reversed."""

    claim: Claim

    @property
    def has_exponent(self) -> bool:
        """Whether there is a ratio, whose second column has the power one."""
        return len(self.claim.ratio) == 2

    def exact(self, wrong: float) -> np.ndarray:
        """Return the sorted values, at the ranks of the column or ratio."""
        first, *second = (self.table[column].to_numpy(float) for column in self.claim.ratio)
        # the power is 1/2 or 2, if wrong by one half
        ratio = first / second[0] ** 4.0**wrong if second else (-first if wrong else first)
        return np.asarray(np.sort(self.recorded)[np.argsort(np.argsort(ratio))])

"""Claim that a quantity is ordered by a column, or by the ratio of two columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from pydantic import Field

from scaling_limits.claims.base import Names, Some, SteppedClaim
from scaling_limits.claims.checks import Problem, ratio_problems
from scaling_limits.claims.intervals import Condition, decide, deciding, interval_of, together
from scaling_limits.claims.measurement import (
    Interval,
    Measurement,
    UndecidedError,
    diverged,
    prose,
    setting,
)
from scaling_limits.claims.points import (
    Points,
    new_generator,
    points_of,
    quantity_name,
    ratio_column,
    steps_of,
    table_of,
)
from scaling_limits.claims.simulation import NoisySimulation, Recorded, Simulation
from scaling_limits.figures.needs import Grids
from scaling_limits.outcomes import number, with_interval

if TYPE_CHECKING:
    from scaling_limits.records import Results

MIN_POINTS = 4
POWERS = 2.0 ** np.arange(-2, 2 + 1 / 16, 1 / 16)
"""The powers p among which the best is sought."""
ALLOWED_POWERS = (2**-0.5, 2**0.5)
"""Powers that are closer to 1 than to 1/2 and 2, on a logarithmic scale."""


_Power = tuple[bool | None, float, Interval | None]
"""Whether a power is allowed, the power, and its confidence interval."""


class _Ranks(NamedTuple):
    """The rank correlation at one step, the correlation of each sample [R], and the power of a ratio of two columns."""

    correlation: float
    sampled: np.ndarray
    power: _Power | None


class Claim(SteppedClaim):
    """Spearman's correlation of the quantity with a column, or with the ratio of two columns, is at least `above`.

    The correlation with a ratio is also high if the power of one column is wrong by one half. The power p for which the
    quantity is best described as a function of first / second^p must therefore be closer to 1 than to 1/2 and 2. A
    point is one combination of values of the columns `by`. With `at`, the claim is judged at each of these steps.
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
        """Yield problems of the claim, including those of its ratio."""
        yield from super().problems(grids)
        yield from ratio_problems(self, "ratio", self.ratio)

    def measure(self, results: Results, *_: Results) -> Measurement:
        """Measure the smallest Spearman correlation over the steps, with its confidence interval over seeds.

        The claim holds if the intervals of the correlation, and of the power of a ratio, lie within the allowed ranges
        at every step. It fails if an interval lies outside at some step. A constant quantity is not ordered: its
        correlation counts as 0. The claim fails if training diverged at some points, since these have no rank.

        Raises:
            UndecidedError: there are fewer than four points, a column of the ratio has a single value, or every cell
                diverged.
        """
        allowed = f"at least {setting(self.above)}"
        threshold = f"rank correlation {allowed}"
        generator = new_generator()
        ranks: list[_Ranks] = []
        steps = steps_of(self, results)
        for quantity in steps:
            table = table_of(self, results, self.by, quantity=quantity)
            points = points_of(table, self.by)
            num_points = len(points.settings)
            if num_points < MIN_POINTS:
                raise UndecidedError(f"there are fewer than {MIN_POINTS} points to rank")
            count = int(np.sum(~np.isfinite(points.means)))
            if count:
                return diverged(threshold, f"training diverged at {count} of {num_points} points")
            ranks.append(self._ranks(points, generator))
        value = min(each.correlation for each in ranks)
        interval = interval_of(np.min([each.sampled for each in ranks], axis=0))
        powers = [each.power for each in ranks if each.power is not None]
        lowest = f", the lowest of {len(steps)} steps" if len(steps) > 1 else ""
        named = " / ".join(map(prose, self.ratio))
        detail = (
            f"the rank correlation of {quantity_name(self)} with {named} over {num_points} points is "
            f"{with_interval(value, interval)}{lowest}; it should be {allowed}"
        )
        of_power = together([decision for decision, *_ in powers])
        if powers:
            detail += _powers_text(named, powers, of_power)
        ordered = decide(value, interval, self.above, np.inf)
        conditions = [Condition(ordered, value, interval, threshold)]
        if powers:
            low, high = map(number, ALLOWED_POWERS)
            between = f"power p of {named}^p between {low} and {high}"
            conditions.append(Condition(of_power, *_farthest(powers, of_power), between))
        return Measurement(**deciding(conditions)._asdict(), detail=detail)

    def _ranks(self, points: Points, generator: np.random.Generator) -> _Ranks:
        """Return the rank correlation with the ratio at one step.

        Raises:
            UndecidedError: a column of the ratio has a single value.
        """
        ratio = ratio_column(self, points.settings, self.ratio)
        sampled = points.draws(generator).T
        columns = [points.settings[column].to_numpy(float) for column in self.ratio]
        for name, column in zip(self.ratio, columns, strict=True):
            if len(np.unique(column)) < 2:
                raise UndecidedError(f"there is only one {prose(name)}", "sizes")
        power = None
        if len(columns) == 2:
            scale = points.spread.scale
            value = float(_power(scale.to(points.means)[:, None], *columns)[0])
            interval = interval_of(_power(scale.to(sampled.T), *columns))
            power = decide(value, interval, *ALLOWED_POWERS), value, interval
        return _Ranks(
            float(_spearman(points.means[None], ratio[None])[0]),
            _spearman(sampled, np.broadcast_to(ratio, sampled.shape)),
            power,
        )

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of values in the order of the column or ratio, or in a wrong order."""
        return _Simulation(self, recorded)


def _spearman(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the rank correlations [R] of the rows of two arrays [R, P]; 0 if a row is constant."""
    import pandas as pd

    a, b = (pd.DataFrame(values.T).rank().to_numpy().T for values in (first, second))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    norm = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.asarray((a * b).sum(axis=1) / np.where(norm > 0, norm, 1.0))


def _powers_text(named: str, powers: Sequence[_Power], of_power: bool | None) -> str:
    """Describe the power farthest from 1 among the steps that decide."""
    power, ends = _farthest(powers, of_power)
    low, high = map(number, ALLOWED_POWERS)
    return (
        f"; as a function of {named}^p it has p = {with_interval(power, ends)}, which should be from "
        f"{low} to {high}"
    )


def _farthest(powers: Sequence[_Power], decision: bool | None) -> tuple[float, Interval | None]:
    """Return the power farthest from 1 among the steps with a decision, and its interval."""
    return max(
        ((value, ends) for decided, value, ends in powers if decided is decision),
        key=lambda each: abs(np.log(each[0])),
    )


def _power(values: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the power p [R] for which values [P, R] are best described as a function of `first` / `second`^p.

    The function is the least-squares parabola in the logarithm of the ratio.
    """
    residuals = []
    for power in POWERS:
        logs = np.log(first) - power * np.log(second)
        fit, _ = np.linalg.qr(np.vander(logs - logs.mean(), 3))
        residuals.append(((values - fit @ (fit.T @ values)) ** 2).sum(axis=0))
    return np.asarray(POWERS[np.argmin(residuals, axis=0)])


class _Simulation(NoisySimulation):
    """The recorded values, sorted by the ratio or by a ratio with a wrong power; for a column, sorted or reversed."""

    claim: Claim

    @property
    def has_exponent(self) -> bool:
        """Whether there is a ratio, whose second column has the power 1."""
        return len(self.claim.ratio) == 2

    def exact(self, wrong: float) -> np.ndarray:
        """Return the sorted recorded values at the ranks of the column or ratio."""
        first, *second = (self.table[column].to_numpy(float) for column in self.claim.ratio)
        # an error of one half gives the power 1/2 or 2
        ratio = first / second[0] ** 4.0**wrong if second else (-first if wrong else first)
        return np.asarray(np.sort(self.recorded)[np.argsort(np.argsort(ratio))])

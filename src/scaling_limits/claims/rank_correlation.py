"""A quantity is ordered by the ratio of two columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from scaling_limits.claims.base import Names, Some, SteppedClaim
from scaling_limits.claims.checks import Problem, ratio_problems
from scaling_limits.claims.measurement import (
    Measurement,
    UndecidedError,
    diverged,
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
)
from scaling_limits.claims.simulation import NoisySimulation, Recorded, Simulation
from scaling_limits.figures.needs import Grids

if TYPE_CHECKING:
    from scaling_limits.records import Results

MIN_POINTS = 4


class Claim(SteppedClaim):
    """Spearman's correlation of the quantity with the ratio of two columns is at least `above`.

    A point is one value of the columns `by`; with `at`, at each of the steps.
    """

    kind: Literal["rank_correlation"]
    by: Some = ("width", "depth")
    ratio: tuple[str, str]
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

        A quantity that is the same everywhere is not ordered: its correlation counts as 0. Where
        training diverged at some points the claim fails, since they have no rank.

        Raises:
            UndecidedError: there are fewer than four points, or every cell diverged.
        """
        top, bottom = self.ratio
        threshold = f"at least {setting(self.above)}"
        generator = generator_of(self)
        correlations, sampled = [], []
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
        value = min(correlations)
        interval = interval_of(np.min(sampled, axis=0))
        lowest = f", the lowest of {len(steps)} steps" if len(steps) > 1 else ""
        return Measurement(
            holds=decide(value, interval, self.above, np.inf),
            value=value,
            interval=interval,
            threshold=threshold,
            detail=f"the rank correlation of {quantity_name(self)} with {prose(top)} / {prose(bottom)} "
            f"over {num_points} points is {with_interval(value, interval)}{lowest}; "
            f"it should be {threshold}",
        )

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of values in the order of the ratio, or reversed."""
        return _Simulation(self, recorded)


def _spearman(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the rank correlation of the rows of [R, P] and [R, P]: [R]; 0 where a row is constant."""
    import pandas as pd

    a, b = (pd.DataFrame(values.T).rank().to_numpy().T for values in (first, second))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    norm = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.asarray((a * b).sum(axis=1) / np.where(norm > 0, norm, 1.0))


class _Simulation(NoisySimulation):
    """The recorded values in the order of the ratio, or in the opposite one."""

    claim: Claim

    def exact(self, wrong: float) -> np.ndarray:
        """Return the sorted values, at the ranks of the ratio."""
        ratio = ratio_column(self.claim, self.table, self.claim.ratio)
        order = np.argsort(np.argsort(-ratio if wrong else ratio))
        return np.asarray(np.sort(self.recorded)[order])

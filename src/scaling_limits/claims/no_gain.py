"""Claim that the best value over the hyperparameters does not improve along a size, or gets worse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from scaling_limits.claims.base import BestClaim, Region
from scaling_limits.claims.checks import Problem, ratio_problems
from scaling_limits.claims.intervals import best_ratio_interval, decide
from scaling_limits.claims.measurement import Measurement, UndecidedError, prose, setting
from scaling_limits.claims.optima import open_edge
from scaling_limits.claims.points import (
    by_size,
    new_generator,
    no_value,
    quantity_name,
    ratio_of,
    require_positive,
    table_of,
)
from scaling_limits.claims.simulation import BestSimulation, Recorded, Simulation
from scaling_limits.figures.needs import Grids
from scaling_limits.outcomes import number, with_interval

if TYPE_CHECKING:
    from scaling_limits.records import Results


class Claim(BestClaim):
    """The best value over the hyperparameters `over` does not improve along a size.

    At the largest size it is at least 1 - `tolerance` times the best value at the smallest size, or, if the claim is
    that larger networks are worse, at least 1 + `margin` times. With `tolerance`, a control that does improve is
    required, since the claim would also hold if nothing improved anywhere. `where` selects the sizes that count, such
    as the steps from the first update on.
    """

    kind: Literal["no_gain"]
    where: Region | None = None
    tolerance: float | None = Field(default=None, gt=0, lt=1)
    margin: float | None = Field(default=None, gt=0)

    @property
    def bound(self) -> float:
        """The smallest allowed ratio of the best value at the largest size to the best value at the smallest size."""
        return 1 + self.margin if self.margin is not None else 1 - (self.tolerance or 0.0)

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        if (self.tolerance is None) == (self.margin is None):
            raise ValueError("give either tolerance (no gain) or margin (larger is worse)")
        if self.tolerance is not None and not self.control:
            raise ValueError("with tolerance, name a control: a grid that does gain along the size")
        return self

    def problems(self, grids: Grids) -> Iterator[Problem]:
        """Yield problems of the claim, including those of its region."""
        yield from super().problems(grids)
        yield from ratio_problems(self, "where", self.where.ratio if self.where else ())

    def measure(self, results: Results, *_: Results) -> Measurement:
        """Measure the ratio of the best value at the largest size to the best value at the smallest size.

        The claim holds if this ratio is at least `bound`, and fails if it is below. The quantity must be positive.

        Raises:
            UndecidedError: there are fewer than two sizes, every cell of one of the two sizes diverged, or the optimum
                of the size with the larger value, relative to `bound`, may lie outside its grid, where the value could
                be smaller still.
        """
        columns = list(self.over)
        table = table_of(self, results, [self.along, *columns], where=self.where)
        sizes = by_size(table, self.along, columns)
        ends = [min(sizes), max(sizes)]
        where = [f"{prose(self.along)} {setting(size)}" for size in ends]
        generator = new_generator()
        best, sampled = [], []
        for size, at in zip(ends, where, strict=True):
            points = sizes[size]
            require_positive(self, points, f" at {at}")
            best.append(float(points.means.min()))
            if not np.isfinite(best[-1]):
                raise no_value(self, at)
            sampled.append(points.draws(generator).min(axis=0))
        value = float(ratio_of(best[1], best[0]))
        ratios = ratio_of(sampled[1], sampled[0])
        interval = best_ratio_interval(value, ratios, self.over)
        holds = decide(value, interval, self.bound, np.inf)
        larger = 1 if value >= self.bound else 0
        reason = open_edge(sizes[ends[larger]], columns, tolerance=0.0)
        if reason is not None:
            raise UndecidedError(f"at {where[larger]}, {reason}", "optimum at the edge")
        threshold = f"at least {setting(self.bound)}"
        return Measurement(
            holds=holds,
            value=value,
            interval=interval,
            size=ends[1],
            threshold=f"ratio of the {quantity_name(self)} {threshold}",
            detail=f"the best {quantity_name(self)} goes from {number(best[0])} at {where[0]} to {number(best[1])} at "
            f"{setting(ends[1])}, a ratio of {with_interval(value, interval)}; it should be {threshold}",
        )

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of ratios on either side of the bound."""
        return _Simulation(self, recorded)


class _Simulation(BestSimulation):
    """The best value at the largest size, as far from the bound as recorded, on the right or the wrong side."""

    claim: Claim

    @property
    def constant_is_void(self) -> bool:
        """False if the claim is that nothing improves: constant values satisfy it."""
        return self.claim.margin is not None

    def exact(self, wrong: float) -> np.ndarray:
        """Return the recorded means, with another ratio of the best values at the largest and the smallest size."""
        best = self.best(self.table, self.recorded)
        first, last = min(best), max(best)
        away = abs(np.log(best[last] / best[first] / self.claim.bound))
        ratio = self.claim.bound * np.exp(-away if wrong else away)
        return self.scaled(best, best | {last: best[first] * ratio})

"""Claim that the best value over the hyperparameters decreases along a size."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from scaling_limits.claims.base import MARGIN, BestClaim
from scaling_limits.claims.intervals import (
    TAIL,
    Condition,
    best_ratio_interval,
    decide,
    deciding,
    extreme_of,
)
from scaling_limits.claims.measurement import Measurement, UndecidedError, prose, setting
from scaling_limits.claims.optima import open_edge
from scaling_limits.claims.points import (
    Points,
    by_size,
    new_generator,
    no_value,
    quantity_name,
    ratio_of,
    require_positive,
    table_of,
)
from scaling_limits.claims.simulation import BestSimulation, Recorded, Simulation
from scaling_limits.outcomes import number, with_interval

if TYPE_CHECKING:
    from scaling_limits.records import Results


class Claim(BestClaim):
    """The best value over the hyperparameters `over` decreases along a size, by the fraction `margin` in total.

    No step to the next larger size increases it by more than the factor 1 + `tolerance`.
    """

    kind: Literal["improves_with"]
    tolerance: float = Field(gt=0)
    margin: float = Field(default=MARGIN, gt=0, lt=1)

    def measure(self, results: Results, *_: Results) -> Measurement:
        """Measure the ratio of the best values at the largest and smallest size, and the largest ratio of neighbours.

        The claim holds if the whole confidence interval of the first ratio lies below 1 - `margin`, and the whole
        interval of the second below 1 + `tolerance`. It fails if one of the intervals lies entirely above its bound.
        The quantity must be positive.

        Raises:
            UndecidedError: an optimum may lie outside the grid, or every cell of the smallest size diverged.
        """
        sizes = self._points(results)
        best = {size: float(points.means.min()) for size, points in sizes.items()}
        smallest, largest = min(sizes), max(sizes)
        if not np.isfinite(best[smallest]):
            raise no_value(self, f"{prose(self.along)} {setting(smallest)}")

        generator = new_generator()
        sampled = {size: points.draws(generator).min(axis=0) for size, points in sizes.items()}
        pairs = list(pairwise(sizes))
        steps = [float(ratio_of(best[large], best[small])) for small, large in pairs]
        sampled_steps = [ratio_of(sampled[large], sampled[small]) for small, large in pairs]
        step, allowed = max(steps), 1 + self.tolerance
        small, large = pairs[int(np.argmax(steps))]
        step_interval = extreme_of(step, np.max(sampled_steps, axis=0), least=0.0)
        along, ratio = prose(self.along), f"ratio of the {quantity_name(self)}"
        place = f"from {along} {setting(small)} to {setting(large)}"
        # the step that may be the largest increase
        highest = np.quantile(sampled_steps, 1 - TAIL, axis=1, method="nearest")
        start, end = pairs[int(np.argmax(highest))]
        step_holds = decide(step, step_interval, 0.0, allowed)
        if step_holds is None and (start, end) != (small, large):
            place += f", uncertain from {setting(start)} to {setting(end)}"
        value = float(ratio_of(best[largest], best[smallest]))
        ratios = ratio_of(sampled[largest], sampled[smallest])
        interval = best_ratio_interval(value, ratios, self.over)
        below = f"{ratio} below {setting(1 - self.margin)}, no step above {setting(allowed)}"
        condition = deciding(
            [
                Condition(
                    decide(value, interval, 0.0, 1 - self.margin),
                    value,
                    interval,
                    below,
                    size=largest,
                ),
                Condition(
                    step_holds,
                    step,
                    step_interval,
                    f"{ratio} at most {setting(allowed)} from each {along} to the next",
                    place,
                ),
            ]
        )
        return Measurement(
            **condition._asdict(),
            detail=f"the best {quantity_name(self)} goes from {number(best[smallest])} at {along} "
            f"{setting(smallest)} to {number(best[largest])} at {setting(largest)}, "
            f"a ratio of {with_interval(value, interval)}, which should be below {setting(1 - self.margin)}; "
            f"from one {along} to the next, the largest ratio is {with_interval(step, step_interval)}, "
            f"which should be at most {setting(allowed)}",
        )

    def _points(self, results: Results) -> dict[float, Points]:
        """Return the points at each size.

        Raises:
            UndecidedError: an optimum may lie outside the grid, or a value is not positive; see also `table_of`.
        """
        columns = list(self.over)
        sizes = by_size(table_of(self, results, [self.along, *columns]), self.along, columns)
        for size, points in sizes.items():
            reason = open_edge(points, columns, self.tolerance)
            if reason is not None:
                raise UndecidedError(
                    f"at {prose(self.along)} {setting(size)}, {reason}", "optimum at the edge"
                )
            require_positive(self, points)
        return sizes

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of best values along the size, as recorded or reversed."""
        return _Simulation(self, recorded)


class _Simulation(BestSimulation):
    """The recorded best values, or the best values in the opposite order of sizes."""

    claim: Claim

    def exact(self, wrong: float) -> np.ndarray:
        """Return the recorded means, scaled to the best values in the opposite order of sizes if the claim is wrong."""
        best = self.best(self.table, self.recorded)
        sizes = sorted(best)
        reverse = dict(zip(sizes, (best[size] for size in reversed(sizes)), strict=True))
        return self.scaled(best, reverse if wrong else best)

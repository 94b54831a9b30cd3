"""Claim about the cost of using the hyperparameters that are best at the smallest size at other sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from pydantic import Field

from scaling_limits.claims.base import BestClaim, Some
from scaling_limits.claims.intervals import decide, extreme_of
from scaling_limits.claims.measurement import Measurement, UndecidedError, prose, setting
from scaling_limits.claims.optima import BowlSimulation, open_edge
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
from scaling_limits.claims.simulation import Recorded, Simulation
from scaling_limits.outcomes import with_interval

if TYPE_CHECKING:
    from scaling_limits.records import Results


class _Cost(NamedTuple):
    """Cost at one size: the ratio to the smallest value, sampled ratios [R], and the least cost of half the grid."""

    ratio: float
    sampled: np.ndarray
    typical: float


class Claim(BestClaim):
    """The smallest size's best hyperparameters increase values at other sizes at most by the factor 1 + `tolerance`."""

    kind: Literal["transfer_cost"]
    over: Some
    tolerance: float = Field(gt=0)
    control: Some
    ratio_to = "best"

    def measure(self, results: Results, *_: Results) -> Measurement:
        """Measure the largest ratio of the value at the smallest size's optimum to the smallest value at the same size.

        A flat direction of the hyperparameters has no resolved optimum, but also costs nothing. If half of the grid
        costs no more than the tolerance, however, any choice transfers, and the claim is undecided. The wrong exponent
        of the control must cost more than the tolerance. The quantity must be positive.

        Raises:
            UndecidedError: an optimum may lie outside the grid, or was not run at another size, or the values hardly
                depend on the hyperparameters.
        """
        columns = list(self.over)
        sizes = by_size(table_of(self, results, [self.along, *columns]), self.along, columns)
        for size, points in sizes.items():
            require_positive(self, points, f" at {prose(self.along)} {setting(size)}")
        reference, *larger = sizes
        start = sizes[reference]
        if not np.isfinite(start.means[start.best]):
            raise no_value(self, f"{prose(self.along)} {setting(reference)}")
        generator = new_generator()
        sampled_best = start.draws(generator).argmin(axis=0)
        costs: dict[float, _Cost] = {}
        for size in larger:
            rows = _same_settings(
                start, sizes[size], columns, f"{prose(self.along)} {setting(size)}"
            )
            costs[size] = _cost(sizes[size], rows[start.best], rows[sampled_best], generator)
        costliest = max(larger, key=lambda size: (costs[size].ratio, size))
        value = costs[costliest].ratio
        interval = extreme_of(value, np.max([c.sampled for c in costs.values()], axis=0), least=1.0)
        holds = decide(value, interval, 0.0, 1 + self.tolerance)
        if holds and costs[costliest].typical <= 1 + self.tolerance:
            raise UndecidedError(
                f"at {prose(self.along)} {setting(costliest)} half of the grid may cost as little, "
                "so that any choice would do"
            )
        # an optimum beyond the edge at another size would increase the cost, so it cannot change a claim that fails
        for size in (reference,) if holds is False else sizes:
            self._require_closed(sizes[size], size)
        best = start.settings.iloc[start.best]
        settings = ", ".join(f"{prose(column)} {setting(best[column])}" for column in columns)
        return Measurement(
            holds=holds,
            value=value,
            interval=interval,
            threshold=f"ratio of the {quantity_name(self)} with the best of {prose(self.along)} "
            f"{setting(reference)} to the smallest at most {setting(1 + self.tolerance)}",
            place=f"at {prose(self.along)} {setting(costliest)}",
            size=costliest,
            detail=f"the best of {prose(self.along)} {setting(reference)} ({settings}) gives "
            f"{with_interval(value, interval)} times the smallest {quantity_name(self)} "
            f"at {setting(costliest)}; allowed {setting(1 + self.tolerance)}",
        )

    def _require_closed(self, points: Points, size: float) -> None:
        """Raise UndecidedError if the optimum of a size may lie outside its grid."""
        reason = open_edge(points, list(self.over), self.tolerance)
        if reason is not None:
            raise UndecidedError(
                f"at {prose(self.along)} {setting(size)}, {reason}", "optimum at the edge"
            )

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of optima that do not move."""
        return BowlSimulation(self, recorded)


def _cost(
    points: Points, best: int, sampled_best: np.ndarray, generator: np.random.Generator
) -> _Cost:
    """Return the cost at one size of the hyperparameters in row `best`, and of each sample's in `sampled_best` [R]."""
    means = points.draws(generator)
    chosen = np.take_along_axis(means, sampled_best[None, :], axis=0)[0]
    return _Cost(
        float(ratio_of(points.means[best], points.means.min())),
        ratio_of(chosen, means.min(axis=0)),
        _typical(points, means),
    )


def _typical(points: Points, sampled: np.ndarray) -> float:
    """Return the lower bound of the median cost over the grid at one size, from `sampled` means [P, R]."""
    value = float(ratio_of(np.median(points.means), points.means.min()))
    cost = ratio_of(np.median(sampled, axis=0), sampled.min(axis=0))
    interval = extreme_of(value, cost, least=1.0)
    return interval[0] if interval else value


def _same_settings(start: Points, points: Points, columns: list[str], where: str) -> np.ndarray:
    """Return the row in `points` with the same settings, for each point of `start` [P].

    Raises:
        UndecidedError: the hyperparameters of `start` were not all run.
    """
    index = points.settings.set_index(columns).index
    rows = index.get_indexer(start.settings.set_index(columns).index)
    if (rows < 0).any():
        raise UndecidedError(f"the hyperparameters are not the same grid at {where}")
    return np.asarray(rows)

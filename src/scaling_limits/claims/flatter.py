"""Claim that a quantity depends less on one hyperparameter than on another."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from scaling_limits.claims.base import ClaimBase, Names
from scaling_limits.claims.checks import Problem, numbers, values_of
from scaling_limits.claims.intervals import decide, extreme_of, together
from scaling_limits.claims.measurement import (
    Interval,
    Measurement,
    UndecidedError,
    diverged,
    octaves,
    prose,
    setting,
)
from scaling_limits.claims.optima import profile
from scaling_limits.claims.points import (
    Points,
    grouped,
    new_generator,
    quantity_name,
    ratio_of,
    require_positive,
    table_of,
)
from scaling_limits.claims.simulation import NoisySimulation, Recorded, Simulation
from scaling_limits.figures.needs import GridCells, Grids, logarithm_problem
from scaling_limits.outcomes import number, with_interval

if TYPE_CHECKING:
    import pandas as pd

    from scaling_limits.records import Results


class Claim(ClaimBase):
    """The quantity depends less on one hyperparameter than on another, over the same number of octaves.

    The spread over a hyperparameter is (max - min) / min of its values, where each value is the best over the other
    hyperparameter and the columns `profile`. The spread over `over` is at most 1/`factor` of the spread over `than`,
    for every combination of values of the columns `each`.
    """

    kind: Literal["flatter"]
    over: str
    than: str
    profile: Names = ()
    each: Names = ()
    factor: float = Field(default=3.0, gt=1)

    @property
    def columns(self) -> Names:
        """The columns `each`, both hyperparameters, and the columns over which the best value counts."""
        return (*self.groups, self.over, self.than, *self.profile)

    @property
    def groups(self) -> Names:
        """The columns for whose values the spreads are compared separately."""
        return self.each

    def problems(self, grids: Grids) -> Iterator[Problem]:
        """Yield problems of the claim, including those of the hyperparameters."""
        yield from super().problems(grids)
        for key, column in (("over", self.over), ("than", self.than)):
            values = values_of(self, column, self.grids, grids)
            problem = logarithm_problem(column, values, self.grids)
            if problem is not None:
                yield Problem((key,), problem)
        for names in (self.grids, *((grid,) for grid in self.control)):
            yield from self._span_problems([grids[name] for name in names], " and ".join(names))

    def _span_problems(self, grids: Sequence[GridCells], named: str) -> Iterator[Problem]:
        """Yield a problem if the hyperparameters span different numbers of octaves.

        Spans are compared as configured and as listed in the file.
        """

        def configured(column: str) -> set[Hashable]:
            return set().union(*(grid.configured(column, self.only) for grid in grids))

        def written(column: str) -> set[Hashable]:
            values: set[Hashable] = set()
            for grid in grids:
                written_values = grid.written_values(column)
                values |= (
                    grid.configured(column, self.only) if written_values is None else written_values
                )
            return values

        for values_of_column in (configured, written):
            both = [numbers(values_of_column(column)) for column in (self.over, self.than)]
            if not all(each and min(each) > 0 for each in both):
                continue
            spans = [math.log2(max(each) / min(each)) for each in both]
            if not math.isclose(*spans, abs_tol=1e-6):
                lengths = f"{self.over} spans {spans[0]:.3g} octaves and {self.than} {spans[1]:.3g}"
                problem = f"in {named}, {lengths}; spreads compare over equal spans"
                yield Problem(("than",), problem)
                break

    def measure(self, results: Results, *_: Results) -> Measurement:
        """Measure the ratio of the spreads over both hyperparameters, the largest of the groups `each`.

        A spread is (max - min) / min of the best values at each value of the hyperparameter. The claim fails if every
        cell of some value of `over` diverged; values of `than` at which every cell diverged are ignored.

        Raises:
            UndecidedError: the quantity is not positive, the hyperparameters span different numbers of octaves, the
                quantity is equal at all converged values of `than`, or every cell of a group diverged.
        """
        table = table_of(self, results, self.columns)
        generator = new_generator()
        allowed = f"at most {setting(float(f'{1 / self.factor:.3g}'))}"
        threshold = f"ratio of spreads {allowed}"
        judged: list[tuple[bool | None, float, Interval | None, str]] = []
        points_by = [self.over, self.than, *self.profile]
        for group, points in grouped(table, self.each, points_by).items():
            where = "".join(
                f" at {prose(column)} {setting(value)}"
                for column, value in zip(self.each, group, strict=True)
            )
            _require_ratios(self, points, where)
            spreads = [float(each[0]) for each in _spreads(self, points, points.means[:, None])]
            if np.isinf(spreads[0]):
                return diverged(threshold, f"at some {prose(self.over)} every cell diverged{where}")
            if spreads[1] == 0:
                reason = f"{quantity_name(self)} is the same at every {prose(self.than)} that did not diverge"
                raise UndecidedError(f"{reason}{where}")
            value = float(ratio_of(*spreads))
            ratios = ratio_of(*_spreads(self, points, points.draws(generator)))
            interval = extreme_of(value, ratios, least=0.0)
            detail = (
                f"{quantity_name(self)} spreads by {number(spreads[0])} over {prose(self.over)} "
                f"and by {number(spreads[1])} over {prose(self.than)}{where}: "
                f"the ratio is {with_interval(value, interval)}; it should be {allowed}"
            )
            judged.append((decide(value, interval, 0.0, 1 / self.factor), value, interval, detail))
        holds = together([holds_here for holds_here, *_ in judged])
        holds, value, interval, detail = max(
            (each for each in judged if each[0] is holds), key=lambda each: each[1]
        )
        return Measurement(holds, value, interval, threshold, detail)

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of exchanged hyperparameters."""
        return _Simulation(self, recorded)


def _require_ratios(claim: Claim, points: Points, where: str) -> None:
    if not np.isfinite(points.means).any():
        raise UndecidedError(f"every cell diverged{where}", "divergence")
    require_positive(claim, points, where)
    spans = []
    for column in (claim.over, claim.than):
        values = points.settings[column].to_numpy(float)
        spans.append(float(np.log2(values.max() / values.min())))
    if not np.isclose(spans[0], spans[1]):
        lengths = (
            f"{prose(column)} spans {octaves(float(f'{span:.3g}'))}"
            for column, span in zip((claim.over, claim.than), spans, strict=True)
        )
        raise UndecidedError(f"{' and '.join(lengths)}{where}: spreads compare over equal spans")


def _spreads(claim: Claim, points: Points, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the relative spreads [R] of means [P, R] over both hyperparameters.

    The spread over `over` is infinite if all cells at one of its values diverged.
    """
    over, than = (
        profile(points, column, np.unique(points.settings[column].to_numpy(float)), means)
        for column in (claim.over, claim.than)
    )
    # divergence alone is no evidence that a quantity depends on `than`
    steepest = np.where(np.isfinite(than), than, -np.inf).max(axis=0)
    return over.max(axis=0) / over.min(axis=0) - 1, steepest / than.min(axis=0) - 1


class _Simulation(NoisySimulation):
    """The recorded means, or the same with both hyperparameters exchanged."""

    claim: Claim

    def exact(self, wrong: float) -> np.ndarray:
        """Return the recorded means, with exchanged hyperparameters if the claim is wrong."""
        means = self.means(self.table)
        return self._exchanged(means) if wrong else means.to_numpy(float)

    def _exchanged(self, means: pd.Series) -> np.ndarray:
        """Return means [rows] with both hyperparameters exchanged.

        The excess of a mean over the minimum is modelled as the sum of the excesses of both profiles. Each profile is
        moved to the other hyperparameter, at the same distance in octaves from the smallest value. A diverged value
        gets the largest excess of the other values.
        """
        claim, table = self.claim, self.table
        values = np.full(len(table), np.nan)
        each = list(claim.each)
        groups = table.groupby(each).indices if each else {(): np.arange(len(table))}
        for rows in groups.values():
            columns = [table[column].iloc[rows] for column in (claim.over, claim.than)]
            best = [means.iloc[rows].groupby(column).min() for column in columns]
            least = best[0].min()
            excess = [(each / least - 1).pipe(lambda e: e.fillna(e.max())) for each in best]
            doublings = [np.log2(each.index.to_numpy(float) / each.index.min()) for each in best]
            added = 0.0
            for side, other in ((0, 1), (1, 0)):
                at = np.log2(columns[side].to_numpy(float) / best[side].index.min())
                added = added + np.interp(at, doublings[other], excess[other].to_numpy(float))
            values[rows] = least * (1 + added)
        return values

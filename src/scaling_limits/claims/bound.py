"""Claim that a quantity is bounded in a region of settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from scaling_limits.claims.base import MARGIN, Names, Region, Some, SteppedClaim
from scaling_limits.claims.checks import Problem, ratio_problems
from scaling_limits.claims.intervals import TAIL, Bounds, decide, extreme_of
from scaling_limits.claims.measurement import (
    Interval,
    Measurement,
    UndecidedError,
    prose,
    setting,
)
from scaling_limits.claims.optima import open_edge
from scaling_limits.claims.points import (
    Points,
    Table,
    grouped,
    new_generator,
    points_of,
    quantity_name,
    steps_of,
    table_of,
)
from scaling_limits.claims.simulation import NoisySimulation, Recorded, Simulation
from scaling_limits.claims.spread import LARGEST, Scale
from scaling_limits.figures.needs import Grids
from scaling_limits.figures.quantities import Quantity
from scaling_limits.outcomes import number, with_interval

if TYPE_CHECKING:
    from scaling_limits.records import Results


class Claim(SteppedClaim):
    """The quantity is at least, or at most, a number at every point of a region.

    A point is one combination of values of the columns `by`; its value is the mean over seeds, and the best over the
    hyperparameters `over`. With `at`, the bound must hold at each of these steps (`all`: every recorded step), and the
    quantity's `reduce` is ignored. With `divergence: evidence`, the claim is that training (or inference) fails: a
    diverged cell satisfies `at_least`, even if every cell diverged. With `exact`, the claim is true or false of each
    single network, as a theorem is: every run must satisfy the bound up to this numerical tolerance, which covers the
    rounding errors of the precision in which it was computed. There is then no mean over seeds and no interval.
    """

    kind: Literal["bound"]
    by: Some = ("width", "depth")
    over: Names = ()
    where: Region | None = None
    at_least: float | None = None
    at_most: float | None = None
    divergence: Literal["evidence"] | None = None
    exact: float | None = Field(default=None, gt=0)

    @property
    def columns(self) -> Names:
        """The columns `by` and the hyperparameters."""
        return (*self.by, *self.over)

    @property
    def groups(self) -> Names:
        """The columns `by` if there are hyperparameters, over which each combination has its best value."""
        return self.by if self.over else ()

    @property
    def competing(self) -> bool:
        """Whether there are hyperparameters."""
        return bool(self.over)

    @model_validator(mode="after")
    def _one_sided(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give either at_least or at_most")
        if self.divergence and self.at_least is None:
            raise ValueError(
                "divergence: what diverged is infinitely bad, so it is evidence for at_least only; "
                "for a quantity that should be small where training fails, as accuracy, use complement"
            )
        if self.exact is not None and self.over:
            raise ValueError(
                "exact: the best over hyperparameters is a mean over seeds; leave `over` out"
            )
        return self

    def problems(self, grids: Grids) -> Iterator[Problem]:
        """Yield problems of the claim, including those of its region."""
        yield from super().problems(grids)
        yield from ratio_problems(self, "where", self.where.ratio if self.where else ())

    def measure(self, results: Results, *_: Results) -> Measurement:
        """Measure the value closest to violating the bound, over points and steps.

        The claim fails as well if the interval of this value contains the bound, but another point clearly violates it.
        A diverged cell violates either bound, unless the claim counts divergence as evidence: it is then infinitely
        bad, as claimed. A diverged cell among several values of `over` is only excluded from the best.

        Raises:
            UndecidedError: no point lies in the region, every cell there diverged and divergence is no evidence, or the
                best value is not below its lower bound, but may be beyond the edge of its grid.
        """
        if self.exact is not None:
            return self._measure_runs(results, self.exact)
        allowed = Bounds.between(self.at_least, self.at_most)
        smallest = self.at_least is not None
        extreme, index_of = (np.min, np.argmin) if smallest else (np.max, np.argmax)
        generator = new_generator()
        steps = [
            _values(self, self._table(results, quantity), quantity, generator)
            for quantity in steps_of(self, results)
        ]
        means = [extreme(step.means) for step in steps]
        step = steps[int(index_of(means))]
        value, where = float(extreme(means)), step.place(self, int(index_of(step.means)))
        sampled = extreme([extreme(step.sampled, axis=0) for step in steps], axis=0)
        by_factors = step.scale.logarithmic and step.scale.top is None
        interval = extreme_of(value, sampled, most=step.scale.top, logarithmic=by_factors)
        holds = decide(value, interval, *allowed)
        # beyond the edge, values may be smaller still
        edge = next((step.edge for step in steps if step.edge is not None), None)
        if edge is not None and holds is not False:
            raise UndecidedError(edge, "optimum at the edge")
        named = self._extreme_name(len(step.settings), len(steps))
        detail = f"the {named} is {with_interval(value, interval)} ({where})"
        if holds is None and (clear := self._clear_violation(steps, allowed)) is not None:
            holds, (value, interval, where) = False, clear
            detail += f"; at {where}, it is {with_interval(value, interval)}"
        return Measurement(
            holds=holds,
            value=value,
            interval=interval,
            threshold=f"{quantity_name(self)} {allowed}",
            detail=f"{detail}; it should be {allowed}",
            place=f"at {where}" if sum(len(each.settings) for each in steps) > 1 else "",
        )

    def _measure_runs(self, results: Results, tolerance: float) -> Measurement:
        """Measure the single run that is closest to violating the bound, or violates it most."""
        allowed = Bounds.between(self.at_least, self.at_most)
        smallest = self.at_least is not None
        runs = [
            (float(run["value"]), run, quantity)
            for quantity in steps_of(self, results)
            for run in self._table(results, quantity).rows.to_dict("records")
        ]
        value, run, quantity = (min if smallest else max)(runs, key=lambda each: each[0])
        where = self.place([run[column] for column in self.by], quantity)
        named = f"{'smallest' if smallest else 'largest'} {quantity_name(self)} of {len(runs)}"
        rule = f"{allowed} for every run, up to {setting(tolerance)}"
        return Measurement(
            holds=decide(value, None, allowed.low - tolerance, allowed.high + tolerance),
            value=value,
            interval=None,
            threshold=f"{quantity_name(self)} {allowed}; for every run, up to {setting(tolerance)}",
            detail=f"the {named} is {number(value)} ({where}, seed {run['seed']}); it should be {rule}",
            place=f"at {where}",
        )

    def _clear_violation(
        self, steps: Sequence[_Values], allowed: Bounds
    ) -> tuple[float, Interval, str] | None:
        """Return value, interval and place of the point that violates the bound most clearly, or None if none does.

        The extreme of all points may be uncertain although another point is clearly beyond the bound. The intervals of
        all points at all steps hold together with 95 % confidence (Bonferroni).
        """
        tail = TAIL / sum(len(step.means) for step in steps)
        clearest, most = None, 0.0
        for step in steps:
            if step.points is None:
                return None
            ends = step.points.ends(tail)
            smallest = self.at_least is not None
            beyond = allowed.low - ends[:, 1] if smallest else ends[:, 0] - allowed.high
            row = int(np.argmax(beyond))
            if beyond[row] > most:
                most = float(beyond[row])
                interval = (float(ends[row, 0]), float(ends[row, 1]))
                clearest = float(step.means[row]), interval, step.place(self, row)
        return clearest

    def _table(self, results: Results, quantity: Quantity) -> Table:
        """Tabulate the quantity at one step; see `table_of` for errors."""
        evidence = self.divergence == "evidence"
        violates_below = self.at_least is not None and not self.over and not evidence
        return table_of(
            self,
            results,
            [*self.by, *self.over],
            quantity=quantity,
            where=self.where,
            diverged=-np.inf if violates_below else np.inf,
            may_diverge=evidence,
        )

    def place(self, settings: Iterable[object], quantity: Quantity) -> str:
        """Return the settings `by` and the step of a value as text."""
        pairs = zip(self.by, settings, strict=True)
        place = ", ".join(f"{prose(column)} {setting(value)}" for column, value in pairs)
        step = quantity.step
        return place + ("" if step is None or self.at is None else f", step {step}")

    def _extreme_name(self, num_points: int, num_steps: int) -> str:
        """Return the name of the measured value: the extreme of the quantity over points and steps, if several."""
        counts = f" over {num_points} points" if num_points > 1 else ""
        counts += f" at {num_steps} steps" if num_steps > 1 else ""
        named = f"{'best ' if self.over else ''}{quantity_name(self)}"
        end = "largest" if self.at_least is None else "smallest"
        return f"{end} {named}{counts}" if counts else named

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of values on either side of the bound."""
        return _Simulation(self, recorded)


@dataclass(frozen=True)
class _Values:
    """The best values at all combinations of the columns `by`, at one step.

    Attributes:
        quantity: the quantity at this step.
        settings: the combinations [P].
        means: their values [P].
        sampled: sampled values [P, DRAWS].
        scale: the scale of the spread.
        points: the combinations as points; None if values are the best of several points.
        edge: where a best value lies at an edge of its grid at which the quantity still falls, so that it may be
            smaller beyond; None if there is no such value, and with an upper bound.
    """

    quantity: Quantity
    settings: Sequence[tuple[object, ...]]
    means: np.ndarray
    sampled: np.ndarray
    scale: Scale
    points: Points | None = None
    edge: str | None = None

    def place(self, claim: Claim, row: int) -> str:
        """Return the settings and the step of a value as text."""
        return claim.place(self.settings[row], self.quantity)


def _values(
    claim: Claim, table: Table, quantity: Quantity, generator: np.random.Generator
) -> _Values:
    """Return the values of a table of the quantity at one step."""
    if not claim.over:
        points = points_of(table, claim.by)
        settings = [tuple(row) for row in points.settings[list(claim.by)].to_numpy(object)]
        sampled = points.draws(generator)
        return _Values(quantity, settings, points.means, sampled, points.spread.scale, points)
    means, draws, edge = [], [], None
    groups = grouped(table, claim.by, claim.over)
    for at, points in groups.items():
        closed = claim.at_least is not None and edge is None
        reason = open_edge(points, claim.over, MARGIN) if closed else None
        if reason is not None:
            where = ", ".join(
                f"{prose(name)} {setting(value)}" for name, value in zip(claim.by, at, strict=True)
            )
            edge = f"at {where}, {reason}"
        means.append(points.means.min())
        draws.append(points.draws(generator).min(axis=0))
        scale = points.spread.scale
    return _Values(quantity, list(groups), np.array(means), np.array(draws), scale, edge=edge)


class _Simulation(NoisySimulation):
    """The recorded values, or values as far beyond the bound as the recorded ones lie within it."""

    claim: Claim

    # constant values may satisfy the bound
    constant_is_void = False

    @property
    def divergence_is_void(self) -> bool:
        """False if the claim is that training diverges."""
        return self.claim.divergence is None

    def exact(self, wrong: float) -> np.ndarray:
        """Return the recorded values; `draw` moves wrong ones beyond the bound, noise included."""
        return self.recorded

    def draw(self, scenario: str, wrong: float, generator: np.random.Generator) -> np.ndarray:
        """Draw values [rows] around the recorded ones, or beyond the bound."""
        # an exact claim is no statement about a mean, so that runs do not scatter about the recorded ones
        is_exact = self.claim.exact is not None
        values = self.recorded if is_exact else super().draw(scenario, wrong, generator)
        return self._beyond(values) if wrong else values

    def _beyond(self, values: np.ndarray) -> np.ndarray:
        """Move values [rows] as far beyond the bound as they lie within it."""
        claim = self.claim
        low, high = Bounds.between(claim.at_least, claim.at_most)
        tolerance = claim.exact or 0.0
        bound = low - tolerance if claim.at_most is None else high + tolerance
        # a bound at zero has no logarithm
        scale = Scale(
            self.scale.logarithmic and (bound > 0 or self.scale.top is not None), self.scale.top
        )
        limit = scale.to(np.array(bound))
        if not claim.over:
            return scale.back(2 * limit - scale.to(values))
        recorded = self.table.assign(value=scale.to(self.recorded))
        means = recorded.groupby([*claim.by, *claim.over])["value"].transform("mean")
        best = means.groupby(self.groups).transform("min").to_numpy(float)
        # if everything diverged, the best value is infinitely large
        moved = np.where(np.isfinite(best), scale.to(values) + 2 * (limit - best), limit - LARGEST)
        return scale.back(moved)

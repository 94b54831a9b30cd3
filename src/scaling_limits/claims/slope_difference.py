"""Claim about the difference between two log-log slopes along a size.

The second slope belongs to other grids, another quantity or a smaller size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np
from pydantic import model_validator

from scaling_limits.claims.base import ClaimBase, Names, Region
from scaling_limits.claims.checks import Problem, ratio_problems, size_problems, values_of
from scaling_limits.claims.intervals import TAIL, Bounds, decide, together
from scaling_limits.claims.measurement import (
    Interval,
    Measurement,
    UndecidedError,
    diverged,
    prose,
    setting,
)
from scaling_limits.claims.points import Table, log_slope, name_of, quantity_name, table_of
from scaling_limits.claims.simulation import VOID, Recorded, Simulation
from scaling_limits.claims.spread import ONE_SEED_DEGREES, ONE_SEED_INDEPENDENT
from scaling_limits.figures.needs import Grids, listed
from scaling_limits.figures.quantities import Quantity
from scaling_limits.outcomes import with_interval

if TYPE_CHECKING:
    import pandas as pd

    from scaling_limits.records import Results


@dataclass(frozen=True)
class Fit:
    """Slopes [S] by seed, and the ratio of a slope's standard deviation to the standard deviation of each log value."""

    slopes: pd.Series
    per_scatter: float


@dataclass(frozen=True)
class Difference:
    """Differences [S] of slopes, one for each seed, at one combination of values of the columns `each`.

    `deviation` is their standard deviation over seeds, with `degrees` degrees of freedom; it is 0 for limits.
    """

    group: tuple[object, ...]
    values: np.ndarray
    deviation: float
    degrees: int

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(self.values.mean())

    @property
    def interval(self) -> Interval | None:
        """The 95 % confidence interval of the mean (Student's t); None if nothing is random."""
        if not self.deviation:
            return None
        from scipy.special import stdtrit

        half = self.deviation / np.sqrt(len(self.values)) * stdtrit(self.degrees, 1 - TAIL)
        return self.mean - float(half), self.mean + float(half)


class Claim(ClaimBase):
    """The difference between two log-log slopes along a size is `at_least` or `at_most` a number.

    The second slope belongs to the grids `reference`, or to `reference_quantity` in the same cells. With
    `growing_along`, it is the slope at the smallest value of this column, and the first one is the slope at its largest
    value. Differences are formed seed by seed, for every combination of values of the columns `each`, using only points
    in the region `where`. A comparison with other grids requires a control: a third grid that is compared with the same
    reference.
    """

    kind: Literal["slope_difference"]
    along: str
    each: Names = ()
    where: Region | None = None
    reference: Names = ()
    reference_quantity: Quantity | None = None
    growing_along: str | None = None
    at_most: float | None = None
    at_least: float | None = None

    @property
    def columns(self) -> Names:
        """The columns for whose values slopes are fitted separately, and the size."""
        return (*self.groups, self.along)

    @property
    def groups(self) -> Names:
        """The columns for whose values slopes are fitted separately."""
        return (*self.each, self.growing_along) if self.growing_along else self.each

    @property
    def quantities(self) -> dict[str, Quantity]:
        """The quantity, and the quantity with whose slope its slope is compared."""
        other = self.reference_quantity
        return super().quantities | ({"reference_quantity": other} if other else {})

    @property
    def compared(self) -> tuple[Names, ...]:
        """The reference grids."""
        return (self.reference,) if self.reference else ()

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        conflicting = [
            bool(self.reference),
            self.reference_quantity is not None,
            bool(self.growing_along),
        ]
        if sum(conflicting) != 1:
            raise ValueError("give one of reference, reference_quantity and growing_along")
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give either at_least or at_most")
        if self.reference and not self.control:
            raise ValueError(
                "with reference, name a control: a third grid, compared with the same reference"
            )
        return self

    def problems(self, grids: Grids) -> Iterator[Problem]:
        """Yield problems of the claim, including those of its region, its sizes and the seeds of the reference."""
        yield from super().problems(grids)
        yield from ratio_problems(self, "where", self.where.ratio if self.where else ())
        yield from size_problems(self, "along", self.along, grids)
        if self.growing_along:
            yield from size_problems(self, "growing_along", self.growing_along, grids)
        if not self.reference:
            return
        for name in set(self.control) & set(self.reference):
            problem = f"'{name}' is the reference, whose slopes differ by 0 from themselves"
            yield Problem(("control",), f"{problem}; take a third grid")
        seeds, reference_seeds = (
            values_of(self, "seed", names, grids) for names in (self.grids, self.reference)
        )
        if seeds and reference_seeds and not seeds & reference_seeds:
            problem = f"{' and '.join(self.reference)} has the seeds {listed(reference_seeds)}"
            yield Problem(("reference",), f"{problem}; differences need some of {listed(seeds)}")

    def measure(self, results: Results, *compared: Results) -> Measurement:
        """Measure the difference of slopes that is farthest from the claimed range, over the groups of `each`.

        Each slope is fitted to the values of one seed, so that effects of a seed on both slopes cancel. The confidence
        interval is computed from the differences of single seeds, because points of one network scatter together and
        are not independent evidence. The claim fails if training diverged in the judged cells.

        Raises:
            UndecidedError: see `sides` and `differences`; or the reference diverged.
        """
        reference = compared[0] if compared else None
        allowed = Bounds.between(self.at_least, self.at_most)
        threshold = f"difference of slopes {allowed}"
        minuend, subtrahend = sides(self, results, reference)
        if not np.isfinite(minuend.rows["value"]).all():
            return diverged(threshold, "training diverged, so there is no slope")
        if not np.isfinite(subtrahend.rows["value"]).all():
            if reference is None:
                return diverged(
                    threshold, "training diverged, so there is no slope to compare with"
                )
            raise UndecidedError(
                "training diverged in the reference, so it has no slope", "divergence"
            )
        judged = [
            (decide(each.mean, each.interval, *allowed), each)
            for each in differences(self, minuend, subtrahend)
        ]
        holds = together([decision for decision, _ in judged])
        worst = max(
            (each for decision, each in judged if decision is holds),
            key=lambda each: allowed.beyond(each.mean, each.interval),
        )
        where = "".join(
            f" at {prose(column)} {setting(value)}"
            for column, value in zip(self.each, worst.group, strict=True)
        )
        return Measurement(
            holds=holds,
            value=worst.mean,
            interval=worst.interval,
            threshold=threshold,
            detail=f"the log-log slope of {quantity_name(self)} in {prose(self.along)}{where}, {_compared(self)}, "
            f"is {with_interval(worst.mean, worst.interval)}; it should be {allowed}",
            place=where.strip(),
        )

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of differences of slopes on either side of the bound."""
        return _Simulation(self, recorded)


def sides(claim: Claim, results: Results, reference: Results | None) -> tuple[Table, Table]:
    """Tabulate the values of the two slopes that are compared, the claim's own first.

    Other grids and quantities are compared at the points that both have.

    Args:
        claim: the claim.
        results: the cells of the judged grids.
        reference: the cells of the reference grids, if any.

    Raises:
        UndecidedError: there is a single value of `growing_along`; see also `table_of`.
    """
    minuend = table_of(claim, results, claim.columns, where=claim.where)
    if claim.growing_along:
        sizes = minuend.rows[claim.growing_along]
        if sizes.nunique() < 2:
            raise UndecidedError(f"there is only one {prose(claim.growing_along)}", "sizes")
        first, last = (
            replace(minuend, rows=minuend.rows[sizes == end]) for end in (sizes.min(), sizes.max())
        )
        return last, first
    cells = results if reference is None else reference
    quantity = claim.reference_quantity or claim.quantity
    subtrahend = table_of(
        claim, cells, claim.columns, quantity=quantity, where=claim.where, may_diverge=True
    )
    points = [*claim.each, claim.along]
    shared = minuend.rows[points].merge(subtrahend.rows[points]).drop_duplicates()
    minuend, subtrahend = (
        replace(table, rows=table.rows.merge(shared)) for table in (minuend, subtrahend)
    )
    return minuend, subtrahend


def differences(claim: Claim, minuend: Table, subtrahend: Table) -> list[Difference]:
    """Return the differences of slopes, for each combination of values of `each` that has two sizes in both tables.

    With one seed, the deviation is computed for values with the relative spread `ONE_SEED_INDEPENDENT`.

    Args:
        claim: the claim.
        minuend: the values of the first slope.
        subtrahend: the values of the second slope.

    Raises:
        UndecidedError: no group has two sizes in both tables, no seed was run in both, or a value is not positive.
    """
    fits = [seed_slopes(claim, table) for table in (minuend, subtrahend)]
    formed = []
    for group in [key for key in fits[0] if key in fits[1]]:
        pairs = [fit[group] for fit in fits]
        values = (pairs[0].slopes - pairs[1].slopes).dropna().to_numpy(float)
        if not len(values):
            raise UndecidedError("no seed was run in both, so there is no difference within a seed")
        if minuend.exact and subtrahend.exact:
            formed.append(Difference(group, values, 0.0, ONE_SEED_DEGREES))
        elif len(values) == 1:
            scatter = ONE_SEED_INDEPENDENT * float(
                np.hypot(pairs[0].per_scatter, pairs[1].per_scatter)
            )
            formed.append(Difference(group, values, scatter, ONE_SEED_DEGREES))
        else:
            scatter = float(values.std(ddof=1))
            formed.append(Difference(group, values, scatter, len(values) - 1))
    if not formed:
        raise UndecidedError(f"there is only one {prose(claim.along)}", "sizes")
    return formed


def seed_slopes(claim: Claim, table: Table) -> dict[tuple[object, ...], Fit]:
    """Return the log-log slopes of each seed that has all sizes, by the values of `each` that have two sizes.

    Args:
        claim: the claim.
        table: the values.

    Raises:
        UndecidedError: a value or a size is not positive.
    """
    import pandas as pd

    each = list(claim.each)
    fits = {}
    for key, rows in table.rows.groupby(each, sort=True) if each else [((), table.rows)]:
        wide = rows.pivot(index=claim.along, columns="seed", values="value").dropna(axis="columns")
        sizes, values = wide.index.to_numpy(float), wide.to_numpy(float)
        if len(sizes) < 2:
            continue
        if min(sizes.min(), values.min(initial=np.inf)) <= 0:
            what = quantity_name(claim) if sizes.min() > 0 else prose(claim.along)
            raise UndecidedError(f"{what} is not positive, so it has no logarithm")
        slopes = pd.Series(log_slope(sizes, values), index=wide.columns)
        fits[key] = Fit(slopes, 1 / float(np.log(sizes).std() * np.sqrt(len(sizes))))
    return fits


def _compared(claim: Claim) -> str:
    if claim.growing_along:
        return f"at the largest {prose(claim.growing_along)} less that at the smallest"
    if claim.reference:
        return f"less that in {' and '.join(claim.reference)}"
    other = claim.reference_quantity
    assert other is not None
    when = "" if other.step is None else f" at step {other.step}"
    when = when if other.during is None else " from {:g} to {:g} of training".format(*other.during)
    return f"less that of {name_of(other)}{when}"


class _Line(NamedTuple):
    """One seed of a group: its `rows`, the recorded difference of slopes, and the parameters of its simulated values.

    `reference` is the slope with which its slope is compared, `sizes` are log sizes minus their mean, and `level` is
    the mean of its log values.
    """

    rows: np.ndarray
    difference: Difference
    reference: float
    sizes: np.ndarray
    level: float


class _Simulation(Simulation):
    """Values whose slopes differ by a given number, with the recorded spread over seeds."""

    claim: Claim

    def __init__(self, claim: Claim, recorded: Recorded) -> None:
        super().__init__(claim, recorded)
        minuend, subtrahend = sides(claim, self.results, self.reference)
        slopes = seed_slopes(claim, subtrahend)
        by_group = {each.group: each for each in differences(claim, minuend, subtrahend)}
        judged = self.table
        if claim.growing_along:
            judged = judged[judged[claim.growing_along] == judged[claim.growing_along].max()]
        self._lines = []
        for (*group, seed), rows in judged.groupby([*claim.each, "seed"]):
            difference = by_group.get(tuple(group))
            if difference is None:
                continue
            compared_slopes = slopes[tuple(group)].slopes
            at = np.log(rows[claim.along].to_numpy(float))
            level = float(np.log(rows["value"].to_numpy(float)).mean())
            slope = float(compared_slopes.get(seed, compared_slopes.mean()))
            line = _Line(rows.index.to_numpy(), difference, slope, at - at.mean(), level)
            self._lines.append(line)

    @property
    def constant_is_void(self) -> bool:
        """False if the difference 0 of equal slopes is allowed."""
        return (self.claim.at_least or 0) > 0 or (self.claim.at_most or 0) < 0

    def draw(self, scenario: str, wrong: float, generator: np.random.Generator) -> np.ndarray:
        """Draw values [rows] for which the claim is true or wrong, or whose slopes are equal if it is void.

        The simulated difference is as far from its bound as the recorded one, on the right or the wrong side.
        """
        claim = self.claim
        bound, side = (claim.at_least, 1) if claim.at_most is None else (claim.at_most, -1)
        assert bound is not None
        values = self.recorded.copy()
        for line in self._lines:
            away = side * abs(line.difference.mean - bound)
            mean = 0.0 if scenario in VOID else bound + (-away if wrong else away)
            noise = self.noise_level(scenario) * line.difference.deviation
            difference = mean + noise * generator.standard_normal()
            values[line.rows] = np.exp(line.level + (line.reference + difference) * line.sizes)
        return values

"""A log-log slope along a size, less that of other grids, of another quantity or at a smaller size."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from scaling_limits.audit.points import TAIL, Table, decide, log_slope, named, table_of, together
from scaling_limits.audit.spread import ONE_SEED_DEGREES, ONE_SEED_OWN
from scaling_limits.audit.verdicts import (
    Interval,
    Measurement,
    UndecidedError,
    diverged,
    setting,
    with_interval,
    words,
)
from scaling_limits.figures.claims import SlopeDifference
from scaling_limits.records import Results


@dataclass(frozen=True)
class Fit:
    """Slopes [S] by seed, and the standard deviation of a slope over that of each point's logarithm."""

    slopes: pd.Series
    per_scatter: float


@dataclass(frozen=True)
class Difference:
    """Differences [S] of slopes, one for each seed, at one value of the columns `each`.

    `deviation` is their standard deviation over seeds, known with `degrees` of freedom; 0 for limits.
    """

    group: tuple[object, ...]
    values: np.ndarray
    deviation: float
    degrees: int

    @property
    def mean(self) -> float:
        """Mean over seeds."""
        return float(self.values.mean())

    @property
    def interval(self) -> Interval | None:
        """The 95% interval of the mean (Student's t); None where nothing is random."""
        if not self.deviation:
            return None
        half = self.deviation / np.sqrt(len(self.values)) * stdtrit(self.degrees, 1 - TAIL)
        return self.mean - float(half), self.mean + float(half)


def measure(
    claim: SlopeDifference, results: Results, reference: Results | None = None
) -> Measurement:
    """Measure the difference of slopes that is farthest from what is claimed, over the groups of `each`.

    Each slope is a fit to one seed's values, so that what a seed does to both cancels. The interval is that of the
    differences over seeds: points of one network scatter together, so they are no independent evidence. Where training
    diverged in the cells that are judged the claim fails.

    Raises:
        UndecidedError: see `sides` and `differences`; or the reference diverged.
    """
    rule = f"at least {setting(claim.at_least)}"
    threshold = rule if claim.at_most is None else f"at most {setting(claim.at_most)}"
    own, other = sides(claim, results, reference)
    if not np.isfinite(own.rows["value"]).all():
        return diverged(threshold, "training diverged, so there is no slope")
    if not np.isfinite(other.rows["value"]).all():
        if reference is None:
            return diverged(threshold, "training diverged, so there is no slope to compare with")
        raise UndecidedError("training diverged in the reference, so it has no slope")
    low = -np.inf if claim.at_least is None else claim.at_least
    high = np.inf if claim.at_most is None else claim.at_most
    found = []
    for each in differences(claim, own, other):
        ends = each.interval or (each.mean, each.mean)
        beyond = max(low - ends[0], ends[1] - high)
        found.append((decide(each.mean, each.interval, low, high), beyond, each))
    holds = together([answer for answer, *_ in found])
    _, _, worst = max((each for each in found if each[0] is holds), key=lambda each: each[1])
    where = "".join(
        f" at {words(column)} {setting(value)}"
        for column, value in zip(claim.each, worst.group, strict=True)
    )
    return Measurement(
        holds=holds,
        value=worst.mean,
        interval=worst.interval,
        threshold=threshold,
        detail=f"the log-log slope of {named(claim)} in {words(claim.along)}{where}, {_compared(claim)}, "
        f"is {with_interval(worst.mean, worst.interval)}; it should be {threshold}",
    )


def sides(
    claim: SlopeDifference, results: Results, reference: Results | None
) -> tuple[Table, Table]:
    """Tabulate the values whose slopes are compared: the claim's own, then those that they are compared with.

    Other grids and quantities are compared at the points that both have.

    Raises:
        UndecidedError: there is a single value of `growing_along`; see also `table_of`.
    """
    own = table_of(claim, results, claim.columns, where=claim.where)
    if claim.growing_along:
        sizes = own.rows[claim.growing_along]
        if sizes.nunique() < 2:
            raise UndecidedError(f"there is only one {words(claim.growing_along)}")
        first, last = (
            replace(own, rows=own.rows[sizes == end]) for end in (sizes.min(), sizes.max())
        )
        return last, first
    cells = results if reference is None else reference
    quantity = claim.reference_quantity or claim.quantity
    other = table_of(
        claim, cells, claim.columns, quantity=quantity, where=claim.where, may_diverge=True
    )
    points = [*claim.each, claim.along]
    shared = own.rows[points].merge(other.rows[points]).drop_duplicates()
    own, other = (replace(table, rows=table.rows.merge(shared)) for table in (own, other))
    return own, other


def differences(claim: SlopeDifference, own: Table, other: Table) -> list[Difference]:
    """Form the differences of slopes, at each value of the columns `each` that has two sizes in both tables.

    With one seed the deviation is that of the slopes of values that scatter by `ONE_SEED_OWN`.

    Raises:
        UndecidedError: no group has two sizes in both, no seed was run in both, or a value is not positive.
    """
    fits = [seed_slopes(claim, table) for table in (own, other)]
    found = []
    for group in [key for key in fits[0] if key in fits[1]]:
        pairs = [fit[group] for fit in fits]
        values = (pairs[0].slopes - pairs[1].slopes).dropna().to_numpy(float)
        if not len(values):
            raise UndecidedError("no seed was run in both, so there is no difference within a seed")
        if own.exact and other.exact:
            found.append(Difference(group, values, 0.0, ONE_SEED_DEGREES))
        elif len(values) == 1:
            scatter = ONE_SEED_OWN * float(np.hypot(pairs[0].per_scatter, pairs[1].per_scatter))
            found.append(Difference(group, values, scatter, ONE_SEED_DEGREES))
        else:
            scatter = float(values.std(ddof=1))
            found.append(Difference(group, values, scatter, len(values) - 1))
    if not found:
        raise UndecidedError(f"there is only one {words(claim.along)}")
    return found


def seed_slopes(claim: SlopeDifference, table: Table) -> dict[tuple[object, ...], Fit]:
    """Fit the log-log slope of each seed that has all sizes, at each value of `each` that has two sizes.

    Raises:
        UndecidedError: a value or a size is not positive.
    """
    each = list(claim.each)
    fits = {}
    for key, rows in table.rows.groupby(each, sort=True) if each else [((), table.rows)]:
        wide = rows.pivot(index=claim.along, columns="seed", values="value").dropna(axis="columns")
        sizes, values = wide.index.to_numpy(float), wide.to_numpy(float)
        if len(sizes) < 2:
            continue
        if min(sizes.min(), values.min(initial=np.inf)) <= 0:
            what = named(claim) if sizes.min() > 0 else words(claim.along)
            raise UndecidedError(f"{what} is not positive, so it has no logarithm")
        slopes = pd.Series(log_slope(sizes, values), index=wide.columns)
        fits[key] = Fit(slopes, 1 / float(np.log(sizes).std() * np.sqrt(len(sizes))))
    return fits


def _compared(claim: SlopeDifference) -> str:
    if claim.growing_along:
        return f"at the largest {words(claim.growing_along)} less that at the smallest"
    if claim.reference:
        return f"less that in {' and '.join(claim.reference)}"
    other = claim.reference_quantity
    assert other is not None
    when = "" if other.step is None else f" at step {other.step}"
    when = when if other.during is None else " from {:g} to {:g} of training".format(*other.during)
    return f"less that of {other.label or words(other.metric)}{when}"


@dataclass(frozen=True)
class SimulatedDifference:
    """Values of the claim's own quantity whose slopes differ by a given number, with the recorded scatter over seeds.

    `recorded` [rows] are the values of a table. `lines` has one entry for each seed of each group: its rows, the
    recorded difference, the slope that it is compared with, the logarithms of sizes less their mean, and the mean
    logarithm of the values.
    """

    claim: SlopeDifference
    recorded: np.ndarray
    lines: Sequence[tuple[np.ndarray, Difference, float, np.ndarray, float]]

    @classmethod
    def of(
        cls,
        claim: SlopeDifference,
        results: Results,
        reference: Results | None,
        table: pd.DataFrame,
    ) -> "SimulatedDifference":
        """Start from the recorded values in the rows of a `table` of the claim's own quantity.

        Raises:
            UndecidedError: see `sides` and `differences`.
        """
        own, other = sides(claim, results, reference)
        slopes = seed_slopes(claim, other)
        found = {each.group: each for each in differences(claim, own, other)}
        judged = table
        if claim.growing_along:
            judged = table[table[claim.growing_along] == table[claim.growing_along].max()]
        lines = []
        for (*group, seed), rows in judged.groupby([*claim.each, "seed"]):
            difference = found.get(tuple(group))
            if difference is None:
                continue
            compared = slopes[tuple(group)].slopes
            at = np.log(rows[claim.along].to_numpy(float))
            level = float(np.log(rows["value"].to_numpy(float)).mean())
            slope = float(compared.get(seed, compared.mean()))
            lines.append((rows.index.to_numpy(), difference, slope, at - at.mean(), level))
        return cls(claim, table["value"].to_numpy(float), lines)

    def values(self, truth: bool | None, loud: float, generator: np.random.Generator) -> np.ndarray:
        """Simulate values [rows] with which the claim is true or false; None for slopes that are equal.

        The difference is as far on the right, or the wrong, side of its bound as the recorded one is from it, and
        scatters `loud` times as much as recorded.
        """
        claim = self.claim
        bound, side = (claim.at_least, 1) if claim.at_most is None else (claim.at_most, -1)
        assert bound is not None
        values = self.recorded.copy()
        for rows, difference, slope, sizes, level in self.lines:
            away = side * abs(difference.mean - bound)
            mean = 0.0 if truth is None else bound + (away if truth else -away)
            drawn = mean + loud * difference.deviation * generator.standard_normal()
            values[rows] = np.exp(level + (slope + drawn) * sizes)
        return values

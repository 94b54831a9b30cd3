"""Claim that a quantity approaches its limit along a size."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from scaling_limits.claims.base import Names, SizeClaim, Some, SteppedClaim
from scaling_limits.claims.intervals import Condition, decide, deciding, extreme_of
from scaling_limits.claims.measurement import (
    ErrorRow,
    Interval,
    Measurement,
    SlopeRow,
    UndecidedError,
    diverged,
    prose,
    setting,
)
from scaling_limits.claims.points import (
    Points,
    Table,
    by_size,
    fit_log_slope,
    new_generator,
    points_of,
    quantity_name,
    steps_of,
    table_of,
)
from scaling_limits.claims.simulation import Recorded, Simulation
from scaling_limits.figures.references import comparison_key, reference_values
from scaling_limits.outcomes import with_interval

if TYPE_CHECKING:
    from scaling_limits.records import Results


class Claim(SizeClaim, SteppedClaim):
    """A quantity approaches its limit, the grids `reference`, as a size grows.

    A limit has no size. A reference made of networks with several sizes is compared at equal size. At the largest size
    along which networks grow, the quantity's mean over seeds differs from the reference by at most the fraction
    `tolerance` at every point (a combination of the columns `by`) and at each of the steps `at` (`all`: every recorded
    step). With `slope_at_most`, the root mean square of the relative errors of single networks, over points, steps and
    seeds, has at most this log-log slope along the size.
    """

    kind: Literal["agrees_with"]
    reference: Some
    by: Names = ()
    tolerance: float = Field(gt=0)
    slope_at_most: float | None = None
    control: Some

    @property
    def columns(self) -> Names:
        """The size and the columns `by`."""
        return (self.along, *self.by)

    @property
    def compared(self) -> tuple[Names, ...]:
        """The reference."""
        return (self.reference,)

    def measure(self, results: Results, *compared: Results) -> Measurement:
        """Measure the largest relative error of means over seeds at the largest size, over points and steps.

        The claim fails if training diverged in any cell.

        Raises:
            UndecidedError: there are fewer than two sizes, every cell diverged, the reference is missing, zero or not
                finite at a point, or all errors of some network are zero, so that they have no slope.
        """
        (reference,) = compared
        points_by = [*self.by, "step"]
        errors = relative_errors(self, results, reference)
        sizes = by_size(errors, self.along, points_by)
        allowed = f"at most {setting(self.tolerance)}"
        if self.slope_at_most is not None:
            allowed += f", slope at most {setting(self.slope_at_most)}"
        threshold = f"error {allowed}"
        if not np.isfinite(errors.rows["value"]).all():
            return diverged(threshold, "training diverged, so there is no error")
        generator = new_generator()
        largest = max(sizes)
        points = sizes[largest]
        row, value, interval = _largest(points, generator)
        answer = decide(value, interval, 0.0, self.tolerance)
        conditions = [Condition(answer, value, interval, threshold)]
        shown = self.by if self.at is None else points_by
        at = "".join(f", {prose(c)} {setting(points.settings[c].iloc[row])}" for c in shown)
        detail = (
            f"the largest relative error of {quantity_name(self)} over {len(points.settings)} points is "
            f"{with_interval(value, interval)} (at {prose(self.along)} {setting(largest)}{at})"
        )
        if self.slope_at_most is not None:
            slope, ends = self._slope(errors, generator)
            answer = decide(slope, ends, -np.inf, self.slope_at_most)
            at_most = f"slope of the error at most {setting(self.slope_at_most)}"
            conditions.append(Condition(answer, slope, ends, at_most))
            detail += (
                ", and that of single networks falls with a log-log slope of "
                f"{with_interval(slope, ends)}"
            )
        return Measurement(
            **deciding(conditions)._asdict(), detail=f"{detail}; it should be {allowed}"
        )

    def _slope(
        self, errors: Table, generator: np.random.Generator
    ) -> tuple[float, Interval | None]:
        """Return the log-log slope of single networks' errors along the size, with its interval.

        Raises:
            UndecidedError: all errors of some network are zero.
        """
        single = points_of(_rms(errors, self.along), [self.along])
        if single.values.min() == 0:
            raise UndecidedError(
                f"{quantity_name(self)} equals its reference, so there is no slope"
            )
        return fit_log_slope(single, single.settings[self.along].to_numpy(float), generator)

    @property
    def shown(self) -> Literal["slopes"] | None:
        """The slope of the errors of single networks, with the error of the mean over seeds."""
        return None if self.slope_at_most is None else "slopes"

    def evidence(self, results: Results, *compared: Results) -> list[SlopeRow | ErrorRow]:
        """Return the error at the largest size and the slope that the claim bounds; nothing if training diverged.

        Raises:
            UndecidedError: see `measure`.
        """
        (reference,) = compared
        errors = relative_errors(self, results, reference)
        if not np.isfinite(errors.rows["value"]).all():
            return []
        # in the order of `measure`, so that samples are the same
        generator = new_generator()
        sizes = by_size(errors, self.along, [*self.by, "step"])
        largest = max(sizes)
        _, value, interval = _largest(sizes[largest], generator)
        slope = self._slope(errors, generator)
        return [ErrorRow(float(largest), value, interval), SlopeRow({}, *slope)]

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of errors that decrease as a power of the size."""
        return _Simulation(self, recorded)


def _largest(points: Points, generator: np.random.Generator) -> tuple[int, float, Interval | None]:
    """Return the point with the largest relative error of the mean over seeds, this error and its interval."""
    row = int(np.argmax(np.abs(points.means)))
    value = float(np.abs(points.means[row]))
    return row, value, extreme_of(value, np.abs(points.draws(generator)).max(axis=0), least=0.0)


def _rms(errors: Table, along: str) -> Table:
    """Return the root mean square of each network's errors, over points and steps."""
    squares = errors.rows.assign(value=errors.rows["value"] ** 2)
    means = squares.groupby([along, "seed"])["value"].mean()
    return replace(errors, rows=np.sqrt(means).reset_index())


def relative_errors(claim: Claim, results: Results, reference: Results) -> Table:
    """Tabulate the relative errors, with a row for each size, point, step and seed.

    A reference with several sizes is compared at equal size.

    Args:
        claim: the claim.
        results: the cells of the judged grids.
        reference: the cells of the reference.

    Raises:
        UndecidedError: the reference is missing, zero or not finite at a point.
    """
    import pandas as pd

    sized = reference.cells.get(claim.along, pd.Series()).nunique() > 1
    points_by = [*([claim.along] if sized else []), *claim.by, "step"]

    def table(cells: Results, columns: list[str]) -> Table:
        tables = {
            quantity.step or 0: table_of(
                claim, cells, columns, quantity=quantity, may_diverge=cells is reference
            )
            for quantity in steps_of(claim, results)
        }
        rows = pd.concat(tabulated.rows.assign(step=step) for step, tabulated in tables.items())
        return Table(rows, exact=all(tabulated.exact for tabulated in tables.values()))

    values, limit = table(results, [claim.along, *claim.by]), table(reference, points_by[:-1])
    if sized:
        known = values.rows[claim.along].isin(limit.rows[claim.along])
        values = replace(values, rows=values.rows[known])
    key = comparison_key(values.rows, limit.rows, points_by)
    rows = values.rows.assign(limit=reference_values(values.rows, limit.rows, key))
    if not (np.isfinite(rows["limit"]) & (rows["limit"] != 0)).all():
        raise UndecidedError(
            f"{' and '.join(claim.reference)} gives no {quantity_name(claim)}, or zero, at a point, so "
            "there is no relative error"
        )
    return replace(values, rows=rows.assign(value=rows["value"] / rows["limit"] - 1))


TINY = 1e-300
"""Replaces an error that is exactly zero."""


class _Simulation(Simulation):
    """Errors that decrease as a power of the size and equal the recorded errors at one end."""

    claim: Claim

    def __init__(self, claim: Claim, recorded: Recorded) -> None:
        super().__init__(claim, recorded)
        (self._limit,) = recorded.compared
        self._errors = relative_errors(claim, self.results, self._limit).rows

    @property
    def has_exponent(self) -> bool:
        """Whether the claim bounds the exponent with which errors decrease."""
        return self.claim.slope_at_most is not None

    # constant values may equal the limit
    constant_is_void = False

    def draw(self, scenario: str, wrong: float, generator: np.random.Generator) -> np.ndarray:
        """Draw values [rows] around the limit, with errors whose exponent is wrong.

        If the claim has no exponent, the wrong values exceed the tolerance by the factor by which the recorded errors
        stay below it.
        """
        claim, wrong = self.claim, abs(wrong)
        rows = self._errors[self._errors["step"] == (self.quantity.step or 0)]
        key = [claim.along, *claim.by, "seed"]
        merged = self.table[key].merge(rows[[*key, "limit"]], on=key, how="left")
        limit = merged["limit"].to_numpy(float)
        theory = 1.0 if (claim.slope_at_most or -0.5) < -0.75 else 0.5
        missed = 0.0
        if wrong and claim.slope_at_most is None:
            largest = rows[rows[claim.along] == rows[claim.along].max()]
            errors = largest.groupby([*claim.by])["value"].mean() if claim.by else largest["value"]
            missed = claim.tolerance**2 / max(np.abs(errors).max(), TINY)
            wrong = 0.0
        size = self.table[claim.along].to_numpy(float)
        sizes = rows[claim.along].to_numpy(float)
        end = sizes.min() if wrong else sizes.max()
        level = np.sqrt((rows["value"].to_numpy(float)[sizes == end] ** 2).mean())
        error = level * self._falls(end / size, end, theory - wrong)
        sign = generator.standard_normal(len(limit)) if len(np.unique(self.seeds)) > 1 else 1.0
        return np.asarray(limit * (1 + missed + error * sign))

    def _falls(self, shrunk: np.ndarray, end: float, power: float) -> np.ndarray:
        """Return a power of the size that is 1 at `end`.

        If the reference is a single larger network, its value is subtracted, so that errors vanish at its size.
        """
        along, cells = self.claim.along, self._limit.cells
        known = cells[along].dropna().unique() if along in cells else np.array([])
        left = (end / float(known[0])) ** power if len(known) == 1 and known[0] > end else 0.0
        return np.asarray((shrunk**power - left) / (1 - left))

"""Claim that a quantity follows a power of a size."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, Self

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator

from scaling_limits.claims.base import QUARTER, ClaimBase, Names, Region, Some
from scaling_limits.claims.checks import Problem, ratio_problems, size_problems
from scaling_limits.claims.intervals import Bounds, decide, together
from scaling_limits.claims.measurement import (
    Interval,
    Measurement,
    SlopeRow,
    UndecidedError,
    diverged,
    prose,
    setting,
)
from scaling_limits.claims.points import (
    fit_log_slope,
    grouped,
    new_generator,
    quantity_name,
    table_of,
)
from scaling_limits.claims.simulation import NoisySimulation, Recorded, Simulation, exponent_between
from scaling_limits.errors import ConfigurationError
from scaling_limits.figures.needs import Grids, theory_problem
from scaling_limits.outcomes import with_interval
from scaling_limits.parameterisations.powers import EXPONENTS
from scaling_limits.parameterisations.theory import DepthQuantity, depth_exponents_of
from scaling_limits.strict import Strict

if TYPE_CHECKING:
    import pandas as pd

    from scaling_limits.records import Results


class Theory(Strict):
    """The power of depth that theory predicts for a quantity, from each cell's parameterisation and exponents.

    `exponent_changes` do not affect the prediction, so that a control with a wrong exponent is compared with the right
    one.
    """

    theory: DepthQuantity


def _form(content: object) -> str:
    """Return the form of an expected exponent, so that validation errors refer to this form only."""
    return "mapping" if isinstance(content, Mapping | Theory) else "float"


Exponent = Annotated[
    Annotated[float, Tag("float")] | Annotated[Theory, Tag("mapping")], Discriminator(_form)
]


class Fit(NamedTuple):
    """The slope of a group (named by `where`), whether it satisfies the claim, its interval and the allowed range.

    `sizes` are the smallest and the largest fitted size.
    """

    group: dict[str, Hashable]
    slope: float
    holds: bool | None
    interval: Interval | None
    bounds: Bounds
    sizes: tuple[float, float]
    where: str

    @property
    def beyond(self) -> float:
        """The distance of the interval's farther end beyond the bounds."""
        return self.bounds.beyond(self.slope, self.interval)


class Claim(ClaimBase):
    """The log-log slope along a size of the quantity's mean over seeds.

    The slope is within `tolerance` of `expected`, where `tolerance` is at most half the distance to an exponent that is
    wrong by one half, or it is `at_most` or `at_least` a number. This holds for every combination of values of the
    columns `each` that has two sizes, using only points in the region `where`. `expected` is a number, or the
    prediction of `Theory` along the depth. If the prediction is faster than any power, the slope is at least
    `tolerance`.
    """

    kind: Literal["slope"]
    along: str
    each: Names = ()
    where: Region | None = None
    expected: Exponent | None = None
    tolerance: float = Field(default=QUARTER, gt=0, le=QUARTER)
    at_most: float | None = None
    at_least: float | None = None
    control: Some

    @property
    def columns(self) -> Names:
        """The columns for whose values slopes are fitted separately, and the size."""
        return (*self.each, self.along)

    @property
    def groups(self) -> Names:
        """The columns `each`."""
        return self.each

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        rules = [rule is not None for rule in (self.expected, self.at_most, self.at_least)]
        if sum(rules) != 1:
            raise ValueError("give one of expected, at_most and at_least")
        if isinstance(self.expected, Theory) and self.along != "depth":
            raise ValueError(
                f"expected: theory predicts powers of depth, and the slope is along {self.along}; take along: depth"
            )
        return self

    def problems(self, grids: Grids) -> Iterator[Problem]:
        """Yield problems of the claim, including those of its region, its sizes and the theory."""
        yield from super().problems(grids)
        yield from ratio_problems(self, "where", self.where.ratio if self.where else ())
        yield from size_problems(self, "along", self.along, grids)
        if isinstance(self.expected, Theory):
            for name in (*self.grids, *self.control):
                problem = theory_problem(name, grids[name])
                if problem is not None:
                    yield Problem(("expected",), problem)

    def measure(self, results: Results, *_: Results) -> Measurement:
        """Measure the log-log slope that is farthest from the claimed range, over the groups of `each`.

        If training diverged at some size, there is no slope, and the claim fails.

        Raises:
            UndecidedError: see `fits`.
        """
        fits = self.fits(results)
        if isinstance(fits, Measurement):
            return fits
        holds = together([fit.holds for fit in fits])
        worst = max((fit for fit in fits if fit.holds is holds), key=lambda fit: fit.beyond)
        smallest, largest = map(setting, worst.sizes)
        return Measurement(
            holds=holds,
            value=worst.slope,
            interval=worst.interval,
            threshold=f"slope {worst.bounds}",
            detail=f"the log-log slope of {quantity_name(self)} in {prose(self.along)} from {smallest} to {largest}"
            f"{worst.where} is {with_interval(worst.slope, worst.interval)}; it should be {worst.bounds}",
            place=worst.where.strip(),
        )

    def fits(self, results: Results) -> list[Fit] | Measurement:
        """Fit the slope of each group that has two sizes.

        Returns:
            The fits, or the measurement of a failure if training diverged in a group.

        Raises:
            UndecidedError: there are fewer than two sizes, every cell diverged, or a mean over seeds is not positive.
        """
        table = table_of(self, results, [*self.each, self.along], where=self.where)
        generator = new_generator()
        of_group = bounds(self, results.cells)
        fits: list[Fit] = []
        for group, points in grouped(table, self.each, [self.along]).items():
            sizes = points.settings[self.along].to_numpy(float)
            if len(sizes) < 2:
                # a region may leave too few sizes in a group; the other groups decide
                continue
            named_group = dict(zip(self.each, group, strict=True))
            where = ", ".join(
                f"{prose(column)} {setting(value)}" for column, value in named_group.items()
            )
            where = f" at {where}" if where else ""
            allowed = of_group[tuple(v for c, v in named_group.items() if c in results.cells)]
            if not np.isfinite(points.means).all():
                return diverged(str(allowed), f"training diverged{where}, so there is no slope")
            if min(points.means.min(), sizes.min()) <= 0:
                what = quantity_name(self) if sizes.min() > 0 else prose(self.along)
                raise UndecidedError(f"{what} is not positive{where}, so it has no logarithm")
            slope, interval = fit_log_slope(points, sizes, generator)
            holds = decide(slope, interval, *allowed)
            ends = float(sizes[0]), float(sizes[-1])
            fits.append(Fit(named_group, slope, holds, interval, allowed, ends, where))
        if not fits:
            raise UndecidedError(f"there is only one {prose(self.along)}", "sizes")
        return fits

    @property
    def shown(self) -> Literal["slopes"]:
        """Slopes."""
        return "slopes"

    def evidence(self, results: Results, *_: Results) -> list[SlopeRow]:
        """Return the fitted slope of each group, or none if training diverged.

        Raises:
            UndecidedError: see `fits`.
        """
        fits = self.fits(results)
        if isinstance(fits, Measurement):
            return []
        return [SlopeRow(fit.group, fit.slope, fit.interval, fit.sizes) for fit in fits]

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of powers of the size."""
        return _Simulation(self, recorded)


def bounds(claim: Claim, cells: pd.DataFrame) -> dict[tuple[Hashable, ...], Bounds]:
    """Return the allowed range of slopes in each group of cells, by the columns of `each` that the cells have.

    Raises:
        ConfigurationError: theory predicts several exponents within a group, or none for the cells' parameterisation.
    """
    columns = [column for column in claim.each if column in cells]
    parts = cells.groupby(columns, dropna=False) if columns else [((), cells)]
    return {group: _bounds(claim, part) for group, part in parts}


def _bounds(claim: Claim, cells: pd.DataFrame) -> Bounds:
    """Return the allowed range of slopes in a group of cells."""
    expected = claim.expected
    if isinstance(expected, Theory):
        settings = [dict(row) for _, row in cells[_settings(cells)].drop_duplicates().iterrows()]
        predicted = {getattr(depth_exponents_of(each), expected.theory) for each in settings}
        if len(predicted) > 1:
            raise ConfigurationError(
                claim.key("each"),
                f"theory predicts the exponents {', '.join(map(setting, sorted(predicted)))} "
                "within one group; name the columns that tell them apart",
            )
        (expected,) = predicted
    if expected is None:
        return Bounds.between(claim.at_least, claim.at_most)
    if math.isinf(expected):
        return Bounds(claim.tolerance, math.inf)
    return Bounds.about(expected, claim.tolerance)


def _settings(cells: pd.DataFrame) -> list[str]:
    """Return the columns on which predictions depend."""
    return [column for column in ("parameterisation", "optimiser", *EXPONENTS) if column in cells]


class _Simulation(NoisySimulation):
    """A power of the size that starts from the values of the smallest size."""

    claim: Claim

    # a slope is the exponent of a power law
    has_exponent = True

    @property
    def constant_is_void(self) -> bool:
        """False if the slope 0 of constant values is expected or allowed."""
        return self.claim.expected not in (None, 0)

    def exact(self, wrong: float) -> np.ndarray:
        """Return the claimed power of the size for each group, or one with a wrong exponent."""
        claim, cells = self.claim, self.results.cells
        exponents = {
            group: exponent_between(*allowed, wrong)
            for group, allowed in bounds(claim, cells).items()
        }
        columns = [column for column in claim.each if column in cells]
        keys = self.table[columns].itertuples(index=False, name=None)
        exponent = np.array([exponents[key] for key in keys])
        size = self.table[claim.along].to_numpy(float)
        by_group = self.table[["value"]].assign(group=self.groups, size=size)
        smallest = by_group.loc[by_group.groupby("group")["size"].transform("min") == size]
        level = smallest.groupby("group")["value"].mean().to_numpy()[self.groups]
        start = smallest.groupby("group")["size"].first().to_numpy()[self.groups]
        return np.asarray(level * (size / start) ** exponent)

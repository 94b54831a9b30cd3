"""A quantity follows a power of a size."""

import math
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
import pandas as pd

from scaling_limits.audit.points import (
    Points,
    decide,
    generator_of,
    grouped,
    interval_of,
    log_slope,
    named,
    table_of,
    together,
)
from scaling_limits.audit.verdicts import (
    Interval,
    Measurement,
    UndecidedError,
    diverged,
    setting,
    with_interval,
    words,
)
from scaling_limits.errors import ConfigurationError
from scaling_limits.figures.claims import Slope, Theory
from scaling_limits.parameterisations.powers import EXPONENTS
from scaling_limits.parameterisations.theory import depth_exponents_of
from scaling_limits.records import Results


class Bounds(NamedTuple):
    """Between which slopes that of a group keeps to the claim; infinite on a side without one."""

    low: float
    high: float

    def __str__(self) -> str:
        if math.isinf(self.low):
            return f"at most {setting(self.high)}"
        if math.isinf(self.high):
            return f"at least {setting(self.low)}"
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return f"{setting(round(middle, 9))} ± {setting(round(half, 9))}"


class _Fit(NamedTuple):
    slope: float
    holds: bool | None
    interval: Interval | None
    bounds: Bounds
    span: str

    @property
    def beyond(self) -> float:
        """By how much the interval reaches beyond the bounds."""
        first, last = self.interval or (self.slope, self.slope)
        return max(self.bounds.low - first, last - self.bounds.high)


def measure(claim: Slope, results: Results) -> Measurement:
    """The log-log slope that is farthest from what is claimed, over the groups of `each`.

    Where training diverged at some size there is no slope, and the claim fails.

    Raises:
        UndecidedError: there are fewer than two sizes, every cell diverged, or a mean over seeds is not positive.
    """
    table = table_of(claim, results, [*claim.each, claim.along], where=claim.where)
    generator = generator_of(claim)
    of_group = bounds(claim, results.cells)
    fits: list[_Fit] = []
    for group, points in grouped(table, claim.each, [claim.along]).items():
        sizes = points.settings[claim.along].to_numpy(float)
        if len(sizes) < 2:
            # a region may leave a group too few sizes; the others decide
            continue
        named_group = dict(zip(claim.each, group, strict=True))
        where = ", ".join(
            f"{words(column)} {setting(value)}" for column, value in named_group.items()
        )
        where = f" at {where}" if where else ""
        kept = of_group[tuple(v for c, v in named_group.items() if c in results.cells)]
        if not np.isfinite(points.means).all():
            return diverged(str(kept), f"training diverged{where}, so there is no slope")
        if min(points.means.min(), sizes.min()) <= 0:
            what = named(claim) if sizes.min() > 0 else words(claim.along)
            raise UndecidedError(f"{what} is not positive{where}, so it has no logarithm")
        slope, interval = fitted(points, sizes, generator)
        span = f" from {setting(sizes[0])} to {setting(sizes[-1])}{where}"
        fits.append(_Fit(slope, decide(slope, interval, *kept), interval, kept, span))
    if not fits:
        raise UndecidedError(f"there is only one {words(claim.along)}")
    holds = together([fit.holds for fit in fits])
    worst = max((fit for fit in fits if fit.holds is holds), key=lambda fit: fit.beyond)
    return Measurement(
        holds=holds,
        value=worst.slope,
        interval=worst.interval,
        threshold=str(worst.bounds),
        detail=f"the log-log slope of {named(claim)} in {words(claim.along)}{worst.span} "
        f"is {with_interval(worst.slope, worst.interval)}; it should be {worst.bounds}",
    )


def bounds(claim: Slope, cells: pd.DataFrame) -> dict[tuple[Hashable, ...], Bounds]:
    """Return the slopes that keep to the claim in each group of cells, by the columns of `each` that cells have.

    Raises:
        ConfigurationError: theory predicts several exponents within a group, or none for the cells' parameterisation.
    """
    columns = [column for column in claim.each if column in cells]
    parts = cells.groupby(columns, dropna=False) if columns else [((), cells)]
    return {group: _bounds(claim, part) for group, part in parts}


def fitted(
    points: Points, sizes: np.ndarray, generator: np.random.Generator
) -> tuple[float, Interval | None]:
    """The log-log slope of the points' means in their sizes [P], with its interval."""
    drawn = points.draws(generator)
    # means without a logarithm have any slope
    positive = (drawn > 0).all(axis=0)
    slopes = log_slope(sizes, np.where(positive, drawn, 1.0))
    slope = float(log_slope(sizes, points.means[:, None])[0])
    ends = (np.where(positive, slopes, end) for end in (-np.inf, np.inf))
    return slope, interval_of(*ends)


def _bounds(claim: Slope, cells: pd.DataFrame) -> Bounds:
    """Return the slopes that keep to the claim in a group of cells."""
    expected = claim.expected
    if isinstance(expected, Theory):
        settings = [dict(row) for _, row in cells[_settings(cells)].drop_duplicates().iterrows()]
        predicted = {getattr(depth_exponents_of(each), expected.theory) for each in settings}
        if len(predicted) > 1:
            raise ConfigurationError(
                f"claim '{claim.id}': each: theory predicts the exponents {', '.join(map(setting, sorted(predicted)))} "
                "within one group; name the columns that tell them apart"
            )
        (expected,) = predicted
    if expected is None:
        at_least, at_most = claim.at_least, claim.at_most
        return Bounds(
            -math.inf if at_least is None else at_least, math.inf if at_most is None else at_most
        )
    if math.isinf(expected):
        return Bounds(claim.tolerance, math.inf)
    return Bounds(expected - claim.tolerance, expected + claim.tolerance)


def _settings(cells: pd.DataFrame) -> list[str]:
    """The columns that predictions depend on."""
    return [column for column in ("parameterisation", "optimiser", *EXPONENTS) if column in cells]

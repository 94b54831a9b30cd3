"""Points: the values that a claim compares, by setting and seed, and functions that all kinds of claims share.

Diverged cells are infinite, with the sign that is worse for the claim. Seeds are sampled independently at each size.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from scaling_limits.claims.base import ClaimBase, Region
from scaling_limits.claims.intervals import interval_of
from scaling_limits.claims.measurement import (
    DivergedError,
    Interval,
    UndecidedError,
    prose,
    setting,
)
from scaling_limits.claims.spread import Scale, Spread, spreads_of
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures.metrics import METRICS, metric_info
from scaling_limits.figures.needs import AXES
from scaling_limits.figures.quantities import Quantity

if TYPE_CHECKING:
    import pandas as pd

    from scaling_limits.records import Results


@dataclass(frozen=True)
class Table:
    """The values of a quantity: `rows` with columns of settings, `seed` and `value`, one for each point and seed.

    `top` is the quantity's largest possible value, if there is one. Values of limits are `exact`: nothing in them is
    random. Points of a group are `competing` if only the best of them counts.
    """

    rows: pd.DataFrame
    top: float | None = None
    exact: bool = False
    competing: bool = False


@dataclass(frozen=True)
class Points:
    """Settings [P, columns] and values [P, S] of P points at their S common seeds, with the spread over seeds."""

    settings: pd.DataFrame
    values: np.ndarray
    spread: Spread

    @property
    def means(self) -> np.ndarray:
        """Means over seeds [P]; infinite if any seed diverged."""
        return np.asarray(self.values.mean(axis=1))

    @property
    def best(self) -> int:
        """The index of the point with the smallest mean."""
        return int(np.argmin(self.means))

    @property
    def num_seeds(self) -> int:
        """The number of seeds S."""
        return int(self.values.shape[1])

    def draws(self, generator: np.random.Generator) -> np.ndarray:
        """Sample plausible means [P, DRAWS], given the spread over seeds."""
        return self.spread.draws(self.means, self.num_seeds, generator)

    def ends(self, tail: float) -> np.ndarray:
        """Return the ends [P, 2] of an interval about each mean, with the probability `tail` beyond each end."""
        return self.spread.ends(self.means, self.num_seeds, tail)


def new_generator() -> np.random.Generator:
    """Return a random generator in a fixed state: verdicts are reproducible, equal quantities have equal intervals."""
    return np.random.Generator(np.random.Philox(key=0))


def require_column(claim: ClaimBase, key: str | None, column: str, table: pd.DataFrame) -> None:
    """Raise an error if a claim names a column that the table does not have.

    Args:
        claim: the claim.
        key: the claim's key that names the column; None if it is one of several.
        column: the name of the column.
        table: the table that should have it.

    Raises:
        ConfigurationError: the column is missing; the message names the claim, the key and the nearest column.
    """
    if column not in table:
        raise ConfigurationError(claim.key(key), unknown("column", column, table.columns))


def table_of(
    claim: ClaimBase,
    results: Results,
    columns: Sequence[str],
    *,
    quantity: Quantity | None = None,
    where: Region | None = None,
    diverged: float = np.inf,
    may_diverge: bool = False,
) -> Table:
    """Tabulate the claim's quantity.

    An error of 0 counts as half a sample, as n samples do not tell it from errors far below 1 / n, and ratios of 0 are
    undefined.

    Args:
        claim: the claim.
        results: the cells that the claim is about, with their records.
        columns: settings that distinguish its points: columns of the cells, or axes that the quantity keeps (also
            relative to the depth).
        quantity: the quantity to tabulate (default: the claim's).
        where: the region of points to keep (default: all points).
        diverged: the value that replaces values that are not finite.
        may_diverge: whether to accept a table in which every cell diverged, such as a reference's.

    Returns:
        The values by `columns` and seed.

    Raises:
        ConfigurationError: a column is unknown, or several values have the same `columns` and seed.
        UndecidedError: the quantity was not recorded in all cells, no point lies in the region, or every cell there
            diverged.
    """
    quantity = quantity or claim.quantity
    all_rows = results.quantity(quantity)
    cells, recorded = (frame["cell_id"].nunique() for frame in (results.cells, all_rows))
    if recorded < cells:
        raise UndecidedError(f"{name_of(quantity)} was recorded in {recorded} of {cells} cells")
    for column in columns:
        require_column(claim, None, column, all_rows)
    key = [*columns, "seed"]
    identity = list(dict.fromkeys(["cell_id", *quantity.kept_axes, *key]))
    # select columns first: the power study tabulates thousands of records, and cells have some sixty columns
    table = all_rows[[*identity, "value", *all_rows.columns.intersection(["limit"])]]
    # a cell in several grids counts once, but several points may share a cell: at the base depth, exponents have no
    # effect
    table = table.drop_duplicates(identity)
    _refuse_several_values(claim, all_rows, table, key)
    exact = "limit" in table and bool(table["limit"].notna().all())
    table["lost"] = ~np.isfinite(table["value"])
    table["value"] = table["value"].mask(table["lost"], diverged)
    samples = METRICS[quantity.metric].samples if quantity.metric in METRICS else None
    if quantity.complement and samples in all_rows:
        # without a number, a dataset is used whole, and nothing here knows its size
        given = (table["value"] == 0) & all_rows[samples].notna()
        table.loc[given, "value"] = 0.5 / all_rows.loc[given, samples].astype(float)
    if quantity.below is not None:
        # a cell that never falls below the threshold has not necessarily diverged
        table["lost"] &= table["cell_id"].isin(results.diverged.index)
    rows = _inside(claim, where, table[[*key, "value", "lost"]])
    if rows["lost"].all() and not may_diverge:
        raise DivergedError
    rows = rows.drop(columns="lost").sort_values(key, ignore_index=True)
    return Table(rows, metric_info(quantity).top, exact, claim.competing)


def _refuse_several_values(
    claim: ClaimBase, all_rows: pd.DataFrame, table: pd.DataFrame, key: list[str]
) -> None:
    """Reject a table in which several rows have the same values of `key`.

    Args:
        claim: the claim.
        all_rows: the table with all columns, to find those in which the rows differ.
        table: the rows.
        key: the columns that should distinguish the rows.

    Raises:
        ConfigurationError: several rows have the same values of `key`; the message names the columns in which they
            differ.
    """
    several = table.duplicated(key, keep=False)
    if not several.any():
        return
    _, group = next(iter(all_rows.loc[table.index[several]].groupby(key, dropna=False)))
    identifying = {*key, "cell_id", "grid", "value"}
    differ = [str(c) for c in group if c not in identifying and group[c].astype(str).nunique() > 1]
    raise ConfigurationError(
        claim.key(),
        f"several values at one point of {', '.join(key)}; "
        f"they differ in {', '.join(differ) or 'no column'}: fix one of these with `only`",
    )


def points_of(table: Table, columns: Sequence[str]) -> Points:
    """Return the points of a table of `table_of`, at their common seeds.

    Raises:
        UndecidedError: no seed was run at every point.
    """
    (points,) = grouped(table, (), columns).values()
    return points


def by_size(
    table: Table, along: str, columns: Sequence[str], least: int = 2
) -> dict[float, Points]:
    """Return the points at each size, in increasing order of sizes.

    If `along` is an axis that the quantity keeps, as the training step, the sizes are parts of the same runs. They have
    the same effects of seeds, which cancel when sizes are compared and are left out of the spread.

    Args:
        table: the values by size, setting and seed.
        along: the column of sizes, or an axis.
        columns: the settings that identify a point of one size.
        least: how many sizes are needed.

    Raises:
        UndecidedError: there are fewer sizes.
    """
    if along in AXES:
        sizes = _parts_of_runs(table, along, columns)
    else:
        sizes = {
            cast(float, size): points
            for (size,), points in grouped(table, (along,), columns).items()
        }
    if len(sizes) < least:
        raise UndecidedError(f"there is only one {prose(along)}", "sizes")
    return sizes


def _parts_of_runs(table: Table, along: str, columns: Sequence[str]) -> dict[float, Points]:
    """Return the points at each value of an axis, without the effects of seeds that all points share."""
    points = points_of(table, [along, *columns])
    parts = {}
    for size, rows in points.settings.groupby(along, sort=True).indices.items():
        spread = replace(points.spread, independent=points.spread.independent[rows], shared=0.0)
        settings = points.settings.iloc[rows][list(columns)].reset_index(drop=True)
        parts[cast(float, size)] = Points(settings, points.values[rows], spread)
    return parts


def grouped(
    table: Table, groups: Sequence[str], columns: Sequence[str]
) -> dict[tuple[Hashable, ...], Points]:
    """Return the points of each group of a table, in order; points of a group share the effects of seeds.

    Args:
        table: the values by group, setting and seed.
        groups: the columns that identify a group.
        columns: the settings that identify a point of a group.

    Raises:
        UndecidedError: no seed was run at every point of a group.
    """
    wide = list(_wide(table.rows, list(groups), list(columns)))
    values = [array for _, _, array in wide]
    scale = Scale.of(values, table.top)
    spreads = spreads_of(values, scale, exact=table.exact, competing=table.competing)
    return {
        key: Points(settings, array, spread)
        for (key, settings, array), spread in zip(wide, spreads, strict=True)
    }


def _wide(
    rows: pd.DataFrame, groups: list[str], columns: list[str]
) -> Iterable[tuple[tuple[Hashable, ...], pd.DataFrame, np.ndarray]]:
    """Yield the key, the settings and the values [P, S] of each group, at the seeds that all its points have."""
    import pandas as pd

    if not columns:
        parts = rows.groupby(groups, sort=True) if groups else [((), rows)]
        for key, part in parts:
            yield key, pd.DataFrame(index=[0]), part["value"].to_numpy(float)[None, :]
        return
    wide = rows.set_index([*groups, *columns, "seed"])["value"].unstack("seed")
    settings = wide.index.to_frame(index=False)
    array = wide.to_numpy(float)
    # rows are sorted by group
    positions = (
        settings.groupby(groups, sort=True).indices if groups else {(): np.arange(len(array))}
    )
    columns_table = settings[columns]
    for group, position in positions.items():
        key = group if isinstance(group, tuple) else (group,)
        values = array[position]
        values = values[:, ~np.isnan(values).any(axis=0)]
        if values.shape[1] == 0:
            raise UndecidedError("no seed was run at every point")
        yield key, columns_table.iloc[position].reset_index(drop=True), values


def ratio_of(values: np.ndarray | float, references: np.ndarray | float) -> np.ndarray:
    """Return values divided by references: infinite if the value is infinite, 0 if only the reference is."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(values), np.divide(values, references), np.inf)


def log_slope(sizes: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return least-squares slopes [R] of log means [P, R] against log sizes [P]."""
    x = np.log(sizes) - np.log(sizes).mean()
    return np.asarray(x @ np.log(means) / (x @ x))


def fit_log_slope(
    points: Points, sizes: np.ndarray, generator: np.random.Generator
) -> tuple[float, Interval | None]:
    """Return the log-log slope of the points' means against their sizes [P], with its confidence interval."""
    sampled = points.draws(generator)
    # samples without a logarithm are compatible with any slope
    positive = (sampled > 0).all(axis=0)
    slopes = log_slope(sizes, np.where(positive, sampled, 1.0))
    slope = float(log_slope(sizes, points.means[:, None])[0])
    ends = (np.where(positive, slopes, end) for end in (-np.inf, np.inf))
    return slope, interval_of(*ends)


def quantity_name(claim: ClaimBase) -> str:
    """Return the name of the claim's quantity, or of the metrics whose values or ratios it takes."""
    return name_of(claim.quantity)


def name_of(quantity: Quantity) -> str:
    """Return the name of a quantity, or of the metrics whose values or ratios it takes."""
    metrics = (
        METRICS[metric].label if metric in METRICS else prose(metric) for metric in quantity.metrics
    )
    growth = "growth of " if quantity.growth else ""
    return quantity.label or growth + " over ".join(metrics)


def require_positive(claim: ClaimBase, points: Points, where: str = "") -> None:
    """Raise an error if a value is zero or negative, so that ratios of values are undefined.

    Args:
        claim: the claim that takes ratios or logarithms.
        points: the values.
        where: the setting of the points as part of the message, with a leading space.

    Raises:
        UndecidedError: a value is not positive.
    """
    smallest = points.values.min()
    if smallest <= 0:
        found = "reaches 0" if smallest == 0 else "is negative"
        raise UndecidedError(f"{quantity_name(claim)} {found}{where}, so that ratios are undefined")


def no_value(claim: ClaimBase, where: str) -> UndecidedError:
    """Return the error of a claim that compares sizes, at one of which no setting has a finite mean over seeds.

    Args:
        claim: the claim.
        where: the size.
    """
    threshold = claim.quantity.below
    if threshold is None:
        return UndecidedError(f"every cell diverged at {where}", "divergence")
    metric = name_of(claim.quantity)
    return UndecidedError(
        f"at {where}, {metric} does not fall below {setting(threshold)} for every seed"
    )


def steps_of(claim: ClaimBase, results: Results) -> list[Quantity]:
    """Return the claim's quantity, or a copy of it for each of the claim's steps.

    Raises:
        UndecidedError: nothing was recorded.
    """
    if claim.steps is None:
        return [claim.quantity]
    recorded = (set(results.steps(metric)) for metric in claim.quantity.metrics)
    steps = sorted(set.intersection(*recorded)) if claim.steps == "all" else claim.steps
    if not steps:
        raise UndecidedError(f"{prose(claim.quantity.metric)} was not recorded")
    return [claim.quantity.model_copy(update={"reduce": "at", "step": step}) for step in steps]


def ratio_column(claim: ClaimBase, settings: pd.DataFrame, ratio: Sequence[str]) -> np.ndarray:
    """Return the ratio of two of a claim's columns, or a single column, at each row [P].

    Raises:
        ConfigurationError: a column is not among those that distinguish the claim's points.
    """
    for column in ratio:
        require_column(claim, "ratio", column, settings)
    top, *bottom = (settings[column].to_numpy(float) for column in ratio)
    return np.asarray(top / bottom[0] if bottom else top)


def _inside(claim: ClaimBase, region: Region | None, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that lie in a region, or all rows without a region.

    Raises:
        UndecidedError: no row lies in the region.
    """
    if region is None:
        return rows
    chosen = ratio_column(claim, rows, region.ratio)
    low = -np.inf if region.at_least is None else region.at_least
    high = np.inf if region.at_most is None else region.at_most
    inside = rows[(low <= chosen) & (chosen <= high)]
    if inside.empty:
        raise UndecidedError(f"no point has such a {' / '.join(map(prose, region.ratio))}")
    return inside

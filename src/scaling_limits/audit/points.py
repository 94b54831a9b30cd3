"""Points: the values that a claim compares, by setting and seed, and what all kinds do with them.

Diverged cells are infinite, on the side that is worse for the claim. Standard errors and bootstrap
intervals are over seeds; seeds are drawn for each size by itself.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scaling_limits.audit.verdicts import Interval, UndecidedError, words
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures.claims import ClaimBase, Region, Steps
from scaling_limits.figures.quantities import Quantity
from scaling_limits.records import Results

RESAMPLES = 500
STANDARD_ERRORS = 2.0
ONE_SEED_MARGIN = 0.05
"""With one seed there is no standard error: a value is better if it is so by this share."""


@dataclass(frozen=True)
class Points:
    """Settings [P, columns] and values [P, S] of P points at the S seeds that all of them have."""

    settings: pd.DataFrame
    values: np.ndarray

    @property
    def means(self) -> np.ndarray:
        """Mean over seeds [P]; infinite where any seed diverged."""
        return np.asarray(self.values.mean(axis=1))

    @property
    def best(self) -> int:
        """The point of smallest mean."""
        return int(np.argmin(self.means))

    @property
    def num_seeds(self) -> int:
        """How many seeds S."""
        return int(self.values.shape[1])

    def resampled_means(self, generator: np.random.Generator) -> np.ndarray:
        """Means over seeds drawn with replacement [P, RESAMPLES]."""
        seeds = generator.integers(self.num_seeds, size=(RESAMPLES, self.num_seeds))
        return np.asarray(self.values[:, seeds].mean(axis=2))


def generator_of(claim: ClaimBase) -> np.random.Generator:
    """A generator that depends on the claim's id only, so that verdicts are reproducible."""
    key = hashlib.sha256(claim.id.encode()).digest()[:16]
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key)))


def interval_of(samples: np.ndarray, num_seeds: int) -> Interval | None:
    """The central 95% of bootstrap samples [R]; None with a single seed or no sample."""
    if num_seeds < 2 or len(samples) == 0:
        return None
    ordered = np.sort(samples)
    last = len(ordered) - 1
    return float(ordered[round(0.025 * last)]), float(ordered[round(0.975 * last)])


def require_column(claim: ClaimBase, key: str, column: str, table: pd.DataFrame) -> None:
    """Refuse a claim whose `key` names a column that the table does not have.

    Raises:
        ConfigurationError: naming the claim, the key and the nearest column.
    """
    if column not in table:
        raise ConfigurationError(
            f"claim '{claim.id}': {key}: {unknown('column', column, table.columns)}"
        )


def table_of(
    claim: ClaimBase,
    results: Results,
    columns: Sequence[str],
    *,
    quantity: Quantity | None = None,
    diverged: float = np.inf,
) -> pd.DataFrame:
    """The quantity with its settings, one row per (point, seed): `columns`, `seed`, `value`.

    A column is one of the cells, or the axis that the quantity keeps (also over the depth).

    Raises:
        ConfigurationError: a column is unknown, or values that the columns do not tell apart differ
            otherwise.
        UndecidedError: the quantity was not recorded in all cells.
    """
    quantity = quantity or claim.quantity
    own = ["cell_id", *([quantity.per] if quantity.per else [])]
    table = results.quantity(quantity).drop_duplicates(own)
    cells, recorded = (frame["cell_id"].nunique() for frame in (results.cells, table))
    if recorded < cells:
        raise UndecidedError(
            f"{words(quantity.metric)} was recorded in {recorded} of {cells} cells"
        )
    for column in columns:
        require_column(claim, "columns", column, table)
    key = [*columns, "seed"]
    twins = table[table.duplicated(key, keep=False)]
    if len(twins):
        _, group = next(iter(twins.groupby(key, dropna=False)))
        told = {*key, "cell_id", "grid", "value"}
        differ = [str(c) for c in group if c not in told and group[c].astype(str).nunique() > 1]
        raise ConfigurationError(
            f"claim '{claim.id}': several values stand at one point of {', '.join(key)}; "
            f"they differ in {', '.join(differ) or 'no column'}: fix one of these with `only`"
        )
    table["value"] = table["value"].where(np.isfinite(table["value"]), diverged)
    return table[[*key, "value"]].sort_values(key, ignore_index=True)


def points_of(table: pd.DataFrame, columns: Sequence[str]) -> Points:
    """The points of a table of `columns`, `seed`, `value`, at the seeds that they share.

    Raises:
        UndecidedError: no seed was run at every point.
    """
    if not columns:
        return Points(pd.DataFrame(index=[0]), table["value"].to_numpy(float)[None, :])
    wide = table.set_index([*columns, "seed"])["value"].unstack("seed").dropna(axis="columns")
    if wide.shape[1] == 0:
        raise UndecidedError("no seed was run at every point")
    return Points(wide.index.to_frame(index=False), wide.to_numpy(float))


def by_size(table: pd.DataFrame, along: str, columns: Sequence[str]) -> dict[float, Points]:
    """The points at each size, sizes in increasing order.

    Raises:
        UndecidedError: there are fewer than two sizes.
    """
    sizes = {size: points_of(rows, columns) for size, rows in table.groupby(along, sort=True)}
    if len(sizes) < 2:
        raise UndecidedError(f"there is only one {words(along)}")
    return sizes  # type: ignore[return-value]


def is_better(better: np.ndarray, worse: np.ndarray, *, paired: bool) -> bool:
    """Whether `better` [S] is below `worse` [S] by more than two standard errors of the difference.

    Positive values are compared by their logarithms, so that a point near divergence, whose values
    spread over orders of magnitude, does not hide its distance behind its spread. Values at one
    size are paired by seed.
    """
    if not np.isfinite(worse).all():
        return bool(np.isfinite(better).all())
    if not np.isfinite(better).all():
        return False
    if min(better.min(), worse.min()) > 0:
        better, worse = np.log(better), np.log(worse)
        margin = np.log1p(ONE_SEED_MARGIN)
    else:
        margin = ONE_SEED_MARGIN * np.abs(worse).max()
    gain = worse.mean() - better.mean()
    if min(len(better), len(worse)) < 2:
        return bool(gain > margin)
    if paired:
        error = (worse - better).std(ddof=1) / np.sqrt(len(worse))
    else:
        error = np.hypot(*(v.std(ddof=1) / np.sqrt(len(v)) for v in (better, worse)))
    return bool(gain > STANDARD_ERRORS * error)


def ratio_of(values: np.ndarray | float, references: np.ndarray | float) -> np.ndarray:
    """Values over references; infinite where the value is, 0 where only the reference is."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(values), np.divide(values, references), np.inf)


def log_slope(sizes: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Least-squares slopes [R] of log means [P, R] against log sizes [P]."""
    x = np.log(sizes) - np.log(sizes).mean()
    return np.asarray(x @ np.log(means) / (x @ x))


def named(claim: ClaimBase) -> str:
    """The claim's quantity in words."""
    return claim.quantity.label or words(claim.quantity.metric)


def steps_of(claim: ClaimBase, results: Results, at: Steps | None) -> list[Quantity]:
    """The claim's quantity, or the same at each of the steps that `at` names.

    Raises:
        UndecidedError: nothing was recorded.
    """
    if at is None:
        return [claim.quantity]
    steps = results.steps(claim.quantity.metric) if at == "all" else at
    if not steps:
        raise UndecidedError(f"{words(claim.quantity.metric)} was not recorded")
    return [claim.quantity.model_copy(update={"reduce": "at", "step": step}) for step in steps]


def ratio_column(claim: ClaimBase, settings: pd.DataFrame, ratio: tuple[str, str]) -> np.ndarray:
    """The ratio of two of a claim's columns at each row [P].

    Raises:
        ConfigurationError: a column is not among those that tell the claim's points apart.
    """
    for column in ratio:
        require_column(claim, "ratio", column, settings)
    top, bottom = ratio
    return np.asarray(settings[top].to_numpy(float) / settings[bottom].to_numpy(float))


def inside(claim: ClaimBase, region: Region | None, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table of points that lie in a region; all of them without one.

    Raises:
        UndecidedError: there are none.
    """
    if region is None:
        return table
    ratio = ratio_column(claim, table, region.ratio)
    low = -np.inf if region.at_least is None else region.at_least
    high = np.inf if region.at_most is None else region.at_most
    chosen = table[(low <= ratio) & (ratio <= high)]
    if chosen.empty:
        raise UndecidedError(f"no point has such a {' / '.join(map(words, region.ratio))}")
    return chosen

"""A quantity depends less on one hyperparameter than on another."""

import numpy as np
import pandas as pd

from scaling_limits.audit.optima import profile
from scaling_limits.audit.points import (
    Points,
    decide,
    extreme_of,
    generator_of,
    grouped,
    named,
    ratio_of,
    table_of,
    together,
)
from scaling_limits.audit.verdicts import (
    Interval,
    Measurement,
    UndecidedError,
    diverged,
    number,
    octaves,
    setting,
    with_interval,
    words,
)
from scaling_limits.figures.claims import Flatter
from scaling_limits.records import Results


def measure(claim: Flatter, results: Results) -> Measurement:
    """Measure the spread over one hyperparameter over that over the other, the largest ratio of the groups `each`.

    A spread is (max - min) / min of the best values at each value of the hyperparameter. Where every cell of a value of
    `over` diverged the claim fails; values of `than` where every cell diverged are left out.

    Raises:
        UndecidedError: the quantity is not positive, the hyperparameters span different numbers of octaves, or
            the quantity is the same at every value of `than` that did not diverge, or every cell of a group diverged.
    """
    table = table_of(claim, results, claim.columns)
    generator = generator_of(claim)
    threshold = f"at most {setting(float(f'{1 / claim.factor:.3g}'))}"
    found: list[tuple[bool | None, float, Interval | None, str]] = []
    points_by = [claim.over, claim.than, *claim.profile]
    for group, points in grouped(table, claim.each, points_by).items():
        where = "".join(
            f" at {words(column)} {setting(value)}"
            for column, value in zip(claim.each, group, strict=True)
        )
        _refuse(claim, points, where)
        spreads = [float(each[0]) for each in _spreads(claim, points, points.means[:, None])]
        if np.isinf(spreads[0]):
            return diverged(threshold, f"at some {words(claim.over)} every cell diverged{where}")
        if spreads[1] == 0:
            told = f"{named(claim)} is the same at every {words(claim.than)} that did not diverge"
            raise UndecidedError(f"{told}{where}")
        value = float(ratio_of(*spreads))
        ratios = ratio_of(*_spreads(claim, points, points.draws(generator)))
        interval = extreme_of(value, ratios, least=0.0)
        detail = (
            f"{named(claim)} spreads by {number(spreads[0])} over {words(claim.over)} and by {number(spreads[1])} over "
            f"{words(claim.than)}{where}: {with_interval(value, interval)} times as much; it should be {threshold}"
        )
        found.append((decide(value, interval, 0.0, 1 / claim.factor), value, interval, detail))
    holds = together([answer for answer, *_ in found])
    _, value, interval, detail = max(
        (each for each in found if each[0] is holds), key=lambda each: each[1]
    )
    return Measurement(holds, value, interval, threshold, detail)


def _refuse(claim: Flatter, points: Points, where: str) -> None:
    if not np.isfinite(points.means).any():
        raise UndecidedError(f"every cell diverged{where}")
    if points.values.min() <= 0:
        raise UndecidedError(f"{named(claim)} is not positive{where}, so it has no relative spread")
    spans = []
    for column in (claim.over, claim.than):
        values = points.settings[column].to_numpy(float)
        spans.append(float(np.log2(values.max() / values.min())))
    if not np.isclose(spans[0], spans[1]):
        told = (
            f"{words(column)} spans {octaves(float(f'{span:.3g}'))}"
            for column, span in zip((claim.over, claim.than), spans, strict=True)
        )
        raise UndecidedError(f"{' and '.join(told)}{where}: spreads compare over equal spans")


def _spreads(claim: Flatter, points: Points, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Relative spreads [R] of means [P, R] over both hyperparameters; infinite where a value of `over` diverged."""
    over, than = (
        profile(points, column, np.unique(points.settings[column].to_numpy(float)), means)
        for column in (claim.over, claim.than)
    )
    # a spread made of divergence alone is no evidence that the other one matters
    steepest = np.where(np.isfinite(than), than, -np.inf).max(axis=0)
    return over.max(axis=0) / over.min(axis=0) - 1, steepest / than.min(axis=0) - 1


def exchanged(claim: Flatter, table: pd.DataFrame, means: pd.Series) -> np.ndarray:
    """Simulate values [rows] in which both hyperparameters change places, from the recorded means of a table's rows.

    The relative excesses of both profiles over the minimum add up, and each takes the place of the other by the
    distance from the smallest value in octaves. Where a value diverged its excess is the largest of the others.
    """
    values = np.full(len(table), np.nan)
    each = list(claim.each)
    groups = table.groupby(each).indices if each else {(): np.arange(len(table))}
    for rows in groups.values():
        columns = [table[column].iloc[rows] for column in (claim.over, claim.than)]
        best = [means.iloc[rows].groupby(column).min() for column in columns]
        least = best[0].min()
        excess = [(each / least - 1).pipe(lambda e: e.fillna(e.max())) for each in best]
        places = [np.log2(each.index.to_numpy(float) / each.index.min()) for each in best]
        added = 0.0
        for own, other in ((0, 1), (1, 0)):
            at = np.log2(columns[own].to_numpy(float) / best[own].index.min())
            added = added + np.interp(at, places[other], excess[other].to_numpy(float))
        values[rows] = least * (1 + added)
    return values

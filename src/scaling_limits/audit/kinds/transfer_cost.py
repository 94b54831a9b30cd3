"""What the hyperparameters that are best at the smallest size cost at the others."""

import numpy as np

from scaling_limits.audit.optima import open_edge
from scaling_limits.audit.points import (
    Points,
    by_size,
    decide,
    extreme_of,
    generator_of,
    named,
    ratio_of,
    table_of,
)
from scaling_limits.audit.verdicts import (
    Measurement,
    UndecidedError,
    setting,
    with_interval,
    words,
)
from scaling_limits.figures.claims import TransferCost
from scaling_limits.records import Results


def measure(claim: TransferCost, results: Results) -> Measurement:
    """The largest ratio of a size's value at the smallest size's optimum to its own smallest value.

    A flat direction of the hyperparameters has no resolved optimum, and costs nothing either; but where
    half of the grid costs no more than the tolerance, any choice transfers and nothing is told. The
    wrong exponent of the control must cost more than the tolerance. The quantity must be positive.

    Raises:
        UndecidedError: an optimum may lie outside the grid, or was not run at another size, or the
            values hardly depend on the hyperparameters.
    """
    columns = list(claim.over)
    sizes = by_size(table_of(claim, results, [claim.along, *columns]), claim.along, columns)
    if min(points.values.min() for points in sizes.values()) <= 0:
        raise UndecidedError(f"{named(claim)} is not positive, so it has no ratios")
    reference, *others = sizes
    start = sizes[reference]
    if not np.isfinite(start.means[start.best]):
        raise UndecidedError(f"every cell diverged at {words(claim.along)} {setting(reference)}")
    generator = generator_of(claim)
    drawn_best = start.draws(generator).argmin(axis=0)
    ratios: dict[float, float] = {}
    typical: dict[float, float] = {}
    drawn = []
    for size in others:
        points = sizes[size]
        rows = _same_settings(start, points, columns, f"{words(claim.along)} {setting(size)}")
        ratios[size] = float(ratio_of(points.means[rows[start.best]], points.means.min()))
        means = points.draws(generator)
        chosen = np.take_along_axis(means, rows[drawn_best][None, :], axis=0)[0]
        drawn.append(ratio_of(chosen, means.min(axis=0)))
        typical[size] = _typical(points, means)
    far = max(others, key=lambda size: (ratios[size], size))
    interval = extreme_of(ratios[far], np.max(drawn, axis=0), least=1.0)
    holds = decide(ratios[far], interval, 0.0, 1 + claim.tolerance)
    if holds and typical[far] <= 1 + claim.tolerance:
        raise UndecidedError(
            f"at {words(claim.along)} {setting(far)} half of the grid may cost as little, so that any choice would do"
        )
    # an open edge of another size hides a larger cost: only a claim that fails does not need it closed
    for size in (reference,) if holds is False else sizes:
        reason = open_edge(sizes[size], columns, claim.tolerance)
        if reason is not None:
            raise UndecidedError(f"at {words(claim.along)} {setting(size)}, {reason}")
    best = start.settings.iloc[start.best]
    settings = ", ".join(f"{words(column)} {setting(best[column])}" for column in columns)
    return Measurement(
        holds=holds,
        value=ratios[far],
        interval=interval,
        threshold=f"at most {setting(1 + claim.tolerance)}",
        detail=f"the best of {words(claim.along)} {setting(reference)} ({settings}) gives "
        f"{with_interval(ratios[far], interval)} times the smallest {named(claim)} "
        f"at {setting(far)}; allowed {setting(1 + claim.tolerance)}",
    )


def _typical(points: Points, drawn: np.ndarray) -> float:
    """The least that half of the grid costs at one size; means are `drawn` [P, R]."""
    value = float(ratio_of(np.median(points.means), points.means.min()))
    cost = ratio_of(np.median(drawn, axis=0), drawn.min(axis=0))
    interval = extreme_of(value, cost, least=1.0)
    return interval[0] if interval else value


def _same_settings(start: Points, points: Points, columns: list[str], where: str) -> np.ndarray:
    """The row in `points` of each point of `start` [P]."""
    index = points.settings.set_index(columns).index
    rows = index.get_indexer(start.settings.set_index(columns).index)
    if (rows < 0).any():
        raise UndecidedError(f"the hyperparameters are not the same grid at {where}")
    return np.asarray(rows)

"""A quantity is ordered by the ratio of two columns."""

import numpy as np
import pandas as pd

from scaling_limits.audit.points import (
    decide,
    generator_of,
    interval_of,
    named,
    points_of,
    ratio_column,
    steps_of,
    table_of,
)
from scaling_limits.audit.verdicts import (
    Measurement,
    UndecidedError,
    diverged,
    setting,
    with_interval,
    words,
)
from scaling_limits.figures.claims import RankCorrelation
from scaling_limits.records import Results

MIN_POINTS = 4


def measure(claim: RankCorrelation, results: Results) -> Measurement:
    """Spearman's correlation, the smallest over the steps; its interval is that over seeds.

    A quantity that is the same everywhere is not ordered: its correlation counts as 0. Where
    training diverged at some points the claim fails, since they have no rank.

    Raises:
        UndecidedError: there are fewer than four points, or every cell diverged.
    """
    top, bottom = claim.ratio
    threshold = f"at least {setting(claim.above)}"
    generator = generator_of(claim)
    correlations, drawn = [], []
    steps = steps_of(claim, results, claim.at)
    for quantity in steps:
        table = table_of(claim, results, claim.by, quantity=quantity)
        points = points_of(table, claim.by)
        num_points = len(points.settings)
        if num_points < MIN_POINTS:
            raise UndecidedError(f"{num_points} points are too few to rank")
        ratio = ratio_column(claim, points.settings, claim.ratio)
        means = points.means
        if not np.isfinite(means).all():
            count = int(np.sum(~np.isfinite(means)))
            return diverged(threshold, f"training diverged at {count} of {num_points} points")
        correlations.append(float(_spearman(means[None], ratio[None])[0]))
        drawn_means = points.draws(generator).T
        drawn.append(_spearman(drawn_means, np.broadcast_to(ratio, drawn_means.shape)))
    value = min(correlations)
    interval = interval_of(np.min(drawn, axis=0))
    lowest = f", the lowest of {len(steps)} steps" if len(steps) > 1 else ""
    return Measurement(
        holds=decide(value, interval, claim.above, np.inf),
        value=value,
        interval=interval,
        threshold=threshold,
        detail=f"the rank correlation of {named(claim)} with {words(top)} / {words(bottom)} "
        f"over {num_points} points is {with_interval(value, interval)}{lowest}; "
        f"it should be {threshold}",
    )


def _spearman(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Rank correlation of the rows of [R, P] and [R, P]: [R]; 0 where a row is constant."""
    a, b = (pd.DataFrame(values.T).rank().to_numpy().T for values in (first, second))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    norm = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.asarray((a * b).sum(axis=1) / np.where(norm > 0, norm, 1.0))

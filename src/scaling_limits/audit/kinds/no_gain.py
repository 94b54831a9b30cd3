"""The best value over the hyperparameters gains nothing along a size, or gets worse."""

import numpy as np

from scaling_limits.audit.optima import open_edge
from scaling_limits.audit.points import (
    by_size,
    decide,
    extreme_of,
    generator_of,
    interval_of,
    named,
    ratio_of,
    table_of,
)
from scaling_limits.audit.verdicts import (
    Measurement,
    UndecidedError,
    number,
    setting,
    with_interval,
    words,
)
from scaling_limits.figures.claims import NoGain
from scaling_limits.records import Results


def measure(claim: NoGain, results: Results) -> Measurement:
    """Measure the best value at the largest size over that at the smallest.

    The claim holds if this ratio is at least `claim.bound`, and fails if it is below. The quantity must be positive.

    Raises:
        UndecidedError: there are fewer than two sizes, every cell of one of the two diverged, or the optimum of the
            size with the larger value may lie outside its grid, where it could be smaller still.
    """
    columns = list(claim.over)
    sizes = by_size(table_of(claim, results, [claim.along, *columns]), claim.along, columns)
    ends = [min(sizes), max(sizes)]
    where = [f"{words(claim.along)} {setting(size)}" for size in ends]
    generator = generator_of(claim)
    best, drawn = [], []
    for size, at in zip(ends, where, strict=True):
        points = sizes[size]
        if points.values.min() <= 0:
            raise UndecidedError(f"{named(claim)} is not positive at {at}, so it has no ratios")
        best.append(float(points.means.min()))
        if not np.isfinite(best[-1]):
            raise UndecidedError(f"every cell diverged at {at}")
        drawn.append(points.draws(generator).min(axis=0))
    value = float(ratio_of(best[1], best[0]))
    ratios = ratio_of(drawn[1], drawn[0])
    # the best of several settings is the luckier the more of them are nearly as good, which the size may change
    interval = (
        extreme_of(value, ratios, least=0.0, logarithmic=True) if columns else interval_of(ratios)
    )
    holds = decide(value, interval, claim.bound, np.inf)
    larger = 1 if value >= claim.bound else 0
    reason = open_edge(sizes[ends[larger]], columns, tolerance=0.0)
    if reason is not None:
        raise UndecidedError(f"at {where[larger]}, {reason}")
    threshold = f"at least {setting(claim.bound)}"
    return Measurement(
        holds=holds,
        value=value,
        interval=interval,
        threshold=threshold,
        detail=f"the best {named(claim)} goes from {number(best[0])} at {where[0]} to {number(best[1])} at "
        f"{setting(ends[1])}, {with_interval(value, interval)} times as much; it should be {threshold}",
    )

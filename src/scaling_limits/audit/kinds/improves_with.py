"""The best value over the hyperparameters falls along a size."""

from itertools import pairwise

import numpy as np

from scaling_limits.audit.optima import open_edge
from scaling_limits.audit.points import (
    by_size,
    generator_of,
    interval_of,
    is_better,
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
from scaling_limits.figures.claims import ImprovesWith
from scaling_limits.records import Results


def measure(claim: ImprovesWith, results: Results) -> Measurement:
    """The largest ratio of the best value to that of the next smaller size.

    It fails where a ratio exceeds the tolerance and two standard errors, or where the smallest size
    beats the largest by more than two standard errors. The quantity must be positive.

    Raises:
        UndecidedError: an optimum may lie outside the grid, or the ends cannot be told apart.
    """
    columns = list(claim.over)
    sizes = by_size(table_of(claim, results, [claim.along, *columns]), claim.along, columns)
    for size, points in sizes.items():
        reason = open_edge(points, columns, claim.tolerance)
        if reason is not None:
            raise UndecidedError(f"at {words(claim.along)} {setting(size)}, {reason}")
        if points.values.min() <= 0:
            raise UndecidedError(f"{named(claim)} is not positive, so it has no ratios")
    best = {size: points.values[points.best] for size, points in sizes.items()}
    smallest, largest = min(sizes), max(sizes)
    if not np.isfinite(best[smallest]).all():
        raise UndecidedError(f"every cell diverged at {words(claim.along)} {setting(smallest)}")

    generator = generator_of(claim)
    resampled = {s: p.resampled_means(generator).min(axis=0) for s, p in sizes.items()}
    ratios, samples, rises = [], [], False
    for small, large in pairwise(sizes):
        ratios.append(float(ratio_of(best[large].mean(), best[small].mean())))
        samples.append(ratio_of(resampled[large], resampled[small]))
        rises |= ratios[-1] > 1 + claim.tolerance and is_better(
            best[small], best[large], paired=False
        )
    value = max(ratios)
    interval = interval_of(np.max(samples, axis=0), max(p.num_seeds for p in sizes.values()))
    ends = (
        f"the best {named(claim)} goes from {number(best[smallest].mean())} "
        f"at {words(claim.along)} {setting(smallest)} "
        f"to {number(best[largest].mean())} at {setting(largest)}"
    )
    improves = is_better(best[largest], best[smallest], paired=False)
    worsens = is_better(best[smallest], best[largest], paired=False)
    if not (rises or improves or worsens):
        raise UndecidedError(f"{ends}, which is no resolved difference")
    allowed = 1 + claim.tolerance
    is_noise = value > allowed and not rises
    return Measurement(
        holds=improves and not rises,
        value=value,
        interval=interval,
        threshold=f"no resolved step above {setting(allowed)}",
        detail=f"{ends}; it is at most {with_interval(value, interval)} times that of "
        f"the next smaller {words(claim.along)}; allowed {setting(allowed)}"
        + (", and this rise is within two standard errors" if is_noise else ""),
    )

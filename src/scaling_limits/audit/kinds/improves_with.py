"""The best value over the hyperparameters falls along a size."""

from itertools import pairwise

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
    together,
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
    """The best value at the largest size over that at the smallest, and the largest step on the way.

    It holds if the first is below 1 - `margin` and no step above 1 + `tolerance`, both for sure, and fails
    if the first is not, or a step is, for sure. The quantity must be positive.

    Raises:
        UndecidedError: an optimum may lie outside the grid, or every cell of the smallest size diverged.
    """
    columns = list(claim.over)
    sizes = by_size(table_of(claim, results, [claim.along, *columns]), claim.along, columns)
    for size, points in sizes.items():
        reason = open_edge(points, columns, claim.tolerance)
        if reason is not None:
            raise UndecidedError(f"at {words(claim.along)} {setting(size)}, {reason}")
        if points.values.min() <= 0:
            raise UndecidedError(f"{named(claim)} is not positive, so it has no ratios")
    best = {size: float(points.means.min()) for size, points in sizes.items()}
    smallest, largest = min(sizes), max(sizes)
    if not np.isfinite(best[smallest]):
        raise UndecidedError(f"every cell diverged at {words(claim.along)} {setting(smallest)}")

    generator = generator_of(claim)
    drawn = {size: points.draws(generator).min(axis=0) for size, points in sizes.items()}
    steps = [float(ratio_of(best[large], best[small])) for small, large in pairwise(sizes)]
    drawn_steps = [ratio_of(drawn[large], drawn[small]) for small, large in pairwise(sizes)]
    step, allowed = max(steps), 1 + claim.tolerance
    step_interval = extreme_of(step, np.max(drawn_steps, axis=0), least=0.0)
    value = float(ratio_of(best[largest], best[smallest]))
    interval = interval_of(ratio_of(drawn[largest], drawn[smallest]))
    answers = (
        decide(value, interval, 0.0, 1 - claim.margin),
        decide(step, step_interval, 0.0, allowed),
    )
    along = words(claim.along)
    return Measurement(
        holds=together(answers),
        value=value,
        interval=interval,
        threshold=f"below {setting(1 - claim.margin)}, no step above {setting(allowed)}",
        detail=f"the best {named(claim)} goes from {number(best[smallest])} at {along} "
        f"{setting(smallest)} to {number(best[largest])} at {setting(largest)}, "
        f"{with_interval(value, interval)} times as much (below {setting(1 - claim.margin)} is asked); "
        f"it is at most {with_interval(step, step_interval)} times that of the next smaller {along} "
        f"({setting(allowed)} is allowed)",
    )

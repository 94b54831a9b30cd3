"""The best value over the hyperparameters is below that of a reference at the largest size."""

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
from scaling_limits.figures.claims import Beats
from scaling_limits.records import Results


def measure(claim: Beats, results: Results, reference: Results) -> Measurement:
    """The ratio of the best value to the reference's best at the largest size of both.

    It holds, or fails, where one of them is smaller by more than two standard errors.

    Raises:
        UndecidedError: the two are not told apart, the larger one's optimum may lie outside its grid,
            neither converged, or the two largest sizes differ.
    """
    columns = list(claim.over)
    own, other = (
        by_size(table_of(claim, cells, [claim.along, *columns]), claim.along, columns)
        for cells in (results, reference)
    )
    size = max(own)
    if size != max(other):
        raise UndecidedError(f"the largest {words(claim.along)} differs: {size} and {max(other)}")
    ours, theirs = own[size], other[size]
    best, beaten = (points.values[points.best] for points in (ours, theirs))
    if not (np.isfinite(best).all() or np.isfinite(beaten).all()):
        raise UndecidedError(f"every cell diverged at {words(claim.along)} {setting(size)}")
    detail = (
        f"at {words(claim.along)} {setting(size)} the best {named(claim)} is {number(best.mean())}, "
        f"and {number(beaten.mean())} in {' and '.join(claim.reference)}"
    )
    holds = is_better(best, beaten, paired=False)
    if not holds and not is_better(beaten, best, paired=False):
        raise UndecidedError(f"{detail}, which is no resolved difference")
    # the larger one might be smaller still beyond the edge of its grid
    reason = open_edge(theirs if holds else ours, columns, tolerance=0.0)
    if reason is not None:
        raise UndecidedError(f"{detail}; but for the larger one, {reason}")
    generator = generator_of(claim)
    means = [points.resampled_means(generator).min(axis=0) for points in (ours, theirs)]
    interval = interval_of(ratio_of(*means), min(ours.num_seeds, theirs.num_seeds))
    value = float(ratio_of(best.mean(), beaten.mean()))
    return Measurement(
        holds=holds,
        value=value,
        interval=interval,
        threshold="below 1",
        detail=f"{detail}: {with_interval(value, interval)} times as much",
    )

"""The best value over the hyperparameters lies below that of another arm by a margin."""

import numpy as np

from scaling_limits.audit.optima import open_edge
from scaling_limits.audit.points import (
    Points,
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
from scaling_limits.figures.claims import Gap
from scaling_limits.records import Results


def measure(claim: Gap, results: Results, reference: Results) -> Measurement:
    """The best value over the reference's at the largest size; if it `grows`, over that ratio at the smallest.

    It holds if this is below 1 - `margin`, and fails if it is not: a tie within the margin decides.

    Raises:
        UndecidedError: the optimum of the larger one may lie outside its grid, every cell of the first arm
            diverged, the sizes differ, or it should grow along a single one.
    """
    columns = list(claim.over)
    own, other = (
        by_size(
            table_of(claim, cells, [claim.along, *columns], may_diverge=cells is reference),
            claim.along,
            columns,
            least=2 if claim.grows else 1,
        )
        for cells in (results, reference)
    )
    ends = [max(own), min(own)] if claim.grows else [max(own)]
    generator = generator_of(claim)
    ratios, drawn, said = [], [], []
    for size, theirs_at in zip(ends, [max(other), min(other)], strict=False):
        where = f"{words(claim.along)} {setting(size)}"
        if size != theirs_at:
            raise UndecidedError(
                f"{words(claim.along)} differs: {setting(size)} and {setting(theirs_at)}"
            )
        ours, theirs = own[size], other[size]
        _refuse(claim, ours, theirs, where)
        ratios.append(ratio_of(ours.means.min(), theirs.means.min()))
        best = [points.draws(generator).min(axis=0) for points in (ours, theirs)]
        drawn.append(ratio_of(*best))
        said.append(
            f"at {where} the best {named(claim)} is {number(ours.means.min())}, and "
            f"{number(theirs.means.min())} in {' and '.join(claim.reference)}"
        )
    if claim.grows and not 0 < ratios[1] < np.inf:
        raise UndecidedError(f"every cell of one arm diverged at {where}")
    value, drawn_value = (
        ratio_of(found[0], found[1]) if claim.grows else found[0] for found in (ratios, drawn)
    )
    # the best of several settings is the luckier the more there are, which may be more in one arm
    interval = (
        extreme_of(float(value), drawn_value, least=0.0, logarithmic=True)
        if columns
        else interval_of(drawn_value)
    )
    below = 1 - claim.margin
    what = "the ratio grows to" if claim.grows else "that is"
    return Measurement(
        holds=decide(float(value), interval, 0.0, below),
        value=float(value),
        interval=interval,
        threshold=f"below {setting(below)}",
        detail=f"{' and '.join(said)}: {what} {with_interval(float(value), interval)} times as much; "
        f"below {setting(below)} is asked",
    )


def _refuse(claim: Gap, ours: Points, theirs: Points, where: str) -> None:
    """Refuse arms of which nothing can be said at one size.

    The larger one might be smaller still beyond the edge of its grid.
    """
    if min(ours.values.min(), theirs.values.min()) <= 0:
        raise UndecidedError(f"{named(claim)} is not positive at {where}, so it has no ratios")
    smallest = [points.means.min() for points in (ours, theirs)]
    if not np.isfinite(smallest).any():
        raise UndecidedError(f"every cell diverged at {where}")
    larger = theirs if smallest[0] <= smallest[1] else ours
    reason = open_edge(larger, list(claim.over), tolerance=0.0)
    if reason is not None:
        raise UndecidedError(f"at {where}, for the larger one, {reason}")

"""The best value over the hyperparameters lies below that of another arm by a margin."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

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
from scaling_limits.figures.quantities import Quantity
from scaling_limits.records import Results


def measure(claim: Gap, results: Results, reference: Results) -> Measurement:
    """The best value over the reference's at the largest size; if it is compared, over another such ratio.

    That is the ratio at the smallest size if it `grows`, and the one by the `reference_quantity` if there is one.
    It holds if this is below 1 - `margin`, and fails if it is not: a tie within the margin decides.

    Raises:
        UndecidedError: the optimum of the larger one may lie outside its grid, every cell of the first arm
            diverged, the sizes differ, or it should grow along a single one.
    """
    generator = generator_of(claim)
    first = _arms(claim, results, reference, claim.quantity)
    ratios = [_ratio(claim, first, max, generator)]
    if claim.grows:
        ratios.append(_ratio(claim, first, min, generator))
    elif claim.reference_quantity is not None:
        second = _arms(claim, results, reference, claim.reference_quantity)
        ratios.append(_ratio(claim, second, max, generator))
    value, drawn = ratios[0].value, ratios[0].drawn
    for other in ratios[1:]:
        if not 0 < other.value < np.inf:
            raise UndecidedError(f"every cell of one arm diverged at {other.where}")
        value, drawn = float(ratio_of(value, other.value)), ratio_of(drawn, other.drawn)
    # the best of several settings is the luckier the more there are, which may be more in one arm
    interval = (
        extreme_of(value, drawn, least=0.0, logarithmic=True) if claim.over else interval_of(drawn)
    )
    below = 1 - claim.margin
    what = "the ratio changes to" if len(ratios) > 1 else "that is"
    return Measurement(
        holds=decide(value, interval, 0.0, below),
        value=value,
        interval=interval,
        threshold=f"below {setting(below)}",
        detail=f"{'; '.join(ratio.said for ratio in ratios)}: {what} "
        f"{with_interval(value, interval)} times as much; below {setting(below)} is asked",
    )


class _Arms(NamedTuple):
    """The points of both arms by size, and what they are of in words."""

    ours: dict[float, Points]
    theirs: dict[float, Points]
    name: str


class _Ratio(NamedTuple):
    """The best value over the reference's, its plausible values [R], where, and both in words."""

    value: float
    drawn: np.ndarray
    where: str
    said: str


def _arms(claim: Gap, results: Results, reference: Results, quantity: Quantity) -> _Arms:
    columns = list(claim.over)
    ours, theirs = (
        by_size(
            table_of(
                claim,
                cells,
                [claim.along, *columns],
                quantity=quantity,
                may_diverge=cells is reference,
            ),
            claim.along,
            columns,
            least=2 if claim.grows else 1,
        )
        for cells in (results, reference)
    )
    return _Arms(ours, theirs, quantity.label or words(quantity.metric))


def _ratio(
    claim: Gap,
    arms: _Arms,
    end: Callable[[Iterable[float]], float],
    generator: np.random.Generator,
) -> _Ratio:
    size, theirs_at = end(arms.ours), end(arms.theirs)
    where = f"{words(claim.along)} {setting(size)}"
    if size != theirs_at:
        raise UndecidedError(
            f"{words(claim.along)} differs: {setting(size)} and {setting(theirs_at)}"
        )
    ours, theirs = arms.ours[size], arms.theirs[size]
    _refuse(claim, ours, theirs, where)
    best = [points.draws(generator).min(axis=0) for points in (ours, theirs)]
    said = (
        f"at {where} the best {arms.name} is {number(ours.means.min())}, and "
        f"{number(theirs.means.min())} in {' and '.join(claim.reference)}"
    )
    value = float(ratio_of(ours.means.min(), theirs.means.min()))
    return _Ratio(value, ratio_of(*best), where, said)


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

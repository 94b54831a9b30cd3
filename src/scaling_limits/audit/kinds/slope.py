"""A quantity follows a power of a size."""

import math

import numpy as np

from scaling_limits.audit.points import (
    Points,
    decide,
    generator_of,
    grouped,
    interval_of,
    log_slope,
    named,
    table_of,
    together,
)
from scaling_limits.audit.verdicts import (
    Interval,
    Measurement,
    UndecidedError,
    diverged,
    setting,
    with_interval,
    words,
)
from scaling_limits.figures.claims import Slope
from scaling_limits.records import Results


def measure(claim: Slope, results: Results) -> Measurement:
    """The log-log slope that is farthest from what is claimed, over the groups of `each`.

    Where training diverged at some size there is no slope, and the claim fails.

    Raises:
        UndecidedError: there are fewer than two sizes, every cell diverged, or a mean over seeds is not positive.
    """
    table = table_of(claim, results, [*claim.each, claim.along], where=claim.where)
    generator = generator_of(claim)
    threshold = _threshold(claim)
    low, high = _bounds(claim)
    fits: list[tuple[float, bool | None, Interval | None, str]] = []
    for group, points in grouped(table, claim.each, [claim.along]).items():
        sizes = points.settings[claim.along].to_numpy(float)
        if len(sizes) < 2:
            # a region may leave a group too few sizes; the others decide
            continue
        where = "".join(
            f" at {words(column)} {setting(value)}"
            for column, value in zip(claim.each, group, strict=True)
        )
        if not np.isfinite(points.means).all():
            return diverged(threshold, f"training diverged{where}, so there is no slope")
        if min(points.means.min(), sizes.min()) <= 0:
            what = named(claim) if sizes.min() > 0 else words(claim.along)
            raise UndecidedError(f"{what} is not positive{where}, so it has no logarithm")
        slope, interval = fitted(points, sizes, generator)
        span = f" from {setting(sizes[0])} to {setting(sizes[-1])}{where}"
        fits.append((slope, decide(slope, interval, low, high), interval, span))
    if not fits:
        raise UndecidedError(f"there is only one {words(claim.along)}")
    holds = together([answer for _, answer, _, _ in fits])
    slope, _, interval, span = max(
        (fit for fit in fits if fit[1] is holds),
        key=lambda fit: max(low - (fit[2] or fit[:1])[0], (fit[2] or fit[:1])[-1] - high),
    )
    return Measurement(
        holds=holds,
        value=slope,
        interval=interval,
        threshold=threshold,
        detail=f"the log-log slope of {named(claim)} in {words(claim.along)}{span} "
        f"is {with_interval(slope, interval)}; it should be {threshold}",
    )


def fitted(
    points: Points, sizes: np.ndarray, generator: np.random.Generator
) -> tuple[float, Interval | None]:
    """The log-log slope of the points' means in their sizes [P], with its interval."""
    drawn = points.draws(generator)
    # means without a logarithm have any slope
    positive = (drawn > 0).all(axis=0)
    slopes = log_slope(sizes, np.where(positive, drawn, 1.0))
    slope = float(log_slope(sizes, points.means[:, None])[0])
    ends = (np.where(positive, slopes, end) for end in (-np.inf, np.inf))
    return slope, interval_of(*ends)


def _bounds(claim: Slope) -> tuple[float, float]:
    if claim.expected is None:
        at_least, at_most = claim.at_least, claim.at_most
        return (
            -math.inf if at_least is None else at_least,
            math.inf if at_most is None else at_most,
        )
    return claim.expected - claim.tolerance, claim.expected + claim.tolerance


def _threshold(claim: Slope) -> str:
    if claim.at_most is not None:
        return f"at most {setting(claim.at_most)}"
    if claim.at_least is not None:
        return f"at least {setting(claim.at_least)}"
    return f"{setting(claim.expected)} ± {setting(claim.tolerance)}"

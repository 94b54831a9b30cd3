"""A quantity follows a power of a size."""

import numpy as np

from scaling_limits.audit.points import (
    generator_of,
    inside,
    interval_of,
    log_slope,
    named,
    points_of,
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
from scaling_limits.figures.claims import Slope
from scaling_limits.records import Results


def measure(claim: Slope, results: Results) -> Measurement:
    """The log-log slope that is farthest from what is claimed, over the groups of `each`.

    Where training diverged there is no slope, and the claim fails.

    Raises:
        UndecidedError: there are fewer than two sizes, or a mean over seeds is not positive.
    """
    table = table_of(claim, results, [*claim.each, claim.along])
    table = inside(claim, claim.where, table)
    groups = table.groupby(list(claim.each), sort=True) if claim.each else [((), table)]
    generator = generator_of(claim)
    threshold = _threshold(claim)
    fits = []
    for group, rows in groups:
        points = points_of(rows, [claim.along])
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
        drawn = points.resampled_means(generator)
        # a resample without a logarithm is left out
        positive = drawn[:, drawn.min(axis=0) > 0]
        slope = float(log_slope(sizes, points.means[:, None])[0])
        interval = interval_of(log_slope(sizes, positive), points.num_seeds)
        fits.append((_excess(claim, slope), slope, interval, where, sizes))
    if not fits:
        raise UndecidedError(f"there is only one {words(claim.along)}")
    excess, slope, interval, where, sizes = max(fits, key=lambda fit: fit[0])
    return Measurement(
        holds=excess <= 0,
        value=slope,
        interval=interval,
        threshold=threshold,
        detail=f"the log-log slope of {named(claim)} in {words(claim.along)} "
        f"from {setting(sizes[0])} to {setting(sizes[-1])}{where} "
        f"is {with_interval(slope, interval)}; it should be {threshold}",
    )


def _excess(claim: Slope, slope: float) -> float:
    """By how much a slope misses what is claimed; at most 0 where it does not."""
    if claim.at_most is not None:
        return slope - claim.at_most
    if claim.at_least is not None:
        return claim.at_least - slope
    assert claim.expected is not None
    assert claim.tolerance is not None
    return abs(slope - claim.expected) - claim.tolerance


def _threshold(claim: Slope) -> str:
    if claim.at_most is not None:
        return f"at most {setting(claim.at_most)}"
    if claim.at_least is not None:
        return f"at least {setting(claim.at_least)}"
    assert claim.expected is not None
    assert claim.tolerance is not None
    return f"{setting(claim.expected)} ± {setting(claim.tolerance)}"

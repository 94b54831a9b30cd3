"""A quantity is bounded over a region of settings."""

import numpy as np

from scaling_limits.audit.points import (
    Points,
    generator_of,
    inside,
    interval_of,
    named,
    points_of,
    steps_of,
    table_of,
)
from scaling_limits.audit.verdicts import (
    Measurement,
    setting,
    with_interval,
    words,
)
from scaling_limits.figures.claims import Bound
from scaling_limits.records import Results


def measure(claim: Bound, results: Results) -> Measurement:
    """The value closest to breaking the bound, over points and steps.

    Raises:
        UndecidedError: no point lies in the region.
    """
    # at_least c is the same as -value at most -c
    sign = 1.0 if claim.at_least is None else -1.0
    threshold = claim.at_most if claim.at_least is None else claim.at_least
    assert threshold is not None
    limit = f"{'at most' if claim.at_least is None else 'at least'} {setting(threshold)}"
    generator = generator_of(claim)
    worst = -np.inf
    where, samples, num_points, num_seeds = "", [], 0, 1
    steps = steps_of(claim, results, claim.at)
    for quantity in steps:
        table = table_of(claim, results, claim.by, quantity=quantity, diverged=sign * np.inf)
        points = points_of(inside(claim, claim.where, table), claim.by)
        points = Points(points.settings, sign * points.values)
        samples.append(points.resampled_means(generator).max(axis=0))
        num_points, num_seeds = len(points.settings), points.num_seeds
        row = int(np.argmax(points.means))
        if points.means[row] >= worst:
            worst = float(points.means[row])
            at = points.settings.iloc[row]
            where = ", ".join(f"{words(column)} {setting(at[column])}" for column in claim.by)
            where += "" if quantity.step is None or claim.at is None else f", step {quantity.step}"
    value = sign * worst
    interval = interval_of(sign * np.max(samples, axis=0), num_seeds)
    extreme = "largest" if claim.at_least is None else "smallest"
    over = f"{num_points} points" + (f" at {len(steps)} steps" if claim.at is not None else "")
    return Measurement(
        holds=worst <= sign * threshold,
        value=value,
        interval=interval,
        threshold=limit,
        detail=f"the {extreme} {named(claim)} over {over} is "
        f"{with_interval(value, interval)} ({where}); it should be {limit}",
    )

"""A quantity is bounded over a region of settings."""

import numpy as np

from scaling_limits.audit.points import (
    decide,
    extreme_of,
    generator_of,
    inside,
    named,
    points_of,
    steps_of,
    table_of,
)
from scaling_limits.audit.verdicts import Measurement, setting, with_interval, words
from scaling_limits.figures.claims import Bound
from scaling_limits.records import Results


def measure(claim: Bound, results: Results) -> Measurement:
    """The value closest to breaking the bound, over points and steps.

    Raises:
        UndecidedError: no point lies in the region.
    """
    low = -np.inf if claim.at_least is None else claim.at_least
    high = np.inf if claim.at_most is None else claim.at_most
    smallest = claim.at_least is not None
    extreme = np.min if smallest else np.max
    limit = f"at least {setting(low)}" if smallest else f"at most {setting(high)}"
    generator = generator_of(claim)
    found: list[tuple[float, str]] = []
    drawn, num_points, top = [], 0, None
    steps = steps_of(claim, results, claim.at)
    for quantity in steps:
        diverged = -np.inf if smallest else np.inf
        table = table_of(claim, results, claim.by, quantity=quantity, diverged=diverged)
        points = points_of(inside(claim, claim.where, table), claim.by)
        drawn.append(extreme(points.draws(generator), axis=0))
        num_points, top = len(points.settings), points.spread.scale.top
        row = int(np.argmin(points.means) if smallest else np.argmax(points.means))
        at = points.settings.iloc[row]
        where = ", ".join(f"{words(column)} {setting(at[column])}" for column in claim.by)
        where += "" if quantity.step is None or claim.at is None else f", step {quantity.step}"
        found.append((float(points.means[row]), where))
    value, where = (min if smallest else max)(found)
    interval = extreme_of(value, extreme(drawn, axis=0), most=top)
    over = f"{num_points} points" + (f" at {len(steps)} steps" if claim.at is not None else "")
    return Measurement(
        holds=decide(value, interval, low, high),
        value=value,
        interval=interval,
        threshold=limit,
        detail=f"the {'smallest' if smallest else 'largest'} {named(claim)} over {over} is "
        f"{with_interval(value, interval)} ({where}); it should be {limit}",
    )

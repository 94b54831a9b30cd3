"""A quantity is bounded over a region of settings."""

from typing import Any

import numpy as np

from scaling_limits.audit.optima import open_edge
from scaling_limits.audit.points import (
    Table,
    decide,
    extreme_of,
    generator_of,
    grouped,
    named,
    points_of,
    steps_of,
    table_of,
)
from scaling_limits.audit.spread import Scale
from scaling_limits.audit.verdicts import (
    Measurement,
    UndecidedError,
    setting,
    with_interval,
    words,
)
from scaling_limits.figures.claims import MARGIN, Bound
from scaling_limits.records import Results


def measure(claim: Bound, results: Results) -> Measurement:
    """The value closest to breaking the bound, over points and steps.

    A cell that diverged breaks either bound, unless the claim counts it as evidence: then it is infinitely bad, which
    is what the claim says. Among others `over` which the best counts it is only not the best.

    Raises:
        UndecidedError: no point lies in the region, every cell there diverged and that is no evidence, or the best
            should be at least a number and may lie outside its grid.
    """
    low = -np.inf if claim.at_least is None else claim.at_least
    high = np.inf if claim.at_most is None else claim.at_most
    smallest = claim.at_least is not None
    extreme = np.min if smallest else np.max
    limit = f"at least {setting(low)}" if smallest else f"at most {setting(high)}"
    generator = generator_of(claim)
    found: list[tuple[float, str]] = []
    drawn, num_points, scale = [], 0, None
    steps = steps_of(claim, results, claim.at)
    evidence = claim.divergence == "evidence"
    for quantity in steps:
        table = table_of(
            claim,
            results,
            [*claim.by, *claim.over],
            quantity=quantity,
            where=claim.where,
            diverged=-np.inf if smallest and not claim.over and not evidence else np.inf,
            may_diverge=evidence,
        )
        settings, means, likely, scale = _points(claim, table, generator, closed=smallest)
        drawn.append(extreme(likely, axis=0))
        num_points = len(settings)
        row = int(np.argmin(means) if smallest else np.argmax(means))
        named_at = zip(claim.by, settings[row], strict=True)
        where = ", ".join(f"{words(column)} {setting(value)}" for column, value in named_at)
        where += "" if quantity.step is None or claim.at is None else f", step {quantity.step}"
        found.append((float(means[row]), where))
    value, where = (min if smallest else max)(found)
    assert scale is not None
    by_factors = scale.logarithmic and scale.top is None
    interval = extreme_of(value, extreme(drawn, axis=0), most=scale.top, logarithmic=by_factors)
    best = "best " if claim.over else ""
    over = f"{num_points} points" + (f" at {len(steps)} steps" if claim.at is not None else "")
    return Measurement(
        holds=decide(value, interval, low, high),
        value=value,
        interval=interval,
        threshold=limit,
        detail=f"the {'smallest' if smallest else 'largest'} {best}{named(claim)} over {over} is "
        f"{with_interval(value, interval)} ({where}); it should be {limit}",
    )


def _points(
    claim: Bound, table: Table, generator: np.random.Generator, *, closed: bool
) -> tuple[list[tuple[Any, ...]], np.ndarray, np.ndarray, Scale]:
    """Settings of the points, their values [P], plausible ones [P, DRAWS], and the scale on which they scatter.

    If `closed`, a best value at an edge where it still falls is refused: it may be smaller beyond.
    """
    if not claim.over:
        points = points_of(table, claim.by)
        settings = [tuple(row) for row in points.settings[list(claim.by)].to_numpy(object)]
        return settings, points.means, points.draws(generator), points.spread.scale
    means, drawn = [], []
    groups = grouped(table, claim.by, claim.over)
    for at, points in groups.items():
        reason = open_edge(points, claim.over, MARGIN) if closed else None
        if reason is not None:
            where = ", ".join(
                f"{words(name)} {setting(value)}" for name, value in zip(claim.by, at, strict=True)
            )
            raise UndecidedError(f"at {where}, {reason}")
        means.append(points.means.min())
        drawn.append(points.draws(generator).min(axis=0))
        scale = points.spread.scale
    return list(groups), np.array(means), np.array(drawn), scale

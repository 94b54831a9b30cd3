"""Measurements behind verdicts that pictures show: located optima and fitted slopes."""

import math
from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from scaling_limits.audit.select import measured_on
from scaling_limits.claims.base import ClaimBase
from scaling_limits.claims.measurement import (
    ErrorRow,
    Evidence,
    Interval,
    OptimumRow,
    RatioRow,
    SlopeRow,
    UndecidedError,
)
from scaling_limits.records import Results

Content = dict[str, object]
"""A JSON object."""


def shown(claim: ClaimBase, results: Results) -> Content:
    """Return the evidence of a claim that pictures show.

    Its `arms` are the judged grids together and each control separately. An arm has the `optima` at each size (size,
    value, and both ends of the confidence interval, null if the optimum may lie anywhere beyond the grid) or the
    `fits` of slopes, whose `group` has the values of `only` and of the columns that distinguish them, and whose `sizes`
    are the smallest and the largest fitted size (null for all). An arm of a claim about a `reference` also has the
    judged relative `error` (size, value, and the confidence interval), and an arm of a claim about the best value the
    judged `ratio` (`RatioRow`). The judged grids also have the range that is `claimed`: for optima, the shifts in
    octaves from the first one (null without a bound).
    """
    key = "optima" if claim.shown == "optima" else "fits"
    arms: list[Content] = []
    for grids in (claim.grids, *((grid,) for grid in claim.control)):
        rows: Evidence = ()
        with suppress(UndecidedError):
            rows = claim.evidence(*measured_on(claim, results, grids))
        found: list[object] = []
        arm: Content = {"grids": list(grids), key: found}
        for row in rows:
            if isinstance(row, ErrorRow):
                arm["error"] = list(row)
            elif isinstance(row, RatioRow):
                arm["ratio"] = row._asdict() | {"interval": _ends(row.interval)}
            else:
                found.append(_content(row, claim.only))
        bounds = claim.claimed(rows) if grids == claim.grids else None
        if bounds is not None:
            arm["claimed"] = _ends(bounds)
        arms.append(arm)
    return {
        **claim.model_dump(
            mode="json", include={"over", "along", "within", "profile", "reference", "at", "only"}
        ),
        "quantity": claim.quantity.model_dump(mode="json", exclude={"label"}, exclude_unset=True),
        "arms": arms,
    }


def _ends(interval: Interval | None) -> list[float | None] | None:
    """Return the ends of an interval, or None; an infinite end is None."""
    if interval is None:
        return None
    return [end if math.isfinite(end) else None for end in interval]


def _content(row: OptimumRow | SlopeRow, only: Mapping[str, object]) -> object:
    if isinstance(row, OptimumRow):
        return list(row)
    group = {key: _plain(value) for key, value in {**only, **row.group}.items()}
    return {"group": group, "slope": row.slope, "interval": row.interval, "sizes": row.sizes}


def _plain(value: object) -> object:
    """Return a NumPy number as a Python number."""
    return value.item() if isinstance(value, np.generic) else value

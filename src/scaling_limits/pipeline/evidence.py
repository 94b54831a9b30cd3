"""Measurements behind verdicts that pictures show: located optima and fitted slopes."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np

from scaling_limits.audit.select import select
from scaling_limits.claims.base import ClaimBase
from scaling_limits.claims.measurement import Evidence, OptimumRow, SlopeRow, UndecidedError
from scaling_limits.claims.optima import OptimumClaim
from scaling_limits.records import Results

Content = dict[str, object]
"""A JSON object."""


def shown(claim: ClaimBase, results: Results) -> Content:
    """Return the evidence of a claim that pictures show.

    Its `arms` are the judged grids together and each control separately. An arm has the `optima` at each size (size,
    value, and both ends of the confidence interval, null if the optimum may lie anywhere beyond the grid) and the range
    of shifts that is `claimed` from the smallest to the largest of these sizes (in octaves, null without a bound), or
    the `fits` of slopes, whose `group` has the values of `only` and of the columns that distinguish them.
    """
    key = "optima" if claim.shown == "optima" else "fits"
    arms: list[Content] = []
    for grids in (claim.grids, *((grid,) for grid in claim.control)):
        rows: Evidence = ()
        with suppress(UndecidedError):
            rows = claim.evidence(select(claim, results, grids))
        arm: Content = {"grids": list(grids), key: [_content(row, claim.only) for row in rows]}
        if isinstance(claim, OptimumClaim) and len(rows) > 1:
            arm["claimed"] = _claimed(
                claim, [row.size for row in rows if isinstance(row, OptimumRow)]
            )
        arms.append(arm)
    return {
        **claim.model_dump(mode="json", include={"over", "along", "within", "profile"}),
        "quantity": claim.quantity.model_dump(mode="json", exclude={"label"}, exclude_unset=True),
        "arms": arms,
    }


def _claimed(claim: OptimumClaim, sizes: Sequence[float]) -> list[float | None]:
    """Return the ends of the claimed range of shifts."""
    ends = claim.claimed_shifts(math.log2(max(sizes) / min(sizes)))
    return [end if math.isfinite(end) else None for end in ends]


def _content(row: OptimumRow | SlopeRow, only: Mapping[str, object]) -> object:
    if isinstance(row, OptimumRow):
        return list(row)
    group = {key: _plain(value) for key, value in {**only, **row.group}.items()}
    return {"group": group, "slope": row.slope, "interval": row.interval}


def _plain(value: object) -> object:
    """Return a NumPy number as a Python number."""
    return value.item() if isinstance(value, np.generic) else value

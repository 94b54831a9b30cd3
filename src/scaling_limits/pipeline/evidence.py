"""Measurements behind verdicts that pictures show: located optima and fitted slopes."""

import math

import numpy as np

from scaling_limits.audit.select import measured_on
from scaling_limits.claims import slope
from scaling_limits.claims.base import ClaimBase
from scaling_limits.claims.measurement import Measurement, UndecidedError
from scaling_limits.claims.optima import OptimumClaim, optima_of
from scaling_limits.records import Results

Content = dict[str, object]
"""A JSON object."""


def optima(claim: OptimumClaim, results: Results) -> Content:
    """Return the optima that a claim has located.

    Its `arms` are the judged grids together and each control separately, with the optimum at each size: size, value,
    and both ends of the confidence interval, null if the optimum may lie anywhere beyond the grid.
    """
    arms: list[Content] = []
    for grids in _arms(claim):
        try:
            located = optima_of(claim, measured_on(claim, results, grids)[0])
        except UndecidedError:
            located = {}
        rows = [
            [
                float(size),
                *(2.0**end if math.isfinite(end) else None for end in (o.at, *o.interval)),
            ]
            for size, o in located.items()
        ]
        arms.append({"grids": list(grids), "optima": rows})
    scope = claim.model_dump(mode="json", include={"over", "along", "within"})
    return {**scope, "quantity": _quantity(claim), "arms": arms}


def slopes(claim: slope.Claim, results: Results) -> Content:
    """Return the slopes that a claim has fitted in each arm (see `optima`), one for each group of `each`.

    A `group` has the values of `only` and `each`. Slopes over a part of the sizes are omitted, since a line shows all
    sizes.
    """
    arms: list[Content] = []
    if claim.where is not None and claim.along in claim.where.ratio:
        return {"along": claim.along, "quantity": _quantity(claim), "arms": arms}
    for grids in _arms(claim):
        try:
            measured = claim.fits(measured_on(claim, results, grids)[0])
        except UndecidedError:
            measured = []
        fits = [
            {
                "group": {key: _plain(value) for key, value in {**claim.only, **fit.group}.items()},
                "slope": fit.slope,
                "interval": fit.interval,
            }
            for fit in ([] if isinstance(measured, Measurement) else measured)
        ]
        arms.append({"grids": list(grids), "fits": fits})
    return {"along": claim.along, "quantity": _quantity(claim), "arms": arms}


def _arms(claim: ClaimBase) -> list[tuple[str, ...]]:
    """Return the claim's judged grids, then each control."""
    return [tuple(claim.grids), *((grid,) for grid in claim.control)]


def _quantity(claim: ClaimBase) -> Content:
    return claim.quantity.model_dump(mode="json", exclude={"label"}, exclude_unset=True)


def _plain(value: object) -> object:
    """Return a NumPy number as a Python number."""
    return value.item() if isinstance(value, np.generic) else value

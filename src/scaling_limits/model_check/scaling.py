"""Slopes of what is measured over a size, by the statistics of claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from scaling_limits.claims.intervals import Bounds, decide
from scaling_limits.claims.measurement import Interval
from scaling_limits.claims.points import Points, fit_log_slope
from scaling_limits.claims.spread import Scale, spreads_of
from scaling_limits.outcomes import with_interval


@dataclass(frozen=True, eq=False)
class Slope:
    """The exponent of a quantity over a size.

    Attributes:
        quantity: `size`, `change`, `update` or `alignment`.
        step: the number of updates after which it is measured.
        sizes: widths or depths, increasing.
        measured: the quantity [sizes, seeds].
        value: the least-squares log-log slope; infinite after divergence, NaN if there is none.
        interval: its 95% interval; None if there is none.
        bounds: what is accepted; None for what is not judged.
    """

    quantity: str
    step: int
    sizes: tuple[int, ...]
    measured: np.ndarray = field(repr=False)
    value: float
    interval: Interval | None
    bounds: Bounds | None

    @property
    def holds(self) -> bool | None:
        """Whether the exponent lies within the bounds; None if its interval reaches across one, or is missing."""
        if self.bounds is None or np.isnan(self.value):
            return None
        return decide(self.value, self.interval, *self.bounds)

    @property
    def judged(self) -> bool:
        """Whether the exponent counts."""
        return self.bounds is not None

    @property
    def grows(self) -> bool:
        """Whether the exponent lies above the bounds."""
        return self.holds is False and self.bounds is not None and self.value > self.bounds.high

    @property
    def falls(self) -> bool:
        """Whether the exponent lies below the bounds."""
        return self.holds is False and not self.grows

    @property
    def beyond(self) -> float:
        """The distance of the exponent beyond the bounds."""
        return -np.inf if self.bounds is None else self.bounds.beyond(self.value, None)

    def __str__(self) -> str:
        return with_interval(self.value, self.interval)


def slope_of(
    quantity: str,
    step: int,
    values: Sequence[np.ndarray],
    sizes: Sequence[int],
    bounds: Bounds | None,
) -> Slope | None:
    """Fit the exponent of a quantity.

    Args:
        quantity: its name.
        step: the number of updates.
        values: for each size the value [seeds].
        sizes: widths or depths, increasing.
        bounds: the accepted exponents.

    Returns:
        None if the quantity is zero at all sizes and seeds. Without an interval, the slope is infinite if training
        diverged at a larger size only, minus infinite if the quantity is zero at the largest size only, and NaN
        otherwise.
    """
    import pandas as pd

    array, sizes_measured = np.stack(values), tuple(sizes)
    if not array.any():
        return None
    finite = np.array([np.isfinite(at_size).all() for at_size in values])
    if not finite.all():
        value = np.inf if finite[0] and not finite[-1] else np.nan
        return Slope(quantity, step, sizes_measured, array, value, None, bounds)
    positive = np.array([(at_size > 0).all() for at_size in values])
    if not positive.all():
        value = -np.inf if positive[0] and not array[-1].any() else np.nan
        return Slope(quantity, step, sizes_measured, array, value, None, bounds)
    (spread,) = spreads_of([array], Scale.of([array], None), exact=False, competing=False)
    points = Points(pd.DataFrame({"size": list(sizes)}), array, spread)
    # the same draws for all quantities, so that a report is reproducible
    value, interval = fit_log_slope(points, np.array(sizes, float), np.random.default_rng(0))
    return Slope(quantity, step, sizes_measured, array, value, interval, bounds)

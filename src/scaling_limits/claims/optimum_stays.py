"""Claim that the best hyperparameter does not move along a size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from scaling_limits.claims.base import QUARTER
from scaling_limits.claims.intervals import Bounds, decide
from scaling_limits.claims.measurement import Measurement, octaves, setting
from scaling_limits.claims.optima import OptimumClaim, shifts_of

if TYPE_CHECKING:
    from scaling_limits.records import Results


class Claim(OptimumClaim):
    """The best value of one hyperparameter moves by at most `max_shift` octaves along a size."""

    kind: Literal["optimum_stays"]
    max_shift: float = Field(ge=0)

    def claimed_shifts(self, doublings: float) -> Bounds:
        """Return the shifts by at most `max_shift`, and by at most a quarter octave per doubling."""
        return Bounds.about(0.0, min(QUARTER * doublings, self.max_shift))

    def measure(self, results: Results, *_: Results) -> Measurement:
        """Measure the shift of the optimum, in octaves, from the smallest size to the decisive one.

        The claim fails if the confidence interval of some shift lies beyond `max_shift`, and holds if all intervals lie
        within. Over a short range of sizes, an optimum whose exponent is wrong by one half also moves by less than
        `max_shift`. The interval over the widest range must therefore also lie within a quarter octave per doubling.

        Raises:
            UndecidedError: see `shifts_of`.
        """
        shifts = shifts_of(self, results)
        widest = max(shifts, key=lambda shift: shift.doublings)
        max_over_range = self.claimed_shifts(widest.doublings).high
        bound = self.max_shift + 1e-9
        decisions = [decide(shift.value, shift.interval, -bound, bound) for shift in shifts]
        moved = [shift for shift, keeps in zip(shifts, decisions, strict=True) if keeps is False]
        unclear = [shift for shift, keeps in zip(shifts, decisions, strict=True) if keeps is None]
        told_apart = decide(
            widest.value, widest.interval, -max_over_range - 1e-9, max_over_range + 1e-9
        )
        if not unclear and not told_apart:
            unclear = [widest]
        # among equal shifts, report the largest size
        far = max(moved or unclear or [widest], key=lambda s: (abs(s.value), s.sizes[1]))
        threshold, allowed = f"at most {octaves(self.max_shift)}", octaves(max_over_range)
        if max_over_range < self.max_shift:
            a_doubling = f"{setting(QUARTER)} a doubling"
            threshold += f", and {a_doubling} ({setting(max_over_range)})"
            allowed += f", {a_doubling}; fails above {setting(self.max_shift)}"
        reason = f" ({far.reason})" if far.reason and far in unclear else ""
        return Measurement(
            holds=False if moved else None if unclear else True,
            value=far.value,
            interval=far.interval,
            threshold=f"shift of {threshold}",
            detail=f"{far.detail}{reason}; allowed {allowed}",
            place=far.place + (far.uncertain if far in unclear else ""),
        )

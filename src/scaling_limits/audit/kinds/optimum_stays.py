"""The best hyperparameter stays put along a size."""

from scaling_limits.audit.optima import Shift, shifts_of
from scaling_limits.audit.points import decide
from scaling_limits.audit.verdicts import Measurement, octaves, setting
from scaling_limits.figures.claims import OptimumStays
from scaling_limits.records import Results

QUARTER = 0.25
"""Octaves a doubling: half of what an exponent that is wrong by one half moves an optimum."""


def measure(claim: OptimumStays, results: Results) -> Measurement:
    """The shift of the optimum, in octaves, from the smallest size to the one that decides.

    It fails where an optimum has moved by more than `max_shift` for sure. It holds where none can have,
    and over the whole range of sizes by no more than a quarter octave a doubling: over a short one an
    exponent that is wrong by one half keeps to `max_shift`, too.

    Raises:
        UndecidedError: see `shifts_of`.
    """
    shifts = shifts_of(claim, results)
    widest = max(shifts, key=lambda shift: shift.doublings)

    def allowed(shift: Shift) -> float:
        told = QUARTER * shift.doublings if shift is widest else claim.max_shift
        return min(told, claim.max_shift) + 1e-9

    kept = [_within(shift, allowed(shift)) for shift in shifts]
    moved = [shift for shift in shifts if _within(shift, claim.max_shift + 1e-9) is False]
    still_open = [shift for shift, keeps in zip(shifts, kept, strict=True) if not keeps]
    # of equal shifts the largest size tells most
    far = max(moved or still_open or [widest], key=lambda s: (abs(s.value), s.sizes[1]))
    bound = allowed(far) if not moved else claim.max_shift
    detail = f"{far.detail}; allowed {setting(round(bound, 3))}"
    if far.reason and not moved and still_open:
        detail += f" ({far.reason})"
    return Measurement(
        holds=False if moved else None if still_open else True,
        value=far.value,
        interval=far.interval,
        threshold=f"at most {octaves(round(bound, 3))}",
        detail=detail,
    )


def _within(shift: Shift, bound: float) -> bool | None:
    return decide(shift.value, shift.interval, -bound, bound)

"""The best hyperparameter stays put along a size."""

from scaling_limits.audit.optima import shifts_of
from scaling_limits.audit.points import decide
from scaling_limits.audit.verdicts import Measurement, octaves, setting
from scaling_limits.figures.claims import QUARTER, OptimumStays
from scaling_limits.records import Results


def measure(claim: OptimumStays, results: Results) -> Measurement:
    """The shift of the optimum, in octaves, from the smallest size to the one that decides.

    It fails where an optimum has moved by more than `max_shift` for sure, and holds where none can have.
    Over a short range of sizes an exponent that is wrong by one half keeps to `max_shift` as well: there
    the shift must be nearer to none than to that one's, below a quarter octave a doubling.

    Raises:
        UndecidedError: see `shifts_of`.
    """
    shifts = shifts_of(claim, results)
    widest = max(shifts, key=lambda shift: shift.doublings)
    told = min(QUARTER * widest.doublings, claim.max_shift)
    bound = claim.max_shift + 1e-9
    kept = [decide(shift.value, shift.interval, -bound, bound) for shift in shifts]
    moved = [shift for shift, keeps in zip(shifts, kept, strict=True) if keeps is False]
    unclear = [shift for shift, keeps in zip(shifts, kept, strict=True) if keeps is None]
    if not unclear and abs(widest.value) > told:
        unclear = [widest]
    # of equal shifts the largest size tells most
    far = max(moved or unclear or [widest], key=lambda s: (abs(s.value), s.sizes[1]))
    threshold = f"at most {octaves(claim.max_shift)}"
    if told < claim.max_shift:
        threshold += f", {setting(told)} over {setting(widest.doublings)} doublings"
    reason = f" ({far.reason})" if far.reason and far in unclear else ""
    return Measurement(
        holds=False if moved else None if unclear else True,
        value=far.value,
        interval=far.interval,
        threshold=threshold,
        detail=f"{far.detail}{reason}; allowed {threshold.removeprefix('at most ')}",
    )

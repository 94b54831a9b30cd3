"""The best hyperparameter stays put along a size."""

from scaling_limits.audit.optima import shifts_of
from scaling_limits.audit.verdicts import Measurement, UndecidedError, octaves, setting
from scaling_limits.figures.claims import OptimumStays
from scaling_limits.records import Results


def measure(claim: OptimumStays, results: Results) -> Measurement:
    """The largest shift of the optimum, in octaves, from the smallest size to any other.

    An optimum that is not resolved, or at the edge of its grid, is a bound: it can show that the
    optimum moves, and not that it stays.

    Raises:
        UndecidedError: the optimum of some size is open beyond what is allowed, or its shift's
            interval reaches beyond, and no size's has moved for sure.
    """
    shifts = shifts_of(claim, results)
    allowed = claim.max_shift + 1e-9
    moved = [shift for shift in shifts if shift.low > allowed or shift.high < -allowed]
    still_open = [s.reason for s in shifts if s.reason and max(-s.low, s.high) > allowed]
    if still_open and not moved:
        raise UndecidedError(still_open[0])
    uncertain = [
        s.detail for s in shifts if s.interval and max(-s.interval[0], s.interval[1]) > allowed
    ]
    if uncertain and not moved:
        raise UndecidedError(
            f"{uncertain[0]}, so it may move by more than {octaves(claim.max_shift)}"
        )
    # of equal shifts the largest size tells most
    far = max(moved or shifts, key=lambda shift: (abs(shift.value), shift.sizes[1]))
    return Measurement(
        holds=not moved,
        value=far.value,
        interval=far.interval,
        threshold=f"at most {octaves(claim.max_shift)}",
        detail=f"{far.detail}; allowed {setting(claim.max_shift)}",
    )

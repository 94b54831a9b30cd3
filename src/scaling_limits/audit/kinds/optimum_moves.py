"""The best hyperparameter moves along a size."""

from scaling_limits.audit.optima import Shift, shifts_of
from scaling_limits.audit.verdicts import Measurement, UndecidedError, octaves
from scaling_limits.figures.claims import OptimumMoves
from scaling_limits.records import Results


def measure(claim: OptimumMoves, results: Results) -> Measurement:
    """The shift of the optimum, in octaves, from the smallest size to the one where it is largest.

    An optimum that is not resolved, or at the edge of its grid, is a bound.

    Raises:
        UndecidedError: the bounds, or the interval, leave it open whether it moves as far.
    """

    def upwards(low: float, high: float) -> tuple[float, float]:
        return (low, high) if claim.direction == "up" else (-high, -low)

    def ends(shift: Shift) -> tuple[float, float]:
        return upwards(shift.low, shift.high)

    shifts = shifts_of(claim, results)
    needed = claim.min_shift - 1e-9
    # of equal shifts the largest size tells most
    most = max(shifts, key=lambda shift: (ends(shift)[0], shift.sizes[1]))
    holds = ends(most)[0] >= needed
    still_open = [shift.reason for shift in shifts if shift.reason and ends(shift)[1] >= needed]
    if still_open and not holds:
        raise UndecidedError(still_open[0])
    threshold = f"at least {octaves(claim.min_shift)} {claim.direction}"
    if holds and most.interval and upwards(*most.interval)[0] < needed:
        raise UndecidedError(f"{most.detail}, which may be less than {octaves(claim.min_shift)}")
    return Measurement(
        holds=holds,
        value=most.value,
        interval=most.interval,
        threshold=threshold,
        detail=f"{most.detail}; at some size it should be {threshold}",
    )

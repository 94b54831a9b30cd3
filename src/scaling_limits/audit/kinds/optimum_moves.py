"""The best hyperparameter moves along a size."""

from scaling_limits.audit.claims import OptimumMoves
from scaling_limits.audit.optima import shifts_of
from scaling_limits.audit.verdicts import Measurement, UndecidedError, octaves
from scaling_limits.records import Results


def measure(claim: OptimumMoves, results: Results) -> Measurement:
    """The shift of the optimum, in octaves, from the smallest size to the largest.

    An optimum that is not resolved, or at the edge of its grid, is a bound.

    Raises:
        UndecidedError: the bounds leave it open whether it moves as far.
    """
    shift = shifts_of(claim, results)[-1]
    ends = (shift.low, shift.high) if claim.direction == "up" else (-shift.high, -shift.low)
    needed = claim.min_shift - 1e-9
    if shift.reason and ends[0] < needed <= ends[1]:
        raise UndecidedError(shift.reason)
    threshold = f"at least {octaves(claim.min_shift)} {claim.direction}"
    return Measurement(
        holds=ends[0] >= needed,
        value=shift.value,
        interval=shift.interval,
        threshold=threshold,
        detail=f"{shift.detail}; it should be {threshold}",
    )

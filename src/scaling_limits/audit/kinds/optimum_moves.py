"""The best hyperparameter moves along a size."""

import math

from scaling_limits.audit.optima import Shift, shifts_of
from scaling_limits.audit.points import decide
from scaling_limits.audit.verdicts import Measurement, octaves
from scaling_limits.figures.claims import OptimumMoves
from scaling_limits.records import Results


def measure(claim: OptimumMoves, results: Results) -> Measurement:
    """The shift of the optimum, in octaves, from the smallest size to the one where it is largest.

    It holds if the optimum of some size has moved as far for sure, and fails if none can have.

    Raises:
        UndecidedError: see `shifts_of`.
    """
    sign = 1.0 if claim.direction == "up" else -1.0
    needed = claim.min_shift - 1e-9

    def moves(shift: Shift) -> bool | None:
        ends = sorted(sign * end for end in shift.interval)
        return decide(sign * shift.value, (ends[0], ends[1]), needed, math.inf)

    shifts = shifts_of(claim, results)
    answers = [moves(shift) for shift in shifts]
    holds = True if True in answers else None if None in answers else False
    likely = [shift for shift, answer in zip(shifts, answers, strict=True) if answer is holds]
    # of equal shifts the largest size tells most
    most = max(likely, key=lambda shift: (sign * shift.value, shift.sizes[1]))
    threshold = f"at least {octaves(claim.min_shift)} {claim.direction}"
    open_end = f" ({most.reason})" if most.reason else ""
    return Measurement(
        holds=holds,
        value=most.value,
        interval=most.interval,
        threshold=threshold,
        detail=f"{most.detail}{open_end}; at some size it should be {threshold}",
    )

"""Claim that the best hyperparameter moves along a size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from scaling_limits.claims.base import QUARTER
from scaling_limits.claims.intervals import Bounds, decide
from scaling_limits.claims.measurement import Measurement, octaves
from scaling_limits.claims.optima import OptimumClaim, OptimumSimulation, Shift, shifts_of
from scaling_limits.claims.simulation import Recorded, Simulation

if TYPE_CHECKING:
    from scaling_limits.records import Results


_SIGNS = {"up": 1.0, "down": -1.0}


class Claim(OptimumClaim):
    """From the smallest size to some larger size, the best value moves by at least `min_shift` octaves.

    Without a `direction`, it may move up or down. The control is a grid in which the best value should not move.
    """

    kind: Literal["optimum_moves"]
    direction: Literal["up", "down"] | None = None
    min_shift: float = Field(gt=0)

    def claimed_shifts(self, doublings: float) -> Bounds:
        """Return the shifts by at least `min_shift` in the claimed direction, or in either (see `claimed`)."""
        if self.direction is None:
            return Bounds(self.min_shift, -self.min_shift)
        if self.direction == "up":
            return Bounds.between(self.min_shift, None)
        return Bounds.between(None, -self.min_shift)

    def measure(self, results: Results, *_: Results) -> Measurement:
        """Measure the shift of the optimum, in octaves, from the smallest size to the size with the largest shift.

        The claim holds if the confidence interval of some shift lies beyond `min_shift`, and fails if no interval
        reaches it.

        Raises:
            UndecidedError: see `shifts_of`.
        """
        signs = [sign for name, sign in _SIGNS.items() if self.direction in (name, None)]
        needed = self.min_shift - 1e-9

        def moves(shift: Shift) -> bool | None:
            decisions = []
            for sign in signs:
                ends = sorted(sign * end for end in shift.interval)
                decisions.append(decide(sign * shift.value, (ends[0], ends[1]), needed, math.inf))
            return True if True in decisions else None if None in decisions else False

        shifts = shifts_of(self, results)
        decisions = [moves(shift) for shift in shifts]
        holds = True if True in decisions else None if None in decisions else False
        deciding = [
            shift for shift, decision in zip(shifts, decisions, strict=True) if decision is holds
        ]
        # among equal shifts, report the largest size
        most = max(
            deciding,
            key=lambda shift: (max(sign * shift.value for sign in signs), shift.sizes[1]),
        )
        threshold = f"at least {octaves(self.min_shift)} {self.direction or 'up or down'}"
        open_end = f" ({most.reason})" if most.reason else ""
        return Measurement(
            holds=holds,
            value=most.value,
            interval=most.interval,
            threshold=f"shift of {threshold}",
            detail=f"{most.detail}{open_end}; at some size it should be {threshold}",
            place=most.place + (most.uncertain if holds is None else ""),
        )

    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of an optimum that moves."""
        return _Simulation(self, recorded)


class _Simulation(OptimumSimulation):
    """The optimum follows the claimed power of the size, whose exponent exceeds the threshold by a quarter."""

    claim: Claim

    def shift(self, wrong: float, doublings: np.ndarray) -> np.ndarray:
        """Return the shift of the optimum, in octaves, over a number of doublings of the size."""
        direction = _SIGNS[self.claim.direction or "up"]
        least = self.claim.min_shift / doublings.max()
        return np.asarray(direction * (least + QUARTER - abs(wrong)) * doublings)

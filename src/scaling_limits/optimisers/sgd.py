"""Stochastic gradient descent, with momentum.

With the gradient G, momentum mu and the role's learning rate eta: `v <- mu v + G`, `dW = -eta v`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import Field

from scaling_limits.cells import Cell
from scaling_limits.optimisers.moments import Moments as Spec
from scaling_limits.strict import Strict

if TYPE_CHECKING:
    import optax
    from jaxtyping import PyTree

    from scaling_limits.networks.work import Count


__all__ = ["Settings", "Spec", "build"]


class Settings(Strict):
    """Momentum, as in `optax.trace`."""

    momentum: float = Field(
        default=0.0, ge=0, lt=1, description="decay of the sum of past gradients"
    )


def build(
    numbers: Mapping[str, PyTree], factors: Mapping[str, PyTree]
) -> optax.GradientTransformation:
    """Build the transformation of gradients to the sum of past gradients, weighted by powers of `momentum`."""
    import optax

    return optax.trace(decay=numbers["momentum"])


def work(cell: Cell, count: Count) -> None:
    """Add the work of reading gradients, averages and weights, and of writing averages and weights."""
    count.weights(5)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory in copies of the weights."""
    return {"weights": 5}

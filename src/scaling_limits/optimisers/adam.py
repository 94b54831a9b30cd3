"""Adam, with an epsilon that follows the parameterisation.

With the gradient G and the role's learning rate eta, after t updates,

    m <- beta1 m + (1 - beta1) G,    v <- beta2 v + (1 - beta2) G^2,
    dW = -eta (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon),

entry by entry. epsilon is the setting times the row's factor for the role.
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

READS = frozenset({"epsilon"})
"""Quantities of a row that Adam uses, in addition to the learning rate."""


class Settings(Strict):
    """Decays of both moments, and epsilon before the row's factors for the roles."""

    beta1: float = Field(default=0.9, ge=0, lt=1, description="decay of the first moment")
    beta2: float = Field(default=0.999, ge=0, lt=1, description="decay of the second moment")
    epsilon: float = Field(
        default=1e-8,
        gt=0,
        description="added to the root of the second moment; multiplied by the row's factor of each role",
    )


def build(
    numbers: Mapping[str, PyTree], factors: Mapping[str, PyTree]
) -> optax.GradientTransformation:
    """Build the transformation of gradients to their running mean over their running root mean square."""
    import optax

    return optax.scale_by_adam(
        b1=numbers["beta1"], b2=numbers["beta2"], eps=numbers["epsilon"] * factors["epsilon"]
    )


def work(cell: Cell, count: Count) -> None:
    """Add the work of reading gradients, two averages and weights, and of writing averages and weights."""
    count.weights(7)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory in copies of the weights."""
    return {"weights": 6}

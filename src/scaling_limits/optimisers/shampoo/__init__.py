"""Shampoo: gradients between roots of the inverses of their own second moments, then momentum.

With G `[out, in]` the batch's gradient with respect to a layer's weight in the forward pass, multiplier a times kernel,
L = G G^T and R = G^T G, momentum mu and the role's learning rate eta,

    v <- mu v + a (L + rho_L I)^(-e/2) G (R + rho_R I)^(-e/2),    dW = -eta v.

The dampings rho_L and rho_R are the setting `damping`, at least 16 machine epsilons, times the largest eigenvalue of L
or R.

Source: second-order (3), (S.44)-(S.51), (S.77)-(S.80), with the moments of the batch's gradient.
"""

from pydantic import Field

from scaling_limits.cells import Cell, CellSettings, Fields, Traced
from scaling_limits.networks.work import Count
from scaling_limits.optimisers import costs, preconditioned
from scaling_limits.optimisers.preconditioned import accumulation

NEEDS = ("inputs", "cotangents")


class Settings(preconditioned.Settings):
    """The power of both moments together; the damping is relative to the largest eigenvalue, and at least 16 machine
    epsilons of it.
    """

    preconditioner_exponent: float = Field(
        default=0.5, ge=0, description="e: each of both moments is taken to the power -e/2"
    )


class Spec(preconditioned.Spec):
    """The damping, over each moment's largest eigenvalue, and e."""

    damping: Traced
    preconditioner_exponent: Traced


def refuse(settings: CellSettings) -> None:
    """Refuse a weight of averages where there are none; raises ConfigurationError."""
    preconditioned.refuse(settings)


def options(settings: CellSettings) -> Fields:
    """How moments accumulate."""
    return accumulation(settings)


def exponents(settings: CellSettings) -> dict[str, float]:
    """e_A = e_B = e of the row."""
    e = settings.preconditioner_exponent
    return {"input_preconditioner_exponent": e, "preconditioner_exponent": e}


def work(cell: Cell, count: Count) -> None:
    """Moments and their decompositions."""
    costs.shampoo(cell, count)


def memory(cell: Cell) -> dict[str, float]:
    """Copies of the weights."""
    return {"weights": 4 + costs.copies(cell, 0)}

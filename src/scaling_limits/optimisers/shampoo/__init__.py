"""Shampoo: gradients multiplied by inverse roots of their second moments, then momentum.

With G `[out, in]` the batch's gradient with respect to a layer's weight in the forward pass, multiplier a times kernel,
L = G G^T and R = G^T G, momentum mu and the role's learning rate eta,

    v <- mu v + a (L + rho_L I)^(-e/2) G (R + rho_R I)^(-e/2),    dW = -eta v.

The dampings rho_L and rho_R are the setting `damping`, at least 16 machine epsilons, times the largest eigenvalue of L
or R.

With `preconditioner_interval: k`, step t applies the two inverse roots of step k floor(t / k) to its own gradient
(`layers.periodic`).

Source: second-order (3), (S.44)-(S.51), (S.77)-(S.80), with the moments of the batch's gradient.
"""

from pydantic import Field

from scaling_limits.cells import Cell, CellSettings, Fields, Traced
from scaling_limits.networks.work import Count
from scaling_limits.optimisers import costs, preconditioned
from scaling_limits.optimisers.preconditioned import accumulation

NEEDS = ("inputs", "cotangents")


class Settings(preconditioned.Settings):
    """The exponent of both moments together, and the damping relative to the largest eigenvalue.

    The relative damping is at least 16 machine epsilons.
    """

    preconditioner_exponent: float = Field(
        default=0.5, ge=0, description="exponent e; both moments are raised to the power -e/2"
    )


class Spec(preconditioned.Spec):
    """The damping relative to each moment's largest eigenvalue, and the exponent e."""

    damping: Traced
    preconditioner_exponent: Traced


def refuse(settings: CellSettings) -> None:
    """Reject an averaging weight without averages, and averages without one; raises ConfigurationError."""
    preconditioned.refuse(settings)


def options(settings: CellSettings) -> Fields:
    """Return how moments accumulate."""
    return accumulation(settings)


def exponents(settings: CellSettings) -> dict[str, float]:
    """Return the row's e_A = e_B = e."""
    e = settings.preconditioner_exponent
    return {"input_preconditioner_exponent": e, "preconditioner_exponent": e}


def work(cell: Cell, count: Count) -> None:
    """Add the work of the moments and their decompositions."""
    costs.shampoo(cell, count)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory in copies of the weights."""
    return {"weights": 4 + costs.copies(cell, 0)}

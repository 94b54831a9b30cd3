"""K-FAC: gradients times the inverses of both Kronecker factors of the Fisher information, then momentum.

With G `[out, in]` a layer's gradient, momentum mu and the role's learning rate eta,

    v <- mu v + (B + rho_B I)^-1 G (A + rho_A I)^-1,    dW = -eta v.

A = mean h h^T over samples and positions, with h the layer's input. B = mean delta delta^T over samples, summed over
positions, with delta the derivatives of the log-likelihood with respect to the output of the layer's weight, multiplier
times kernel. The damping is rho_A = max(c f_A m_A^p m_B^q, smallest_damping), and rho_B likewise with A and B
exchanged, with m the mean eigenvalues and f the row's factors:

- `damping_rule: rescaled`: c = damping, p = 1, q = 0 (second-order 15);
- `heuristic`: c = sqrt(damping), p = 1/2, q = -1/2 (14);
- `fixed`: c = damping, or output_damping for B, p = q = 0 (7).

With `preconditioner_interval: k`, step t applies the two inverses of step k floor(t / k) to its own gradient
(`layers.periodic`).

Source: second-order (2) with e_A = e_B = 1, (S.73)-(S.76); convolutions by Grosse & Martens 2016 (KFC).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from scaling_limits.cells import Cell, TracedOrNone
from scaling_limits.optimisers import costs
from scaling_limits.optimisers.preconditioned import (
    KroneckerSettings,
    KroneckerSpec,
    accumulation,
    kronecker_damping,
    kronecker_exponents,
    refuse_kronecker,
)

if TYPE_CHECKING:
    import optax
    from jaxtyping import PyTree

    from scaling_limits.cells import CellSettings, Fields
    from scaling_limits.networks.work import Count


__all__ = ["Settings", "Spec", "build"]

NEEDS = ("inputs", "cotangents", "fisher")
READS = frozenset({"input_damping", "output_damping"})
"""Quantities of a row that K-FAC uses, in addition to the learning rate."""


class Settings(KroneckerSettings):
    """The second factor's damping, the kind of Fisher information, and the bound of updates.

    With `kl_clip` kappa, the directions of all weights are scaled before momentum by

        min(1, sqrt(kappa / sum rate^2 multiplier^2 d . g)),

    with d a weight's direction and g its gradient (Grosse & Martens 2016; second-order App. B.2; `clipping`).
    """

    output_damping: float | None = Field(
        default=None,
        gt=0,
        description="damping constant of the output factor; only with damping_rule: fixed; `damping` if absent",
    )
    output_damping_exponent: float | None = Field(
        default=None,
        description="d_B, minus the exponent of width in the damping of the output factor; only with "
        "damping_rule: fixed; 1 if absent",
    )
    fisher: Literal["exact", "sampled"] = Field(
        default="exact",
        description="Fisher information over all outputs (`exact`), or from one target drawn for each sample and step "
        "(`sampled`)",
    )
    kl_clip: float | None = Field(
        default=None,
        gt=0,
        description="upper bound on twice the divergence between the predictions before and after an update; "
        "no bound if absent",
    )


class Spec(KroneckerSpec):
    """The numbers of both factors, and the bound of updates, None without one."""

    kl_clip: TracedOrNone = None


def refuse(settings: CellSettings) -> None:
    """Reject unused settings of the damping rule; raises ConfigurationError."""
    refuse_kronecker(settings)


def options(settings: CellSettings) -> Fields:
    """Return the damping rule as numbers, and how factors accumulate."""
    damping = kronecker_damping(settings)
    if settings.output_damping is not None:
        damping["output_damping"] = settings.output_damping
    return {**damping, **accumulation(settings)}


def exponents(settings: CellSettings) -> dict[str, float]:
    """Return e_A and e_B, and the row's d_A and d_B."""
    return kronecker_exponents(settings, 1.0, 1.0)


def build(
    numbers: Mapping[str, PyTree], factors: Mapping[str, PyTree]
) -> optax.GradientTransformationExtraArgs:
    """Build the transformation of gradients to preconditioned gradients with momentum."""
    from scaling_limits.optimisers import kronecker

    return kronecker.preconditioned(numbers, factors, exponents=(1, 1))


def work(cell: Cell, count: Count) -> None:
    """Add the work of propagating the log-likelihood's derivatives, and of both factors."""
    count.backward(cell.batch_size * costs.fisher_directions(cell))
    costs.kronecker(cell, count, costs.fisher_directions(cell))
    options = cell.optimiser
    if options.kl_clip is not None:
        count.weights(4)  # gradients, and directions before and after scaling


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory in copies of the weights."""
    return {"weights": 4 + costs.copies(cell, costs.fisher_directions(cell))}

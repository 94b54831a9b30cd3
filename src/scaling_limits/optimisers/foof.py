"""FOOF: gradients times the inverse second moment of the layer's inputs, then momentum.

With G `[out, in]` a layer's gradient, A = mean h h^T over the samples and positions of the layer's input h, momentum mu
and the role's learning rate eta,

    v <- mu v + G (A + rho_A I)^-1,    dW = -eta v.

The damping is rho_A = max(c f m^p, smallest_damping), with m the mean eigenvalue of A, c the setting `damping` and f
the row's factor. p = 1 with `damping_rule: rescaled` (second-order 15), and p = 0 with `fixed` (7).

With `preconditioner_interval: k`, step t applies the inverse of step k floor(t / k) to its own gradient
(`layers.periodic`).

Source: second-order (2) with e_A = 1 and e_B = 0, (S.81); Benzing 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.errors import ConfigurationError
from scaling_limits.optimisers import costs
from scaling_limits.optimisers.preconditioned import (
    KroneckerSettings,
    accumulation,
    kronecker_damping,
    kronecker_exponents,
    refuse_kronecker,
)
from scaling_limits.optimisers.preconditioned import KroneckerSpec as Spec

if TYPE_CHECKING:
    import optax
    from jaxtyping import PyTree

    from scaling_limits.cells import CellSettings, Fields
    from scaling_limits.networks.work import Count


__all__ = ["Settings", "Spec", "build"]

NEEDS = ("inputs", "cotangents")
READS = frozenset({"input_damping"})
"""Quantities of a row that FOOF uses, in addition to the learning rate."""


class Settings(KroneckerSettings):
    """The settings of K-FAC's first factor."""


def refuse(settings: CellSettings) -> None:
    """Reject unused settings of the damping rule, and the rule that requires two factors.

    Raises:
        ConfigurationError: naming the key.
    """
    refuse_kronecker(settings)
    if settings.damping_rule == "heuristic":
        raise ConfigurationError(
            "damping_rule",
            "'heuristic' requires two factors, and foof has one; valid: rescaled, fixed",
        )


def options(settings: CellSettings) -> Fields:
    """Return the damping rule as numbers, and how factors accumulate."""
    damping = kronecker_damping(settings)
    idle = ("output_damping", "other_power")
    own = {name: value for name, value in damping.items() if name not in idle}
    return {**own, **accumulation(settings)}


def exponents(settings: CellSettings) -> dict[str, float]:
    """Return e_A and e_B, and the row's d_A and d_B."""
    return kronecker_exponents(settings, 1.0, 0.0)


def build(
    numbers: Mapping[str, PyTree], factors: Mapping[str, PyTree]
) -> optax.GradientTransformationExtraArgs:
    """Build the transformation of gradients to preconditioned gradients with momentum."""
    from scaling_limits.optimisers import kronecker

    return kronecker.preconditioned(numbers, factors, exponents=(1, 0))


def work(cell: Cell, count: Count) -> None:
    """Add the work of the factors."""
    costs.kronecker(cell, count, 0)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory in copies of the weights."""
    return {"weights": 4 + costs.copies(cell, 0)}

"""Adam, whose epsilon follows the parameterisation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import optax


def build(numbers: Mapping[str, Any], factors: Mapping[str, Any]) -> optax.GradientTransformation:
    """Gradients over the root of the mean of their squares."""
    import optax

    return optax.scale_by_adam(
        b1=numbers["beta1"], b2=numbers["beta2"], eps=numbers["epsilon"] * factors["epsilon"]
    )

"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import optax


def build(numbers: Mapping[str, Any], factors: Mapping[str, Any]) -> optax.GradientTransformation:
    """The sum of past gradients, each step's times `momentum` at the next."""
    import optax

    return optax.trace(decay=numbers["momentum"])

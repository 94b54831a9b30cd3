"""Gradient descent, with momentum."""

from pydantic import Field

from scaling_limits.optimisers.moments import Moments as Spec
from scaling_limits.strict import Strict

__all__ = ["Settings", "Spec"]


class Settings(Strict):
    """Momentum, as of `optax.trace`."""

    momentum: float = Field(default=0.0, ge=0, lt=1)

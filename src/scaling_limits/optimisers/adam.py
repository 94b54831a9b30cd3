"""Adam, whose epsilon has a factor for each role."""

from pydantic import Field

from scaling_limits.optimisers.moments import Moments as Spec
from scaling_limits.strict import Strict

__all__ = ["READS", "Settings", "Spec"]

READS = frozenset({"epsilon"})
"""What it reads of a row, besides the learning rate."""


class Settings(Strict):
    """Decays of both moments, and epsilon before the roles' factors of the row."""

    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.999, ge=0, lt=1)
    epsilon: float = Field(default=1e-8, gt=0)

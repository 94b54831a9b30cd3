"""What every training takes. Symbols: `learning_rate` eta."""

from typing import Any, Literal

from pydantic import Field

from scaling_limits.errors import ConfigurationError
from scaling_limits.strict import Strict


class Settings(Strict):
    """Loss, steps and batches, what is not trained, and where random numbers start."""

    loss: Literal["mean_squared_error", "cross_entropy"] = Field(
        default="mean_squared_error",
        description="half the squared distance; or of one-hot targets the cross-entropy",
    )
    learning_rate: float = Field(gt=0, description="before the roles' factors of the row")
    frozen: tuple[Literal["input", "hidden", "output"], ...] = Field(
        default=(), description="roles of weights that stay as drawn"
    )
    seed: int = Field(
        default=0, ge=0, lt=2**31, description="of initial weights, and of the order of samples"
    )
    num_steps: int = Field(ge=1, description="updates")
    batch_size: int = Field(ge=1, description="at most the training samples")
    dtype: Literal["float32", "float64"] = Field(
        default="float32", description="of all numbers in training; limits are in float64"
    )


def refuse(settings: Any) -> None:
    """Refuse a loss that the targets do not have.

    Raises:
        ConfigurationError: naming the key.
    """
    if settings.loss == "cross_entropy" and settings.targets != "one_hot":
        raise ConfigurationError("loss: 'cross_entropy' needs targets: one_hot")

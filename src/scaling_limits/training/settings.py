"""What every training takes. Symbols: `learning_rate` eta."""

from typing import Any, Literal

from pydantic import Field

from scaling_limits.errors import ConfigurationError
from scaling_limits.strict import Strict

SEEDS = range(2**31)


class Settings(Strict):
    """Steps and batches, what is not trained, and where random numbers start."""

    label_smoothing: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="share of each training target that all classes have alike",
    )
    learning_rate: float | None = Field(
        default=None, gt=0, description="needed by training; before the roles' factors of the row"
    )
    augmentation: tuple[Literal["crop", "flip", "cutout"], ...] = Field(
        default=(), description="of training images, drawn anew at every step"
    )
    frozen: tuple[Literal["input", "hidden", "output"], ...] = Field(
        default=(), description="roles of weights that stay as drawn"
    )
    seed: int = Field(
        default=0,
        ge=SEEDS.start,
        lt=SEEDS.stop,
        description="of initial weights, and of the order of samples",
    )
    learning_rate_schedule: Literal["constant", "cosine"] = Field(
        default="constant", description="cosine: down to zero over all updates"
    )
    num_steps: int | None = Field(
        default=None,
        ge=0,
        description="updates, 0 for networks that stay as drawn; or say num_epochs",
    )
    num_epochs: int | None = Field(
        default=None, ge=1, description="passes over the training samples, in place of num_steps"
    )
    batch_size: int = Field(ge=1, description="at most the training samples")
    dtype: Literal["float32", "float64"] = Field(
        default="float32", description="of all numbers in training; limits are in float64"
    )


def refuse(settings: Any) -> None:
    """Refuse smoothing of other targets than labels, steps and epochs
    together or neither, and training without a rate or a rate without training.

    Raises:
        ConfigurationError: naming the key.
    """
    if settings.label_smoothing and settings.loss != "cross_entropy":
        raise ConfigurationError(
            f"label_smoothing: acts on labels, with loss: cross_entropy, not '{settings.loss}'; leave it out"
        )
    if settings.num_steps is None and settings.num_epochs is None:
        raise ConfigurationError("num_steps: is needed, or num_epochs")
    if settings.num_steps is not None and settings.num_epochs is not None:
        raise ConfigurationError(
            "num_epochs: num_steps says how many updates there are as well; leave one of them out"
        )
    if settings.num_steps == 0 and settings.learning_rate is not None:
        raise ConfigurationError(
            "learning_rate: with num_steps: 0 nothing is trained; leave it out"
        )
    if settings.num_steps != 0 and settings.learning_rate is None:
        raise ConfigurationError("learning_rate: is needed, a number above 0")


def num_steps(settings: Any, num_train: int) -> int:
    """Updates; an epoch leaves out an incomplete last batch."""
    per_epoch: int = num_train // min(settings.batch_size, num_train)
    steps: int = (
        settings.num_steps if settings.num_epochs is None else settings.num_epochs * per_epoch
    )
    return steps

"""Settings of every training. Symbols: `learning_rate` eta."""

from typing import Literal

from pydantic import Field

from scaling_limits.cells import CellSettings
from scaling_limits.errors import ConfigurationError
from scaling_limits.strict import Strict

SEEDS = range(2**31)


class Settings(Strict):
    """Steps and batches, weights that are not trained, and the seed of random numbers."""

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
        default=(), description="of training images, drawn at every step"
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
    warmup: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="share of the updates in which the rate rises linearly from 0, before cosine; none if absent",
    )
    outer_learning_rate: float | None = Field(
        default=None,
        gt=0,
        description="learning rate of input and output weights; learning_rate if absent",
    )
    averaged_records: int | None = Field(
        default=None,
        ge=1,
        description="equal parts of training over which metrics of every update are averaged; each update if absent",
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


def refuse(settings: CellSettings) -> None:
    """Reject settings of training that are missing, unused or incompatible.

    These are label smoothing without labels, both or neither of steps and epochs, training without a learning rate and
    the reverse, a learning rate for frozen weights, warm-up without the cosine schedule, and averaged records of a
    limit.

    Raises:
        ConfigurationError: naming the key.
    """
    if settings.label_smoothing and settings.loss != "cross_entropy":
        raise ConfigurationError(
            "label_smoothing",
            f"acts on labels, with loss: cross_entropy, not '{settings.loss}'; leave it out",
        )
    if settings.num_steps is None and settings.num_epochs is None:
        raise ConfigurationError("num_steps", "is needed, or num_epochs")
    if settings.num_steps is not None and settings.num_epochs is not None:
        raise ConfigurationError(
            "num_epochs", "num_steps says how many updates there are as well; leave one of them out"
        )
    if settings.num_steps == 0 and settings.learning_rate is not None:
        raise ConfigurationError(
            "learning_rate", "with num_steps: 0 nothing is trained; leave it out"
        )
    if settings.num_steps != 0 and settings.learning_rate is None:
        raise ConfigurationError("learning_rate", "is needed, a number above 0")
    if settings.warmup is not None and settings.learning_rate_schedule != "cosine":
        raise ConfigurationError(
            "warmup",
            "acts before learning_rate_schedule: cosine, this is "
            f"'{settings.learning_rate_schedule}'; leave it out",
        )
    if settings.averaged_records is not None and settings.limit is not None:
        raise ConfigurationError(
            "averaged_records", "acts on training, not on a limit; leave it out"
        )
    if settings.outer_learning_rate is not None and {"input", "output"} <= set(settings.frozen):
        raise ConfigurationError(
            "outer_learning_rate", "input and output weights are frozen; leave it out"
        )


def rate_key(settings: CellSettings, role: str) -> str:
    """Return the setting that holds the learning rate of a role's weights."""
    if role in ("input", "output") and settings.outer_learning_rate is not None:
        return "outer_learning_rate"
    return "feedback_learning_rate" if role.startswith("feedback") else "learning_rate"


def warmup_steps(settings: CellSettings, num_steps: int) -> int | None:
    """Return the number of warm-up updates, at least one; None without warm-up."""
    return None if settings.warmup is None else max(1, round(settings.warmup * num_steps))


def averaged_records(settings: CellSettings, num_steps: int) -> int | None:
    """Return the number of parts of training over which metrics are averaged, None without averaging.

    Raises:
        ConfigurationError: there are more parts than updates.
    """
    parts: int | None = settings.averaged_records
    if parts is not None and parts > num_steps:
        raise ConfigurationError(
            "averaged_records", f"{parts} parts of {num_steps} updates; valid are 1 to {num_steps}"
        )
    return parts


def num_steps(settings: CellSettings, num_train: int) -> int:
    """Return the number of updates; an epoch drops an incomplete last batch."""
    per_epoch: int = num_train // min(settings.batch_size, num_train)
    steps: int = (
        settings.num_steps if settings.num_epochs is None else settings.num_epochs * per_epoch
    )
    return steps

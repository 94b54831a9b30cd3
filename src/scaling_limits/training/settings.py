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
        description="fraction of each training target that is spread evenly over all classes",
    )
    learning_rate: float | None = Field(
        default=None,
        gt=0,
        description="learning rate, before the row's factors for the roles; required by training",
    )
    augmentation: tuple[Literal["crop", "flip", "cutout"], ...] = Field(
        default=(), description="random transformations of the training images, drawn at every step"
    )
    frozen: tuple[Literal["input", "hidden", "output"], ...] = Field(
        default=(), description="roles of weights that keep their initial values"
    )
    seed: int = Field(
        default=0,
        ge=SEEDS.start,
        lt=SEEDS.stop,
        description="seed of the initial weights and of the order of samples",
    )
    learning_rate_schedule: Literal["constant", "cosine"] = Field(
        default="constant", description="constant, or cosine decay to zero over all updates"
    )
    warmup: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="fraction of the updates during which the learning rate rises linearly from 0, before its "
        "cosine decay; none if absent",
    )
    outer_learning_rate: float | None = Field(
        default=None,
        gt=0,
        description="learning rate of input and output weights; learning_rate if absent",
    )
    averaged_records: int | None = Field(
        default=None,
        ge=1,
        description="number of equal parts of training over which metrics of every update are averaged; no "
        "averaging if absent",
    )
    num_steps: int | None = Field(
        default=None,
        ge=0,
        description="number of updates, 0 for networks at initialisation; required unless num_epochs is set",
    )
    num_epochs: int | None = Field(
        default=None, ge=1, description="passes over the training samples, instead of num_steps"
    )
    batch_size: int = Field(
        ge=1, description="number of samples of each update; all training samples if larger"
    )
    dtype: Literal["float32", "float64"] = Field(
        default="float32", description="floating-point type of training; limits use float64"
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
            f"acts only with loss: cross_entropy, not {settings.loss}; leave it out",
        )
    if settings.num_steps is None and settings.num_epochs is None:
        raise ConfigurationError("num_steps", "required, unless num_epochs is set")
    if settings.num_steps is not None and settings.num_epochs is not None:
        raise ConfigurationError("num_epochs", "num_steps is set as well; remove one of them")
    if settings.num_steps == 0 and settings.learning_rate is not None:
        raise ConfigurationError("learning_rate", "has no effect with num_steps: 0; leave it out")
    if settings.num_steps != 0 and settings.learning_rate is None:
        raise ConfigurationError("learning_rate", "required, a number > 0")
    if settings.warmup is not None and settings.learning_rate_schedule != "cosine":
        raise ConfigurationError(
            "warmup",
            f"acts only with learning_rate_schedule: cosine, not {settings.learning_rate_schedule}; leave it out",
        )
    if settings.averaged_records is not None and settings.limit is not None:
        raise ConfigurationError(
            "averaged_records", "has no effect on a limit, only on training; leave it out"
        )
    if settings.outer_learning_rate is not None and {"input", "output"} <= set(settings.frozen):
        raise ConfigurationError(
            "outer_learning_rate",
            "has no effect, because input and output weights are frozen; leave it out",
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
            "averaged_records",
            f"{parts} is more than the {num_steps} updates. Valid: 1 to {num_steps}",
        )
    return parts


def num_steps(settings: CellSettings, num_train: int) -> int:
    """Return the number of updates; an epoch drops an incomplete last batch."""
    per_epoch: int = num_train // min(settings.batch_size, num_train)
    steps: int = (
        settings.num_steps if settings.num_epochs is None else settings.num_epochs * per_epoch
    )
    return steps

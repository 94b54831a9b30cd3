"""Settings of every dataset, and their translation to the specification in a cell."""

from typing import Annotated, Literal

from pydantic import Field

from scaling_limits.cells import CellSettings, DatasetSpec
from scaling_limits.datasets.description import DatasetInfo
from scaling_limits.errors import ConfigurationError
from scaling_limits.strict import Strict


class Settings(Strict):
    """The samples in use, and how inputs and targets are computed from them."""

    num_train: int | None = Field(
        default=None, ge=1, description="number of training samples used; all if absent"
    )
    num_test: int | None = Field(
        default=None, ge=1, description="number of test samples used; all if absent"
    )
    input_shape: tuple[Annotated[int, Field(ge=1)], ...] | None = Field(
        default=None, description="shape to which images are resampled; their own shape if absent"
    )
    normalisation: Literal["none", "unit_interval", "standardise"] = Field(
        default="unit_interval",
        description="scaling of the inputs: pixels to [0, 1], or each channel to mean 0 and variance 1 "
        "(standardise); texts require none",
    )
    targets: Literal["one_hot", "scalar", "gaussian", "real"] = Field(
        default="one_hot",
        description="one-hot rows, the labels -1 and 1 (scalar), normal draws that do not depend on the data "
        "(gaussian), or the real targets of data without classes (real)",
    )
    sequence_length: int | None = Field(
        default=None,
        ge=1,
        description="number of tokens of a sample; samples begin at its multiples; required by texts of tokens",
    )
    target_dim: int | None = Field(
        default=None,
        ge=1,
        description="number of outputs with gaussian targets; other targets determine it",
    )


def spec(settings: CellSettings, info: DatasetInfo) -> DatasetSpec:
    """Return the specification of the prepared dataset for these settings.

    Raises:
        ConfigurationError: more samples are requested than exist, the dataset does not have the requested targets, or a
            setting does not apply to texts.
    """
    if info.context_size is not None or info.is_sequence:
        _refuse_for_texts(settings, info)
    length = _sequence_length(settings, info)
    shape = info.shape if settings.input_shape is None else settings.input_shape
    return DatasetSpec(
        name=info.name,
        checksum=info.checksum,
        input_shape=shape if length is None else (length, *shape),
        num_classes=info.num_classes,
        num_train=_count(
            "num_train", settings.num_train, info.num_train // (length or 1), info.name
        ),
        num_test=_count("num_test", settings.num_test, info.num_test // (length or 1), info.name),
        normalisation=settings.normalisation,
        targets=settings.targets,
        target_dim=_target_dim(settings, info) * (length or 1),
        context_size=info.context_size,
        sequence_length=length,
    )


def _sequence_length(settings: CellSettings, info: DatasetInfo) -> int | None:
    length: int | None = settings.sequence_length
    if not info.is_sequence:
        if length is not None:
            raise ConfigurationError(
                "sequence_length",
                f"has no effect for dataset '{info.name}', which is not a text of tokens; "
                "leave it out",
            )
        return None
    shortest = min(info.num_train, info.num_test)
    if length is None:
        raise ConfigurationError(
            "sequence_length", f"required by dataset '{info.name}', at most {shortest}"
        )
    if length > shortest:
        raise ConfigurationError(
            "sequence_length",
            f"{length} is more than the {shortest} tokens of dataset '{info.name}'",
        )
    return length


def _count(key: str, wanted: int | None, available: int, name: str) -> int:
    if wanted is not None and wanted > available:
        raise ConfigurationError(
            key, f"{wanted} is more than the {available} samples of dataset '{name}'"
        )
    return available if wanted is None else wanted


def _refuse_for_texts(settings: CellSettings, info: DatasetInfo) -> None:
    """Reject settings of pixels, targets other than words, and limits, which need vectors, for texts."""
    needed = {"input_shape": None, "normalisation": "none", "targets": "one_hot", "limit": None}
    for key, value in needed.items():
        if getattr(settings, key) != value:
            valid = "leave it out" if value is None else f"use '{value}'"
            raise ConfigurationError(
                key,
                f"{getattr(settings, key)!r} is not available for dataset '{info.name}', which is a text; {valid}",
            )


def _target_dim(settings: CellSettings, info: DatasetInfo) -> int:
    has_classes = info.num_targets is None
    if (settings.targets == "real") == has_classes:
        kind, valid = ("classes", "'one_hot'") if has_classes else ("real targets", "'real'")
        raise ConfigurationError(
            "targets",
            f"'{settings.targets}' is not available for dataset '{info.name}', which has {kind}; use {valid}",
        )
    if settings.targets == "scalar" and info.num_classes != 2:
        raise ConfigurationError(
            "targets",
            f"'scalar' requires two classes, but dataset '{info.name}' has {info.num_classes}; use 'one_hot'",
        )
    dims = {
        "one_hot": info.num_classes,
        "scalar": 1,
        "gaussian": settings.target_dim,
        "real": info.num_targets,
    }
    target_dim = dims[settings.targets]
    if target_dim is None:
        raise ConfigurationError("target_dim", "required by targets: gaussian")
    if settings.target_dim not in (None, target_dim):
        raise ConfigurationError(
            "target_dim",
            f"has no effect with targets: {settings.targets}, which have {target_dim} outputs here; "
            "leave it out",
        )
    return int(target_dim)

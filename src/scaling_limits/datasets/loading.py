"""Conversion of a prepared dataset to the arrays on which a network is trained."""

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scaling_limits.cells import DatasetSpec
from scaling_limits.datasets import prepared
from scaling_limits.datasets.description import Samples
from scaling_limits.datasets.resample import resample
from scaling_limits.errors import DatasetError

_CHUNK = 1024


@dataclass(frozen=True, eq=False)
class Arrays:
    """Inputs x [n, D], targets y [n, C] and integer labels [n] (empty for real targets), for training and test.

    For a text of words, x are indices of words [n, context_size] and y the labels, which `words.vectors` converts to
    inputs and targets, and `analogies` are its questions [q, 4]. For sequences, both are token indices [n,
    sequence_length].
    """

    x_train: NDArray[np.number]
    y_train: NDArray[np.number]
    labels_train: NDArray[np.int32]
    x_test: NDArray[np.number]
    y_test: NDArray[np.number]
    labels_test: NDArray[np.int32]
    analogies: NDArray[np.int32] | None = None


def load(spec: DatasetSpec, path: Path, dtype: Literal["float32", "float64"] = "float32") -> Arrays:
    """Load the first `num_train` and `num_test` samples of a prepared file, converted as `spec` requires.

    Images are resampled to `spec.input_shape`, normalised and flattened. `unit_interval` divides by the largest
    possible pixel value. `standardise` subtracts the mean of the training samples in use and divides by their standard
    deviation, per colour channel (vectors have one channel). Targets are one-hot rows [n, num_classes], the label
    itself [n, 1] for binary labels in {-1, 1}, `gaussian` draws from N(0, 1) [n, target_dim], which do not depend on
    the data, or `real` targets, which are not changed.

    Args:
        spec: the dataset of the cell.
        path: the prepared file.
        dtype: floating-point type of inputs and targets.

    Returns:
        The arrays of both splits.

    Raises:
        DatasetError: the file is missing, corrupt (it is then renamed) or was prepared from other data, or it cannot
            provide what `spec` requires.
    """
    samples, checksum = prepared.read(path)
    if checksum != spec.checksum:
        raise DatasetError(
            f"{path} was prepared from other data: expected checksum {spec.checksum}, found {checksum}; delete "
            "the file"
        )
    _refuse_too_few(spec, samples)
    if spec.context_size is not None:
        return _word_indices(spec, samples)
    if spec.sequence_length is not None:
        return _sequences(spec, samples)
    x_train = _inputs(spec, samples.x_train[: spec.num_train], dtype)
    x_test = _inputs(spec, samples.x_test[: spec.num_test], dtype)
    shift, scale = _normalisation(spec, x_train, samples.maximum)
    y_train, y_test = samples.y_train[: spec.num_train], samples.y_test[: spec.num_test]
    return Arrays(
        x_train=_normalise(x_train, shift, scale),
        y_train=_targets(spec, y_train, dtype, "training"),
        labels_train=_labels(spec, y_train),
        x_test=_normalise(x_test, shift, scale),
        y_test=_targets(spec, y_test, dtype, "test"),
        labels_test=_labels(spec, y_test),
    )


def _refuse_too_few(spec: DatasetSpec, samples: Samples) -> None:
    length = spec.sequence_length or 1
    for requested, available, kind in (
        (spec.num_train, len(samples.x_train) // length, "training"),
        (spec.num_test, len(samples.x_test) // length, "test"),
    ):
        if requested > available:
            raise DatasetError(
                f"{spec.name}: {requested} {kind} samples are requested, but the dataset has {available}"
            )


def _word_indices(spec: DatasetSpec, samples: Samples) -> Arrays:
    """Return a text as word indices; as vectors of the vocabulary, it would take some hundred times the memory."""
    x_train, y_train = (
        v[: spec.num_train].astype(np.int32) for v in (samples.x_train, samples.y_train)
    )
    x_test, y_test = (v[: spec.num_test].astype(np.int32) for v in (samples.x_test, samples.y_test))
    if samples.analogies is None:
        raise DatasetError(
            f"{spec.name}: a text of words requires analogies, but the prepared file has none"
        )
    analogies = samples.analogies.astype(np.int32)
    return Arrays(x_train, y_train, y_train, x_test, y_test, y_test, analogies)


def _sequences(spec: DatasetSpec, samples: Samples) -> Arrays:
    """Cut a text into samples without overlap; the remainder after the last sample is dropped."""

    def cut(tokens: NDArray[np.generic], count: int) -> NDArray[np.int32]:
        whole = tokens[: count * spec.input_shape[0]].astype(np.int32)
        return whole.reshape(count, spec.input_shape[0])

    x_train, y_train = (cut(v, spec.num_train) for v in (samples.x_train, samples.y_train))
    x_test, y_test = (cut(v, spec.num_test) for v in (samples.x_test, samples.y_test))
    return Arrays(x_train, y_train, y_train, x_test, y_test, y_test)


def _inputs(spec: DatasetSpec, x: NDArray[np.generic], dtype: str) -> NDArray[np.floating]:
    """Return samples as [n, pixels, channels], in `dtype`."""
    shape, wanted = x.shape[1:], spec.input_shape
    if shape == wanted:
        channels = _channels(shape)
        return x.reshape(len(x), math.prod(shape) // channels, channels).astype(dtype)
    own_channels, channels = _channels(shape), _channels(wanted)
    if len(shape) < 2 or len(wanted) < 2 or own_channels not in (1, channels):
        raise DatasetError(
            f"{spec.name}: samples of shape {shape} cannot be resampled to shape {wanted}"
        )
    height, width = wanted[:2]
    result = np.empty((len(x), height * width, channels), dtype)
    for start in range(0, len(x), _CHUNK):
        images = x[start : start + _CHUNK].reshape(-1, shape[0], shape[1], own_channels)
        # a grey image is copied to all channels
        result[start : start + _CHUNK] = resample(images, height, width).reshape(
            len(images), height * width, own_channels
        )
    return result


def _channels(shape: tuple[int, ...]) -> int:
    return shape[2] if len(shape) == 3 else 1


def _normalisation(
    spec: DatasetSpec, x: NDArray[np.floating], maximum: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shift and the scale of the normalisation, one number per channel each."""
    channels = x.shape[-1]
    shift, scale = np.zeros(channels), np.ones(channels)
    if spec.normalisation == "unit_interval":
        if not maximum:
            raise DatasetError(
                f"{spec.name}: normalisation: unit_interval requires 8-bit images; use standardise or none"
            )
        scale = np.full(channels, maximum)
    elif spec.normalisation == "standardise":
        for channel in range(channels):
            values = x[..., channel].astype(np.float64)
            shift[channel], scale[channel] = values.mean(), values.std()
        # round-off may give equal values a positive standard deviation
        constant = (x.max((0, 1)) == x.min((0, 1))) | (scale.astype(x.dtype) == 0)
        if constant.any():
            raise DatasetError(
                f"{spec.name}: channel {constant.argmax()} of the training samples is constant and cannot be "
                "standardised; remove the channel, or use normalisation: none or unit_interval"
            )
    return shift, scale


def _normalise(
    x: NDArray[np.floating], shift: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.floating]:
    x -= shift.astype(x.dtype)
    x /= scale.astype(x.dtype)
    return x.reshape(len(x), math.prod(x.shape[1:]))


def _labels(spec: DatasetSpec, y: NDArray[np.generic]) -> NDArray[np.int32]:
    return np.empty(0, np.int32) if spec.targets == "real" else y.astype(np.int32)


def _targets(
    spec: DatasetSpec, y: NDArray[np.generic], dtype: str, part: Literal["training", "test"]
) -> NDArray[np.floating]:
    if spec.targets == "real":
        return y.astype(dtype)
    labels = _labels(spec, y)
    if spec.targets == "gaussian":
        key = int.from_bytes(hashlib.sha256(f"gaussian targets/{part}".encode()).digest()[:16])
        generator = np.random.Generator(np.random.Philox(key=key))
        # column by column, so that the targets for fewer outputs are a prefix of those for more
        draws = generator.standard_normal((spec.target_dim, len(labels))).T
        return np.ascontiguousarray(draws, dtype)
    if spec.targets == "scalar":
        if not np.isin(labels, (-1, 1)).all():
            raise DatasetError(
                f"{spec.name}: targets: scalar requires the labels -1 and 1; use one_hot"
            )
        return labels[:, None].astype(dtype)
    if len(labels) and not 0 <= labels.min() <= labels.max() < spec.num_classes:
        raise DatasetError(
            f"{spec.name}: targets: one_hot requires labels from 0 to {spec.num_classes - 1}"
        )
    rows = np.zeros((len(labels), spec.num_classes), dtype)
    rows[np.arange(len(labels)), labels] = 1
    return rows

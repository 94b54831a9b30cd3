"""Datasets of the user: an .npz file with `x_train`, `y_train`, `x_test`, `y_test`, as in Keras.

Integers in `y_train` and `y_test` are classes, floating-point numbers are real targets.
"""

import hashlib
import io
import zipfile
import zlib
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scaling_limits.datasets.description import DatasetInfo, Samples
from scaling_limits.errors import DatasetError


def info(name: str, path: Path) -> DatasetInfo:
    """Return the description of a user's dataset, with shapes and checksum (SHA-256 of the file).

    Raises:
        DatasetError: the file cannot be read or is invalid; the message names the key.
    """
    _content(path)
    status = path.stat()
    return _info(name, path, status.st_mtime_ns, status.st_size)


def read(path: Path) -> Samples:
    """Read the samples of a user's dataset; raises as `info` does."""
    return decode(str(path), _content(path))


def decode(name: str, content: bytes) -> Samples:
    """Decode the samples from the bytes of an .npz file, without unpickling.

    Raises:
        DatasetError: a key is missing, or its array contains objects, has the wrong shape or length, or is not finite
            (the message gives the first such value).
    """
    arrays: dict[str, NDArray[np.generic]] = {}
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise DatasetError(f"{name} is not an .npz file")
    for key in ("x_train", "y_train", "x_test", "y_test"):
        arrays[key] = _array(name, content, key)
    targets: dict[str, NDArray[np.integer | np.floating]] = {}
    for split in ("train", "test"):
        arrays[f"x_{split}"] = _inputs(name, f"x_{split}", arrays[f"x_{split}"])
        targets[split] = _targets(name, f"y_{split}", arrays[f"y_{split}"])
        lengths = len(arrays[f"x_{split}"]), len(targets[split])
        if lengths[0] != lengths[1]:
            raise DatasetError(
                f"{name}: 'x_{split}' has {lengths[0]} samples, but 'y_{split}' has {lengths[1]}"
            )
    if arrays["x_train"].shape[1:] != arrays["x_test"].shape[1:]:
        shapes = arrays["x_train"].shape[1:], arrays["x_test"].shape[1:]
        raise DatasetError(
            f"{name}: samples of 'x_train' have shape {shapes[0]}, but samples of 'x_test' have shape {shapes[1]}"
        )
    kinds = _kind(targets["train"]), _kind(targets["test"])
    if kinds[0] != kinds[1]:
        raise DatasetError(
            f"{name}: 'y_train' contains {kinds[0]}, but 'y_test' contains {kinds[1]}"
        )
    if targets["train"].ndim == 1:
        _refuse_numbering(name, np.concatenate([targets["train"], targets["test"]]))
    is_bytes = arrays["x_train"].dtype == arrays["x_test"].dtype == np.uint8
    return Samples(
        x_train=arrays["x_train"],
        y_train=targets["train"],
        x_test=arrays["x_test"],
        y_test=targets["test"],
        maximum=255.0 if is_bytes else 0.0,
    )


def _array(name: str, content: bytes, key: str) -> NDArray[np.generic]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            array: NDArray[np.generic] = archive[key]
            return array
    except KeyError as error:
        raise DatasetError(f"{name}: the key '{key}' is missing") from error
    except (ValueError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DatasetError(
            f"{name}: '{key}' cannot be read as an array of numbers: {error}"
        ) from error


@cache
def _info(name: str, path: Path, _modified: int, _size: int) -> DatasetInfo:
    content = _content(path)
    samples = decode(str(path), content)
    is_real = samples.y_train.ndim == 2
    return DatasetInfo(
        name=name,
        title=name,
        shape=samples.x_train.shape[1:],
        num_classes=0 if is_real else _num_classes(samples),
        num_targets=samples.y_train.shape[1] if is_real else None,
        num_train=len(samples.x_train),
        num_test=len(samples.x_test),
        checksum=hashlib.sha256(content).hexdigest(),
    )


def _num_classes(samples: Samples) -> int:
    labels = np.concatenate([samples.y_train, samples.y_test])
    return 2 if labels.min() < 0 else int(labels.max()) + 1


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error


def _inputs(name: str, key: str, x: NDArray[np.generic]) -> NDArray[np.generic]:
    if x.dtype.kind not in "uif" or x.ndim not in (2, 3, 4) or 0 in x.shape:
        raise DatasetError(
            f"{name}: '{key}' must contain numbers of shape [n, D], [n, H, W] or [n, H, W, C], not {x.dtype} "
            f"{x.shape}"
        )
    _refuse_unfit(name, key, x)
    return x


def _targets(name: str, key: str, y: NDArray[np.generic]) -> NDArray[np.integer | np.floating]:
    """Return real targets [n, k], or labels [n]."""
    is_real = y.dtype.kind == "f"
    if _is_one_hot(y):
        raise DatasetError(
            f"{name}: '{key}' contains one-hot rows {y.shape}; expected integer classes [n] from 0: "
            f"{key}.argmax(axis=1)"
        )
    if y.dtype.kind == "b":
        raise DatasetError(
            f"{name}: '{key}' contains {y.dtype} {y.shape}; expected integers, 0 and 1 for two classes: "
            f"{key}.astype(int)"
        )
    if not is_real and y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.dtype.kind not in "uif" or y.ndim not in ((1, 2) if is_real else (1,)) or 0 in y.shape:
        raise DatasetError(
            f"{name}: '{key}' must contain integers [n] or [n, 1] for classes, or floating-point numbers [n] or "
            f"[n, k] for real targets, not {y.dtype} {y.shape}"
        )
    if is_real:
        _refuse_unfit(name, key, y)
        return y.reshape(len(y), -1).astype(np.float64)
    if int(y.min()) < 0 and not np.isin(y, (-1, 1)).all():
        raise DatasetError(
            f"{name}: '{key}' must contain labels from 0, or only -1 and 1; its smallest label is "
            f"{int(y.min())}"
        )
    unfit = np.greater(y, np.iinfo(np.int32).max)
    if unfit.any():
        index = int(unfit.argmax())
        raise DatasetError(
            f"{name}: '{key}' is {y[index]} at index {index}; expected integer classes from 0"
        )
    return y.astype(np.int32)


def _is_one_hot(y: NDArray[np.generic]) -> bool:
    """Return whether every row of several columns has a single 1 and zeros otherwise."""
    if y.ndim != 2 or y.shape[1] < 2 or y.dtype.kind not in "buif":
        return False
    return bool(np.isin(y, (0, 1)).all() and (np.count_nonzero(y, axis=1) == 1).all())


def _refuse_numbering(name: str, labels: NDArray[np.number]) -> None:
    """Reject labels that count from 1, which would add an empty class, and a single class."""
    smallest, largest = int(labels.min()), int(labels.max())
    if smallest == largest:
        raise DatasetError(
            f"{name}: all labels in 'y_train' and 'y_test' are {smallest}; expected at least two classes"
        )
    if smallest > 0:
        raise DatasetError(
            f"{name}: the labels in 'y_train' and 'y_test' range from {smallest} to {largest}; expected integer "
            f"classes from 0: subtract {smallest}"
        )
    if smallest < 0 and not np.isin(labels, (-1, 1)).all():
        raise DatasetError(
            f"{name}: 'y_train' and 'y_test' must both contain labels from 0, or both only -1 and 1"
        )


def _kind(y: NDArray[np.generic]) -> str:
    """Describe the targets in a message."""
    return "classes" if y.ndim == 1 else f"{y.shape[1]} real targets of each sample"


def _refuse_unfit(name: str, key: str, values: NDArray[np.generic]) -> None:
    # the negated comparison is true for NaN, too
    unfit = ~(np.abs(values) <= np.finfo(np.float32).max)
    if unfit.any():
        index = tuple(int(i) for i in np.argwhere(unfit)[0])
        where = index if len(index) > 1 else index[0]
        raise DatasetError(
            f"{name}: '{key}' is {values[index]} at index {where}; its values must be finite in float32"
        )

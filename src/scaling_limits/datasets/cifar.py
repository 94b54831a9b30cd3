"""The two formats in which CIFAR-10 and CIFAR-100 are published: 32 x 32 x 3, binary or pickled."""

import importlib
import io
import pickle
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from scaling_limits.datasets.description import Columns, Samples
from scaling_limits.errors import DatasetError

_PIXELS = 3 * 32 * 32

Batch = tuple[NDArray[np.uint8], NDArray[np.uint8]]


def decode(payloads: Mapping[str, bytes], *, label_bytes: int, label_key: bytes) -> Samples:
    """Decode images [n, 32, 32, 3] and labels [n], both uint8; the names of test files begin with `test`.

    In `.bin` files, the label is the last of `label_bytes` before each image. In pickled files, the labels are stored
    under `label_key`.

    Raises:
        DatasetError: a batch does not have the published format.
    """
    train: list[Batch] = []
    test: list[Batch] = []
    for name, content in sorted(payloads.items()):
        part = test if name.startswith("test") else train
        if name.endswith(".bin"):
            part.append(_binary(name, content, label_bytes))
        else:
            part.append(_pickled(name, content, label_key))
    x_train, y_train = (np.concatenate(parts) for parts in zip(*train, strict=True))
    x_test, y_test = (np.concatenate(parts) for parts in zip(*test, strict=True))
    return Samples(x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test, maximum=255.0)


def encode(split: Columns, *labels: str) -> bytes:
    """Return the records of a `.bin` file: the named labels, then the planes of each image."""
    images = split["image"]
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return np.column_stack([*(split[name] for name in labels), planes]).astype(np.uint8).tobytes()


def _binary(name: str, content: bytes, label_bytes: int) -> Batch:
    size = label_bytes + _PIXELS
    if not content or len(content) % size:
        raise DatasetError(
            f"{name}: {len(content)} bytes are not a whole number of images of {size} bytes"
        )
    rows = np.frombuffer(content, np.uint8).reshape(-1, size)
    return _images(rows[:, label_bytes:]), rows[:, label_bytes - 1]


def _pickled(name: str, content: bytes, label_key: bytes) -> Batch:
    try:
        batch = _ArraysOnly(io.BytesIO(content), encoding="bytes").load()
        pixels, labels = np.asarray(batch[b"data"]), np.asarray(batch[label_key])
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError) as error:
        raise DatasetError(f"{name} is not a batch of images: {error}") from error
    if pixels.dtype != np.uint8 or pixels.shape != (len(labels), _PIXELS):
        raise DatasetError(
            f"{name} is not a batch of images: expected uint8 ({len(labels)}, {_PIXELS}), found "
            f"{pixels.dtype} {pixels.shape}"
        )
    return _images(pixels), labels.astype(np.uint8)


def _images(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


class _ArraysOnly(pickle.Unpickler):
    """Unpickles NumPy arrays and plain containers, and rejects all other callables."""

    def find_class(self, module: str, name: str) -> object:
        if (module, name) in {
            ("numpy.core.multiarray", "_reconstruct"),
            ("numpy._core.multiarray", "_reconstruct"),
        }:
            return importlib.import_module("numpy._core.multiarray")._reconstruct
        if (module, name) == ("numpy", "ndarray"):
            return np.ndarray
        if (module, name) == ("numpy", "dtype"):
            return _dtype
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed")


def _dtype(name: bytes | str, _align: object, _copy: object) -> np.dtype[np.generic]:
    # the published files pass `align` as an integer, which NumPy deprecates
    return np.dtype(name.decode() if isinstance(name, bytes) else name)

"""CIFAR-10: small photographs, 32 x 32 x 3, 50,000 + 10,000, in binary or in pickled form."""

import importlib
import io
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DatasetError
from .description import DatasetInfo, Payload, Samples, Source, combined_checksum

_PIXELS = 3 * 32 * 32
_BINARY = (
    Payload("data_batch_1.bin", "md5:5dd7e06a14cb22eb9f671a540d1b7c25"),
    Payload("data_batch_2.bin", "md5:5ea93a67294ea407fff1d09f752e9692"),
    Payload("data_batch_3.bin", "md5:942cd6a4bcdd0dd3c604fbe906cb4421"),
    Payload("data_batch_4.bin", "md5:ae636b3ba5c66a11e91e8cb52e771fcb"),
    Payload("data_batch_5.bin", "md5:53f37980c15c3d472c316c40844f3f0d"),
    Payload("test_batch.bin", "md5:803d5f7f4d78ea53de84dbe85f74fb6d"),
)
_PICKLED = (
    Payload("data_batch_1", "md5:c99cafc152244af753f735de768cd75f"),
    Payload("data_batch_2", "md5:d4bba439e000b95fd0a9bffe97cbabec"),
    Payload("data_batch_3", "md5:54ebc095f3ab1f0389bbae665268c751"),
    Payload("data_batch_4", "md5:634d18415352ddfa80567beed471001a"),
    Payload("data_batch_5", "md5:482c414d41f54cd18b22e5b47cb7c3cb"),
    Payload("test_batch", "md5:40351d587109b95175f43aff81a1287e"),
)

# Both forms hold the same images in the same order, so one checksum stands for either.
INFO = DatasetInfo(
    name="cifar10",
    title="CIFAR-10",
    shape=(32, 32, 3),
    num_classes=10,
    num_train=50000,
    num_test=10000,
    checksum=combined_checksum(_BINARY),
    stand_in="cifar10_standin",
)

SOURCES = (
    Source(
        _BINARY,
        places=("cifar10",),
        mirrors=("https://www.cs.toronto.edu/~kriz/",),
        archive="cifar-10-binary.tar.gz",
        archive_checksum="md5:c32a1d4ab5d03f1284b67883e8d87530",
        folder="cifar-10-batches-bin",
    ),
    Source(
        _PICKLED,
        places=("cifar10",),
        archive="cifar-10-python.tar.gz",
        archive_checksum="md5:c58f30108f718f92721af3b95e74349a",
        folder="cifar-10-batches-py",
    ),
)


def decode(payloads: Mapping[str, bytes]) -> Samples:
    """Images [n, 32, 32, 3] and labels [n], both uint8.

    Raises:
        DatasetError: a batch is not laid out as published.
    """
    train: list[tuple[NDArray[np.uint8], NDArray[np.uint8]]] = []
    test: list[tuple[NDArray[np.uint8], NDArray[np.uint8]]] = []
    for name, content in sorted(payloads.items()):
        batch = _binary(name, content) if name.endswith(".bin") else _pickled(name, content)
        (test if name.startswith("test") else train).append(batch)
    x_train, y_train = (np.concatenate(parts) for parts in zip(*train, strict=True))
    x_test, y_test = (np.concatenate(parts) for parts in zip(*test, strict=True))
    return Samples(x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test, maximum=255.0)


def _binary(name: str, content: bytes) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    if not content or len(content) % (1 + _PIXELS):
        raise DatasetError(f"{name}: {len(content)} bytes are no whole number of images")
    rows = np.frombuffer(content, np.uint8).reshape(-1, 1 + _PIXELS)
    return _images(rows[:, 1:]), rows[:, 0]


def _pickled(name: str, content: bytes) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    try:
        batch = _ArraysOnly(io.BytesIO(content), encoding="bytes").load()
        pixels, labels = np.asarray(batch[b"data"]), np.asarray(batch[b"labels"])
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError) as error:
        raise DatasetError(f"{name} is no batch of images: {error}") from error
    if pixels.dtype != np.uint8 or pixels.shape != (len(labels), _PIXELS):
        raise DatasetError(f"{name} is no batch of images: {pixels.dtype} {pixels.shape}")
    return _images(pixels), labels.astype(np.uint8)


def _images(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


class _ArraysOnly(pickle.Unpickler):
    """Unpickles numpy arrays and plain containers, and refuses every other callable."""

    def find_class(self, module: str, name: str) -> Any:
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


def _dtype(name: bytes | str, _align: object, _copy: object) -> np.dtype[Any]:
    # the published files pass `align` as an integer, which numpy is giving up
    return np.dtype(name.decode() if isinstance(name, bytes) else name)

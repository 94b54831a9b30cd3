"""The prepared form of a dataset: an uncompressed .npz file, verified whenever it is read.

Its keys are `x_train`, `y_train`, `x_test`, `y_test`, for texts of words `analogies`, `maximum` (see `Samples`),
`checksum` (of the published content) and `digest` (of the arrays). Equal samples give equal bytes.
"""

import hashlib
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scaling_limits.datasets.corrupt import corrupt
from scaling_limits.datasets.description import Samples
from scaling_limits.errors import DatasetError

_ARRAYS = ("x_train", "y_train", "x_test", "y_test")


def digest(samples: Samples) -> str:
    """Return a SHA-256 checksum over the arrays (names, types, shapes, little-endian bytes) and `maximum`."""
    value = hashlib.sha256(f"maximum {float(samples.maximum)!r}\n".encode())
    for name, array in _arrays(samples).items():
        value.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        value.update(array.data)
    return value.hexdigest()


def write(path: Path, samples: Samples, checksum: str) -> None:
    """Write the samples atomically."""
    arrays: dict[str, Any] = _arrays(samples)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            np.savez(
                file,
                **arrays,
                maximum=np.float64(samples.maximum),
                checksum=np.array(checksum),
                digest=np.array(digest(samples)),
            )
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: Path) -> tuple[Samples, str]:
    """Read the samples and the checksum of the content from which they were prepared.

    Raises:
        DatasetError: there is no such file, or it is corrupt (it is then renamed).
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            samples = Samples(
                x_train=archive["x_train"],
                y_train=archive["y_train"],
                x_test=archive["x_test"],
                y_test=archive["y_test"],
                maximum=float(archive["maximum"]),
                analogies=archive.get("analogies"),
            )
            checksum, expected = str(archive["checksum"]), str(archive["digest"])
    except FileNotFoundError as error:
        raise DatasetError(f"{path} is missing; the dataset has not been prepared") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, TypeError) as error:
        checksum_of_file = hashlib.sha256(path.read_bytes()).hexdigest()
        content = f"an unreadable file ({error}; its sha256: {checksum_of_file})"
        raise corrupt(path, expected="a prepared dataset", found=content) from error
    actual = digest(samples)
    if actual != expected:
        raise corrupt(path, expected=f"digest {expected}", found=actual)
    return samples, checksum


def _arrays(samples: Samples) -> dict[str, NDArray[np.generic]]:
    arrays = {name: np.asarray(getattr(samples, name)) for name in _ARRAYS}
    if samples.analogies is not None:
        arrays["analogies"] = np.asarray(samples.analogies)
    return {
        name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }

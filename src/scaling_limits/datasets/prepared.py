"""The prepared form of a dataset: an uncompressed .npz file, verified whenever it is read.

Its keys are `x_train`, `y_train`, `x_test`, `y_test`, for texts of words `analogies`, `maximum` (see `Samples`),
`checksum` (of the published content) and `digest` (of the arrays). Equal samples give equal bytes.
"""

import hashlib
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scaling_limits.datasets.corrupt import corrupt
from scaling_limits.datasets.description import Samples
from scaling_limits.errors import DatasetError

_ARRAYS = ("x_train", "y_train", "x_test", "y_test")


def digest(samples: Samples) -> str:
    """Return a SHA-256 checksum over the arrays (names, types, shapes, little-endian bytes) and `maximum`."""
    value = hashlib.sha256(f"maximum {float(samples.maximum)!r}\n".encode())
    for name, array in arrays(samples).items():
        value.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        value.update(array.data)
    return value.hexdigest()


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


def arrays(samples: Samples) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of the samples by name, contiguous and little-endian."""
    result = {name: np.asarray(getattr(samples, name)) for name in _ARRAYS}
    if samples.analogies is not None:
        result["analogies"] = np.asarray(samples.analogies)
    return {
        name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        for name, array in result.items()
    }

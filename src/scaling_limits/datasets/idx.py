"""The IDX format of MNIST and similar datasets."""

import struct

import numpy as np
from numpy.typing import NDArray

from scaling_limits.errors import DatasetError


def encode(values: NDArray[np.integer]) -> bytes:
    """Encode an array of integers from 0 to 255 as a file; the inverse of `decode`."""
    header = struct.pack(f">2xBB{values.ndim}I", 8, values.ndim, *values.shape)
    return header + values.astype(np.uint8).tobytes()


def decode(name: str, content: bytes) -> NDArray[np.uint8]:
    """Decode an array of unsigned bytes.

    Raises:
        DatasetError: `content` is not in IDX format, holds another type, or does not have the length given in its
            header.
    """
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise DatasetError(f"{name} is not an IDX file of unsigned bytes")
    start = 4 + 4 * content[3]
    if len(content) >= start:
        shape = struct.unpack(f">{content[3]}I", content[4:start])
        values = np.frombuffer(content, np.uint8, offset=start)
        if values.size == int(np.prod(shape, dtype=np.int64)):
            return values.reshape(shape)
    raise DatasetError(
        f"{name} has {len(content)} bytes, which does not match the shape in its header"
    )

"""Labelled images as tables: Keras' `.npz` files, and Hugging Face's Parquet files with PNG images."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
from numpy.typing import NDArray
from PIL import Image

from scaling_limits.datasets.description import Columns
from scaling_limits.errors import DatasetError


def read(contents: Mapping[Path, bytes]) -> tuple[Columns, Columns]:
    """Read the training and the test split from one `.npz` file, or from Parquet files named after their split.

    Args:
        contents: by path, the bytes of the `.npz` file with `x_train`, `y_train`, `x_test` and `y_test`, or of all
            Parquet files in their order.

    Returns:
        The columns of both splits: `image`, and labels under their names in the file, `label` in an `.npz` file.

    Raises:
        DatasetError: a file is in neither format, or its arrays or columns are not as described.
    """
    for file, content in contents.items():
        if content.startswith(b"PK"):
            return _npz(file, content)
        if not content.startswith(b"PAR1"):
            raise DatasetError(f"{file} is neither an .npz nor a Parquet file")
    train, test = (
        [
            _parquet(file, content)
            for file, content in contents.items()
            if file.name.startswith(split)
        ]
        for split in ("train", "test")
    )
    try:
        return _joined(train), _joined(test)
    except (KeyError, ValueError) as error:
        names = ", ".join(map(str, contents))
        raise DatasetError(f"{names} are not parts of one table: {error}") from error


def _npz(file: Path, content: bytes) -> tuple[Columns, Columns]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            train, test = (
                {"image": archive[f"x_{split}"], "label": archive[f"y_{split}"].reshape(-1)}
                for split in ("train", "test")
            )
    except (KeyError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DatasetError(
            f"{file} cannot be read as x_train, y_train, x_test, y_test: {error}"
        ) from error
    return train, test


def _parquet(file: Path, content: bytes) -> Columns:
    try:
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(content))
        return {
            # the name of the image column differs between Hugging Face's datasets
            ("image" if pyarrow.types.is_struct(field.type) else field.name): _column(
                table[field.name].to_pylist()
            )
            for field in table.schema
        }
    except (
        pyarrow.ArrowException,
        OSError,
        LookupError,
        TypeError,
        ValueError,
        SyntaxError,
    ) as error:
        # Pillow raises SyntaxError for a broken PNG
        raise DatasetError(f"{file} cannot be read as images and labels: {error}") from error


def _column(values: list[dict[str, bytes] | int]) -> NDArray[np.integer]:
    return np.array(
        [_png(value["bytes"]) if isinstance(value, dict) else value for value in values]
    )


def _png(content: bytes) -> NDArray[np.integer]:
    with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
        return np.asarray(image)


def _joined(shards: list[Columns]) -> Columns:
    return {name: np.concatenate([shard[name] for shard in shards]) for name in shards[0]}

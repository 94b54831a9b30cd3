"""Atomic writing of files, and the errors reported if a file cannot be written."""

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from scaling_limits.errors import ScalingLimitsError

JsonObject = dict[str, Any]
"""A JSON object that this project writes and reads; its values have the types that its writer gives them."""


class WriteError(ScalingLimitsError):
    """A file cannot be written because the disk is full or the folder is not writable."""


def write_file(path: Path, content: bytes | str) -> None:
    """Write a file atomically, and create its folder if it is missing.

    Text is encoded as UTF-8. Several processes may write the same file; the last one wins.

    Raises:
        WriteError: the file cannot be written; no partial file is left, and an older file is unchanged.
    """
    with writing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file in the folder of `path`; when the block ends, synchronise it to disk and rename it to
    `path`.

    If the block raises, no file is left behind and an older file is unchanged.

    Args:
        path: the file to write; its folder is created if it is missing.

    Raises:
        WriteError: the file cannot be written, or the block raised an `OSError`.
    """
    # processes on two machines or in two containers may have the same process id
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def unwritable(path: Path, error: OSError) -> WriteError:
    """Return the error to raise if another library could not write a file."""
    return WriteError(
        f"cannot write {path}: {error.strerror or error}; cells stored so far are kept"
    )


def require_writable(folders: Iterable[Path]) -> None:
    """Raise an error before any work starts if results could not be saved; folders that do not exist are skipped.

    Raises:
        WriteError: one of the folders is not writable.
    """
    for folder in folders:
        if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
            raise WriteError(
                f"cannot write to {folder}/: no permission, or a read-only file system; nothing was changed"
            )

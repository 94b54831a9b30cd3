"""Files that are there whole or not at all, and what a user is told where one cannot be written."""

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from scaling_limits.errors import ScalingLimitsError


class WriteError(ScalingLimitsError):
    """A file cannot be written: the disk is full, or the folder may not be written to."""


def write_file(path: Path, content: bytes | str) -> None:
    """Write a file, and its folder where there is none, so that it is there whole or not at all.

    Text is encoded as UTF-8. Several processes may write the same file: the last one wins.

    Raises:
        WriteError: the file cannot be written; nothing of it is left behind, an older one stays as it was.
    """
    with writing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file in the folder of `path`, which is synchronised and replaces `path` when the block ends.

    If the block raises, nothing is left behind and an older file is unchanged.

    Args:
        path: the file to write; its folder is created if it is missing.

    Raises:
        WriteError: the file cannot be written. An `OSError` of the block is reported as such.
    """
    # processes of two machines or containers may have equal numbers
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
    """The error to raise for a file that somebody else's code could not write."""
    return WriteError(
        f"cannot write {path}: {error.strerror or error}; cells stored so far are kept"
    )


def require_writable(folders: Iterable[Path]) -> None:
    """Refuse to begin where results could not be kept; a folder that is not there is passed over.

    Raises:
        WriteError: one of the folders may not be written to.
    """
    for folder in folders:
        if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
            raise WriteError(
                f"cannot write to {folder}/: no permission, or a read-only file system; nothing was changed"
            )

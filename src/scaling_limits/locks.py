"""Locks on cells: of several processes that share a store, each computes what no other one is computing."""

import fcntl
import io
from pathlib import Path
from types import TracebackType

from scaling_limits.files import unwritable


class Locks:
    """Locks on keys, hexadecimal numbers: each locks one byte of a file without content. Open it once in a process.

    The operating system releases the locks of a process that ends, however it ends. If a file system has no such
    locks, every key is free: two processes may then compute a cell, and the file written last stays. Both are equal.

    Args:
        path: the file; its folder is created if it is missing.

    Raises:
        WriteError: the file cannot be opened for writing.
    """

    def __init__(self, path: Path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: io.BufferedRandom = path.open("a+b")
        except OSError as error:
            raise unwritable(path, error) from error

    def __enter__(self) -> "Locks":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def take(self, key: str) -> bool:
        """Lock a key, and return whether that was possible: False if another process has it."""
        return self._lock(key, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self, key: str) -> None:
        """Unlock a key that this process has."""
        self._lock(key, fcntl.LOCK_UN)

    def wait(self, key: str) -> None:
        """Wait until no other process has a key. This process may have none meanwhile: two might wait for ever."""
        self._lock(key, fcntl.LOCK_EX)
        self.release(key)

    def _lock(self, key: str, operation: int) -> bool:
        # an offset has 63 bits: two cells in a million million million share one
        place = int(key, 16) % (1 << 63)
        try:
            fcntl.lockf(self._file, operation, 1, place)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:
            # no locks here
            return True
        return True

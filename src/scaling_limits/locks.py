"""Locks on cells, so that processes that share a store do not compute the same cell."""

import fcntl
import io
from pathlib import Path
from types import TracebackType

from scaling_limits.files import unwritable


class Locks:
    """Locks on keys, which are hexadecimal numbers. A process opens the file of locks once.

    Each lock is one byte of an otherwise empty file. The operating system releases the locks of a process when it ends,
    for whatever reason. On a file system without such locks, every key is free. Two processes may then compute the same
    cell; the results are equal, and the last file written remains.

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
        """Try to lock a key, and return whether this succeeded; False means that another process holds the lock."""
        return self._lock(key, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self, key: str) -> None:
        """Unlock a key that this process has locked."""
        self._lock(key, fcntl.LOCK_UN)

    def wait(self, key: str) -> None:
        """Wait until no other process holds the lock of a key.

        This process must not hold any lock meanwhile, as two processes might otherwise wait for each other forever.
        """
        self._lock(key, fcntl.LOCK_EX)
        self.release(key)

    def _lock(self, key: str, operation: int) -> bool:
        # offsets have 63 bits, so the probability that two cells share one is about 1e-19
        place = int(key, 16) % (1 << 63)
        try:
            fcntl.lockf(self._file, operation, 1, place)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:
            # this file system has no locks
            return True
        return True

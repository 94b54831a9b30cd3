"""Compiled programs that several processes share.

JAX writes a program directly to the file from which other processes read it, and keeps incomplete files forever. Each
process therefore has a temporary folder: it starts with links to the undamaged programs, and new programs are added to
the shared folder when the process ends.
"""

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from scaling_limits.files import WriteError, unwritable, write_file

_OWN = ".process-"
_LEFT_BY_KILLED = {f"{_OWN}*": 30 * 86400.0, "*.tmp": 3600.0}
"""Folders and files of processes, each with the age in seconds above which the process was killed."""


@contextlib.contextmanager
def shared_programs(folder: Path) -> Iterator[None]:
    """Let JAX read compiled programs from a folder, and add the programs that this process compiles.

    This must be entered before anything is compiled. A program's file is named by JAX's key and a checksum of its
    content; if the checksum differs, the file is damaged and is removed. JAX itself would never replace it.

    Args:
        folder: the folder of programs for this kind of machine; it is created if it is missing.

    Raises:
        WriteError: the folder cannot be written to.
    """
    import jax

    try:
        folder.mkdir(parents=True, exist_ok=True)
        _clear(folder)
        process_folder = TemporaryDirectory(prefix=_OWN, dir=folder)
    except OSError as error:
        raise unwritable(folder, error) from error
    with process_folder as name:
        known = {path.name for path in _lent(folder, Path(name))}
        jax.config.update("jax_compilation_cache_dir", name)
        # XLA's own caches would make the keys depend on the folder
        jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        try:
            yield
        finally:
            for path in Path(name).iterdir():
                # ignore a full disk: the program will be compiled again
                if path.name not in known:
                    with contextlib.suppress(OSError, WriteError):
                        content = path.read_bytes()
                        write_file(folder / f"{path.name}.{_checksum(content)}", content)


def _lent(folder: Path, process_folder: Path) -> Iterator[Path]:
    """Link the undamaged programs of `folder` into `process_folder`, and yield the links."""
    for path in folder.iterdir():
        key, _, checksum = path.name.rpartition(".")
        # a file that another process is writing ends in `tmp`
        if checksum == "tmp" or not path.is_file():
            continue
        # another process may remove it at the same time
        with contextlib.suppress(FileNotFoundError):
            if _checksum(path.read_bytes()) != checksum:
                path.unlink()
                continue
            try:
                os.link(path, process_folder / key)
            except FileExistsError:
                # two processes compiled the same program
                continue
            except OSError:
                shutil.copyfile(path, process_folder / key)
            yield process_folder / key


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _clear(folder: Path) -> None:
    """Remove the folders and temporary files of killed processes."""
    for pattern, age in _LEFT_BY_KILLED.items():
        for path in folder.glob(pattern):
            # another process may remove it at the same time
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime <= age:
                    continue
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()

"""Compiled programs that processes share.

JAX writes a program where others read it, and keeps one that was cut off for ever. So each process has a folder of its
own: it begins with links to the programs that are whole, and new ones are added to them at its end.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from scaling_limits.files import WriteError, unwritable, write_file

_SECONDS_OF_A_PROCESS = 30 * 86400.0
"""An older folder was left by a process that was killed."""
_OWN = ".process-"


@contextlib.contextmanager
def shared_programs(folder: Path) -> Iterator[None]:
    """Have JAX read compiled programs from a folder, and add those that this process compiles.

    To be entered before anything is compiled. A program's file is named by JAX's key and its size: where the sizes
    differ, it was cut off, and is removed.

    Args:
        folder: where the programs for this kind of machine lie; it is created if it is missing.

    Raises:
        WriteError: the folder cannot be written to.
    """
    import jax

    try:
        folder.mkdir(parents=True, exist_ok=True)
        _clear(folder)
        own = TemporaryDirectory(prefix=_OWN, dir=folder)
    except OSError as error:
        raise unwritable(folder, error) from error
    with own as name:
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
                # a full disk is no reason to fail: it will be compiled again
                if path.name not in known:
                    with contextlib.suppress(OSError, WriteError):
                        write_file(folder / f"{path.name}.{path.stat().st_size}", path.read_bytes())


def _lent(folder: Path, own: Path) -> Iterator[Path]:
    """Give the programs of `folder` that are whole, as files in `own`."""
    for path in folder.iterdir():
        key, dot, size = path.name.rpartition(".")
        if not (dot and size.isdigit() and path.is_file()):
            continue
        # another process may remove it at the same time
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size != int(size):
                path.unlink()
                continue
            try:
                os.link(path, own / key)
            except FileExistsError:
                # two processes have compiled it
                continue
            except OSError:
                shutil.copyfile(path, own / key)
            yield own / key


def _clear(folder: Path) -> None:
    """Remove what processes left that were killed long ago."""
    for path in folder.glob(f"{_OWN}*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _SECONDS_OF_A_PROCESS:
                shutil.rmtree(path, ignore_errors=True)

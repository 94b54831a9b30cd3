"""A GPU of its own for each job, where a machine has several."""

import fcntl
import os
import tempfile
from pathlib import Path
from typing import IO

from scaling_limits.files import unwritable


def take_gpu() -> IO[bytes] | None:
    """Choose one of the GPUs that this process sees, if there are several, and hide the others from it.

    To be called before JAX is imported. A GPU that another job of this machine has is taken only if all are.

    Returns:
        A file that holds the GPU until it is closed or the process ends; None where there is nothing to choose.

    Raises:
        WriteError: the file cannot be written.
    """
    gpus = _visible()
    if len(gpus) < 2:
        return None
    # of this machine: a folder of results may be shared by several
    path = Path(tempfile.gettempdir(), f"scaling-limits-gpus-{os.getuid()}")
    try:
        file = path.open("a+b")
    except OSError as error:
        raise unwritable(path, error) from error
    chosen = os.getpid() % len(gpus)
    for number in range(len(gpus)):
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except OSError:
            continue
        chosen = number
        break
    os.environ["CUDA_VISIBLE_DEVICES"] = gpus[chosen]
    return file


def _visible() -> list[str]:
    """Return the names of the GPUs that CUDA would show this process."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in named.split(",") if name]
    return [str(number) for number, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]

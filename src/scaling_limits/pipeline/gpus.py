"""A GPU of its own for each job, where a machine has several."""

import os
import tempfile
from pathlib import Path

from scaling_limits.locks import Locks


def take_gpu() -> Locks | None:
    """Choose one of the GPUs that this process sees, if there are several, and hide the others from it.

    To be called before JAX is imported. A GPU that another job of this machine has is taken only if all are.

    Returns:
        The lock that holds the GPU until the process ends; None if there is nothing to choose.

    Raises:
        WriteError: the file of locks cannot be written.
    """
    gpus = _visible()
    if len(gpus) < 2:
        return None
    # of this machine: a folder of results may be shared by several
    locks = Locks(Path(tempfile.gettempdir(), f"scaling-limits-gpus-{os.getuid()}"))
    free = (number for number in range(len(gpus)) if locks.take(f"{number:x}"))
    os.environ["CUDA_VISIBLE_DEVICES"] = gpus[next(free, os.getpid() % len(gpus))]
    return locks


def _visible() -> list[str]:
    """Return the names of the GPUs that CUDA would show this process."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in named.split(",") if name]
    return [str(number) for number, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]

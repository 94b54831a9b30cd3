"""Assignment of GPUs to jobs on machines with several GPUs."""

import os
import tempfile
from pathlib import Path

from scaling_limits.locks import Locks


def take_gpu() -> Locks | None:
    """Choose one of the GPUs visible to this process, if there are several, and hide the others from it.

    This must be called before JAX is imported. A GPU in use by another job of this machine is chosen only if all are in
    use.

    Returns:
        The lock that holds the GPU until the process ends; None if there are fewer than two GPUs.

    Raises:
        WriteError: the file of locks cannot be written.
    """
    gpus = _visible()
    if len(gpus) < 2:
        return None
    # the locks are local to the machine, since several machines may share a folder of results
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

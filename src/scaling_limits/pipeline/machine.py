"""The kind of machine on which a process computes; equal kinds run the same programs and give identical bits."""

import hashlib
import platform
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path

from scaling_limits.runtime import device_class

_CPUINFO = Path("/proc/cpuinfo")


@cache
def machine_kind() -> str:
    """Return the name of the processor or GPU, such as "Intel(R) Xeon(R) Platinum 8481C, 1f3a90c2".

    The last word identifies the instruction set, since virtual processors may lack instructions of the named model.
    """
    if device_class() == "gpu":
        import jax

        return str(jax.devices()[0].device_kind)
    return _processor(_CPUINFO.read_text() if _CPUINFO.exists() else "")


def _processor(described: str) -> str:
    """Return the processor that Linux describes; on other systems, the name known to Python."""
    entries = dict(re.findall(r"^(model name|flags|Features)\s*: (.*)$", described, re.MULTILINE))
    name = entries.get("model name") or platform.processor() or platform.machine()
    flags = entries.get("flags") or entries.get("Features")
    if flags is None:
        return name
    instructions = " ".join(sorted(flags.split()))
    return f"{name}, {hashlib.sha256(instructions.encode()).hexdigest()[:8]}"


def programs_folder() -> str:
    """Return the name of a folder for programs compiled for this kind of machine by this version of jaxlib."""
    name = re.sub(r"[^a-z0-9]+", "-", machine_kind().lower()).strip("-")
    return f"{name}-jaxlib-{version('jaxlib')}"

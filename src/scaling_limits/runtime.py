"""The process-wide settings of JAX and its linear algebra libraries, in one place.

`configure` has to run before JAX is imported. Everything that decides bits is set here: one thread per process (XLA's
reductions and LAPACK depend on the number), float32 products in full precision, deterministic GPU kernels.
"""

import importlib.metadata
import os
import sys
from pathlib import Path
from typing import Literal

from scaling_limits.errors import ConfigurationError

_ENVIRONMENT = {
    "NPROC": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # jobs share a GPU: each takes what it needs and no more
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    # the last: products by Eigen, which on one thread is up to twice as fast as XLA's default for many matrices
    "XLA_FLAGS": "--xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0 --xla_cpu_experimental_ynn_fusion_type=",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}

NUMERICAL_LIBRARIES = ("jax", "jaxlib", "flax", "optax", "numpy")


def configure(
    *, dtype: str = "float32", device: str = "cpu", cache: Path | str | None = None
) -> None:
    """Set up this process for computing.

    Args:
        dtype: `float64` switches 64-bit numbers on for the whole process.
        device: `cpu` or `gpu`.
        cache: folder of XLA's persistent compilation cache; None turns it off.

    Raises:
        RuntimeError: when JAX was imported before.
        ConfigurationError: a GPU is asked for and JAX finds none.
    """
    if "jax" in sys.modules:
        raise RuntimeError("runtime.configure must run before jax is imported")
    os.environ.update(_ENVIRONMENT)
    os.environ["JAX_PLATFORMS"] = "cuda,cpu" if device == "gpu" else "cpu"
    import jax

    jax.config.update("jax_enable_x64", dtype == "float64")
    jax.config.update("jax_default_matmul_precision", "highest")
    if cache is not None:
        jax.config.update("jax_compilation_cache_dir", str(cache))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    if device_class() != device:
        raise ConfigurationError(
            f"resources.device: {device}, but JAX computes on {device_class()}; see docs/gpu.md"
        )


def library_versions() -> dict[str, str]:
    """The versions of the libraries that decide numbers; part of every cell's key."""
    return {name: importlib.metadata.version(name) for name in NUMERICAL_LIBRARIES}


def device_class() -> Literal["cpu", "gpu"]:
    """The kind of device this process computes on."""
    import jax

    return "gpu" if jax.default_backend() == "gpu" else "cpu"

"""The process-wide settings of JAX and its linear algebra libraries, in one place.

Everything that decides bits is set here, whatever the environment says: the generator of random numbers, one thread
per process (XLA's reductions and LAPACK depend on the number), float32 products in full precision, deterministic GPU
kernels. NumPy's linear algebra reads its number of threads when it is imported: Snakemake sets it for the rule `run`.
"""

import importlib.metadata
import os
import sys
from pathlib import Path
from typing import Any, Literal

from scaling_limits.errors import ConfigurationError

_ENVIRONMENT = {
    "NPROC": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # the last: products by Eigen, which on one thread is up to twice as fast as XLA's default for many matrices
    "XLA_FLAGS": "--xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0 --xla_cpu_experimental_ynn_fusion_type=",
}
_UNCHECKED = {
    # jobs share a GPU: each takes what it needs and no more
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}
"""These decide no number."""

_READ = (
    "JAX_",
    "JAX2TF_",
    "EAGER_CONSTANT_FOLDING",
    "XLA_",
    "TF_XLA_",
    "TF_CUDNN_",
    "TF_CUBLAS_",
    "TF_DISABLE_",
    "TF_ENABLE_",
    "OMP_",
    "GOMP_",
    "MKL_",
    "NPY_",
    "NVIDIA_TF32_OVERRIDE",
    "CUBLAS_",
    "CUDNN_",
)
"""Prefixes of the variables that JAX, XLA and linear algebra libraries read. OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE are
left alone: they describe the processor, on which the last bits depend as well."""
_HARMLESS = (
    "JAX_COMPILATION_CACHE_",
    "JAX_PERSISTENT_CACHE_",
    "JAX_LOG",
    "JAX_PLATFORMS",
    "JAX_TRACEBACK_",
    "JAX_CUDA_VISIBLE_DEVICES",
    "XLA_PYTHON_CLIENT_",
)
"""Prefixes of those that decide no number."""
_HARMLESS_FLAGS = (
    "--xla_dump_",
    "--xla_force_host_platform_device_count=",
    "--xla_gpu_dump_",
    "--xla_gpu_memory_limit_slop_factor=",
)
"""Prefixes of a user's flags in XLA_FLAGS that decide no number; they are added to the project's."""

_OPTIONS: dict[str, Any] = {
    "jax_default_prng_impl": "threefry2x32",
    "jax_threefry_partitionable": True,
    "jax_random_seed_offset": 0,
    "jax_high_dynamic_range_gumbel": False,
    "jax_default_matmul_precision": "highest",
    "jax_numpy_dtype_promotion": "standard",
    "jax_disable_jit": False,
    "jax_disable_most_optimizations": False,
    "jax_optimization_level": "UNKNOWN",
    "jax_exec_time_optimization_effort": 0.0,
}
"""Options of JAX that decide numbers, besides `jax_enable_x64`; a version need not know all of them."""

NUMERICAL_LIBRARIES = ("jax", "jaxlib", "flax", "optax", "numpy")


def isolate() -> None:
    """Set the environment variables that decide numbers, and remove those that would decide other ones; says which.

    Flags in XLA_FLAGS that decide no number are kept.
    """
    harmless, deciding = _flags()
    removed = sorted(
        name
        for name in os.environ
        if name.startswith(_READ) and name not in _ENVIRONMENT and not name.startswith(_HARMLESS)
    )
    for name in removed:
        del os.environ[name]
    os.environ.update(_ENVIRONMENT | _UNCHECKED)
    os.environ["XLA_FLAGS"] = " ".join([_ENVIRONMENT["XLA_FLAGS"], *harmless])
    removed += [f"{flag} of XLA_FLAGS" for flag in deciding]
    if removed:
        print(f"ignored, as they may decide numbers: {', '.join(removed)}", file=sys.stderr)


def _flags() -> tuple[list[str], list[str]]:
    """The flags of XLA_FLAGS besides the project's: those that decide no number, and the others."""
    flags = set(os.environ.get("XLA_FLAGS", "").split()) - set(_ENVIRONMENT["XLA_FLAGS"].split())
    harmless = sorted(flag for flag in flags if flag.startswith(_HARMLESS_FLAGS))
    return harmless, sorted(flags.difference(harmless))


def configure(
    *, dtype: str = "float32", device: str = "cpu", cache: Path | str | None = None
) -> None:
    """Set up this process for computing; if JAX was imported before, check that it is set up in the same way.

    Args:
        dtype: `float64` switches 64-bit numbers on for the whole process, if JAX was not imported before.
        device: `cpu` or `gpu`.
        cache: folder of XLA's persistent compilation cache; None turns it off.

    Raises:
        ConfigurationError: JAX was imported before with an option or an environment variable that may decide other
            numbers; or a GPU is asked for and JAX finds none.
    """
    if "jax" in sys.modules:
        _compare()
    else:
        isolate()
        os.environ["JAX_PLATFORMS"] = "cuda,cpu" if device == "gpu" else "cpu"
        import jax

        for name in _OPTIONS.keys() & jax.config.values.keys():
            jax.config.update(name, _OPTIONS[name])
        jax.config.update("jax_enable_x64", dtype == "float64")
        if cache is not None:
            jax.config.update("jax_compilation_cache_dir", str(cache))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
            jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    if device_class() != device:
        raise ConfigurationError(
            "resources.device", f"{device}, but JAX computes on {device_class()}; see docs/gpu.md"
        )


def _compare() -> None:
    """Refuse a JAX that was imported with other settings; raises ConfigurationError."""
    import jax

    expected = {name: value for name, value in _OPTIONS.items() if name in jax.config.values}
    options = {name: getattr(v, "value", v) for name, v in jax.config.values.items()}
    harmless, _ = _flags()
    environment = _ENVIRONMENT | {"XLA_FLAGS": " ".join([_ENVIRONMENT["XLA_FLAGS"], *harmless])}
    for name, value in (expected | environment).items():
        own = options[name] if name in expected else os.environ.get(name)
        if own != value:
            raise ConfigurationError(
                None,
                f"JAX was imported before with {name} = {own!r}, which may decide other numbers than {value!r}; call "
                "scaling_limits.train, or scaling_limits.runtime.configure, before importing JAX",
            )


def library_versions() -> dict[str, str]:
    """The versions of the libraries that decide numbers; part of every cell's key."""
    return {name: importlib.metadata.version(name) for name in NUMERICAL_LIBRARIES}


def device_class() -> Literal["cpu", "gpu"]:
    """The kind of device this process computes on."""
    import jax

    return "gpu" if jax.default_backend() == "gpu" else "cpu"

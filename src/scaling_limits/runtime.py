"""Process-wide settings of JAX and of linear-algebra libraries.

Everything that affects the bits of results is set here, independently of the environment: the random-number generator,
one thread per process (results of XLA's reductions and of LAPACK depend on the number of threads), float32 products in
full precision, and deterministic GPU kernels. NumPy's linear algebra reads its number of threads when NumPy is
imported, so Snakemake sets it for the rule `run`.
"""

import importlib.metadata
import os
import sys
from typing import Literal

from scaling_limits.errors import ConfigurationError

_ENVIRONMENT = {
    "NPROC": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # the last flag selects products by Eigen, which on one thread are up to twice as fast as XLA's default for many
    # shapes
    "XLA_FLAGS": "--xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0 --xla_cpu_experimental_ynn_fusion_type=",
}
_UNCHECKED = {
    # jobs share a GPU, so none may reserve all of its memory
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}
"""Variables that do not affect results."""

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
"""Prefixes of the variables that JAX, XLA and linear-algebra libraries read. OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE are
kept, because they describe the processor, on which the last bits depend anyway."""
_HARMLESS = (
    "JAX_COMPILATION_CACHE_",
    "JAX_PERSISTENT_CACHE_",
    "JAX_LOG",
    "JAX_PLATFORMS",
    "JAX_TRACEBACK_",
    "JAX_CUDA_VISIBLE_DEVICES",
    "XLA_PYTHON_CLIENT_",
)
"""Prefixes of variables that do not affect results."""
_HARMLESS_FLAGS = (
    "--xla_dump_",
    "--xla_force_host_platform_device_count=",
    "--xla_gpu_dump_",
    "--xla_gpu_memory_limit_slop_factor=",
)
"""Prefixes of a user's flags in XLA_FLAGS that do not affect results; such flags are added to the project's."""

_OPTIONS: dict[str, bool | float | str] = {
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
"""Options of JAX that affect results, besides `jax_enable_x64`. Some versions of JAX lack some of them."""

NUMERICAL_LIBRARIES = ("jax", "jaxlib", "flax", "optax", "numpy")


def isolate() -> None:
    """Set the environment variables that affect results, remove all others that could, and report the removed ones on
    stderr.

    Flags in XLA_FLAGS that do not affect results are kept.
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
        print(
            f"ignored environment variables that may change results: {', '.join(removed)}",
            file=sys.stderr,
        )


def _flags() -> tuple[list[str], list[str]]:
    """Return the user's flags in XLA_FLAGS: those that do not affect results, and the others."""
    flags = set(os.environ.get("XLA_FLAGS", "").split()) - set(_ENVIRONMENT["XLA_FLAGS"].split())
    harmless = sorted(flag for flag in flags if flag.startswith(_HARMLESS_FLAGS))
    return harmless, sorted(flags.difference(harmless))


def configure(*, dtype: str = "float32", device: str = "cpu") -> None:
    """Configure this process for computing; if JAX is already imported, check that it is configured in the same way.

    Args:
        dtype: `float64` enables 64-bit numbers for the whole process, unless JAX is already imported.
        device: `cpu` or `gpu`.

    Raises:
        ConfigurationError: JAX was imported with an option or an environment variable that may change results, or a GPU
            is requested and JAX finds none.
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
    if device_class() != device:
        raise ConfigurationError(
            "resources.device",
            f"is '{device}', but JAX computes on '{device_class()}'; see docs/gpu.md",
        )


def _compare() -> None:
    """Check that JAX was imported with the expected settings; raise ConfigurationError if not."""
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
                f"JAX was imported with {name} = {own!r} instead of {value!r}, which may change results; call "
                "scaling_limits.train or scaling_limits.runtime.configure before importing JAX",
            )


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that affect results; they are part of every cell's key."""
    return {name: importlib.metadata.version(name) for name in NUMERICAL_LIBRARIES}


def device_class() -> Literal["cpu", "gpu"]:
    """Return the kind of device on which this process computes."""
    import jax

    return "gpu" if jax.default_backend() == "gpu" else "cpu"

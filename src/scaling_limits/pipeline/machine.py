"""What a machine takes for work: the numbers that jobs are packed by, and those of the one at hand."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from scaling_limits import runtime

KERNELS_PER_LAYER = 5.0
"""Of a compiled loop over layers; what one kernel takes is measured by that."""
SECONDS_PER_RATE = 0.3
"""A rate is the median of the repetitions in that time."""


@dataclass(frozen=True)
class Machine:
    """Rates per second of matrix products, by dtype, and of bytes in cache and memory; seconds of a kernel, of
    compiling a loop, and of importing jax, by which all that Python does is measured.
    """

    flops_per_second: Mapping[str, float]
    cached_bytes_per_second: float
    bytes_per_second: float
    kernel_seconds: float
    compile_seconds: float
    import_seconds: float


NOMINAL = Machine(
    flops_per_second={"float32": 1.6e11, "float64": 7e10},
    cached_bytes_per_second=5e10,
    bytes_per_second=8e9,
    kernel_seconds=1.5e-7,
    compile_seconds=0.18,
    import_seconds=0.85,
)
"""One idle core of the machine that the presets were made on. Jobs are packed by it, so they are the same anywhere."""


def measure(device: Literal["cpu", "gpu"]) -> Machine:
    """Measure this process's device with the settings that cells are computed with.

    Has to run before jax is imported, as it sets the process up and times the import.

    Raises:
        ConfigurationError: there is no such device.
    """
    begun = time.process_time()
    runtime.configure(dtype="float64", device=device)
    import flax.linen  # noqa: F401
    import jax
    import jax.numpy as jnp
    import optax  # noqa: F401

    import_seconds = time.process_time() - begun
    # seconds of this process: on a busy machine others take turns with it
    clock = time.process_time if device == "cpu" else time.perf_counter

    def product(dtype: Any) -> float:
        samples, size = 64, 256
        weights, x = jnp.full((size, size), 1.0 / size, dtype), jnp.ones((samples, size), dtype)
        return 2.0 * samples * size**2 / _seconds(lambda x: x @ weights, x, 8, clock)

    def traffic(size: int, repeats: int) -> float:
        x = jnp.ones(size, jnp.float32)
        return 2.0 * x.nbytes / _seconds(lambda x: x - 0.1 * x / (abs(x) + 1.0), x, repeats, clock)

    depth = 32
    weights, x = jnp.full((depth, 8, 8), 0.1, jnp.float32), jnp.ones((8, 8), jnp.float32)

    def layers(weights: jax.Array, x: jax.Array) -> jax.Array:
        def layer(x: jax.Array, weight: jax.Array) -> tuple[jax.Array, jax.Array]:
            y = jnp.tanh(x @ weight.T)
            return y, y

        return jax.lax.scan(layer, x, weights)[1]

    begun = time.process_time()
    jax.jit(jax.grad(lambda weights: layers(weights, x).sum())).lower(weights).compile()
    compile_seconds = time.process_time() - begun
    return Machine(
        flops_per_second={"float32": product(jnp.float32), "float64": product(jnp.float64)},
        cached_bytes_per_second=traffic(1 << 15, 64),
        bytes_per_second=traffic(1 << 23, 4),
        kernel_seconds=_seconds(lambda x: layers(weights, x)[-1], x, 16, clock)
        / (depth * KERNELS_PER_LAYER),
        compile_seconds=compile_seconds,
        import_seconds=import_seconds,
    )


def _seconds(step: Callable[[Any], Any], x: Any, repeats: int, clock: Callable[[], float]) -> float:
    """What one application of `step` takes, in a compiled loop of so many."""
    import jax

    loop = jax.jit(lambda x: jax.lax.fori_loop(0, repeats, lambda _, x: step(x), x))
    compiled = loop.lower(x).compile()
    taken: list[float] = []
    end = time.perf_counter() + SECONDS_PER_RATE
    while not taken or time.perf_counter() < end:
        begun = clock()
        jax.block_until_ready(compiled(x))
        taken.append(clock() - begun)
    return statistics.median(taken) / repeats

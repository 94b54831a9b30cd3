"""Compile time and step time of K-FAC, against kfac-jax on the same network.

Both sides train an MLP of three weights without biases (784 inputs, 10 outputs, ReLU, squared error, batches of 128)
with K-FAC: factors averaged over steps, labels sampled from the model, fixed damping, no momentum. The two sides need
environments of their own, and one thread each:

python benchmarks/peers.py ours FILE      (environment of the project)
python benchmarks/peers.py theirs FILE    (kfac-jax 0.0.8 and jax 0.9.0 from PyPI)
python benchmarks/peers.py table OURS THEIRS    (environment of the project; writes to docs/performance.md)
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

# before NumPy and JAX are imported
os.environ |= dict.fromkeys(("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")

WIDTHS = (128, 512)
INTERVALS = (1, 10)
"""Training steps from one inversion of the factors to the next."""
REPEATS = 5
STEPS = 100
INPUTS, CLASSES, SAMPLES, BATCH = 784, 10, 1024, 128
DAMPING, LEARNING_RATE, AVERAGING = 1.0, 1e-3, 0.95

Measured = dict[str, list[float]]
"""Seconds: `compile`, of one call, and `step`, of each repetition."""


def seconds(call: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


def ours(width: int, interval: int) -> Measured:
    """Measure a shard of the project; a step is what a program takes beyond one of two steps, divided by the rest."""
    import common
    import preconditioners

    from scaling_limits.training.loop import compile_shard

    options: dict[str, Any] = {
        "optimiser": "kfac",
        "fisher": "sampled",
        "damping": DAMPING,
        "damping_rule": "fixed",
        "accumulation": "averaged",
        "averaging_weight": 1 - AVERAGING,
        "preconditioner_interval": interval,
    }

    def program(steps: int) -> tuple[float, Callable[[], object]]:
        cell = preconditioners.cell(width, steps, options)
        compiling, train = common.timed(lambda: compile_shard(cell, common.data(cell)))
        train([cell])  # draws are compiled at the first call
        return compiling, lambda: train([cell])

    few, (compiling, many) = program(2)[1], program(2 + STEPS)
    steps = [(seconds(many) - seconds(few)) / STEPS for _ in range(REPEATS)]
    return {"compile": [compiling], "step": steps}


def theirs(width: int, interval: int) -> Measured:
    """Measure kfac-jax; each step is a call, and inversions are spread over the steps by its own schedule."""
    import jax
    import jax.numpy as jnp
    import kfac_jax
    import numpy as np

    draw = np.random.default_rng(0)
    sizes = (INPUTS, width, width, CLASSES)
    params = [
        jnp.asarray(draw.standard_normal((a, b), np.float32) / np.float32(a**0.5))
        for a, b in pairwise(sizes)
    ]
    x = draw.standard_normal((SAMPLES, INPUTS), np.float32)
    y = np.eye(CLASSES, dtype=np.float32)[draw.integers(0, CLASSES, SAMPLES)]

    def loss(params: list[Any], batch: tuple[Any, Any]) -> Any:
        h, targets = batch
        for number, weight in enumerate(params):
            h = h @ weight
            h = jax.nn.relu(h) if number < len(params) - 1 else h
        kfac_jax.register_squared_error_loss(h, targets, weight=0.5)
        return 0.5 * jnp.mean(jnp.sum((h - targets) ** 2, axis=-1))

    optimiser = kfac_jax.Optimizer(
        jax.value_and_grad(loss),
        l2_reg=0.0,
        use_adaptive_learning_rate=False,
        use_adaptive_momentum=False,
        use_adaptive_damping=False,
        curvature_ema=AVERAGING,
        inverse_update_period=interval,
        num_burnin_steps=0,
        estimation_mode="fisher_gradients",
    )
    batches = [(x[i : i + BATCH], y[i : i + BATCH]) for i in range(0, SAMPLES, BATCH)]
    key = jax.random.key(0)
    state = optimiser.init(params, key, batches[0])

    def run(count: int) -> None:
        nonlocal params, state, key
        for number in range(count):
            key, one = jax.random.split(key)
            params, state, _ = optimiser.step(
                params,
                state,
                one,
                batch=batches[number % len(batches)],
                momentum=0.0,
                damping=DAMPING,
                learning_rate=LEARNING_RATE,
            )
        jax.block_until_ready(params)

    compiling = seconds(lambda: run(1))
    run(interval)  # the program of a step with an inversion, and of one without
    steps = [seconds(lambda: run(STEPS)) / STEPS for _ in range(REPEATS)]
    return {"compile": [compiling], "step": steps}


def table(own: Path, peer: Path) -> None:
    """Write the table of docs/performance.md."""
    import common

    sides = [json.loads(file.read_text(encoding="utf-8")) for file in (own, peer)]
    rows = []
    for name in sides[0]:
        (here, there), row = (side[name] for side in sides), name.split()
        ratios = [b / a for a, b in zip(here["step"], there["step"], strict=True)]
        row += [common.spread([1e3 * s for s in side["step"]], 1) for side in (here, there)]
        row += [f"{statistics.median(ratios):.1f}"]
        row += [f"{side['compile'][0]:.1f}" for side in (here, there)]
        rows.append(row)
    header = ["width", "interval", "ms a step", "kfac-jax, ms", "kfac-jax / ours"]
    header += ["compile s", "kfac-jax, compile s"]
    common.publish("peers", common.table(header, rows))


def main() -> None:
    """Measure one side, or write the table."""
    side, *files = sys.argv[1:]
    if side == "table":
        table(*map(Path, files))
        return
    measure = {"ours": ours, "theirs": theirs}[side]
    results = {f"{n} {interval}": measure(n, interval) for n in WIDTHS for interval in INTERVALS}
    Path(files[0]).write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

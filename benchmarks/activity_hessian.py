"""The condition number of the Hessian by the activities, beside products of its blocks and its dense eigenvalues; what
a cell that is not trained takes to compile, beside one that is. In float64.
"""

import resource
import statistics
import time
from typing import Any

import common
import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402

from scaling_limits.cells import Cell  # noqa: E402
from scaling_limits.configuration.models import MeasurementPlan  # noqa: E402
from scaling_limits.training.loop import compile_shard  # noqa: E402

SIZES = ((64, 8), (64, 32), (64, 128), (128, 32), (512, 128))
DENSE = 2048
"""As many activities as there are at most where dense eigenvalues are computed, too."""
REPEATS = 5
SETTINGS: dict[str, Any] = {
    "dataset": "mnist",
    "num_train": 64,
    "num_test": 16,
    "depth_kind": "hidden_layers",
    "skip": True,
    "parameterisation": "mupc",
    "optimiser": "adam",
    "algorithm": "predictive_coding",
    "inference": "gradient_descent",
    "num_inference_steps": "num_hidden_layers",
    "activity_gradient": "batch_mean",
    "activity_learning_rate": 1.0,
    "batch_size": 64,
    "dtype": "float64",
}


def cell(width: int, depth: int, measurement: str, activation: str, num_steps: int = 0) -> Cell:
    """A residual network under muPC as it is drawn, or trained."""
    given = {**SETTINGS, "width": width, "depth": depth, "activation": activation}
    given |= {"num_steps": num_steps, **({"learning_rate": 0.1} if num_steps else {})}
    steps: list[Any] = [0, "end"] if num_steps else [0]
    plans = {measurement: MeasurementPlan(steps=steps)}
    return common.cell(given, plans)


def taken(chosen: Cell, repeats: int) -> tuple[float, list[float]]:
    """Wall seconds to compile a cell, and CPU seconds of each run."""
    arrays = common.data(chosen)
    begun = time.perf_counter()
    run = compile_shard(chosen, arrays)
    compiling = time.perf_counter() - begun
    run([chosen])
    return compiling, [common.timed(lambda: run([chosen]))[0] for _ in range(repeats)]


def product_seconds(width: int) -> float:
    """CPU seconds of a product [N, N] . [N, N]."""
    matrix = jnp.ones((width, width))
    product = jax.jit(lambda m: m @ m)
    jax.block_until_ready(product(matrix))
    count = max(1, 10**9 // width**3)

    def run() -> None:
        for _ in range(count):
            jax.block_until_ready(product(matrix))

    return statistics.median(common.timed(run)[0] / count for _ in range(REPEATS))


def main() -> None:
    """Measure, and write two tables."""
    lines = []
    for width, depth in SIZES:
        large = width * depth > DENSE
        products = depth * product_seconds(width)
        row = [f"{width}", f"{depth}"]
        for activation in ("linear", "tanh"):
            compiling, runs = taken(
                cell(width, depth, "conditioning", activation), 1 if large else REPEATS
            )
            row += [
                f"{statistics.median(runs):.2f}",
                f"{statistics.median(runs) / products:.0f}",
                f"{compiling:.1f}",
            ]
        dense = "–"
        if not large:
            runs = taken(cell(width, depth, "hessian_spectrum", "linear"), 1)[1]
            dense = f"{runs[0] / float(row[2]) / 2:.0f}"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        lines.append([*row, dense, f"{peak:.1f}"])
    each = [
        f"{word}, {name}"
        for name in ("linear", "tanh")
        for word in ("s", "over H products", "compile s")
    ]
    header = ["N", "H", *each, "dense / ours", "peak GB of the process"]
    common.publish("activity hessian", common.table(header, lines))

    rows = []
    for depth in (8, 32):
        untrained, trained = (
            taken(cell(64, depth, "conditioning", "tanh", steps), 1)[0] for steps in (0, 4)
        )
        rows.append(
            [f"{depth}", f"{untrained:.1f}", f"{trained:.1f}", f"{untrained / trained:.2f}"]
        )
    common.publish("untrained", common.table(["H", "untrained, s", "trained, s", "ratio"], rows))


if __name__ == "__main__":
    main()

"""The equilibrium of residual tanh networks by Newton's method, beside gradient descent on the activities to the same
residual; of a residual CNN and a transformer to the one that the paper's steps leave; what the solver takes to compile.
In float64.
"""

import resource
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import common
import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from scaling_limits import networks  # noqa: E402
from scaling_limits.algorithms.predictive_coding import equilibrium  # noqa: E402
from scaling_limits.algorithms.problem import Problem  # noqa: E402
from scaling_limits.networks.network import Stacks  # noqa: E402
from scaling_limits.training.step import initial_weights  # noqa: E402

SIZES = ((64, 32), (128, 8), (128, 32))
TOLERANCES = (1e-3, 1e-5)
RATE = 0.3
"""Of gradient descent, on each sample's energy (pcn-limits A.8)."""
PAPER: dict[str, tuple[int, float, dict[str, Any]]] = {
    "residual_cnn": (
        200,
        0.3,
        {"width": 72, "depth": 10, "input_shape": [16, 16, 3], "dataset": "cifar10"},
    ),
    "transformer": (
        800,
        0.45,
        {
            "dataset": "tiny_shakespeare",
            "normalisation": "none",
            "sequence_length": 32,
            "width": 64,
            "depth": 12,
            "depth_kind": "blocks",
            "depth_exponent": 1.0,
            "activation": "gelu",
            "batch_size": 8,
        },
    ),
}
"""Steps of inference, their rate, and settings, by network (pcn-limits A.8; images and batches are smaller)."""
MOST_STEPS = 40_000
REPEATS = 3
SETTINGS: dict[str, Any] = {
    "dataset": "mnist",
    "num_train": 64,
    "num_test": 16,
    "depth_kind": "weight_layers",
    "skip": True,
    "depth_exponent": 0.5,
    "activation": "tanh",
    "parameterisation": "mean_field",
    "optimiser": "adam",
    "algorithm": "predictive_coding",
    "inference": "equilibrium",
    "inference_tolerance": 1e-5,
    "learning_rate": 0.001,
    "num_steps": 1,
    "batch_size": 64,
    "dtype": "float64",
}


def problem(**changes: Any) -> Problem:
    """A network as it is drawn, and a random batch, of sequences of random tokens."""
    cell = common.cell({**SETTINGS, **changes})
    network, numbers, data = networks.build(cell.network), cell.traced(), cell.dataset
    scaling = jax.tree.map(jnp.float64, numbers["scaling"])
    tokens, draw = data.sequence_length or 1, np.random.default_rng(0)

    def labels() -> Any:
        drawn_labels = draw.integers(data.num_classes, size=(cell.batch_size, tokens))
        return np.eye(data.num_classes)[drawn_labels].reshape(cell.batch_size, -1)

    inputs = draw.standard_normal((cell.batch_size, cell.network.input_dim))
    x, y = labels() if tokens > 1 else inputs, labels()
    weights = initial_weights(cell, network, numbers)
    given = weights.forward, scaling, jnp.asarray(x), jnp.asarray(y), cell.algorithm
    return Problem(network, *given, {}, tokens=tokens)


def newton(of: Problem, tolerance: float) -> Any:
    """The largest residual that is left, and the number of iterations."""
    numbered = Problem(**{**vars(of), "numbers": {"inference_tolerance": tolerance}})
    found = equilibrium.infer(numbered, numbered.activities()).metrics
    return found["inference_residual"], found["inference_steps"]


def descent(of: Problem, tolerance: float, rate: float = RATE, most: int = MOST_STEPS) -> Any:
    """The same by gradient descent from the forward pass: z moves down dF/dz, `most` steps at most."""

    def slopes(inputs: Stacks) -> Stacks:
        """dF/dz, laid out by the nodes that the activities enter."""
        predicted, pullback = jax.vjp(of.predictions, inputs)
        own = of.inputs(predicted)
        errors = tuple(z - p for z, p in zip(inputs, own, strict=True))
        last = of.output_error(predicted[-1][0])
        # errors by the nodes that make them: those above the first node, and the output's
        flat = [*[e for stack in errors for e in stack][1:], last]
        by_node, start = [], 0
        for stack in predicted:
            by_node.append(jnp.stack(flat[start : start + len(stack)]))
            start += len(stack)
        pulled = pullback(tuple(by_node))[0]
        return tuple(e - p for e, p in zip(errors, pulled, strict=True))

    def largest(slope: Stacks) -> Any:
        return jnp.stack([jnp.abs(stack).max() for stack in slope[1:]]).max()

    def goes_on(carried: Any) -> Any:
        return (carried[1] > tolerance) & (carried[2] < most)

    def step(carried: Any) -> Any:
        inputs, _, count = carried
        slope = slopes(inputs)
        moved = tuple(z - rate * s for z, s in zip(inputs[1:], slope[1:], strict=True))
        return (inputs[0], *moved), largest(slope), count + 1

    first = (of.inputs(of.activities()), jnp.asarray(jnp.inf, of.y.dtype), 0)
    return jax.lax.while_loop(goes_on, step, first)[1:]


def measured(solve: Callable[[Problem, float], Any], of: Problem, tolerance: float) -> Any:
    """Wall seconds to compile, CPU seconds of a run, residual and steps."""
    begun = time.perf_counter()
    run = (
        jax.jit(lambda params: solve(Problem(**{**vars(of), "params": params}), tolerance))
        .lower(of.params)
        .compile()
    )
    compiling = time.perf_counter() - begun
    times, found = [], None
    for _ in range(REPEATS if solve is newton else 1):
        seconds, found = common.timed(lambda: jax.block_until_ready(run(of.params)))
        times.append(seconds)
    residual, steps = (float(value) for value in found)  # type: ignore[union-attr]
    return compiling, statistics.median(times), residual, int(steps)


def main() -> None:
    """Measure, and write the table."""
    rows = []
    for width, depth in SIZES:
        of = problem(width=width, depth=depth)
        for tolerance in TOLERANCES:
            compiling, seconds, residual, iterations = measured(newton, of, tolerance)
            _, slow, left, steps = measured(descent, of, tolerance)
            reached = f"{slow / seconds:.0f}" if left <= tolerance else f"> {slow / seconds:.0f}"
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            rows.append(
                [
                    f"{width}",
                    f"{depth}",
                    f"{tolerance:.0e}",
                    f"{iterations}",
                    f"{residual:.0e}",
                    f"{seconds:.2f}",
                    f"{steps}",
                    f"{slow:.1f}",
                    reached,
                    f"{compiling:.1f}",
                    f"{peak:.1f}",
                ]
            )
    header = [
        "N",
        "L",
        "requested residual",
        "iterations",
        "residual",
        "s",
        "steps of descent",
        "s of descent",
        "descent / solver",
        "compile s",
        "peak GB of the process",
    ]
    common.publish("equilibrium", common.table(header, rows))
    header = ["network", "steps", "s of descent", "residual", "s", "descent / solver", "compile s"]
    common.publish("equilibria of networks", common.table(header, [*of_the_paper()]))


def of_the_paper() -> Iterator[list[str]]:
    """The solver beside the paper's own steps, to the residual that these leave."""
    for name, (steps, rate, changes) in PAPER.items():
        of = problem(network=name, skip=None, loss="cross_entropy", **changes)

        def paper(of: Problem, _: float, steps: int = steps, rate: float = rate) -> Any:
            return descent(of, 0.0, rate, steps)

        _, slow, residual, _ = measured(paper, of, 0.0)
        compiling, seconds, _, _ = measured(newton, of, residual)
        ratio = f"{slow / seconds:.0f}"
        yield [
            name,
            f"{steps}",
            f"{slow:.1f}",
            f"{residual:.0e}",
            f"{seconds:.2f}",
            ratio,
            f"{compiling:.1f}",
        ]


if __name__ == "__main__":
    main()

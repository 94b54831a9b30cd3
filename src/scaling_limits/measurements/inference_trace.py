"""Hidden activities at every step of inference, and the analytic solution of linear networks.

Source: mupc Fig. A.10, A.11, A.34 and A.35, Eq. 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from scaling_limits.cells import Cell, NetworkSpec
from scaling_limits.measurements.requirements import exact_inference, stepwise_inference

if TYPE_CHECKING:
    from jaxtyping import Array, Float

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.network import Stacks
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {
    "activity_norm": ("inference_step", "layer"),
    "activity_mean": ("inference_step", "layer"),
    "inference_change": ("inference_step",),
    "equilibrium_activity_norm": ("layer",),
    "equilibrium_activity_mean": ("layer",),
    "equilibrium_distance": ("inference_step",),
}


def labels(network: NetworkSpec) -> dict[str, tuple[int, ...]]:
    """Return the hidden layers 1..H."""
    return {"layer": tuple(range(1, network.num_hidden_layers + 1))}


def measure(context: Context) -> dict[str, Array]:
    """Compute sizes of the hidden activities before the first step of the cell's inference and after every step.

    For each hidden layer, these are `activity_norm`, the Euclidean norm over units as a mean over the batch, and
    `activity_mean`, the mean over units and batch. `inference_change` is ||z - z^0|| / ||z^0|| with all layers and
    samples in one vector.

    If the equilibrium has a closed form (linear networks, mean squared error, no decay), its norm and mean are recorded
    as `equilibrium_activity_norm` and `equilibrium_activity_mean`, and `equilibrium_distance` is ||z - z*|| / ||z*||.
    """
    from scaling_limits.algorithms.predictive_coding import descent, exact

    problem = context.problem
    forward = problem.activities()

    def trace(observe: Callable[[Stacks, Stacks], dict[str, Array]]) -> dict[str, Array]:
        traced: dict[str, Array] = descent.trace(problem, forward, observe)
        return traced

    options = problem.options
    quadratic = problem.network.linear and options.loss == "mean_squared_error"
    if not quadratic or options.activity_decay is not None:
        return trace(_sizes)
    solution = exact.infer(problem, forward).inputs[1:]

    def beside_solution(hidden: Stacks, first: Stacks) -> dict[str, Array]:
        return {**_sizes(hidden, first), "equilibrium_distance": _distance(hidden, solution)}

    return {
        **trace(beside_solution),
        "equilibrium_activity_norm": _norms(solution),
        "equilibrium_activity_mean": _means(solution),
    }


def _sizes(hidden: Stacks, first: Stacks) -> dict[str, Array]:
    return {
        "activity_norm": _norms(hidden),
        "activity_mean": _means(hidden),
        "inference_change": _distance(hidden, first),
    }


def _norms(hidden: Stacks) -> Float[Array, " layer"]:
    import jax.numpy as jnp

    return jnp.concatenate([jnp.linalg.norm(stack, axis=2).mean(axis=1) for stack in hidden])


def _means(hidden: Stacks) -> Float[Array, " layer"]:
    import jax.numpy as jnp

    return jnp.concatenate([stack.mean(axis=(1, 2)) for stack in hidden])


def _distance(hidden: Stacks, reference: Stacks) -> Float[Array, ""]:
    """Compute the distance relative to the norm of `reference`."""
    import jax
    import optax

    apart = jax.tree.map(lambda a, b: a - b, hidden, reference)
    distance: Array = optax.tree.norm(apart) / optax.tree.norm(reference)
    return distance


def refuse(cell: Cell) -> None:
    """Reject cells without inference by steps; raises as `stepwise_inference` does."""
    stepwise_inference("inference_trace", cell)


def work(cell: Cell, count: Count) -> None:
    """Add inference with all layers at every step, and the analytic solution."""
    count.errors()
    count.errors(exact_inference(cell.algorithm.loss))

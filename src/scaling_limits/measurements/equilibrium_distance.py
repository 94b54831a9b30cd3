"""How far inference by steps is from an equilibrium, and what that does to the weights' gradients.

The equilibrium is the one that iterations from where the steps ended lead to (`predictive_coding.equilibrium`).

Source: pcn-limits Sec. 5 and A.8, where 100,000, 200 and 800 steps stand for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.requirements import stepwise_inference

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.algorithms.problem import Problem
    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.network import Stacks
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {
    "activity_distance": (),
    "gradient_distance": (),
    "other_equilibria": (),
    "equilibrium_residual": (),
}

_TOLERANCE = {"float32": 2e-6, "float64": 1e-10}
_SAME = 0.01


def measure(context: Context) -> dict[str, Array]:
    """`activity_distance`: from the equilibrium, over that of the forward pass from it, all hidden activities and
    samples in one vector; `gradient_distance`: of the weights' gradients, over the norm of those at equilibrium;
    `other_equilibria`: the share of samples that end in another one than iterations from the forward pass do, by more
    than a hundredth of the way; `equilibrium_residual`: the largest slope that is left in any.
    """
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    from scaling_limits.algorithms.layerwise import rollout, weight_gradients
    from scaling_limits.algorithms.predictive_coding.equilibrium import solve

    problem = context.problem
    tolerance = jnp.asarray(_TOLERANCE[str(problem.y.dtype)], problem.y.dtype)
    errors = context.errors(problem)
    forward, own = problem.activities(), rollout(problem, errors)
    starts = jax.tree.map(lambda e: jnp.stack([e, jnp.zeros_like(e)]), errors[:-1])
    # both in one program
    ends = jax.vmap(lambda start: solve(problem, start, tolerance))(starts)
    end, other = (jax.tree.map(lambda leaf, i=i: leaf[i], ends) for i in range(2))
    at_end = (*end.errors, problem.output_error(end.activities[-1][0])[None])
    wanted = ravel_pytree(weight_gradients(problem, problem.inputs(end.activities), at_end))[0]
    result = ravel_pytree(context.gradients(problem))[0]
    way = _distances(problem, forward, other.activities)
    apart = _distances(problem, end.activities, other.activities)
    left = _distances(problem, own, end.activities), _distances(problem, forward, end.activities)
    return {
        "activity_distance": jnp.linalg.norm(left[0]) / jnp.linalg.norm(left[1]),
        "gradient_distance": jnp.linalg.norm(result - wanted) / jnp.linalg.norm(wanted),
        # a distance that is not a number is not a small one
        "other_equilibria": jnp.where(jnp.isnan(apart), jnp.nan, apart > _SAME * way).mean(),
        "equilibrium_residual": ends.residual.max(),
    }


def _distances(problem: Problem, one: Stacks, other: Stacks) -> Array:
    """Return the distance between each sample's hidden activities."""
    import jax.numpy as jnp

    pairs = zip(one[:-1], other[:-1], strict=True)
    squares = [((a - b) ** 2).sum(axis=(0, 2)) for a, b in pairs]
    return jnp.sqrt(jnp.stack(squares).sum(axis=0))


def refuse(cell: Cell) -> None:
    """Refuse other inference than all of its steps; raises as `stepwise_inference` does."""
    stepwise_inference("equilibrium_distance", cell)


def work(cell: Cell, count: Count) -> None:
    """The gradients of the cell's own algorithm, and two equilibria."""
    from scaling_limits.algorithms.predictive_coding import Options, work

    count.gradient()
    options = Options(name="predictive_coding", loss=cell.algorithm.loss, inference="equilibrium")
    for _ in range(2):
        work(cell.model_copy(update={"algorithm": options}), count)


def memory(cell: Cell) -> dict[str, float]:
    """Memory of the state of the iterations, in addition to both gradients."""
    from scaling_limits.algorithms.predictive_coding import Options, memory

    options = Options(name="predictive_coding", loss=cell.algorithm.loss, inference="equilibrium")
    return {"weights": 2, **memory(cell.model_copy(update={"algorithm": options}))}

"""Distance of inference by steps from an equilibrium, and its effect on the weight gradients.

The equilibrium is the one to which iterations from the last step converge (`predictive_coding.equilibrium`).

Source: pcn-limits Sec. 5 and A.8, where 100,000, 200 and 800 steps represent the equilibrium.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.requirements import stepwise_inference

if TYPE_CHECKING:
    from jaxtyping import Array

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
    """Compute distances of activities and gradients from the equilibrium.

    - `activity_distance`: the distance from the equilibrium, relative to the distance of the forward pass from it, with
      all hidden activities and samples in one vector.
    - `gradient_distance`: the distance of the weight gradients from those at equilibrium, relative to the norm of the
      latter.
    - `other_equilibria`: the fraction of samples whose equilibrium differs from the one reached from the forward pass
      by more than a hundredth of the latter's distance from the forward pass.
    - `equilibrium_residual`: the largest remaining gradient entry of all samples.
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
    # both in one compiled program
    ends = jax.vmap(lambda start: solve(problem, start, tolerance))(starts)
    end, other = (jax.tree.map(lambda leaf, i=i: leaf[i], ends) for i in range(2))
    at_end = (*end.errors, problem.output_error(end.activities[-1][0])[None])
    expected = ravel_pytree(weight_gradients(problem, problem.inputs(end.activities), at_end))[0]
    result = ravel_pytree(context.gradients(problem))[0]
    distance = _distances(forward, other.activities)
    apart = _distances(end.activities, other.activities)
    remaining = _distances(own, end.activities), _distances(forward, end.activities)
    return {
        "activity_distance": jnp.linalg.norm(remaining[0]) / jnp.linalg.norm(remaining[1]),
        "gradient_distance": jnp.linalg.norm(result - expected) / jnp.linalg.norm(expected),
        # comparisons with NaN are false and would count it as a small distance
        "other_equilibria": jnp.where(jnp.isnan(apart), jnp.nan, apart > _SAME * distance).mean(),
        "equilibrium_residual": ends.residual.max(),
    }


def _distances(one: Stacks, other: Stacks) -> Array:
    """Compute the distance of each sample's hidden activities."""
    import jax.numpy as jnp

    pairs = zip(one[:-1], other[:-1], strict=True)
    squares = [((a - b) ** 2).sum(axis=(0, 2)) for a, b in pairs]
    return jnp.sqrt(jnp.stack(squares).sum(axis=0))


def refuse(cell: Cell) -> None:
    """Reject inference that does not take a fixed number of steps; raises as `stepwise_inference` does."""
    stepwise_inference("equilibrium_distance", cell)


def work(cell: Cell, count: Count) -> None:
    """Add the gradients of the cell's algorithm, and two equilibria."""
    from scaling_limits.algorithms.predictive_coding import Options, work

    count.gradient()
    options = Options(name="predictive_coding", loss=cell.algorithm.loss, inference="equilibrium")
    for _ in range(2):
        work(cell.model_copy(update={"algorithm": options}), count)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of the iterations and of both gradients."""
    from scaling_limits.algorithms.predictive_coding import Options, memory

    options = Options(name="predictive_coding", loss=cell.algorithm.loss, inference="equilibrium")
    return {"weights": 2, **memory(cell.model_copy(update={"algorithm": options}))}

"""The energy of predictive coding around its equilibrium, along two eigenvectors of the activity Hessian.

Source: mupc Fig. 2 (insets), A.20, Sec. A.4. In linear networks it is a quadratic form for the first sample of the next
batch, F(z* + a v_min + b v_max) = F(z*) + (lambda_min a^2 + lambda_max b^2) / 2, so two curvatures determine it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements import conditioning, inference_trace
from scaling_limits.measurements.requirements import activity_hessian as required
from scaling_limits.measurements.requirements import (
    lacking,
    linear_equilibrium,
    stepwise_inference,
)
from scaling_limits.parameterisations.settings import EnergyWeights

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.network import Stacks
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {
    "landscape_curvature": ("index",),
    "landscape_path": ("inference_step", "index"),
}


def measure(context: Context) -> dict[str, Array]:
    """Compute the curvatures of the landscape, and the path of inference in it.

    `landscape_curvature` is the smallest and the largest eigenvalue. `landscape_path` is the position of the cell's
    inference along their eigenvectors, relative to the equilibrium, before the first step and after every step. The
    eigenvectors point towards the start of inference.
    """
    import jax.numpy as jnp

    from scaling_limits.algorithms.predictive_coding import descent, exact
    from scaling_limits.algorithms.predictive_coding.hessian import activity_hessian, eliminate
    from scaling_limits.measurements.eigenvalues import extremes

    problem = context.problem
    hessian = activity_hessian(problem)
    steep = extremes(hessian.product, hessian.like, conditioning.NUM_PRODUCTS)
    flat = extremes(eliminate(hessian).solve, hessian.like, conditioning.NUM_PRODUCTS)
    directions = jnp.stack([flat.of_largest.ravel(), steep.of_largest.ravel()])
    forward = problem.activities()
    solution = _of_first(exact.infer(problem, forward).inputs[1:])

    def place(hidden: Stacks, _initial: Stacks) -> Array:
        return directions @ (_of_first(hidden) - solution)

    path = descent.trace(problem, forward, place)
    return {
        "landscape_curvature": jnp.stack([1.0 / flat.largest, steep.largest]),
        "landscape_path": path * jnp.where(path[:1] < 0, -1.0, 1.0),
    }


def _of_first(hidden: Stacks) -> Array:
    import jax.numpy as jnp

    return jnp.concatenate([stack[:, 0].ravel() for stack in hidden])


READS = frozenset({"energy_weight"})


class Settings(EnergyWeights):
    """Energy weights of the energy that is measured."""


def refuse(cell: Cell) -> None:
    """Reject energies that are not quadratic, and inference without steps; raises ConfigurationError."""
    linear_equilibrium("landscape", cell)
    required("landscape", cell)
    stepwise_inference("landscape", cell)
    options = cell.algorithm
    if options.activity_decay is not None:
        raise lacking(
            "landscape", "requires an energy without activity decay; remove activity_decay"
        )


memory = conditioning.memory


def work(cell: Cell, count: Count) -> None:
    """Add both eigenvectors, inference at every step, and its equilibrium."""
    conditioning.work(cell, count)
    inference_trace.work(cell, count)

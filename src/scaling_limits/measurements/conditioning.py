"""How well the energy of predictive coding is conditioned: extreme eigenvalues of its Hessian by the activities.

Source: mupc Fig. 2 to 4, A.7 to A.9, A.12 to A.14, A.21 to A.28. It is taken where inference starts, at the forward
pass of the first sample of the next batch, whatever trains the weights: in linear networks it is the same everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.requirements import activity_hessian as required
from scaling_limits.networks.settings import PIECEWISE_LINEAR
from scaling_limits.parameterisations.settings import EnergyWeights

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {
    "condition_number": (),
    "hessian_largest": (),
    "hessian_smallest": (),
    "hessian_negative": (),
}
NUM_PRODUCTS = 96
"""Products of the Hessian, or its inverse, with a vector that give its extreme eigenvalues."""


def measure(context: Context) -> dict[str, Array]:
    """The largest and the smallest eigenvalue, how many are negative, and the condition number, largest over smallest
    size: not a number where the Hessian is not finite or singular.
    """
    import jax
    import jax.numpy as jnp

    from scaling_limits.algorithms.predictive_coding.hessian import activity_hessian, eliminate
    from scaling_limits.measurements.eigenvalues import extremes

    hessian = activity_hessian(context.problem)
    eliminated = eliminate(hessian)
    direct = extremes(hessian.product, hessian.like, NUM_PRODUCTS)
    inverse = extremes(eliminated.solve, hessian.like, NUM_PRODUCTS)
    negative, smallest = eliminated.num_negative, 1.0 / inverse.largest
    if hessian.bend is not None:
        # without the bend no eigenvalue is negative, so none is below the smallest that it has
        shift = jnp.maximum(-jnp.linalg.eigvalsh(hessian.bend)[0], 0.0)

        def lowest() -> Array:
            above = extremes(eliminate(hessian.shifted(shift)).solve, hessian.like, NUM_PRODUCTS)
            return 1.0 / above.largest - shift

        smallest = jax.lax.cond(negative > 0, lowest, lambda: smallest)
    closest = jnp.maximum(inverse.largest, -inverse.smallest)
    return {
        "condition_number": jnp.maximum(direct.largest, -smallest) * closest,
        "hessian_largest": direct.largest,
        "hessian_smallest": smallest,
        # no comparison with what is not a number finds it negative
        "hessian_negative": jnp.where(jnp.isnan(smallest), jnp.nan, negative),
    }


READS = frozenset({"energy_weight"})


class Settings(EnergyWeights):
    """Energy weights of the energy whose Hessian it is."""


def refuse(cell: Cell) -> None:
    """Refuse what has no such Hessian; raises as `requirements.activity_hessian` does."""
    required("conditioning", cell)


def work(cell: Cell, count: Count) -> None:
    """Jacobians and pivots of all layers, then products with the Hessian and its inverse."""
    network = cell.network
    width, hidden = network.width, network.num_hidden_layers
    count.forward(1)
    # Jacobians; pivots of full rank are inverted
    count.multiply_adds(hidden * width**3 * (1 if network.activation in PIECEWISE_LINEAR else 6))
    products = min(NUM_PRODUCTS, width * hidden)
    count.multiply_adds(products * hidden * width * (6 * width + 8 * products))


def memory(cell: Cell) -> dict[str, float]:
    """Jacobians and pivots, and the directions of the recursion."""
    return {"weights": 4}

"""All eigenvalues of the Hessian of predictive coding's energy by the activities, and of its two parts.

Source: mupc Fig. A.1 to A.6, Eq. 20: H = D + O, the blocks on the diagonal and next to it. The Hessian is that of
`conditioning`, as a dense matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell, NetworkSpec
from scaling_limits.measurements.requirements import activity_hessian as required
from scaling_limits.parameterisations.settings import EnergyWeights

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {
    "hessian_eigenvalue": ("index",),
    "diagonal_eigenvalue": ("index",),
    "coupling_eigenvalue": ("index",),
}
_MATRICES = 4  # held at once while one is decomposed


def labels(network: NetworkSpec) -> dict[str, tuple[int, ...]]:
    """One for each activity."""
    return {"index": tuple(range(network.num_hidden_layers * network.width))}


def measure(context: Context) -> dict[str, Array]:
    """Those of H, of D and of O, in ascending order."""
    import jax.numpy as jnp

    from scaling_limits.algorithms.predictive_coding.hessian import activity_hessian, dense

    hessian = activity_hessian(context.problem)
    diagonal, couplings = hessian.diagonal(), hessian.couplings()
    return {
        "hessian_eigenvalue": jnp.linalg.eigvalsh(dense(diagonal, couplings)),
        "diagonal_eigenvalue": jnp.sort(jnp.linalg.eigvalsh(diagonal).ravel()),
        "coupling_eigenvalue": jnp.linalg.eigvalsh(dense(jnp.zeros_like(diagonal), couplings)),
    }


READS = frozenset({"energy_weight"})


class Settings(EnergyWeights):
    """Energy weights of the energy whose Hessian it is."""


def refuse(cell: Cell) -> None:
    """Refuse what has no such Hessian; raises as `requirements.activity_hessian` does."""
    required("hessian_spectrum", cell)


def work(cell: Cell, count: Count) -> None:
    """Two decompositions of dense matrices without vectors."""
    count.forward(1)
    count.multiply_adds(2 * 4 / 3 * (cell.network.num_hidden_layers * cell.network.width) ** 3)


def memory(cell: Cell) -> dict[str, float]:
    """Dense matrices, as copies of the weights."""
    network = cell.network
    hidden, width = network.num_hidden_layers, network.width
    weights = width * (network.input_dim + network.output_dim + (hidden - 1) * width)
    return {"weights": _MATRICES * (hidden * width) ** 2 / weights}

"""All eigenvalues of predictive coding's activity Hessian, and of its two parts.

Source: mupc Fig. A.1 to A.6, Eq. 20: H = D + O, with the diagonal and the off-diagonal blocks. The Hessian is the one
of `conditioning`, as a dense matrix.
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
_MATRICES = 4  # matrices in memory while one is decomposed


def labels(network: NetworkSpec) -> dict[str, tuple[int, ...]]:
    """Return one index for each activity."""
    return {"index": tuple(range(network.num_hidden_layers * network.width))}


def measure(context: Context) -> dict[str, Array]:
    """Compute the eigenvalues of H, of D and of O, in ascending order."""
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
    """Energy weights of the energy whose Hessian is measured."""


def refuse(cell: Cell) -> None:
    """Reject cells without such a Hessian; raises as `requirements.activity_hessian` does."""
    required("hessian_spectrum", cell)


def work(cell: Cell, count: Count) -> None:
    """Add two eigenvalue decompositions of dense matrices without vectors."""
    count.forward(1)
    count.multiply_adds(2 * 4 / 3 * (cell.network.num_hidden_layers * cell.network.width) ** 3)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of dense matrices, in copies of the weights."""
    network = cell.network
    hidden, width = network.num_hidden_layers, network.width
    weights = width * (network.input_dim + network.output_dim + (hidden - 1) * width)
    return {"weights": _MATRICES * (hidden * width) ** 2 / weights}

"""Progress of inference: alignment of the errors of all nodes with those at the equilibrium of linear networks.

Source: pc-tp Fig. S.1 and Theorem 4.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.layers import labels
from scaling_limits.measurements.requirements import exact_inference, linear_equilibrium
from scaling_limits.parameterisations.settings import EnergyWeights

if TYPE_CHECKING:
    from jaxtyping import Array, Float

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

__all__ = ["AXES", "labels", "measure"]

AXES: dict[str, tuple[str, ...]] = {"error_cosine_equilibrium": ("layer",)}


def measure(context: Context) -> dict[str, Float[Array, " layer"]]:
    """Compute cosines of the algorithm's errors with predictive coding's at equilibrium, all samples in one vector."""
    from scaling_limits.algorithms.predictive_coding import exact
    from scaling_limits.measurements.stacks import cosines

    problem = context.problem
    expected = exact.infer(problem, problem.activities()).errors
    return {"error_cosine_equilibrium": cosines(context.errors(problem), expected)}


READS = frozenset({"energy_weight"})


class Settings(EnergyWeights):
    """Energy weights of the equilibrium with which errors are compared."""


def refuse(cell: Cell) -> None:
    """Reject cells without this equilibrium in closed form; raises as `linear_equilibrium` does."""
    linear_equilibrium("equilibrium_alignment", cell)


def work(cell: Cell, count: Count) -> None:
    """Add the errors of the cell's algorithm and those of exact inference."""
    count.errors()
    count.errors(exact_inference(cell.algorithm.loss))

"""How far inference has come: the errors of all nodes compared with those at the equilibrium of linear networks.

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
    """Cosines of the algorithm's own errors with predictive coding's at equilibrium, all samples in one vector."""
    from scaling_limits.algorithms.predictive_coding import exact
    from scaling_limits.measurements.stacks import cosines

    problem = context.problem
    known = exact.infer(problem, problem.activities()).errors
    return {"error_cosine_equilibrium": cosines(context.errors(problem), known)}


READS = frozenset({"energy_weight"})


class Settings(EnergyWeights):
    """Energy weights of the equilibrium that errors are compared with."""


def refuse(cell: Cell) -> None:
    """Refuse cells without that equilibrium; raises as `linear_equilibrium` does."""
    linear_equilibrium("equilibrium_alignment", cell)


def work(cell: Cell, count: Count) -> None:
    """The errors of the cell's own algorithm and those of exact inference."""
    count.errors()
    count.errors(exact_inference(cell.algorithm.loss))

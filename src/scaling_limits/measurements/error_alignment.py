"""Alignment of the errors of all nodes with those of backpropagation and of the Gauss-Newton target.

All errors e_l are evaluated on the same batch at the same weights (pc-tp Fig. 2, S.1, S.2). A cosine compares the
errors of one layer, with all samples and units in one vector. It is 0 if either vector is zero: a layer that no error
has reached has no direction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.layers import labels
from scaling_limits.measurements.requirements import lacking

if TYPE_CHECKING:
    from jaxtyping import Array, Float

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

__all__ = ["AXES", "labels", "measure"]

AXES: dict[str, tuple[str, ...]] = {
    "error_cosine_bp": ("layer",),
    "error_cosine_gn": ("layer",),
    "error_cosine_gn_damped": ("layer",),
    "error_cosine_bp_gn": ("layer",),
}


def measure(context: Context) -> dict[str, Float[Array, " layer"]]:
    """Compute the cosines of errors.

    The algorithm's errors are compared with backpropagation's (`bp`), and with the Gauss-Newton target's, undamped
    (`gn`) and with rho the mean eigenvalue of delta_l^T delta_l (`gn_damped`). Backpropagation's are compared with the
    undamped target's (`bp_gn`).
    """
    from scaling_limits.algorithms.backpropagation import computation as backpropagation
    from scaling_limits.algorithms.gauss_newton_target import computation as gauss_newton_target
    from scaling_limits.algorithms.layerwise import output_jacobians
    from scaling_limits.measurements.stacks import cosines

    problem = context.problem
    own = context.errors(problem)
    forward = problem.activities()
    jacobians = output_jacobians(problem, problem.inputs(forward))
    at_output = problem.output_error(forward[-1][0])
    bp = backpropagation.errors(problem)
    gn = gauss_newton_target.least_squares(jacobians, at_output)
    damped = gauss_newton_target.least_squares(jacobians, at_output, damping=1.0)
    return {
        "error_cosine_bp": cosines(own, bp),
        "error_cosine_gn": cosines(own, gn),
        "error_cosine_gn_damped": cosines(own, damped),
        "error_cosine_bp_gn": cosines(bp, gn),
    }


def refuse(cell: Cell) -> None:
    """Reject batch norm, with which a sample's output depends on the activities of all samples.

    Raises:
        ConfigurationError: naming the network.
    """
    if cell.network.num_statistics is not None:
        raise lacking(
            "error_alignment",
            f"requires a network that treats samples independently; network '{cell.network.name}' has batch norm",
        )


def work(cell: Cell, count: Count) -> None:
    """Add the errors of three algorithms, the last one twice: undamped and damped."""
    count.errors()
    count.forward()
    count.backward()
    count.jacobians()
    count.decompositions()
    count.decompositions()


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of each sample's derivatives of the outputs with respect to all nodes."""
    return {"units": 2 * cell.network.output_dim}

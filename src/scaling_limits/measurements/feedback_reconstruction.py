"""Reconstruction loss of the feedback nodes.

Source: pc-tp (S.164).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell, NetworkSpec
from scaling_limits.measurements.requirements import lacking

if TYPE_CHECKING:
    from jaxtyping import Array, Float

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {"feedback_reconstruction": ("layer",)}


def labels(network: NetworkSpec) -> dict[str, tuple[int, ...]]:
    """Return the nodes 2..L, from whose outputs the feedback starts."""
    return {"layer": tuple(range(2, network.num_hidden_layers + 2))}


def measure(context: Context) -> dict[str, Float[Array, " layer"]]:
    """Compute half the mean square of g_l(h_l) - h_{l-1} over units and samples, without noise."""
    from scaling_limits.algorithms.target_propagation.reconstruction import reconstruction_losses

    return {"feedback_reconstruction": reconstruction_losses(context.problem, noise_std=None)}


def refuse(cell: Cell) -> None:
    """Reject networks without feedback weights; raises ConfigurationError."""
    if cell.network.feedback is None:
        lack = (
            "requires an algorithm that trains feedback weights, such as target_propagation, not "
            f"'{cell.algorithm.name}'"
        )
        raise lacking("feedback_reconstruction", lack)


def work(cell: Cell, count: Count) -> None:
    """Add the activities, and all feedback nodes at once."""
    count.forward()
    count.at_once(count.above_input)

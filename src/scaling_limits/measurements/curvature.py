"""Both curvature factors of every layer, and their dampings.

Source: second-order Fig. S.17 (mean eigenvalues are traces over sizes), Sec. 4.2. For Shampoo, the factors are its
moments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.layers import weight_labels as labels
from scaling_limits.measurements.requirements import lacking

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

__all__ = ["AXES", "labels", "measure"]

AXES: dict[str, tuple[str, ...]] = {
    "input_trace": ("layer",),
    "output_trace": ("layer",),
    "input_damping": ("layer",),
    "output_damping": ("layer",),
}
_HAVING = ("kfac", "shampoo")


def measure(context: Context) -> dict[str, Array]:
    """Compute the traces and dampings of the factors that the next update uses.

    The factors are A or R of a layer's input side, and B or L of its output side.
    """
    import jax.numpy as jnp
    import optax

    state = context.direction()[2]
    by_role = {
        role: optax.tree.get(state.inner_states[role], "seen") for role in state.inner_states
    }
    segments = zip(context.problem.network.segments, context.problem.params, strict=True)

    # each role's state also has entries for the weights of other roles, which are empty
    weights = [
        (role, at, place)
        for at, (segment, stack) in enumerate(segments)
        for role, place in segment.by_weight({name: name for name in stack})
    ]

    def layers(name: str) -> Array:
        return jnp.concatenate(
            [by_role[role][name][at][place]["kernel"] for role, at, place in weights]
        )

    return {name: layers(name) for name in AXES}


def refuse(cell: Cell) -> None:
    """Reject optimisers without both factors, and frozen weights, which have none; raises ConfigurationError."""
    if cell.optimiser.name not in _HAVING:
        raise lacking(
            "curvature", f"requires optimiser: {' or '.join(_HAVING)}, not '{cell.optimiser.name}'"
        )
    if cell.frozen:
        raise lacking("curvature", "requires that all weights are trained; remove frozen")


def work(cell: Cell, count: Count) -> None:
    """Add the work of an update that is not applied."""
    count.gradient()
    count.update(count.trained)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of the batch's factors."""
    return {"units": 2}

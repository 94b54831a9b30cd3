"""Alignment of the initial output weights with the change of their input by training.

Source: pc-tp Sec. 5.2, Fig. 6 right: with Delta h the change of h_{L-1} since initialisation, the ratio

    ||W_{L,0} Delta h||_RMS / (||W_{L,0}||_RMS ||Delta h||_RMS) ~ M^omega

is sqrt(M) for independent factors (omega = 1/2) and M for aligned ones (omega = 1), with M the fan-in of W_L.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits import networks
from scaling_limits.cells import Cell
from scaling_limits.measurements.requirements import lacking

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {"output_alignment": (), "output_alignment_exponent": ()}


def measure(context: Context) -> dict[str, Array]:
    """Compute the ratio and omega_L, its logarithm to the base of the fan-in of the output weights.

    For an mlp, the fan-in is the width. Both are NaN before the first update.
    """
    import jax.numpy as jnp

    from scaling_limits.networks.nodes import ACTIVATIONS

    def rms(values: Array) -> Array:
        return jnp.sqrt((values**2).mean())

    now, first = context.problem.activities(), context.initial_activities()
    phi = ACTIVATIONS[context.problem.network.segments[-1].node.before]
    moved = phi(now[-2][-1]) - phi(first[-2][-1])
    weights = context.initial[-1]["linear"]["kernel"][0]
    ratio = rms(moved @ weights.T) / (rms(weights) * rms(moved))
    exponent = jnp.log(ratio) / jnp.log(moved.shape[-1])
    return {"output_alignment": ratio, "output_alignment_exponent": exponent}


def refuse(cell: Cell) -> None:
    """Reject pooling before the output weights; raises ConfigurationError."""
    below, output = networks.layers_of(cell.network)[-2:]
    if below.outputs * below.positions != output.inputs:
        raise lacking(
            "output_alignment",
            "requires a network without pooling before its output weights, such as mlp or vgg5, not "
            f"'{cell.network.name}'",
        )


def work(cell: Cell, count: Count) -> None:
    """Add the activities now and before training."""
    count.forward()
    count.forward()


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of the weights before training and of their activities."""
    return {"weights": 1, "units": 2}

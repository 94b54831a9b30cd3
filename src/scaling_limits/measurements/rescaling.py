"""Factor minus one by which the equilibrated energy of a linear network rescales the loss: tr(S)/C - 1.

For one output this is s - 1.

Source: pcn-limits Fig. 3, Eq. 6, 19, 104; the expected value is an exact mean for weights with independent entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.requirements import lacking, linear_equilibrium
from scaling_limits.parameterisations.settings import EnergyWeights

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {"rescaling_excess": (), "rescaling_excess_expected": ()}


def measure(context: Context) -> dict[str, Array]:
    """Compute the excess at the current weights, and its mean over initialisations at the same width and depth."""
    import jax.numpy as jnp

    from scaling_limits.algorithms.predictive_coding.exact import rescaling_matrix
    from scaling_limits.limits.rescaling import mean_excess

    network, scaling = context.problem.network, context.problem.scaling
    matrix = rescaling_matrix(context.problem)
    skip = any(segment.residual for segment in network.segments)
    hidden = scaling["hidden"]
    branch = hidden["branch"] if skip else 1.0
    expected = mean_excess(
        width=context.problem.params[0]["linear"]["kernel"].shape[1],
        num_weight_layers=network.num_weight_layers,
        skip=skip,
        hidden_scale=hidden["multiplier"] * branch * hidden["init_std"],
        output_scale=scaling["output"]["multiplier"] * scaling["output"]["init_std"],
    )
    expected = expected * scaling["output"]["energy_weight"] / hidden["energy_weight"]
    return {
        "rescaling_excess": jnp.trace(matrix) / matrix.shape[0] - 1.0,
        "rescaling_excess_expected": jnp.asarray(expected, matrix.dtype),
    }


READS = frozenset({"energy_weight"})


class Settings(EnergyWeights):
    """Energy weights of the energy that is equilibrated."""


def refuse(cell: Cell) -> None:
    """Reject cells without this equilibrium or whose expected excess is unknown.

    Raises:
        ConfigurationError: naming what is different.
    """
    linear_equilibrium("rescaling", cell)
    if cell.init_distribution == "orthogonal":
        lack = (
            "its expected value is known for init_distribution: normal or uniform, not 'orthogonal'"
        )
        raise lacking("rescaling", lack)
    if cell.network.mean_subtraction:
        raise lacking(
            "rescaling",
            "its expected value is known without mean_subtraction only; use "
            "mean_subtraction: false",
        )
    if cell.network.block_depth > 1:
        raise lacking(
            "rescaling",
            f"its expected value is known for block_depth: 1 only, not {cell.network.block_depth}",
        )
    if cell.scaling["input"].energy_weight != cell.scaling["hidden"].energy_weight:
        lack = "its expected value is known only if all layers below the last have the same energy weight"
        raise lacking("rescaling", lack)


def work(cell: Cell, count: Count) -> None:
    """Add the derivatives of the outputs with respect to all nodes, for a single sample."""
    count.forward(1)
    count.jacobians(1)

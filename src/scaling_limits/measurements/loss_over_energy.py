"""Ratio of the loss to the equilibrated energy of a linear network, whichever algorithm trains it.

Source: mupc Fig. 6, A.32 and A.33, Eq. 30 and 31; Theorem 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.requirements import linear_equilibrium
from scaling_limits.parameterisations.settings import EnergyWeights

if TYPE_CHECKING:
    from jaxtyping import Array

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {"loss_over_energy": ()}


def measure(context: Context) -> dict[str, Array]:
    """Compute L / F(z*) on the batch at the current weights; 1 if they are equal."""
    from scaling_limits.algorithms.predictive_coding.exact import least_energy

    problem = context.problem
    return {"loss_over_energy": problem.loss(problem.forward()) / least_energy(problem)}


READS = frozenset({"energy_weight"})


class Settings(EnergyWeights):
    """Energy weights of the energy that is equilibrated."""


def refuse(cell: Cell) -> None:
    """Reject cells without this equilibrium in closed form; raises as `linear_equilibrium` does."""
    linear_equilibrium("loss_over_energy", cell)


def work(cell: Cell, count: Count) -> None:
    """Add the errors of the batch, the derivatives of the outputs for a single sample, and their QR decomposition."""
    count.forward()
    count.jacobians(1)
    outputs = cell.network.output_dim
    units = sum(layer.units for layer in count.layers)
    count.multiply_adds(2 * units * outputs**2)

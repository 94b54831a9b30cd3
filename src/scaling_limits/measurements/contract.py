"""The contract of a measurement: what its module defines."""

from typing import TYPE_CHECKING, Protocol

from jax import Array

from scaling_limits.measurements.context import Context


class Measurement(Protocol):
    """A pure function of a network in training, evaluated after chosen numbers of updates.

    A module whose axes are not numbered 0, 1, ... also defines `labels(network_spec) -> {axis: numbers}`. A module that
    is not defined for all cells defines `refuse(cell)` (see `requirements`).
    """

    AXES: dict[str, tuple[str, ...]]
    """The axes of each metric besides the training step."""

    def measure(self, context: Context, /) -> dict[str, Array]:
        """Compute the value of each metric, shaped by its axes."""


if TYPE_CHECKING:
    from scaling_limits.measurements import (
        analogies,
        conditioning,
        curvature,
        equilibrium_alignment,
        equilibrium_distance,
        error_alignment,
        feature_changes,
        feature_increments,
        feature_sizes,
        feedback_reconstruction,
        gradient_alignment,
        hessian_spectrum,
        inference_trace,
        kernel_distance,
        landscape,
        linearisation,
        loss_over_energy,
        mean_activities,
        output_alignment,
        performance,
        preconditioning,
        rescaling,
        training_performance,
        weight_changes,
    )

    _CHECKED: tuple[Measurement, ...] = (
        analogies,
        conditioning,
        curvature,
        equilibrium_alignment,
        equilibrium_distance,
        error_alignment,
        feature_changes,
        feature_increments,
        feature_sizes,
        feedback_reconstruction,
        gradient_alignment,
        hessian_spectrum,
        inference_trace,
        kernel_distance,
        landscape,
        linearisation,
        loss_over_energy,
        mean_activities,
        output_alignment,
        performance,
        preconditioning,
        rescaling,
        training_performance,
        weight_changes,
    )

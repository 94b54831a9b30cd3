"""Measurements: pure functions of a network in training, taken after chosen numbers of updates.

Each is a module with the functions of `contract.Measurement`.
"""

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell, MeasurementSpec
from scaling_limits.registry import Registry

if TYPE_CHECKING:
    from scaling_limits.measurements.contract import Measurement

registry: "Registry[Measurement]" = Registry(
    "measurement",
    {
        name: f"scaling_limits.measurements.{name}"
        for name in (
            "analogies",
            "conditioning",
            "curvature",
            "equilibrium_alignment",
            "equilibrium_distance",
            "error_alignment",
            "feature_changes",
            "feature_increments",
            "feature_sizes",
            "feedback_reconstruction",
            "gradient_alignment",
            "hessian_spectrum",
            "inference_trace",
            "kernel_distance",
            "landscape",
            "linearisation",
            "loss_over_energy",
            "mean_activities",
            "output_alignment",
            "performance",
            "preconditioning",
            "rescaling",
            "training_performance",
            "weight_changes",
        )
    },
    "scaling_limits.measurements",
    ("AXES",),
)


def labels(cell: Cell, spec: MeasurementSpec) -> dict[str, tuple[int, ...]]:
    """Return the labels along the axes of a measurement of this cell."""
    along = getattr(registry.get(spec.name), "labels", None)
    return {"step": spec.steps, **(along(cell.network) if along else {})}

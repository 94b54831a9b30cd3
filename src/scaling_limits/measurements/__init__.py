"""Measurements: pure functions of a network in training, taken after chosen numbers of updates.

A measurement is a module with `AXES`, the axes of each metric beside the training step, and
`measure(context) -> {metric: array}`. If what stands along an axis is not 0, 1, ..., it has `labels(network_spec) ->
{axis: numbers}` as well. What it needs of a cell, if it is not defined for all, stands in `requirements`.
"""

from scaling_limits.cells import Cell, MeasurementSpec
from scaling_limits.registry import Registry

registry = Registry(
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
    """What stands along the axes of a measurement of this cell."""
    along = getattr(registry.get(spec.name), "labels", None)
    return {"step": spec.steps, **(along(cell.network) if along else {})}

"""Measurements: pure functions of a network in training, taken at chosen steps before the update.

A measurement is a module with `AXES`, the axes of each metric beside the training step, and
`measure(context) -> {metric: array}`.
"""

from ..registry import Registry

registry = Registry(
    "measurement",
    {
        "gradient_alignment": "scaling_limits.measurements.gradient_alignment",
        "rescaling": "scaling_limits.measurements.rescaling",
    },
)

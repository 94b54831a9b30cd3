"""Closed forms, recursions and infinite-size computations that training is compared with.

Those that stand for a training run are registered here: modules with `refuse(cell)`, which raises ConfigurationError
for a cell that the limit does not describe, and `compute(cell, arrays)`, which returns what training would measure.
"""

from scaling_limits.registry import Registry

registry = Registry(
    "limit",
    {
        "depth_recursion": "scaling_limits.limits.depth_recursion",
        "linear_dmft": "scaling_limits.limits.linear_dmft",
        "nngp": "scaling_limits.limits.nngp",
        "smooth_depth_recursion": "scaling_limits.limits.smooth_depth_recursion",
    },
    "scaling_limits.limits",
    ("refuse",),
)

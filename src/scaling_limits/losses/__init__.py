"""Losses by name. Each is a module with

`summed(outputs, targets, tokens) -> the sum of the loss` of one sample or several, for which anything but JAX's
automatic differentiation is a matter of speed:
`error(outputs, targets, tokens) -> each sample's -dloss/df`, if it is known in closed form,
`directions(kind, outputs, key) -> derivatives of the log-likelihood`, if the loss is one (`algorithms.fisher`), for
optimisers that need its Fisher information.

A loss has no settings of its own; `refuse(settings)` refuses targets that it is not of.
"""

from scaling_limits.registry import Registry

DEFAULT = "mean_squared_error"

registry = Registry(
    "loss",
    {
        DEFAULT: "scaling_limits.losses.mean_squared_error",
        "cross_entropy": "scaling_limits.losses.cross_entropy",
    },
    "scaling_limits.losses",
    ("summed",),
)

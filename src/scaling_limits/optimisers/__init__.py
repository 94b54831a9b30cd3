"""Optimisers by name. Each is a module with

`build(numbers, factors) -> optax.GradientTransformationExtraArgs`,

the direction of a role's updates, which `groups` multiplies by minus the learning rate: `numbers` are the traced ones
of the cell's optimiser, `factors` what the parameterisation says of the role. It may keep state, which training carries
along.

`NEEDS`, if a module declares it, names further arguments that its transformation takes: `inputs`, `cotangents` and
`fisher` of every linear operation, laid out as the weights are (`observed_update` of algorithms that have it). One that
preconditions gradients supplies named exponents of rows in `exponents(settings)`, and what its `Spec` holds beside
settings of the same names in `options(settings)`.
"""

from collections.abc import Sequence

from scaling_limits.registry import Registry

registry = Registry(
    "optimiser",
    {
        "adam": "scaling_limits.optimisers.adam",
        "foof": "scaling_limits.optimisers.foof",
        "kfac": "scaling_limits.optimisers.kfac",
        "sgd": "scaling_limits.optimisers.sgd",
        "shampoo": "scaling_limits.optimisers.shampoo",
    },
    "scaling_limits.optimisers",
)


def needs(name: str) -> Sequence[str]:
    """The further arguments that an optimiser takes; raises ConfigurationError for an unknown name."""
    needed: Sequence[str] = getattr(registry.part(name), "NEEDS", ())
    return needed

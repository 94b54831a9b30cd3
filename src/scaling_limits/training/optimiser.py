"""Optax update rules with one learning rate and one epsilon per role."""

from collections.abc import Collection
from typing import Any

import optax

from ..cells import OptimiserSpec
from ..networks.network import Network


def build(
    spec: OptimiserSpec,
    numbers: dict[str, Any],
    scaling: dict[str, Any],
    network: Network,
    frozen: Collection[str],
) -> optax.GradientTransformation:
    """The update rule of a cell.

    Args:
        spec: says which rule; its numbers are not used.
        numbers: the traced numbers of `spec`.
        scaling: per role, the factors of learning rate and epsilon (traced).
        network: says which segment has which role.
        frozen: the roles that are not trained.
    """

    def rule(factors: dict[str, Any]) -> optax.GradientTransformation:
        if spec.name == "adam":
            direction = optax.scale_by_adam(
                b1=numbers["beta1"],
                b2=numbers["beta2"],
                eps=numbers["epsilon"] * factors["epsilon"],
            )
        else:
            direction = optax.trace(decay=numbers["momentum"])
        rate = numbers["learning_rate"] * factors["learning_rate"]
        return optax.chain(direction, optax.stateless(lambda g, _: _times(g, -rate)))

    labels = tuple(segment.role for segment in network.segments)
    rules = {
        role: optax.set_to_zero() if role in frozen else rule(factors)
        for role, factors in scaling.items()
    }
    return optax.partition(rules, labels)


def _times(tree: Any, factor: Any) -> Any:
    return optax.tree.scale(factor, tree)

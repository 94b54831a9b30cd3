"""Optax update rules with one learning rate and one epsilon per role.

`numbers` are the traced numbers of an optimiser's specification, whose own are not used, and `scaling` has, per role,
the factors of learning rate and epsilon (traced).
"""

from collections.abc import Collection
from typing import Any

import optax

from scaling_limits.cells import OptimiserSpec
from scaling_limits.networks.network import Network


def build(
    spec: OptimiserSpec,
    numbers: dict[str, Any],
    scaling: dict[str, Any],
    network: Network,
    frozen: Collection[str],
) -> optax.GradientTransformation:
    """The update rule of a cell; the roles `frozen` are not trained."""
    rate = numbers["learning_rate"]
    rules = {
        role: optax.set_to_zero() if role in frozen else _rule(spec, numbers, factors, rate)
        for role, factors in scaling.items()
    }
    return optax.partition(rules, tuple(segment.role for segment in network.segments))


def build_feedback(
    spec: OptimiserSpec, numbers: dict[str, Any], scaling: dict[str, Any], network: Network
) -> optax.GradientTransformation:
    """That of its feedback weights: the same with their own rate, and with a decay added to the gradient."""
    decay = numbers["feedback_weight_decay"]
    rate = numbers["feedback_learning_rate"]
    rules = {
        role: optax.chain(
            optax.add_decayed_weights(decay),
            _rule(spec, numbers, factors, rate),
        )
        for role, factors in scaling.items()
    }
    return optax.partition(rules, tuple(segment.role for segment in network.feedback))


def _rule(
    spec: OptimiserSpec, numbers: dict[str, Any], factors: dict[str, Any], rate: Any
) -> optax.GradientTransformation:
    if spec.name == "adam":
        direction = optax.scale_by_adam(
            b1=numbers["beta1"], b2=numbers["beta2"], eps=numbers["epsilon"] * factors["epsilon"]
        )
    else:
        direction = optax.trace(decay=numbers["momentum"])
    rate = rate * factors["learning_rate"]
    return optax.chain(direction, optax.stateless(lambda g, _: _times(g, -rate)))


def _times(tree: Any, factor: Any) -> Any:
    return optax.tree.scale(factor, tree)

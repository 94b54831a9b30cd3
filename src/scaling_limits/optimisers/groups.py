"""Update rules of both groups of weights; in each group, every role has its own learning rate and direction."""

from collections.abc import Mapping, Sequence

import jax
import optax
from jaxtyping import PyTree

from scaling_limits import optimisers
from scaling_limits.cells import Cell
from scaling_limits.networks.network import Network, Params, Segment
from scaling_limits.optimisers.clipping import clipped


def rules(
    cell: Cell,
    numbers: Mapping[str, PyTree],
    scaling: Mapping[str, PyTree],
    network: Network,
    schedule: PyTree = 1.0,
) -> dict[str, optax.GradientTransformationExtraArgs]:
    """Build the update rules of a cell's `forward` weights and, if the network has any, of its `feedback` weights.

    Weights of `frozen` roles are not updated. Weight decay is added to the gradient of feedback weights (pc-tp App. E).
    The bound of updates, `kl_clip`, acts before momentum, on the weights of all roles together.

    Args:
        cell: the cell, for its optimiser and frozen roles.
        numbers: the traced numbers of the optimiser, with `feedback_weight_decay` if there are feedback weights.
        scaling: the traced factors and learning rate of each role, role -> quantity -> number.
        network: the network, for its segments and their roles.
        schedule: factor of the learning rates of forward weights.

    Returns:
        The rules by group, `forward` and `feedback`; both transform gradients to updates.
    """
    build = optimisers.registry.get(cell.optimiser.name).build
    numbers = {**cell.static()["optimiser"], **numbers}

    def rule(segments: Sequence[Segment], schedule: PyTree, decay: PyTree | None) -> PyTree:
        def of(role: str) -> optax.GradientTransformation:
            if role in cell.frozen:
                return optax.set_to_zero()
            factors = scaling[role]
            decayed = [] if decay is None else [optax.add_decayed_weights(decay)]
            times = _times(-(schedule * factors["learning_rate"]))
            return optax.chain(*decayed, build(numbers, factors), times)

        roles = tuple(segment.roles for segment in segments)
        by_role = {role: of(role) for role in jax.tree.leaves(roles)}
        return optax.partition(by_role, roles, mask_compatible_extra_args=True)

    if "kl_clip" in numbers:
        return {"forward": _bounded(cell, numbers, scaling, network, schedule)}
    result = {"forward": rule(network.segments, schedule, None)}
    if network.feedback:
        result["feedback"] = rule(network.feedback, 1.0, numbers["feedback_weight_decay"])
    return result


def _bounded(
    cell: Cell,
    numbers: Mapping[str, PyTree],
    scaling: Mapping[str, PyTree],
    network: Network,
    schedule: PyTree,
) -> optax.GradientTransformationExtraArgs:
    """Build the update rule of all forward weights whose update is bounded by `kl_clip`; arguments as of `rules`."""
    build = optimisers.registry.get(cell.optimiser.name).build
    plain = {name: number for name, number in numbers.items() if name != "momentum"}
    roles = tuple(segment.roles for segment in network.segments)
    names = jax.tree.leaves(roles)
    frozen = {role: optax.set_to_zero() for role in names if role in cell.frozen}
    by_role = {role: build(plain, scaling[role]) for role in names} | frozen
    return clipped(
        optax.partition(by_role, roles, mask_compatible_extra_args=True),
        jax.tree.map(lambda role: schedule * scaling[role]["learning_rate"], roles),
        jax.tree.map(lambda role: scaling[role]["multiplier"], roles),
        bound=numbers["kl_clip"],
        momentum=numbers["momentum"],
    )


def updated(
    rule: optax.GradientTransformationExtraArgs,
    gradients: Params,
    weights: Params,
    state: PyTree,
    operations: Mapping[str, Params],
) -> tuple[Params, PyTree]:
    """Apply one update to a group of weights.

    Args:
        rule: the update rule of the group, from `rules`.
        gradients: the gradients, a tree like `weights`.
        weights: the weights, for every segment a tree with leaves `[count, out, in]`.
        state: the state of the rule.
        operations: the further arguments of the optimiser, by name (`contract.Optimiser`); may be empty.

    Returns:
        The weights after the update, and the state of the rule.
    """
    updates, state = rule.update(gradients, state, weights, **operations)
    return jax.tree.map(lambda p, u: p + u.astype(p.dtype), weights, updates), state


def _times(factor: PyTree) -> optax.GradientTransformation:
    return optax.stateless(lambda direction, _: optax.tree.scale(factor, direction))

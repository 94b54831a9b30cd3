"""The nodes whose activities move during inference by steps, and the quantities that stay fixed meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.algorithms.predictive_coding.inferred import energy_weight
from scaling_limits.algorithms.predictive_coding.stages import moves_from_above
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.network import (
    Network,
    Segment,
    Stacks,
    add_shifted_up,
    shift_up,
    top_of,
)

if TYPE_CHECKING:
    from scaling_limits.algorithms.predictive_coding import Options


@dataclass(frozen=True)
class Layers:
    """The topmost nodes of a network, and the quantities that stay fixed while their input activities move.

    `problem` is restricted to these nodes. Stacks are laid out by the node whose input an activity is. `inputs` are the
    initial activities, `predicted` their initial predictions, `before` the initial outputs of the nodes, and `below`
    the energy weight of the error at the lowest activity.
    """

    problem: Problem
    inputs: Stacks
    predicted: Stacks
    before: Stacks
    below: Array

    @property
    def network(self) -> Network:
        """The network of these nodes alone."""
        return self.problem.network

    @property
    def options(self) -> "Options":
        """The options of the algorithm."""
        return cast("Options", self.problem.options)

    @property
    def sample_weight(self) -> float:
        """The weight of a sample's energy in the energy that activities descend."""
        return 1.0 / len(self.problem.y) if self.options.activity_gradient == "batch_mean" else 1.0

    def weight(self, segment: Segment) -> Array:
        """Return the energy weight of a segment's nodes."""
        return energy_weight(self.problem, segment.role)

    def activities(self, displacements: Stacks) -> Stacks:
        """Return z of the moving layers."""
        return tuple(p + d for p, d in zip(self.predicted, displacements, strict=True))

    def points(self, displacements: Stacks) -> Stacks:
        """Return the inputs at which the nodes are evaluated."""
        if self.options.fixed_predictions:
            return self.inputs
        return self.activities(displacements)

    def changes(self, after: Stacks, number: Array | int) -> Stacks:
        """Return the difference of the predictions from the initial ones at the start of step `number`, from 1.

        If inference starts from the forward pass, the input of a node has moved by then only if the error has reached
        it. Elsewhere the two predictions differ by round-off at most (the two evaluations may be compiled differently),
        and the difference is set to zero.
        """
        if self.options.fixed_predictions:
            return tuple(jnp.zeros_like(stack) for stack in self.before)
        if not moves_from_above(self.options):
            return subtract(after, self.before)
        output = self.network.segments[-1].first
        lowest: Array | int = output - number + 2
        if self.options.inference_order == "sequential":
            lowest = jnp.where(jnp.asarray(number) > 1, 0, output + 1)
        return tuple(
            jnp.where((segment.indices() >= lowest)[:, None, None], new - old, 0.0)
            for segment, new, old in zip(self.network.segments, after, self.before, strict=True)
        )

    def decay(self, displacements: Stacks) -> Sequence[Stacks]:
        """Return the contribution of the decay to the gradients, alpha z_l (mupc A.3.3); empty without a decay."""
        if self.options.activity_decay is None:
            return ()
        strength = jnp.asarray(self.problem.numbers["activity_decay"], self.problem.y.dtype)
        return (jax.tree.map(lambda z: strength * z, self.activities(displacements)),)

    def targets(self, displacements: Stacks) -> Stacks:
        """Return the displacement of the output activity of every hidden node, laid out by that node."""
        return shift_up(displacements[:-1], displacements[-1][0])

    def output(self, changes: Stacks) -> Float[Array, "batch out"]:
        """Return the prediction of the output node."""
        return self.before[-1][0] + changes[-1][0]

    def errors(self, displacements: Stacks, changes: Stacks) -> Stacks:
        """Return the errors of all these nodes."""
        at_output = self.problem.output_error(self.output(changes))
        lowered = jax.tree.map(jnp.negative, changes[:-1])
        hidden = add_shifted_up(lowered, displacements[:-1], displacements[-1][0])
        return (*hidden, at_output[None])


def topmost(
    problem: Problem, count: int, inputs: Stacks, predicted: Stacks, before: Stacks
) -> Layers:
    """Restrict a network and its stacks to its last nodes.

    Args:
        problem: the problem of the whole network.
        count: number of nodes to keep, at most one less than the network has.
        inputs: the initial inputs of all nodes, for every segment `[count, batch, units]`.
        predicted: the initial predictions of these inputs, laid out in the same way.
        before: the initial outputs of all nodes, for every segment `[count, batch, units]`.

    Returns:
        The last `count` nodes, with the energy weight of the error below them.
    """
    network = problem.network
    part = network.top(count)
    lower = network.num_weight_layers - count
    role = [segment.role for segment in network.segments if segment.first <= lower][-1]
    return Layers(
        problem=replace(problem, network=part, params=top_of(problem.params, part)),
        inputs=top_of(inputs, part),
        predicted=top_of(predicted, part),
        before=top_of(before, part),
        below=energy_weight(problem, role),
    )


def with_top(stacks: Stacks, top: Stacks) -> Stacks:
    """Return `stacks` with the last entries replaced by those of `top`."""
    kept = len(stacks) - len(top)
    return stacks[:kept] + tuple(
        whole.at[whole.shape[0] - new.shape[0] :].set(new)
        for whole, new in zip(stacks[kept:], top, strict=True)
    )


def subtract(left: Stacks, right: Stacks) -> Stacks:
    """Subtract stacks entry by entry."""
    return tuple(a - b for a, b in zip(left, right, strict=True))

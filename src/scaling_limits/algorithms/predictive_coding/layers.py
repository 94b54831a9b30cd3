"""The nodes whose activities move in inference by steps, and what stays meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

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
    """The topmost nodes of a network, and what stays while the activities that enter them move.

    `problem` is cut down to these nodes. Stacks are laid out by the node that an activity is the
    input of. `inputs` are the initial activities, `predicted` the predictions of them at first,
    `before` what the nodes predict from them, and `below` is the energy weight of the lowest one's
    error.
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
        """Those of the algorithm."""
        options: Options = self.problem.options
        return options

    @property
    def sample_weight(self) -> float:
        """What a sample's own energy counts for in the energy whose gradient activities follow."""
        return 1.0 / len(self.problem.y) if self.options.activity_gradient == "batch_mean" else 1.0

    def weight(self, segment: Segment) -> Array:
        """The energy weight of a segment's nodes."""
        return energy_weight(self.problem, segment.role)

    def activities(self, displacements: Stacks) -> Stacks:
        """z of the moving layers."""
        return tuple(p + d for p, d in zip(self.predicted, displacements, strict=True))

    def points(self, displacements: Stacks) -> Stacks:
        """The activities at which the nodes are evaluated."""
        if self.options.fixed_predictions:
            return self.inputs
        return self.activities(displacements)

    def changes(self, after: Stacks, number: Array | int) -> Stacks:
        """By how much predictions differ from the first ones at the start of step `number`, from 1.

        From the forward pass, the input of a node has moved by then only if the error has reached
        it. Elsewhere they differ by round-off at most (the two evaluations may be compiled
        differently), which is set to zero.
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
        """What the decay adds to the slopes, alpha z_l (mupc A.3.3); nothing without one."""
        if self.options.activity_decay is None:
            return ()
        strength = jnp.asarray(self.problem.numbers["activity_decay"], self.problem.y.dtype)
        return (jax.tree.map(lambda z: strength * z, self.activities(displacements)),)

    def targets(self, displacements: Stacks) -> Stacks:
        """The displacement of every hidden node's own activity, laid out by that node."""
        return shift_up(displacements[:-1], displacements[-1][0])

    def output(self, changes: Stacks) -> Float[Array, "batch out"]:
        """What the output node predicts."""
        return self.before[-1][0] + changes[-1][0]

    def errors(self, displacements: Stacks, changes: Stacks) -> Stacks:
        """The errors of all these nodes."""
        at_output = self.problem.output_error(self.output(changes))
        lowered = jax.tree.map(jnp.negative, changes[:-1])
        hidden = add_shifted_up(lowered, displacements[:-1], displacements[-1][0])
        return (*hidden, at_output[None])


def topmost(
    problem: Problem, count: int, inputs: Stacks, predicted: Stacks, before: Stacks
) -> Layers:
    """Cut a network and its stacks down to its last nodes.

    Args:
        problem: the problem of the whole network.
        count: number of nodes to keep, at most one less than the network has.
        inputs: the initial inputs of all nodes, for every segment `[count, batch, units]`.
        predicted: the initial predictions of these inputs, laid out as they are.
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
    """`stacks` with the last entries of the last of them replaced."""
    kept = len(stacks) - len(top)
    return stacks[:kept] + tuple(
        whole.at[whole.shape[0] - new.shape[0] :].set(new)
        for whole, new in zip(stacks[kept:], top, strict=True)
    )


def subtract(left: Stacks, right: Stacks) -> Stacks:
    """The differences of all entries."""
    return tuple(a - b for a, b in zip(left, right, strict=True))

r"""Inference of predictive coding's activities, step by step.

Each hidden activity z_l moves down the gradient of its sample's energy (pc-tp Eq. 2-3; mupc and
pcn-limits have unit weights gamma),

    gamma_l e_l - gamma_{l+1} J_{l+1}^T e_{l+1},    e_l = z_l - p_l(z_{l-1}),

with J_l the Jacobian of the node p_l at its input, and e_L = -dloss/df.

*Displacements.* The state is `d_l = z_l - p_l(z^0_{l-1})` with the initial activities z^0, and
`e_l = d_l - (p_l(z_{l-1}) - p_l(z^0_{l-1}))`. From the forward pass the displacements are zero at
first, and a layer that the output error has not reached has errors and gradients of exactly zero,
in float32 as well.

*Synchronous.* All layers use the activities of the step before, so from the forward pass the error
moves down one layer per step: after step t it has not reached layers l <= H - t. For gradient
descent the first H steps are therefore cut into a fixed number of stages, and each evaluates only
the layers that are reached by its end.

*Sequential.* From the output down, each layer uses the error e_{l+1} with the new z_{l+1} (pc-tp
Algorithm 1, with `e_L = y - f`: the sign printed there is wrong).

*Fixed predictions.* p_l and J_l stay those of the initial activities (pc-tp S.5, S.6).
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Float

from scaling_limits.algorithms.layerwise import downwards, pull
from scaling_limits.algorithms.predictive_coding.inferred import Inferred, energy_weight
from scaling_limits.algorithms.predictive_coding.stages import stages
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.draws import layer_key
from scaling_limits.networks.network import (
    Network,
    Segment,
    Stacks,
    add_shifted_down,
    add_shifted_up,
    shift_down,
    shift_up,
    top_of,
)

if TYPE_CHECKING:
    from scaling_limits.algorithms.predictive_coding import Options


def infer(problem: Problem, forward: Stacks) -> Inferred:
    """What the options' `num_inference_steps` lead to; errors are those after the last of them.

    `forward` are the forward pass's activities (pc-tp Technique i).
    """
    options = problem.options
    inputs = problem.inputs(_initial_activities(problem, forward))
    from_forward = options.activity_initialisation == "forward"
    before = problem.predictions(inputs)
    predicted = inputs if from_forward else problem.inputs(before)

    num_hidden = problem.network.num_weight_layers - 1
    layers = _topmost(problem, num_hidden, inputs, predicted, before)
    displacements = _subtract(layers.inputs, layers.predicted)
    done = 0
    for end, reach in stages(options, num_hidden):
        part = _topmost(problem, reach, inputs, predicted, before)
        moved = _relax(part, top_of(displacements, part.network), done, end)
        displacements = _with_top(displacements, moved)
        done = end
    points = layers.points(displacements)
    changes = layers.changes(layers.problem.predictions(points), done + 1)
    errors = layers.errors(displacements, changes)
    # node 1 sees the clamped input, so its prediction never moves
    return Inferred(
        errors=(displacements[0][:1], *errors),
        inputs=(inputs[0], *points),
        output=layers.output(changes),
    )


@dataclass(frozen=True)
class _Layers:
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
        return self.problem.network

    @property
    def options(self) -> "Options":
        options: Options = self.problem.options
        return options

    def points(self, displacements: Stacks) -> Stacks:
        """Where the nodes are evaluated."""
        if self.options.fixed_predictions:
            return self.inputs
        return tuple(p + d for p, d in zip(self.predicted, displacements, strict=True))

    def changes(self, after: Stacks, number: Array | int) -> Stacks:
        """By how much predictions differ from the first ones at the start of step `number`, from 1.

        From the forward pass, the input of a node has moved by then only if the error has reached
        it. Elsewhere they differ by round-off at most (the two evaluations may be compiled
        differently), which is set to zero.
        """
        if self.options.fixed_predictions:
            return tuple(jnp.zeros_like(stack) for stack in self.before)
        if self.options.activity_initialisation != "forward":
            return _subtract(after, self.before)
        output = self.network.segments[-1].first
        lowest: Array | int = output - number + 2
        if self.options.inference_order == "sequential":
            lowest = jnp.where(jnp.asarray(number) > 1, 0, output + 1)
        return tuple(
            jnp.where((segment.indices() >= lowest)[:, None, None], new - old, 0.0)
            for segment, new, old in zip(self.network.segments, after, self.before, strict=True)
        )

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

    def weight(self, segment: Segment) -> Array:
        return energy_weight(self.problem, segment.role)


def _topmost(
    problem: Problem, count: int, inputs: Stacks, predicted: Stacks, before: Stacks
) -> _Layers:
    """The last `count` nodes of a network, from the stacks of all of them."""
    network = problem.network
    part = network.top(count)
    lower = network.num_weight_layers - count
    role = [segment.role for segment in network.segments if segment.first <= lower][-1]
    return _Layers(
        problem=replace(problem, network=part, params=top_of(problem.params, part)),
        inputs=top_of(inputs, part),
        predicted=top_of(predicted, part),
        before=top_of(before, part),
        below=energy_weight(problem, role),
    )


def _with_top(stacks: Stacks, top: Stacks) -> Stacks:
    """`stacks` with the last entries of the last of them replaced."""
    kept = len(stacks) - len(top)
    return stacks[:kept] + tuple(
        whole.at[whole.shape[0] - new.shape[0] :].set(new)
        for whole, new in zip(stacks[kept:], top, strict=True)
    )


def _relax(layers: _Layers, displacements: Stacks, done: int, end: int) -> Stacks:
    """Steps `done + 1 .. end`.

    The lowest activity is predicted by a node whose own input does not move, so its error is its
    displacement.
    """
    rate = jnp.asarray(layers.problem.numbers["activity_learning_rate"], layers.problem.y.dtype)
    counted = jnp.arange(done + 1, end + 1)
    if layers.options.inference_order == "sequential":
        return jax.lax.scan(_sequential_step(layers, rate), displacements, counted)[0]
    rule = optax.scale_by_adam() if layers.options.inference == "adam" else optax.identity()
    state = (displacements, rule.init(displacements))
    return jax.lax.scan(_synchronous_step(layers, rate, rule), state, counted)[0][0]


def _synchronous_step(layers: _Layers, rate: Array, rule: optax.GradientTransformation) -> Any:
    share = _share(layers)

    def step(state: Any, number: Array) -> tuple[Any, None]:
        displacements, rule_state = state
        after, pullback = jax.vjp(layers.problem.predictions, layers.points(displacements))
        errors = layers.errors(displacements, layers.changes(after, number))
        weighted = tuple(
            layers.weight(segment) * error
            for segment, error in zip(layers.network.segments, errors, strict=True)
        )
        explained = jax.tree.map(jnp.negative, pullback(weighted)[0])
        slopes = add_shifted_down(explained, layers.below * displacements[0][0], weighted)
        slopes = jax.tree.map(lambda slope: share * slope, slopes)
        updates, rule_state = rule.update(slopes, rule_state)
        return (jax.tree.map(lambda d, u: d - rate * u, displacements, updates), rule_state), None

    return step


def _sequential_step(layers: _Layers, rate: Array) -> Any:
    *hidden, output = layers.network.segments
    *hidden_params, output_params = layers.problem.params
    step_size = rate * _share(layers)

    def step(displacements: Stacks, number: Array) -> tuple[Stacks, None]:
        points = layers.points(displacements)
        changes = layers.changes(layers.problem.predictions(points), number)

        def update(segment: Segment, explained: Array, entry: Any) -> tuple[Array, Array]:
            params, point, change, old = entry
            weight = layers.weight(segment)
            new = old - step_size * (weight * (old - change) - explained)
            return pull(
                segment, params, layers.problem.scaling, point, weight * (new - change)
            ), new

        at_output = layers.errors(displacements, changes)[-1][0]
        params = jax.tree.map(lambda leaf: leaf[0], output_params)
        error = layers.weight(output) * at_output
        explained = pull(output, params, layers.problem.scaling, points[-1][0], error)
        targets = layers.targets(displacements)
        entries = zip(hidden_params, points[:-1], changes[:-1], targets, strict=True)
        explained, moved = downwards(hidden, update, explained, entries)
        lowest = displacements[0][0]
        lowest = lowest - step_size * (layers.below * lowest - explained)
        return shift_down(lowest, (*moved, at_output[None])), None

    return step


def _share(layers: _Layers) -> float:
    """What a sample's own energy counts for in the energy whose gradient activities follow."""
    return 1.0 / len(layers.problem.y) if layers.options.activity_gradient == "batch_mean" else 1.0


def _initial_activities(problem: Problem, forward: Stacks) -> Stacks:
    """z^0 of all nodes; the output's is not used. Normal draws depend on seed, layer and shape."""
    if problem.options.activity_initialisation == "forward":
        return forward
    if problem.options.activity_initialisation == "zeros":
        return tuple(jnp.zeros_like(stack) for stack in forward)
    key = jax.random.key(problem.numbers["seed"])

    def draw(segment: Segment, like: Array) -> Array:
        def one(layer: Array) -> Array:
            return jax.random.normal(
                layer_key(key, "activities", layer), like.shape[1:], like.dtype
            )

        return jax.vmap(one)(segment.indices())

    return tuple(draw(s, like) for s, like in zip(problem.network.segments, forward, strict=True))


def _subtract(left: Stacks, right: Stacks) -> Stacks:
    return tuple(a - b for a, b in zip(left, right, strict=True))

"""Inference of predictive coding's activities, step by step.

Each hidden activity z_l moves along the negative gradient g_l of its sample's energy (pc-tp Eq. 2-3; mupc and
pcn-limits have unit weights gamma),

    z_l <- z_l - beta w g_l,    g_l = gamma_l e_l - gamma_{l+1} J_{l+1}^T e_{l+1},    e_l = z_l - p_l(z_{l-1}),

with J_l the Jacobian of the node p_l at its input, e_L = -dloss/df, beta the activity learning rate, and w = 1/B if
activities descend the batch mean of the energy, else 1. Adam uses w g_l as the gradient.

*Displacements.* The state is `d_l = z_l - p_l(z^0_{l-1})` with the initial activities z^0, so that `e_l = d_l -
(p_l(z_{l-1}) - p_l(z^0_{l-1}))`. If inference starts from the forward pass, the displacements are zero at first, and a
layer that the output error has not reached has errors and gradients of exactly zero, even in float32.

*Synchronous.* All layers use the activities of the previous step. From the forward pass, the error therefore moves down
one layer per step: after step t it has not reached layers l <= H - t. For gradient descent, the first H steps are
divided into a fixed number of stages, and each stage evaluates only the layers that are reached by its end.

*Sequential.* From the output down, each layer uses the error e_{l+1} with the new z_{l+1} (pc-tp Algorithm 1, with `e_L
= y - f`: the sign printed there is wrong).

*Fixed predictions.* p_l and J_l remain those of the initial activities (pc-tp S.5, S.6).

*Decay.* If the energy contains alpha/2 sum_l ||z_l||^2 over the hidden layers (mupc A.3.3), every layer has a gradient
from the first step on, and no layer is skipped.

*Tolerance.* Inference ends with the first step that follows a gradient whose norm is below the tolerance. This is the
Euclidean norm of the gradient that a step multiplies by the learning rate (Adam: before its averages), over all hidden
layers and samples of the batch in one vector.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import PyTree

from scaling_limits.algorithms.layerwise import downwards, pull
from scaling_limits.algorithms.predictive_coding.inferred import Inferred
from scaling_limits.algorithms.predictive_coding.layers import Layers, subtract, topmost, with_top
from scaling_limits.algorithms.predictive_coding.stages import stages
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.draws import layer_key, seed_key
from scaling_limits.networks.network import (
    Segment,
    Stacks,
    add_shifted_down,
    shift_down,
    top_of,
)

State = tuple[Stacks, PyTree]
"""Displacements, and the state of Adam."""
Step = Callable[[State, Array], tuple[State, Stacks]]
"""Maps a state and the number of the step, from 1, to the state after this step and the gradient that it followed."""


def infer(problem: Problem, forward: Stacks) -> Inferred:
    """Infer the activities by `num_inference_steps` steps, or fewer with a tolerance.

    The errors are those after the last step. `forward` holds the activities of the forward pass (pc-tp Technique i).
    """
    inputs, top = _begin(problem, forward)
    num_hidden = problem.network.num_weight_layers - 1
    layers = top(num_hidden)
    displacements = subtract(layers.inputs, layers.predicted)
    with_tolerance = problem.options.inference_tolerance is not None
    relax = _relax_to_tolerance if with_tolerance else _relax
    done: Array | int = 0
    norm = jnp.asarray(jnp.inf, problem.y.dtype)
    for end, num_moving in stages(problem.options, num_hidden, problem.compiled):
        part = top(num_moving)
        moved, done, norm = relax(part, top_of(displacements, part.network), done, norm, end)
        displacements = with_top(displacements, moved)
    points = layers.points(displacements)
    changes = layers.changes(layers.problem.predictions(points), done + 1)
    errors = layers.errors(displacements, changes)
    # the input of node 1 is clamped, so its prediction never changes
    return Inferred(
        errors=(displacements[0][:1], *errors),
        inputs=(inputs[0], *points),
        output=layers.output(changes),
        metrics={"inference_steps": jnp.asarray(done, norm.dtype)} if with_tolerance else {},
    )


def trace(problem: Problem, forward: Stacks, observe: Callable[[Stacks, Stacks], PyTree]) -> PyTree:
    """Evaluate `observe` on the hidden activities before the first inference step and after every step.

    All steps are taken, even with a tolerance.

    Args:
        problem: the network, batch and options.
        forward: the activities of the forward pass.
        observe: a function of the current and the initial hidden activities, both laid out by the nodes whose input
            they are; returns a tree.

    Returns:
        The tree that `observe` returns, with an additional leading axis of length `num_inference_steps + 1`.
    """
    _, top = _begin(problem, forward)
    layers = top(problem.network.num_weight_layers - 1)
    begin, step = _steps(layers)

    def observed(state: State, number: Array) -> tuple[State, PyTree]:
        moved, _ = step(state, number)
        return moved, observe(layers.activities(moved[0]), layers.inputs)

    first = begin(subtract(layers.inputs, layers.predicted))
    counted = jnp.arange(1, problem.options.num_inference_steps + 1)
    _, later = jax.lax.scan(observed, first, counted)
    at_first = observe(layers.activities(first[0]), layers.inputs)
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), at_first, later)


def _begin(problem: Problem, forward: Stacks) -> tuple[Stacks, Callable[[int], Layers]]:
    """Return the initial inputs of all nodes, and a function that restricts the network to its last nodes."""
    inputs = problem.inputs(_initial_activities(problem, forward))
    from_forward = problem.options.activity_initialisation == "forward"
    before = problem.predictions(inputs)
    predicted = inputs if from_forward else problem.inputs(before)

    def top(count: int) -> Layers:
        return topmost(problem, count, inputs, predicted, before)

    return inputs, top


def _relax(
    layers: Layers, displacements: Stacks, done: Array | int, norm: Array, end: int
) -> tuple[Stacks, Array | int, Array]:
    """Take the steps `done + 1 .. end`; return the displacements after them, `end`, and `norm` unchanged."""
    begin, step = _steps(layers)
    counted = jnp.arange(done + 1, end + 1)
    state, _ = jax.lax.scan(lambda s, n: (step(s, n)[0], None), begin(displacements), counted)
    return state[0], end, norm


def _relax_to_tolerance(
    layers: Layers, displacements: Stacks, done: Array | int, norm: Array, end: int
) -> tuple[Stacks, Array | int, Array]:
    """Take steps as `_relax` does, until the gradient that the last step followed has a `norm` below the tolerance.

    Returns:
        The displacements, the number of steps taken so far, and the norm of the last gradient.
    """
    begin, step = _steps(layers)
    tolerance = jnp.asarray(layers.problem.numbers["inference_tolerance"], norm.dtype)

    def unfinished(carried: tuple[State, Array, Array]) -> Array:
        _, done, norm = carried
        # inference that has diverged continues
        return (done < end) & ~(norm < tolerance)

    def go(carried: tuple[State, Array, Array]) -> tuple[State, Array, Array]:
        state, done, _ = carried
        state, gradients = step(state, done + 1)
        return state, done + 1, optax.tree.norm(gradients)

    first = (begin(displacements), jnp.asarray(done, jnp.int32), norm)
    (displacements, _), done, norm = jax.lax.while_loop(unfinished, go, first)
    return displacements, done, norm


def _steps(layers: Layers) -> tuple[Callable[[Stacks], State], Step]:
    """Return a function that builds the state from displacements, and the step function.

    The lowest activity is predicted by a node whose input is clamped, so its error is its displacement.
    """
    rate = jnp.asarray(layers.problem.numbers["activity_learning_rate"], layers.problem.y.dtype)
    if layers.options.inference_order == "sequential":
        return lambda displacements: (displacements, ()), _sequential_step(layers, rate)
    rule = optax.scale_by_adam() if layers.options.inference == "adam" else optax.identity()
    return lambda displacements: (displacements, rule.init(displacements)), _synchronous_step(
        layers, rate, rule
    )


def _synchronous_step(layers: Layers, rate: Array, rule: optax.GradientTransformation) -> Step:
    def step(state: State, number: Array) -> tuple[State, Stacks]:
        displacements, rule_state = state
        after, pullback = jax.vjp(layers.problem.predictions, layers.points(displacements))
        errors = layers.errors(displacements, layers.changes(after, number))
        weighted = tuple(
            layers.weight(segment) * error
            for segment, error in zip(layers.network.segments, errors, strict=True)
        )
        explained = jax.tree.map(jnp.negative, pullback(weighted)[0])
        gradients = add_shifted_down(explained, layers.below * displacements[0][0], weighted)
        for decay in layers.decay(displacements):
            gradients = jax.tree.map(jnp.add, gradients, decay)
        gradients = jax.tree.map(lambda gradient: layers.sample_weight * gradient, gradients)
        updates, rule_state = rule.update(gradients, rule_state)
        moved = jax.tree.map(lambda d, u: d - rate * u, displacements, updates)
        return (moved, rule_state), gradients

    return step


def _sequential_step(layers: Layers, rate: Array) -> Step:
    *hidden, output = layers.network.segments
    *hidden_params, output_params = layers.problem.params
    step_size = rate * layers.sample_weight

    def step(state: State, number: Array) -> tuple[State, Stacks]:
        displacements, _ = state
        points = layers.points(displacements)
        changes = layers.changes(layers.problem.predictions(points), number)
        decay = layers.decay(displacements)

        def update(segment: Segment, explained: Array, entry: PyTree) -> tuple[Array, PyTree]:
            params, point, change, old, *decay = entry
            weight = layers.weight(segment)
            gradient = sum(decay, weight * (old - change) - explained)
            new = old - step_size * gradient
            error = weight * (new - change)
            return pull(segment, params, layers.problem.scaling, point, error), (new, gradient)

        at_output = layers.errors(displacements, changes)[-1][0]
        params = jax.tree.map(lambda leaf: leaf[0], output_params)
        error = layers.weight(output) * at_output
        explained = pull(output, params, layers.problem.scaling, points[-1][0], error)
        targets = [layers.targets(stacks) for stacks in (displacements, *decay)]
        entries = zip(hidden_params, points[:-1], changes[:-1], *targets, strict=True)
        explained, moved = downwards(hidden, update, explained, entries)
        lowest = displacements[0][0]
        gradient = sum((d[0][0] for d in decay), layers.below * lowest - explained)
        lowest = lowest - step_size * gradient
        new = shift_down(lowest, (*(new for new, _ in moved), at_output[None]))
        gradients = shift_down(gradient, (*(gradient for _, gradient in moved), at_output[None]))
        return (new, ()), jax.tree.map(lambda gradient: layers.sample_weight * gradient, gradients)

    return step


def _initial_activities(problem: Problem, forward: Stacks) -> Stacks:
    """Return z^0 of all nodes; the output's is not used. Normal draws depend on seed, layer and shape."""
    if problem.options.activity_initialisation == "forward":
        return forward
    if problem.options.activity_initialisation == "zeros":
        return tuple(jnp.zeros_like(stack) for stack in forward)
    key = seed_key(problem.numbers["seed"])

    def draw(segment: Segment, like: Array) -> Array:
        def one(layer: Array) -> Array:
            return jax.random.normal(
                layer_key(key, "activities", layer), like.shape[1:], like.dtype
            )

        return jax.vmap(one)(segment.indices())

    return tuple(draw(s, like) for s, like in zip(problem.network.segments, forward, strict=True))

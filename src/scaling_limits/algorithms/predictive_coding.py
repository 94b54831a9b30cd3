r"""Predictive coding with supervised targets.

Energy (mupc Eq. 1, pcn-limits Eq. 2), batch mean of `F = 1/2 sum_l ||z_l - p_l(z_{l-1})||^2` with
z_0 = x and z_L = y clamped and p_l the network's nodes. Activities are inferred, then weights get
the local gradient dF/dW_l at fixed activities.

*Gradient descent.* From the forward pass z^0, all activities move at once. The state is the
displacement `d_l = z_l - z_l^0`, and the errors are `e_l = d_l - (p_l(z^0_{l-1} + d_{l-1}) -
p_l(z^0_{l-1}))`: nothing but the output error r = y - f enters, so a layer that it has not reached
has errors and gradients of exactly zero, in float32 as well. That is so for layers l <= H - t after
step t, as the error moves down one layer per step. The first H steps are therefore cut into a fixed
number of stages, and each evaluates only the layers that are reached by its end.

*Exact.* For linear nodes p_l(z) = A_l z, with B_l = A_L ... A_{l+1} and S = I + sum_{l<L} B_l
B_l^T, e_L = S^{-1} r and e_l = B_l^T e_L (mupc Eq. 30-31, pcn-limits Eq. 5, 24, 104, for any output
size).
"""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from scaling_limits.cells import AlgorithmSpec
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.networks.network import (
    Network,
    Params,
    Scaling,
    Segment,
    Stacks,
    shift_down,
    shift_up,
    top_of,
)

NUM_STAGES = 4
"""More stages evaluate fewer layers, down to half, but each is one more loop to compile."""


def gradients(
    network: Network,
    params: Params,
    scaling: Scaling,
    x: Float[Array, "batch in"],
    y: Float[Array, "batch out"],
    options: AlgorithmSpec,
    numbers: Mapping[str, Array],
) -> tuple[Params, dict[str, Array]]:
    """Gradient of the batch-mean energy with respect to the weights at the inferred activities.

    `numbers["activity_learning_rate"]` is the step beta of `gradient_descent`, on the gradient of
    the batch mean (`activity_gradient: batch_mean`, so beta/B per sample) or of each sample's own
    energy (`per_sample`).

    Metrics: `train_loss` (of the forward pass) and `energy` (after inference), both batch means.

    Raises:
        ConfigurationError: for options that are missing or do not go with the network.
    """
    forward = network.activities(params, scaling, x)
    inputs = shift_down(x, forward)
    residual = y - forward[-1][0]
    if options.inference == "exact":
        if not network.linear:
            raise ConfigurationError(
                "inference: exact is a closed form of linear networks; "
                "use gradient_descent, or activation: linear"
            )
        errors, inputs, energy = _exact(network, params, scaling, inputs, residual)
    elif options.inference == "gradient_descent":
        steps = options.num_inference_steps
        if steps is None or steps < 0:
            raise ConfigurationError("gradient_descent needs num_inference_steps of at least 0")
        if options.activity_gradient is None:
            raise ConfigurationError("gradient_descent needs activity_gradient")
        step_size = numbers["activity_learning_rate"]
        if options.activity_gradient == "batch_mean":
            step_size = step_size / x.shape[0]
        errors, inputs = _descend(network, params, scaling, inputs, residual, step_size, steps)
        energy = 0.5 * jnp.stack([(e**2).sum() for e in errors]).sum() / x.shape[0]
    else:
        valid = ["gradient_descent", "exact"]
        raise ConfigurationError(unknown("inference", options.inference, valid))
    loss = 0.5 * (residual**2).sum() / x.shape[0]
    grads = _weight_gradients(network, params, scaling, inputs, errors)
    return grads, {"train_loss": loss, "energy": energy}


def rescaling_matrix(
    network: Network, params: Params, scaling: Scaling, dtype: jnp.dtype
) -> Float[Array, "out out"]:
    """S of a linear network: mean squared error r.r becomes r S^{-1} r at equilibrium (pcn-limits
    Eq. 6, mupc 31).

    Raises:
        ConfigurationError: if the network is not linear.
    """
    if not network.linear:
        raise ConfigurationError("the rescaling matrix is defined for linear networks only")
    x = jnp.zeros((1, network.input_dim), dtype)
    inputs = shift_down(x, network.activities(params, scaling, x))
    return _rescaling(_jacobians(network, params, scaling, inputs))


def _weight_gradients(
    network: Network, params: Params, scaling: Scaling, inputs: Stacks, errors: Stacks
) -> Params:
    batch = errors[-1].shape[1]
    _, pullback = jax.vjp(lambda params: network.predictions(params, scaling, inputs), params)
    grads: Params = pullback(jax.tree.map(lambda e: -e / batch, errors))[0]
    return grads


def _descend(
    network: Network,
    params: Params,
    scaling: Scaling,
    inputs: Stacks,
    residual: Array,
    step_size: Array,
    num_steps: int,
) -> tuple[Stacks, Stacks]:
    """Errors and inputs of all nodes after `num_steps` synchronous steps.

    Everything is laid out by the node that a hidden activity is the input of: stacks over nodes
    2..L.
    """
    num_hidden = network.num_weight_layers - 1
    displacements = top_of(jax.tree.map(jnp.zeros_like, inputs), network.top(num_hidden))
    done = 0
    for end, reach in _stages(num_steps, num_hidden):
        part = network.top(reach)
        part_inputs = top_of(inputs, part)
        moved = _relax(
            part,
            top_of(params, part),
            scaling,
            part_inputs,
            residual,
            top_of(displacements, part),
            step_size,
            done,
            end,
        )
        kept = len(displacements) - len(moved)
        displacements = displacements[:kept] + tuple(
            whole.at[whole.shape[0] - new.shape[0] :].set(new)
            for whole, new in zip(displacements[kept:], moved, strict=True)
        )
        done = end
    above = network.top(num_hidden)
    base = top_of(inputs, above)
    above_params = top_of(params, above)
    moved_inputs = _add(base, displacements)
    before = above.predictions(above_params, scaling, base)
    after = above.predictions(above_params, scaling, moved_inputs)
    errors = _errors(above, displacements, before, after, residual, num_steps + 1)
    # node 1 sees the clamped input, so its prediction never moves
    return (displacements[0][:1], *errors), (inputs[0], *moved_inputs)


def _stages(num_steps: int, num_hidden: int) -> list[tuple[int, int]]:
    """(last step, number of hidden layers reached by then) of each stage; steps count from 1."""
    ramp = min(num_steps, num_hidden)
    count = min(NUM_STAGES, ramp)
    ends = [-(-stage * ramp // count) for stage in range(1, count + 1)]
    stages = [(end, end) for end in ends]
    if num_steps > num_hidden:
        stages[-1] = (num_steps, num_hidden)
    return stages


def _relax(
    part: Network,
    params: Params,
    scaling: Scaling,
    base: Stacks,
    residual: Array,
    displacements: Stacks,
    step_size: Array,
    done: int,
    end: int,
) -> Stacks:
    """Steps `done + 1 .. end` on the activities that enter the nodes of `part`.

    The lowest of them is predicted by a node whose own input does not move, so its error is its
    displacement.
    """

    def predict(displacements: Stacks) -> Stacks:
        return part.predictions(params, scaling, _add(base, displacements))

    before = part.predictions(params, scaling, base)

    def step(displacements: Stacks, number: Array) -> tuple[Stacks, None]:
        after, pullback = jax.vjp(predict, displacements)
        errors = _errors(part, displacements, before, after, residual, number)
        explained = pullback(errors)[0]
        own = shift_down(displacements[0][0], errors)
        rate = jnp.asarray(step_size, residual.dtype)
        return jax.tree.map(lambda d, e, b: d - rate * (e - b), displacements, own, explained), None

    return jax.lax.scan(step, displacements, jnp.arange(done + 1, end + 1))[0]


def _errors(
    part: Network,
    displacements: Stacks,
    before: Stacks,
    after: Stacks,
    residual: Array,
    number: Array | int,
) -> Stacks:
    """Errors of the nodes of `part` at the start of step `number`.

    The input of node k has moved by then if k >= H - number + 3. Elsewhere the change of the
    prediction is zero but for round-off (the two evaluations may be compiled differently), and is
    set to zero.
    """
    lowest = part.segments[-1].first - number + 2
    changes = tuple(
        jnp.where((segment.indices() >= lowest)[:, None, None], new - old, 0.0)
        for segment, new, old in zip(part.segments, after, before, strict=True)
    )
    targets = shift_up(displacements, residual)
    return tuple(target - change for target, change in zip(targets, changes, strict=True))


def _exact(
    network: Network, params: Params, scaling: Scaling, inputs: Stacks, residual: Array
) -> tuple[Stacks, Stacks, Array]:
    jacobians = _jacobians(network, params, scaling, inputs)
    output_error = jnp.linalg.solve(_rescaling(jacobians), residual.T).T
    errors: Stacks = tuple(jnp.einsum("bc,lcn->lbn", output_error, b) for b in jacobians)
    energy = 0.5 * (residual * output_error).sum() / residual.shape[0]
    x = inputs[0][0]
    activities = []
    for segment, stacked, error in zip(network.segments, params, errors, strict=True):
        x, stack = _rollout(segment, stacked, scaling, x, error)
        activities.append(stack)
    return errors, shift_down(inputs[0][0], tuple(activities)), energy


def _rescaling(jacobians: Stacks) -> Array:
    """Sum over all nodes of B_l B_l^T; that of the output node is the identity."""
    parts = [jnp.einsum("lcn,ldn->cd", b, b) for b in jacobians]
    return jnp.stack(parts).sum(axis=0)


def _jacobians(network: Network, params: Params, scaling: Scaling, inputs: Stacks) -> Stacks:
    """B_l `[count, out, units]` of every node, the derivative of f by that node's output: one
    backward pass.
    """
    size = network.segments[-1].apply(_first(params[-1]), scaling, inputs[-1][0]).shape[-1]
    rows = jnp.eye(size, dtype=inputs[-1].dtype)
    stacks: list[Array] = []
    for segment, stacked, stack in reversed(
        list(zip(network.segments, params, inputs, strict=True))
    ):
        origin = jnp.zeros((size, stack.shape[-1]), stack.dtype)

        def pull(
            rows: Array, params: Any, segment: Segment = segment, origin: Array = origin
        ) -> Any:
            _, pullback = jax.vjp(lambda z: segment.apply(params, scaling, z), origin)
            return pullback(rows)[0], rows

        if segment.count == 1:
            rows, here = pull(rows, _first(stacked))
            stacks.insert(0, here[None])
        else:
            rows, here = jax.lax.scan(pull, rows, stacked, reverse=True)
            stacks.insert(0, here)
    return tuple(stacks)


def _rollout(
    segment: Segment, stacked: Any, scaling: Scaling, x: Array, errors: Array
) -> tuple[Array, Array]:
    """The last and all of z_l = p_l(z_{l-1}) + e_l over a run of equal nodes."""
    if segment.count == 1:
        z = segment.apply(_first(stacked), scaling, x) + errors[0]
        return z, z[None]

    def step(z: Array, node: tuple[Any, Array]) -> tuple[Array, Array]:
        params, error = node
        z = segment.apply(params, scaling, z) + error
        return z, z

    return jax.lax.scan(step, x, (stacked, errors))


def _first(stacked: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[0], stacked)


def _add(left: Stacks, right: Stacks) -> Stacks:
    return tuple(a + b for a, b in zip(left, right, strict=True))

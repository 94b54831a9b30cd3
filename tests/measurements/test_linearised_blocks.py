"""depth-mup (B3), (B4) and Claim 7.6: training of blocks of two layers beside training of their linearisation."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from scaling_limits import networks
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import AlgorithmSpec, NetworkSpec
from scaling_limits.measurements import linearisation
from scaling_limits.measurements.context import Context

WIDTH, INPUT_DIM, STEPS, DEPTHS = 32, 8, 10, (4, 64)


@functools.cache
def program(num_blocks):
    """`run(rate, branch) -> loss curves of blocks and of linearised blocks, distance of the former at the end`: Adam on
    the blocks of a drawn network, at its rate and the branch multiplier.
    """
    described = NetworkSpec(
        name="mlp",
        input_dim=INPUT_DIM,
        output_dim=2,
        width=WIDTH,
        num_hidden_layers=num_blocks + 1,
        activation="tanh",
        activation_position="after_weight",
        skip=True,
        mean_subtraction=True,
        block_depth=2,
    )
    network = networks.build(described)
    rng = np.random.default_rng(0)
    x, y = (jnp.asarray(rng.normal(size=(16, n)), jnp.float32) for n in (INPUT_DIM, 2))
    numbers = {"init_std": WIDTH**-0.5, "multiplier": 1.0}
    names = ("hidden_1", "hidden_2", "output")

    def scaling(branch):
        own = {name: numbers | {"branch": branch} for name in names}
        return own | {"input": numbers | {"init_std": INPUT_DIM**-0.5}}

    drawn = network.init(jax.random.key(0), scaling(1.0), "normal", jnp.float32)

    @jax.jit
    def run(rate, branch):
        entry, blocks, output = network.segments
        first, initial, last = drawn
        given, rule = scaling(branch), optax.adam(rate)

        def as_it_is(z, now, first):
            return blocks.apply(now, given, z)

        def linearised(z, now, first):
            moved = jax.tree.map(jnp.subtract, now, first)
            before, change = jax.jvp(lambda w: blocks.apply(w, given, z), (first,), (moved,))
            return before + change

        def of_one(segment, stacked, z):
            return segment.apply(jax.tree.map(lambda leaf: leaf[0], stacked), given, z)

        def train(block):
            def loss(now):
                z, _ = jax.lax.scan(
                    lambda z, entry: (block(z, *entry), None),
                    of_one(entry, first, x),
                    (now, initial),
                )
                return 0.5 * ((of_one(output, last, z) - y) ** 2).sum(axis=1).mean()

            def step(state, _):
                now, moments = state
                value, gradients = jax.value_and_grad(loss)(now)
                updates, moments = rule.update(gradients, moments)
                return (optax.apply_updates(now, updates), moments), value

            return jax.lax.scan(step, (initial, rule.init(initial)), None, length=STEPS)

        ((now, _), curve), (_, other) = train(as_it_is), train(linearised)
        options = AlgorithmSpec(name="backpropagation")
        problem = Problem(network, (first, now, last), given, x, y, options)
        context = Context(problem, drawn, x, y, x, y, backpropagation)
        return curve, other, linearisation.measure(context)["linearisation_distance"]

    return run


@pytest.mark.parametrize(("alpha", "gamma", "shrinks"), [(0.5, 0.5, True), (1.0, 0.0, False)])
def test_linearised_blocks_train_as_blocks_do_if_rates_fall_with_depth(alpha, gamma, shrinks):
    """The distance falls as L^-gamma, and the gap of the losses with it."""
    gaps, distances = [], []
    for depth in DEPTHS:
        curve, other, distance = program(depth)(0.2 * depth**-gamma / WIDTH, depth**-alpha)
        assert curve[-1] < 0.5 * curve[0]
        gaps.append(float(abs(curve - other).max() / curve[0]))
        distances.append(float(distance))
    slope = np.diff(np.log(distances))[0] / np.diff(np.log(DEPTHS))[0]
    assert slope == pytest.approx(-gamma, abs=0.15)
    assert (gaps[1] < 0.3 * gaps[0]) == shrinks

"""Coordinate checks over width and depth: what ten steps do to the features of Flax models.

A power of a size is fitted to root mean squares. Theory has zero for all features under the scaler; the nearest wrong
exponent differs by 1/2 for initial weights and multipliers and by 1 for learning rates. Up to `STABLE` counts as zero.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scaled_models import MLP, Block, ResNet, Transformer, init, rms, slope, train

import scaling_limits

STABLE = 0.15
STEPS, SEEDS, BASE = 10, 2, 16


def changes(model, rule, params):
    """RMS of the changes of logits and features, and of the features after training, over seeds."""

    @jax.jit
    @jax.vmap
    def run(params):
        _, (logits, first), (trained, last) = train(model, rule, STEPS)(params)
        moved = [b - a for a, b in zip([logits, *first], [trained, *last], strict=True)]
        return [rms(x) for x in (*moved, *last)]

    return [float(np.sqrt(np.mean(np.square(values)))) for values in run(params)]


def fitted(build, widths, optimiser, *, scaled, **numbers):
    """Powers of the width."""
    rows = []
    for width in widths:
        draws, rule = inits(build(width, False)), optimiser(**numbers)
        if scaled:
            rules = [
                scaling_limits.mup(params, base, optimiser.__name__)
                for params, base in zip(draws, inits(build(BASE, False)), strict=True)
            ]
            draws = [mup.rescale(params) for mup, params in zip(rules, draws, strict=True)]
            rule = rules[0].optimiser(optimiser, **numbers)
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *draws)
        rows.append(changes(build(width, scaled), rule, stacked))
    return [slope(widths, column) for column in np.transpose(rows)]


def inits(model):
    """The parameters of each seed."""
    return [init(model, seed) for seed in range(SEEDS)]


def mlp(width, scaled):
    return MLP(width)


def transformer(width, scaled):
    """Of four heads, whose size grows."""
    return Transformer(width, heads=4, score=(width / BASE) ** -0.5 if scaled else 1.0)


# epsilon is of the order of the gradients' entries, so that its powers count
ADAM = {"learning_rate": 0.005, "eps": 1e-3}
CASES = [
    (mlp, (64, 128, 512), optax.adam, ADAM),
    (mlp, (64, 512), optax.sgd, {"learning_rate": 0.5}),
    (transformer, (32, 128), optax.adam, ADAM),
]


@pytest.mark.parametrize(("build", "widths", "optimiser", "numbers"), CASES)
def test_features_do_not_depend_on_the_width(build, widths, optimiser, numbers):
    powers = fitted(build, widths, optimiser, scaled=True, **numbers)
    assert np.abs(powers).max() < STABLE, powers


@pytest.mark.parametrize(("build", "widths", "optimiser", "numbers"), CASES[:1] + CASES[2:])
def test_they_do_under_the_standard_parameterisation(build, widths, optimiser, numbers):
    powers = fitted(build, (widths[0], widths[-1]), optimiser, scaled=False, **numbers)
    assert np.max(powers) > 2 * STABLE, powers


WIDTH, DEPTHS, BASE_DEPTH = 32, (4, 16, 64), 1
"""Under alpha = 1 what random blocks add to the stream vanishes as depth^(-1/2). A base depth of 1 makes it small from
the first of the depths on, so that powers are those of large depth."""


def distance(params, trained, x):
    """RMS over blocks of the distance of their change from its linearisation in their own weights, relative to it."""

    def of_block(first, last, x):
        def block(weights):
            return Block(WIDTH).apply({"params": weights}, x)

        moved = jax.tree.map(jnp.subtract, last, first)
        before, linear = jax.jvp(block, (first,), (moved,))
        change = block(last) - before
        return rms(change - linear) / rms(change)

    return rms(jax.vmap(of_block)(params["blocks"], trained["blocks"], x))


@functools.cache
def depth_powers(alpha, optimiser, rate, depths):
    """Powers of the depth in the changes of logits and stream, in the stream's size, and in `distance`."""
    # of the order of the gradients' entries
    numbers = {"learning_rate": rate} | ({"eps": 1e-3} if optimiser is optax.adam else {})
    rows = []
    for depth in depths:
        params = init(ResNet(WIDTH, depth))
        mup = scaling_limits.mup(
            params,
            params,
            optimiser.__name__,
            depth=(BASE_DEPTH, depth),
            branches="blocks/*",
            depth_exponent=alpha,
        )
        branch = mup.multipliers["residual branches"]
        rule = mup.optimiser(optimiser, **numbers)
        run = jax.jit(functools.partial(stream, ResNet(WIDTH, depth, branch), rule))
        rows.append(run(params))
    return [slope(depths, column) for column in np.transpose(rows)]


def stream(model, rule, params):
    """RMS of the changes of logits and stream, and of the stream after training, and `distance`."""
    trained, (logits, (first, _)), (last_logits, (last, entering)) = train(model, rule, STEPS)(
        params
    )
    change = rms(last_logits - logits), rms(last - first), rms(last)
    return [*change, distance(params, trained, entering)]


ENDS = (DEPTHS[0], DEPTHS[-1])


@pytest.mark.parametrize(
    ("optimiser", "rate", "depths"), [(optax.adam, 0.003, DEPTHS), (optax.sgd, 0.1, ENDS)]
)
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_features_do_not_depend_on_the_depth(alpha, optimiser, rate, depths):
    *powers, _ = depth_powers(alpha, optimiser, rate, depths)
    assert np.abs(powers).max() < STABLE, powers


def test_blocks_learn_nonlinearly_at_every_depth_under_completep():
    """Theory: the distance is of the power alpha - 1 of the depth."""
    *_, completep = depth_powers(1.0, optax.adam, 0.003, DEPTHS)
    *_, depth_mup = depth_powers(0.5, optax.adam, 0.003, DEPTHS)
    assert abs(completep) < STABLE
    assert depth_mup < -2 * STABLE


def test_the_stream_grows_with_the_depth_under_the_standard_parameterisation():
    rows = []
    for depth in ENDS:
        run = jax.jit(functools.partial(stream, ResNet(WIDTH, depth), optax.adam(0.003)))
        rows.append(run(init(ResNet(WIDTH, depth))))
    _, *powers, _ = (slope(ENDS, column) for column in np.transpose(rows))
    assert min(powers) > 2 * STABLE, powers

"""Where errors point: pc-tp Fig. 2 in linear networks, and the cosines themselves."""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_networks import EXACT, build, data, descent, drawn

from scaling_limits.algorithms.predictive_coding import computation as predictive_coding
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import NetworkSpec
from scaling_limits.measurements import error_alignment
from scaling_limits.measurements.context import Context
from scaling_limits.measurements.stacks import cosines as cosines_of

WIDTHS = (32, 128, 512, 2048)
EXPONENTS = (0.0, -0.5, -1.0)
NUM_SEEDS = 5


def context(network, params, scaling, x, y, options=EXACT, numbers=None):
    problem = Problem(network, params, scaling, x, y, options, numbers or {})
    return Context(problem, params, x, y, x, y, predictive_coding)


@functools.cache
def measured(width, output_dim, seeds=NUM_SEEDS, num_hidden_layers=2):
    """{exponent: {metric: mean over seeds `[L]`}} at equilibrium, of weights as muP draws them:
    variance 1/fan_in, at the output 1/M^2. 16 normal samples and targets.
    """
    network, _, scaling = build(
        width=width, output_dim=output_dim, input_dim=16, num_hidden_layers=num_hidden_layers
    )
    for role, std in {"input": 1 / 4, "hidden": width**-0.5, "output": 1 / width}.items():
        scaling[role] |= {"init_std": std, "multiplier": 1.0}
    x, y = data(batch=16, input_dim=16, output_dim=output_dim)

    @jax.jit
    def run(params, weight):
        numbers = scaling | {"output": scaling["output"] | {"energy_weight": weight}}
        return error_alignment.measure(context(network, params, numbers, x, y))

    drawings = [drawn(network, scaling, seed) for seed in range(seeds)]
    return {
        exponent: jax.tree.map(
            lambda *v: np.mean(v, axis=0), *[run(p, width**-exponent) for p in drawings]
        )
        for exponent in EXPONENTS
    }


def test_one_output_points_as_backpropagation():
    """pc-tp Sec. 4.2 (A4): cos(e_l*, delta_l e_L) = 1 for every layer, width and exponent."""
    for width in (4, 32, 128):
        for cosines in measured(width, 1, seeds=2, num_hidden_layers=3).values():
            np.testing.assert_allclose(cosines["error_cosine_bp"], 1.0, rtol=1e-10)


def first_layer(metric, exponent):
    return [float(measured(width, 10)[exponent][metric][0]) for width in WIDTHS]


def test_wide_networks_point_as_backpropagation():
    """pc-tp Fig. 2 (b, c), C1: more so with width, and with the exponent of gamma_L."""
    known = {0.0: (1.0, 1.0), -0.5: (0.9999, 1.0), -1.0: (0.994, 0.9987)}
    curves = {exponent: first_layer("error_cosine_bp", exponent) for exponent in EXPONENTS}
    for exponent, curve in curves.items():
        assert all(a < b for a, b in itertools.pairwise(curve)), (exponent, curve)
        np.testing.assert_allclose(curve[2:], known[exponent], atol=0.02)
    for flat, steep in itertools.pairwise(EXPONENTS):
        assert all(a < b for a, b in zip(curves[steep], curves[flat], strict=True))


def test_backpropagation_approaches_the_target():
    """pc-tp Fig. 2 (b), C2."""
    curve = first_layer("error_cosine_bp_gn", 0.0)
    assert all(a < b for a, b in itertools.pairwise(curve)), curve
    np.testing.assert_allclose(curve[2:], (0.979, 0.996), atol=0.02)


def test_exponent_minus_one_is_nearer_to_the_damped_target():
    """C3: at every width, and with gamma_L = 1 it is the other way round."""
    damped, plain = (first_layer(f"error_cosine_{name}", -1.0) for name in ("gn_damped", "bp"))
    assert all(a > b for a, b in zip(damped, plain, strict=True)), (damped, plain)
    assert all(a < b for a, b in itertools.pairwise(damped)), damped
    unit = measured(32, 10)[0.0]
    assert unit["error_cosine_bp"][0] > unit["error_cosine_gn_damped"][0]


@pytest.mark.parametrize("output_dim", [2, 32])
def test_more_outputs_point_away_from_backpropagation(output_dim):
    """pc-tp Fig. 2 (a)."""
    known = {2: 0.993, 32: 0.939}
    value = float(measured(128, output_dim)[-1.0]["error_cosine_bp"][0])
    assert value == pytest.approx(known[output_dim], abs=0.02)


def test_layers_without_errors_have_cosine_zero():
    network, params, scaling = build(scheme="sp_gaussian", activation="tanh", output_dim=3)
    x, y = data(output_dim=3)
    given = context(network, params, scaling, x, y, descent(1), {"activity_learning_rate": 0.1})
    cosines = jax.jit(lambda: error_alignment.measure(given))()
    assert set(cosines) == set(error_alignment.AXES)
    assert all(values.shape == (5,) for values in cosines.values())
    between = cosines.pop("error_cosine_bp_gn")
    assert bool((between[:4] > 0).all())
    assert between[4] == pytest.approx(1.0, rel=1e-10)
    for values in cosines.values():
        np.testing.assert_array_equal(values[:3], 0.0)
        assert bool((values[3:] > 0.1).all())
    # the first error to arrive is backpropagation's, times the step
    assert cosines["error_cosine_bp"][3] == pytest.approx(1.0, rel=1e-10)


def test_cosines_of_faint_errors_and_of_diverged_ones():
    faint = jnp.full((1, 2, 3), 1e-30, jnp.float32)
    opposite = jnp.stack([faint[0], -faint[0], jnp.zeros_like(faint[0])])
    along = jnp.stack([faint[0]] * 3)
    np.testing.assert_allclose(cosines_of((along,), (opposite,)), [1.0, -1.0, 0.0], rtol=1e-6)
    assert math.isnan(cosines_of((faint,), (jnp.full_like(faint, jnp.inf),))[0])


def test_labels_are_the_nodes():
    spec = NetworkSpec(
        name="mlp",
        input_dim=5,
        output_dim=3,
        width=8,
        num_hidden_layers=2,
        activation="linear",
        activation_position="before_weight",
        skip=False,
        mean_subtraction=False,
    )
    assert error_alignment.labels(spec) == {"layer": (1, 2, 3)}

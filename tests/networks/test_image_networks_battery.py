"""Sizes of convolutional networks at initialisation and after one step, over widths, against theory.

Slopes are log-log fits of root mean squares; a power off by 1/2 has to show.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from image_networks import cell, drawn, images, scaling_of

from scaling_limits import algorithms, networks
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.convolutional.architectures import ARCHITECTURES
from scaling_limits.parameterisations.table import ROLES, Exponents, find_row
from scaling_limits.parameterisations.theory import width_exponents
from toys import gradients

SHAPE, BATCH, SEEDS = (20, 20, 1), 4, 4
WIDTHS = {"cnn": (4, 32), "vgg5": (2, 8)}
TOLERANCE, DETECTED = 0.15, 0.35
SWEEP = {
    "algorithm": "predictive_coding",
    "inference": "gradient_descent",
    "num_inference_steps": 1,
    "activity_gradient": "per_sample",
    "activity_learning_rate": 1.0,
    "inference_order": "sequential",
    # orders are those of an infinitesimal gamma' where it grows with the width
    "energy_weight": 0.5,
    "output_energy_weight": 0.01,
}
ALGORITHMS = {"backpropagation": {}, "predictive_coding": SWEEP}


@functools.cache
def program(name, width, algorithm):
    """Root mean squares of each layer's preactivation and of its change by one step of its own weights,
    and of the output's change by the others.
    """
    own = cell(network=name, width=width, input_shape=list(SHAPE), **ALGORITHMS[algorithm])
    network, module = networks.build(own.network), algorithms.get(own.algorithm)
    x = jnp.asarray(images(SHAPE, BATCH), jnp.float32)
    y = jnp.asarray(np.random.default_rng(2).normal(size=(BATCH, 10)), jnp.float32)
    numbers = {"activity_learning_rate": jnp.float32(1.0), "seed": 0}

    def rms(stacks):
        return jnp.stack([jnp.sqrt((stack**2).mean()) for stack in stacks])

    @jax.jit
    def run(params, scaling):
        problem = Problem(network, params, scaling, x, y, own.algorithm, numbers)
        grads, _ = gradients(module, problem)
        changes = tuple(
            jax.tree.map(lambda g, rate=scaling[s.role]["learning_rate"]: -rate * g, gradient)
            for s, gradient in zip(network.segments, grads, strict=True)
        )
        activities = problem.activities()
        moved = network.predictions(changes, scaling, problem.inputs(activities))
        below = (*changes[:-1], jax.tree.map(jnp.zeros_like, changes[-1]))
        _, change = jax.jvp(lambda p: network.forward(p, scaling, x), (params,), (below,))
        return {
            "preactivation": rms(activities),
            "update": rms(moved),
            "output_change": rms([change]),
        }

    return network, run


def slopes(name, scheme, algorithm, **changes):
    """By name, of logarithms averaged over seeds."""
    sizes = []
    for width in WIDTHS[name]:
        network, run = program(name, width, algorithm)
        settings = {**ALGORITHMS[algorithm], **changes, "input_shape": list(SHAPE)}
        own = cell(network=name, width=width, parameterisation=scheme, **settings)
        scaling = jax.tree.map(jnp.float32, scaling_of(own))
        drawings = [
            jax.tree.map(jnp.float32, drawn(network, scaling_of(own), seed))
            for seed in range(SEEDS)
        ]
        found = [run(params, scaling) for params in drawings]
        sizes.append(
            {key: np.mean([np.log(one[key]) for one in found], axis=0) for key in found[0]}
        )
    logs = np.log(WIDTHS[name])
    return {
        key: np.polyfit(logs, np.stack([size[key] for size in sizes]), 1)[0] for key in sizes[0]
    }


def deviation(found, scheme, algorithm, gamma, num_hidden):
    """The largest distance to what follows from the row's exponents for any network."""
    expected = width_exponents(
        find_row(scheme, "sgd"),
        num_hidden_layers=num_hidden,
        skip=False,
        exponents=Exponents(energy_weight_exponent=gamma),
        exponent_changes={},
        algorithm=algorithm,
    )
    return max(float(abs(found[key] - getattr(expected, key)).max()) for key in found)


CASES = [
    ("cnn", "mup", "backpropagation", None),
    ("cnn", "mean_field", "backpropagation", None),
    ("cnn", "ntk", "backpropagation", None),
    ("cnn", "sp_gaussian", "backpropagation", None),
    ("cnn", "pc_mup", "predictive_coding", 0.0),
    ("cnn", "pc_mup", "predictive_coding", -1.0),
    ("cnn", "sp_gaussian", "predictive_coding", None),
    ("vgg5", "mup", "backpropagation", None),
]


@pytest.mark.parametrize(("name", "scheme", "algorithm", "gamma"), CASES)
def test_width(name, scheme, algorithm, gamma):
    """The same powers as for an mlp: changes of order one in muP, and (-1/2, 1/2, 1) in SP (pc-tp B1)."""
    num_hidden = len(ARCHITECTURES[name].variants[0])
    found = slopes(name, scheme, algorithm, energy_weight_exponent=gamma)
    assert deviation(found, scheme, algorithm, gamma, num_hidden) < TOLERANCE
    flat = {"ntk": [-0.5, -0.5, 0.0], "sp_gaussian": [-0.5, 0.5, 1.0]}.get(scheme, 0.0)
    np.testing.assert_allclose(found["update"], flat, atol=TOLERANCE)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("quantity", ["init_std", "multiplier", "learning_rate"])
def test_a_wrong_power_of_width_shows(role, quantity):
    changes = {role: {quantity: {"width": 0.5}}}
    found = slopes("cnn", "mup", "backpropagation", exponent_changes=changes)
    assert not deviation(found, "mup", "backpropagation", None, 2) <= DETECTED

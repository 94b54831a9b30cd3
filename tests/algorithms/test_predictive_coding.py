import functools
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_networks import (
    EXACT,
    UNEQUAL,
    build,
    data,
    descent,
    drawn,
    kernels,
    matrices,
    per_layer,
    unstacked,
)

from scaling_limits import algorithms
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.predictive_coding import computation as predictive_coding
from scaling_limits.algorithms.predictive_coding import descent as inference
from scaling_limits.algorithms.predictive_coding import exact
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import AlgorithmSpec
from scaling_limits.errors import ConfigurationError
from scaling_limits.limits import linear_equilibrium
from scaling_limits.networks.nodes import ACTIVATIONS
from toys import gradients

BP = AlgorithmSpec(name="backpropagation")


# as cells are (runtime.py), where round-off matters: with fewer optimisations tanh differs between loops
AS_CELLS = {
    "xla_backend_optimization_level": 3,
    "xla_llvm_disable_expensive_passes": False,
    "xla_cpu_use_fusion_emitters": True,
}


def infer(network, params, scaling, x, y, options, rate=0.1, compiled=None):
    @functools.partial(jax.jit, compiler_options=compiled)
    def run(params, rate):
        numbers = {"activity_learning_rate": rate}
        return gradients(
            predictive_coding, Problem(network, params, scaling, x, y, options, numbers)
        )

    return run(params, rate)


@functools.cache
def reference(num_hidden_layers, activation, skip, position, multipliers, branches, weights):
    """All layers, no displacements, automatic differentiation of the summed energy F: it and dF/dW
    per sample.
    """
    phi = ACTIVATIONS[activation]

    def predict(kernels, index, z):
        last = index == num_hidden_layers
        if position == "before_weight":
            out = multipliers[index] * (z if index == 0 else phi(z)) @ kernels[index].T
        else:
            out = multipliers[index] * z @ kernels[index].T
            out = out if last or (skip and index == 0) else phi(out)
        return branches[index] * out + z if skip and index > 0 and not last else out

    def energy(kernels, activities, x, y):
        below, above = [x, *activities], [*activities, y]
        return sum(
            0.5 * weights[index] * ((target - predict(kernels, index, z)) ** 2).sum()
            for index, (z, target) in enumerate(zip(below, above, strict=True))
        )

    @jax.jit
    def run(kernels, x, y, steps, rate):
        activities, z = [], x
        for index in range(num_hidden_layers):
            z = predict(kernels, index, z)
            activities.append(z)

        def step(_, activities):
            slopes = jax.grad(energy, argnums=1)(kernels, activities, x, y)
            return [z - rate * g for z, g in zip(activities, slopes, strict=True)]

        activities = jax.lax.fori_loop(0, steps, step, activities)
        value, grads = jax.value_and_grad(energy)(kernels, activities, x, y)
        return value / len(x), [g / len(x) for g in grads]

    return run


@pytest.mark.parametrize(
    ("steps", "num_hidden_layers", "activation", "skip", "position"),
    [
        (0, 6, "tanh", True, "before_weight"),
        (1, 6, "tanh", True, "before_weight"),
        (4, 6, "tanh", True, "before_weight"),
        (6, 6, "tanh", True, "before_weight"),
        (11, 6, "tanh", True, "before_weight"),
        (3, 1, "gelu", False, "before_weight"),
        (4, 3, "relu", False, "before_weight"),
        (3, 3, "tanh", True, "after_weight"),
    ],
)
def test_stages_give_what_plain_inference_gives(
    steps, num_hidden_layers, activation, skip, position
):
    """And each gradient is dF/dW_l over gamma_l (pc-tp S.33)."""
    network, params, scaling = build(
        activation=activation,
        skip=skip,
        num_hidden_layers=num_hidden_layers,
        output_dim=3,
        position=position,
        energy_weights=UNEQUAL,
    )
    x, y = data(output_dim=3)
    grads, metrics = infer(network, params, scaling, x, y, descent(steps), 0.15)
    names = ("multiplier", "branch", "energy_weight")
    run = reference(
        num_hidden_layers,
        activation,
        skip,
        position,
        *(tuple(per_layer(network, scaling, name)) for name in names),
    )
    energy, of_energy = run(kernels(params), x, y, steps, 0.15)
    np.testing.assert_allclose(metrics["energy"], energy, rtol=1e-10)
    weights = per_layer(network, scaling, "energy_weight")
    for gradient, slope, weight in zip(kernels(grads), of_energy, weights, strict=True):
        known = slope / weight
        np.testing.assert_allclose(gradient, known, atol=1e-10 * (1 + abs(known).max()))
    at_output = np.linalg.norm(of_energy[-1]) / np.linalg.norm(kernels(grads)[-1])
    assert at_output == pytest.approx(UNEQUAL["output"], rel=1e-8)


def cast(tree, dtype):
    return jax.tree.map(lambda leaf: leaf.astype(dtype), tree)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize(("activation", "skip"), [("linear", False), ("tanh", True)])
def test_error_moves_down_one_layer_per_step(dtype, activation, skip):
    """mupc F1: after t steps from the forward pass only W_l with l >= H - t + 1 have gradients."""
    num_hidden = 4
    network, params, scaling = build(
        scheme="sp_gaussian", activation=activation, skip=skip, width=32
    )
    params, (x, y) = cast((params, data()), dtype)
    for steps in (1, 3, 4):
        grads, _ = infer(network, params, scaling, x, y, descent(steps), 0.1)
        for layer, gradient in enumerate(kernels(grads), start=1):
            assert gradient.dtype == dtype
            reached = layer >= num_hidden - steps + 1
            assert bool((gradient != 0).any()) == reached, (steps, layer)


@pytest.mark.parametrize("activation", ["linear", "tanh"])
def test_faint_errors_are_not_drowned_by_round_off(activation):
    """In float32, displacements below the resolution of z leave gradients of their own size."""
    network, params, scaling = build(activation=activation, skip=True, width=32)
    sizes = {}
    for dtype in (jnp.float32, jnp.float64):
        narrow, (x, y) = cast((params, data()), dtype)
        grads, _ = infer(network, narrow, scaling, x, y, descent(4), 1e-4, AS_CELLS)
        sizes[dtype] = [np.sqrt((np.float64(g) ** 2).mean()) for g in kernels(grads)]
    assert sizes[jnp.float64][0] < 1e-14
    np.testing.assert_allclose(sizes[jnp.float32], sizes[jnp.float64], rtol=0.05)


@pytest.mark.parametrize(("num_hidden_layers", "output_dim"), [(1, 3), (5, 1), (5, 3)])
@pytest.mark.parametrize("skip", [False, True])
def test_exact_inference_is_the_closed_form(num_hidden_layers, output_dim, skip):
    """pcn-limits T1, T3, pc-tp Theorem 4.2: the network's own passes against explicit matrices."""
    network, params, scaling = build(
        scheme="mean_field" if skip else "sp_uniform",
        skip=skip,
        num_hidden_layers=num_hidden_layers,
        output_dim=output_dim,
        energy_weights=UNEQUAL,
    )
    x, y = data(output_dim=output_dim)
    weights, multipliers, effective = matrices(network, params, scaling, skip)
    gammas = per_layer(network, scaling, "energy_weight")
    grads, metrics = infer(network, params, scaling, x, y, EXACT)
    np.testing.assert_allclose(
        metrics["energy"],
        linear_equilibrium.equilibrium_energy(effective, x, y, gammas),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        metrics["train_loss"], linear_equilibrium.loss(effective, x, y), rtol=1e-12
    )
    np.testing.assert_allclose(
        exact.rescaling_matrix(Problem(network, params, scaling, x, y, EXACT)),
        linear_equilibrium.rescaling_matrix(effective, gammas),
        rtol=1e-10,
        atol=1e-12,
    )
    expected = linear_equilibrium.predictive_coding_gradients(
        weights, multipliers, x, y, skip=skip, energy_weights=gammas
    )
    for gradient, known in zip(kernels(grads), expected, strict=True):
        np.testing.assert_allclose(gradient, known, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["forward", "zeros", "normal"])
@pytest.mark.parametrize("order", ["synchronous", "sequential"])
def test_long_inference_reaches_the_equilibrium(kind, order):
    """pc-tp Theorem 4.2 (A2), from any activities: its errors, and its activities through the
    gradients. pcn-limits T1, mupc test 2.
    """
    skip = kind == "forward"
    network, params, scaling = build(
        scheme="mean_field" if skip else "sp_uniform",
        skip=skip,
        output_dim=3,
        energy_weights=UNEQUAL,
    )
    x, y = data(output_dim=3)
    _, _, effective = matrices(network, params, scaling, skip)
    gammas = per_layer(network, scaling, "energy_weight")
    options = descent(4000, activity_initialisation=kind, inference_order=order)
    forward = network.activities(params, scaling, x)
    numbers = {"activity_learning_rate": 0.3, "seed": 1}
    inferred = jax.jit(
        lambda params: inference.infer(
            Problem(network, params, scaling, x, y, options, numbers), forward
        )
    )(params)
    errors = linear_equilibrium.equilibrium_errors(effective, x, y, gammas)
    activities = linear_equilibrium.equilibrium_activities(effective, x, y, gammas)
    for own, known in zip(unstacked(inferred.errors), errors, strict=True):
        np.testing.assert_allclose(own, known, atol=1e-10)
    for own, known in zip(unstacked(inferred.inputs), [x, *activities[:-1]], strict=True):
        np.testing.assert_allclose(own, known, atol=1e-10)


@pytest.mark.parametrize("order", ["synchronous", "sequential"])
def test_a_hundred_small_steps_leave_a_third_of_the_first_error(order):
    """pc-tp (D2): with gamma_l = 0.01, and nothing fed back, 0.99^100 of -W_1 x is left."""
    weights = {"input": 0.01, "hidden": 1e-14, "output": 1e-14}
    network, params, scaling = build(scheme="sp_uniform", output_dim=3, energy_weights=weights)
    x, y = data(output_dim=3)
    options = descent(100, activity_initialisation="zeros", inference_order=order)
    problem = Problem(network, params, scaling, x, y, options, {"activity_learning_rate": 1.0})
    first = unstacked(predictive_coding.errors(problem))[0]
    start = unstacked(problem.activities())[0]
    np.testing.assert_allclose(first, -(0.99**100) * start, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("skip", [False, True])
def test_backpropagation_is_the_closed_form(skip):
    network, params, scaling = build(skip=skip, output_dim=3)
    x, y = data(output_dim=3)
    weights, multipliers, _ = matrices(network, params, scaling, skip)
    grads, _ = gradients(backpropagation, Problem(network, params, scaling, x, y, BP, {}))
    expected = linear_equilibrium.backpropagation_gradients(weights, multipliers, x, y, skip=skip)
    for gradient, known in zip(kernels(grads), expected, strict=True):
        np.testing.assert_allclose(gradient, known, atol=1e-12)


def test_batch_mean_divides_the_step_by_the_batch():
    network, params, scaling = build(activation="tanh", skip=True)
    x, y = data(batch=4)
    mean, _ = infer(network, params, scaling, x, y, descent(5, "batch_mean"), 0.8)
    each, _ = infer(network, params, scaling, x, y, descent(5, "per_sample"), 0.2)
    for a, b in zip(kernels(mean), kernels(each), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)


def test_small_steps_lower_the_energy():
    network, params, scaling = build(activation="tanh", skip=True)
    x, y = data()
    energies = [
        float(infer(network, params, scaling, x, y, descent(steps), 0.2)[1]["energy"])
        for steps in (0, 2, 9)
    ]
    assert all(b < a for a, b in pairwise(energies))


@pytest.mark.parametrize("algorithm", ["backpropagation", "predictive_coding"])
@pytest.mark.parametrize("skip", [False, True])
def test_mean_field_and_mup_train_alike(algorithm, skip):
    """pcn-limits T6: shifting (a, b, c) by (k, -2k, -2k), k = -1/2, changes no trajectory of GD."""
    width, depth, output_scale = 8, 5, 1.5
    network, params, mean_field = build(skip=skip, width=width, output_scale=output_scale)
    mup = {
        role: {
            "init_std": numbers["init_std"] / width**0.5,
            "multiplier": numbers["multiplier"] * width**0.5,
            "learning_rate": numbers["learning_rate"] / width,
            "branch": numbers["branch"],
            "energy_weight": numbers["energy_weight"],
        }
        for role, numbers in mean_field.items()
    }
    np.testing.assert_allclose(
        params[0]["linear"]["kernel"], drawn(network, mup)[0]["linear"]["kernel"] * width**0.5
    )
    assert mup["input"]["multiplier"] == pytest.approx((width / 5) ** 0.5)
    assert mup["hidden"]["multiplier"] == pytest.approx(1.0)
    assert mup["hidden"]["branch"] == pytest.approx(depth**-0.5 if skip else 1.0)
    assert mup["output"]["multiplier"] == pytest.approx(1 / (output_scale * width**0.5))
    assert mup["hidden"]["learning_rate"] == pytest.approx(output_scale**2)
    x, y = data()
    options = EXACT if algorithm == "predictive_coding" else BP
    module = algorithms.get(options)

    def train(scaling):
        params = drawn(network, scaling)
        rates = [0.03 * scaling[segment.role]["learning_rate"] for segment in network.segments]

        def step(params, _):
            grads, metrics = gradients(module, Problem(network, params, scaling, x, y, options, {}))
            moved = tuple(
                jax.tree.map(lambda p, g, rate=rate: p - rate * g, p, g)
                for p, g, rate in zip(params, grads, rates, strict=True)
            )
            return moved, jnp.stack(list(metrics.values()))

        return jax.lax.scan(step, params, None, length=50)[1]

    first, second = jax.jit(lambda: train(mean_field))(), jax.jit(lambda: train(mup))()
    assert float(first[-1, 0]) < 0.9 * float(first[0, 0])
    np.testing.assert_allclose(first, second, rtol=1e-11)


def test_the_exact_program_does_not_grow_with_depth():
    def size(num_hidden_layers):
        network, params, scaling = build(num_hidden_layers=num_hidden_layers, skip=True)
        x, y = data()

        def run(params):
            return gradients(predictive_coding, Problem(network, params, scaling, x, y, EXACT, {}))

        return str(jax.make_jaxpr(run)(params)).count(" = ")

    assert size(12) == size(20)


def test_unknown_algorithm():
    with pytest.raises(ConfigurationError, match="did you mean 'backpropagation'"):
        algorithms.get(AlgorithmSpec(name="backprop"))

"""K-FAC, FOOF and Shampoo against explicit matrices, in float64; second-order's T2 to T5, T9 and T10."""

import functools
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from observed_networks import NETWORKS, chosen, problem_of

from scaling_limits import optimisers
from scaling_limits.algorithms.backpropagation import Options
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.fisher import directions
from scaling_limits.algorithms.layerwise import output_jacobians
from scaling_limits.algorithms.problem import Problem
from scaling_limits.networks.nodes import ACTIVATIONS
from scaling_limits.optimisers import kronecker

ONE = {"multiplier": 1.0, "input_damping": 1.0, "output_damping": 1.0}
RULES = {
    "fixed": {"input_damping": 0.3, "output_damping": 0.02, "own_power": 0.0, "other_power": 0.0},
    "heuristic": {
        "input_damping": 0.1,
        "output_damping": 0.1,
        "own_power": 0.5,
        "other_power": -0.5,
    },
    "rescaled": {"input_damping": 0.7, "output_damping": 0.7, "own_power": 1.0, "other_power": 0.0},
}
SHAMPOO = {"damping": 1e-3, "preconditioner_exponent": 0.5}
FIRST = {"factor_decay": 0.9, "factor_weight": 0.1}
"""The first batch's factors as they are, and in weight space."""
SIZES: dict[str, dict[str, Any]] = {
    "narrow": {"width": 4, "depth": 3, "activation": "gelu"},
    "wide": {"width": 70, "depth": 3, "activation": "tanh"},
    "cnn": NETWORKS["cnn"],
}


def numbers(name: str, rule: str = "rescaled", **changes: float) -> dict[str, float]:
    own = SHAMPOO if name == "shampoo" else {**RULES[rule], "smallest_damping": 0.0}
    return {"momentum": 0.0, **own, **changes}


@functools.cache
def observing(network: Any, fisher: str, loss: str) -> Any:
    options = Options(name="backpropagation", loss=loss, fisher=fisher)

    def run(params: Any, scaling: Any, x: Any, y: Any, drawing: Any) -> Any:
        given = Problem(network, params, scaling, x, y, options, drawing)
        gradients, _, _, operations = backpropagation.observed_update(given, ())
        return gradients.forward, operations

    return jax.jit(run)


def observed(problem: Problem, fisher: str = "exact", loss: str = "mean_squared_error") -> Any:
    """Gradients and operations."""
    run = observing(problem.network, fisher, loss)
    return run(problem.params, problem.scaling, problem.x, problem.y, problem.numbers)


@functools.cache
def preconditioning(name: str) -> Any:
    def run(gradients: Any, operations: Any, own: Any, factors: Any) -> Any:
        rule = optimisers.registry.get(name).build(own, factors)
        needed = {key: operations[key] for key in optimisers.needs(name)}
        return rule.update(gradients, rule.init(gradients), **needed)

    return jax.jit(run)


def direction(name: str, gradients: Any, operations: Any, own: Any, factors: Any = ONE) -> Any:
    """What an optimiser makes of all gradients, and its state."""
    return preconditioning(name)(gradients, operations, own, factors)


def kernels(tree: Any) -> list[np.ndarray]:
    """The entries of all layers."""
    return [np.asarray(layer) for stack in jax.tree.leaves(tree) for layer in stack]


def flat(operation: np.ndarray) -> np.ndarray:
    return operation.reshape(-1, operation.shape[-1])


def factors_of(operations: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """A, a mean over samples and positions, and B, a mean over samples and a sum over positions."""
    found = []
    for x, d in zip(kernels(operations["inputs"]), kernels(operations["fisher"]), strict=True):
        a = np.mean([np.outer(row, row) for row in flat(x)], axis=0)
        b = sum(np.outer(row, row) for row in flat(d)) / len(x)
        found.append((a, b))
    return found


def rule_of(rule: str, a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """rho_A and rho_B by (7), (14) and (15), literally."""
    own = RULES[rule]
    mean_a, mean_b = np.trace(a) / len(a), np.trace(b) / len(b)
    if rule == "fixed":
        return own["input_damping"], own["output_damping"]
    if rule == "rescaled":
        return own["input_damping"] * mean_a, own["output_damping"] * mean_b
    pi = np.sqrt(mean_a / mean_b)
    return own["input_damping"] * pi, own["output_damping"] / pi


def assert_close(found: Any, expected: list[np.ndarray], rtol: float = 1e-8) -> None:
    for a, b in zip(kernels(found), expected, strict=True):
        assert np.abs(b).max() > 0
        np.testing.assert_allclose(a, b, rtol=0, atol=rtol * np.abs(b).max())


@pytest.mark.parametrize(
    ("rule", "fisher", "loss", "size"),
    [
        ("fixed", "exact", "mean_squared_error", "narrow"),
        ("heuristic", "sampled", "mean_squared_error", "wide"),
        ("rescaled", "exact", "cross_entropy", "wide"),
        ("rescaled", "sampled", "cross_entropy", "cnn"),
    ],
)
def test_kfac_and_foof_are_explicit_inverses(rule: str, fisher: str, loss: str, size: str) -> None:
    """(2), both where the rows are fewer than a factor's size and where they are not (10)."""
    gradients, operations = observed(problem_of(chosen(**SIZES[size])), fisher, loss)
    expected: dict[str, list[np.ndarray]] = {"kfac": [], "foof": []}
    for g, (a, b) in zip(kernels(gradients), factors_of(operations), strict=True):
        rho_a, rho_b = rule_of(rule, a, b)
        inputs = g @ np.linalg.inv(a + rho_a * np.eye(len(a)))
        expected["kfac"].append(np.linalg.inv(b + rho_b * np.eye(len(b))) @ inputs)
        expected["foof"].append(inputs)
    assert_close(
        direction("kfac", gradients, operations, numbers("kfac", rule))[0], expected["kfac"]
    )
    if rule != "heuristic":
        found = direction("foof", gradients, operations, numbers("foof", rule))[0]
        assert_close(found, expected["foof"])


def test_a_factor_has_the_smallest_damping_where_the_rule_says_less() -> None:
    """Between what the rescaled rule says of both factors of the layer."""
    gradients, operations = observed(problem_of(chosen(**SIZES["narrow"])))
    g, (a, b) = kernels(gradients)[1], factors_of(operations)[1]
    rho_a, rho_b = rule_of("rescaled", a, b)
    rho = (rho_a + rho_b) / 2
    assert min(rho_a, rho_b) < 0.9 * rho
    own = numbers("kfac", smallest_damping=rho)
    a, b = a + max(rho_a, rho) * np.eye(len(a)), b + max(rho_b, rho) * np.eye(len(b))
    found = kernels(direction("kfac", gradients, operations, own)[0])[1]
    np.testing.assert_allclose(found, np.linalg.solve(b, g) @ np.linalg.inv(a), rtol=1e-8)


@pytest.mark.parametrize("trace", [0.0, 1e-9, 1.0])
@pytest.mark.parametrize("size", ["narrow", "wide"])
@pytest.mark.parametrize(("rule", "smallest_damping"), [("fixed", 0.0), ("rescaled", 1e-7)])
def test_a_second_factor_of_zero_leaves_its_damping(
    rule: str, smallest_damping: float, size: str, trace: float
) -> None:
    """A single sample that is classified with certainty has B = 0: (B + rho_B)^-1 tends to 1/rho_B."""
    gradients, operations = observed(problem_of(chosen(**SIZES[size])))
    fisher = jax.tree.map(lambda d: np.sqrt(trace) * d, operations["fisher"])
    own = numbers("kfac", rule, smallest_damping=smallest_damping)
    found = direction("kfac", gradients, {**operations, "fisher": fisher}, own)[0]
    expected = []
    for g, (a, b) in zip(kernels(gradients), factors_of(operations), strict=True):
        rho_a, rho_b = (max(r, smallest_damping) for r in rule_of(rule, a, trace * b))
        left = np.linalg.solve(trace * b + rho_b * np.eye(len(b)), g)
        expected.append(left @ np.linalg.inv(a + rho_a * np.eye(len(a))))
    assert_close(found, expected)


def test_shampoo_in_float32_has_the_damping_that_survives_rounding() -> None:
    """16 machine epsilons of the largest eigenvalue, if less is asked for; e = 1 has no error of a hundred percent."""
    draws = np.random.default_rng(0)
    singular = np.geomspace(1.0, 1e-6, 12)
    left, right = (np.linalg.qr(draws.normal(size=(n, 12)))[0] for n in (40, 30))
    g = (left * singular) @ right.T
    floor = 16 * np.finfo(np.float32).eps
    for damping in (1e-3, 1e-6, 1e-8):
        expected = (left * (singular / (singular**2 + max(damping, floor)))) @ right.T
        own = {"momentum": np.float32(0.0), "damping": np.float32(damping)}
        own["preconditioner_exponent"] = np.float32(1.0)
        # of one batch with fewer samples than units, and of moments in weight space
        c, x = (np.float32(v) for v in ((left * singular).T, right.T))
        for accumulated in (False, True):
            more = {name: np.float32(v) for name, v in FIRST.items()} if accumulated else {}
            gradient = (np.float32(g)[None],)
            operations = {"cotangents": (c[None],), "inputs": (x[None],)}
            found = direction("shampoo", gradient, operations, {**own, **more})[0]
            error = np.linalg.norm(np.asarray(found[0][0]) - expected) / np.linalg.norm(expected)
            assert error < 0.02


def test_a_layer_by_the_inverse_of_its_kronecker_product() -> None:
    """(S.74), T4."""
    gradients, operations = observed(problem_of(chosen(**SIZES["narrow"])))
    found = direction("kfac", gradients, operations, numbers("kfac"))[0]
    g, (a, b) = kernels(gradients)[1], factors_of(operations)[1]
    rho_a, rho_b = rule_of("rescaled", a, b)
    damped = np.kron(b + rho_b * np.eye(len(b)), a + rho_a * np.eye(len(a)))
    expected = np.linalg.solve(damped, g.reshape(-1)).reshape(g.shape)
    np.testing.assert_allclose(kernels(found)[1], expected, rtol=1e-9)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("exponent", [0.5, 1.0, 0.3])
def test_shampoo_is_explicit_roots(exponent: float, size: str) -> None:
    """(3) with (S.45), in sample space (S.51) or by the smaller moment."""
    gradients, operations = observed(problem_of(chosen(**SIZES[size])))
    own = numbers("shampoo", preconditioner_exponent=exponent)

    def root(moment: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(moment)
        return (vectors * (values.clip(0) + 1e-3 * values[-1]) ** (-exponent / 2)) @ vectors.T

    expected = [root(g @ g.T) @ g @ root(g.T @ g) for g in kernels(gradients)]
    assert_close(direction("shampoo", gradients, operations, own)[0], expected)


@pytest.mark.parametrize("name", ["kfac", "foof", "shampoo"])
def test_both_spaces_agree(name: str) -> None:
    """The first accumulated factors are the batch's, in weight space (T2, S.51, S.66)."""
    problem = problem_of(chosen(**SIZES["wide"]))
    gradients, operations = observed(problem, "exact", "cross_entropy")
    one = direction(name, gradients, operations, numbers(name))[0]
    accumulated = direction(name, gradients, operations, numbers(name, **FIRST))[0]
    assert_close(accumulated, kernels(one))


def test_factors_accumulate() -> None:
    """(S.75) and (S.79), from the first batch's."""
    gradients, operations = observed(problem_of(chosen(**SIZES["narrow"])))
    for decay, weight in ((0.7, 0.3), (1.0, 1.0)):
        own = numbers("kfac", factor_decay=decay, factor_weight=weight)
        rule = optimisers.registry.get("kfac").build(own, ONE)
        state, update = rule.init(gradients), jax.jit(rule.update)
        for scale in (1.0, 2.0, 3.0):
            inputs = jax.tree.map(lambda x, s=scale: s * x, operations["inputs"])
            given = {**operations, "inputs": inputs}
            _, state = update(gradients, state, **given)
        grown = decay * (decay + 4 * weight) + 9 * weight
        expected = [grown * a for a, _ in factors_of(operations)]
        assert_close(state[0].factors["input"], expected)


@pytest.mark.parametrize("loss", ["mean_squared_error", "cross_entropy"])
def test_the_exact_fisher_of_jacobians(loss: str) -> None:
    """(S.62): the identity between Jacobians; (S.65): diag(sigma) - sigma sigma^T."""
    # without skips, outputs of nodes are those of their kernels
    own = chosen(**SIZES["narrow"], skip=False, parameterisation="sp_gaussian")
    problem = problem_of(own)
    _, operations = observed(problem, "exact", loss)
    inputs = problem.inputs(problem.activities())
    sigma = np.asarray(jax.nn.softmax(problem.forward()))
    for (_, b), jacobian in zip(
        factors_of(operations), kernels(output_jacobians(problem, inputs)), strict=True
    ):
        middle = [np.diag(s) - np.outer(s, s) for s in sigma]
        if loss == "mean_squared_error":
            middle = [np.eye(sigma.shape[1])] * len(sigma)
        expected = np.mean([j.T @ m @ j for j, m in zip(jacobian, middle, strict=True)], axis=0)
        np.testing.assert_allclose(b, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["mean_squared_error", "cross_entropy"])
def test_sampled_targets_give_the_fisher_in_expectation(loss: str) -> None:
    outputs = jnp.asarray([[0.3, -1.0, 2.0], [0.0, 0.5, -0.5]])
    count = 20_000
    keys = jax.random.split(jax.random.key(0), count)
    drawn = jax.vmap(lambda key: directions("sampled", loss, outputs, key)[0])(keys)
    exact = directions("exact", loss, outputs, keys[0])
    found = np.einsum("kbi,kbj->kbij", drawn, drawn)
    expected = np.einsum("cbi,cbj->bij", exact, exact)
    error = found.std(axis=0) / count**0.5
    assert np.all(abs(found.mean(axis=0) - expected) < 5 * error + 1e-12)


def test_targets_depend_on_seed_and_step_alone() -> None:
    problem = problem_of(chosen(**SIZES["narrow"]))

    def rows(**changes: int) -> np.ndarray:
        given = replace(problem, numbers={"seed": 0, "step": 0, **changes})
        return kernels(observed(given, "sampled")[1]["fisher"])[0]

    np.testing.assert_array_equal(rows(), rows())
    assert not np.any(rows() == rows(step=1))
    assert not np.any(rows() == rows(seed=1))


def test_without_powers_gradients_stay_as_they_are() -> None:
    """T3, bit for bit; and under a large damping they are divided by it."""
    gradients, operations = observed(problem_of(chosen(**SIZES["narrow"])))
    for own in (numbers("kfac"), numbers("kfac", **FIRST)):
        rule = kronecker.preconditioned(own, ONE, exponents=(0, 0))
        plain = rule.update(gradients, rule.init(gradients), **operations)[0]
        for a, b in zip(kernels(plain), kernels(gradients), strict=True):
            assert a.tobytes() == b.tobytes()
    damped = numbers("kfac", "fixed", input_damping=1e9, output_damping=1e7)
    found = direction("kfac", gradients, operations, damped)[0]
    assert_close(found, [g / 1e16 for g in kernels(gradients)], rtol=1e-6)
    none = numbers("shampoo", preconditioner_exponent=0.0)
    assert_close(direction("shampoo", gradients, operations, none)[0], kernels(gradients), 1e-10)


def test_convolutions_enter_as_windows() -> None:
    """KFC: the rows of A are all windows of all samples, those of B all positions."""
    problem = problem_of(chosen(**NETWORKS["cnn"]))
    _, operations = observed(problem)
    first = kernels(operations["inputs"])[0]
    images = np.asarray(problem.x).reshape(6, 16, 16)
    windows = [images[:, i : i + 5, j : j + 5].reshape(6, 25) for i in range(12) for j in range(12)]
    np.testing.assert_array_equal(flat(first), np.stack(windows, axis=1).reshape(-1, 25))
    assert kernels(operations["fisher"])[0].shape == (10, 6, 12, 12, 4)


@pytest.mark.parametrize(
    ("name", "accumulated"), [("kfac", True), ("kfac", False), ("shampoo", False)]
)
def test_stacked_layers_are_single_layers(name: str, accumulated: bool) -> None:
    gradients, operations = observed(problem_of(chosen(width=9, depth=4)))
    own = numbers(name, **(FIRST if accumulated else {}))
    stacked = direction(name, gradients, operations, own)[0]
    assert [len(leaf) for leaf in jax.tree.leaves(gradients)] == [1, 3, 1]

    def alone(tree: Any) -> tuple[Any, ...]:
        return tuple(layer[None] for stack in jax.tree.leaves(tree) for layer in stack)

    single = {key: alone(tree) for key, tree in operations.items()}
    found = direction(name, alone(gradients), single, own)[0]
    for a, b in zip(kernels(stacked), kernels(found), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["kfac", "foof", "shampoo"])
@pytest.mark.parametrize(
    ("size", "accumulated"), [("wide", False), ("wide", True), ("narrow", False)]
)
def test_zero_heads_and_exploded_weights(name: str, size: str, accumulated: bool) -> None:
    """What has no gradient stays, and what is infinite becomes not a number instead of an error."""
    problem = problem_of(chosen(**SIZES[size]))
    own = numbers(name, "heuristic" if name == "kfac" else "rescaled")
    own |= FIRST if accumulated else {}
    *lower, head = problem.params
    for scale, holds in ((0.0, lambda v: v == 0), (np.inf, np.isnan)):
        params = (*lower, jax.tree.map(lambda w, s=scale: jnp.full_like(w, s), head))
        gradients, operations = observed(replace(problem, params=params))
        found = kernels(direction(name, gradients, operations, own)[0])
        assert all(holds(layer).all() for layer in found[:-1])
        if not scale:
            assert np.isfinite(found[-1]).all()
            assert np.abs(found[-1]).max() > 0


def test_one_step_from_a_zero_head_is_kernel_ridge_regression() -> None:
    """(17), T9: with eta = 1 the output weights are those of the features at initialisation."""
    own = chosen(width=40, depth=2, depth_kind="hidden_layers", activation="tanh", skip=False,
                 parameterisation="sp_gaussian")  # fmt: skip
    problem = problem_of(own)
    *lower, head = problem.params
    problem = replace(problem, params=(*lower, jax.tree.map(jnp.zeros_like, head)))
    gradients, operations = observed(problem)
    rho_a, rho_b = RULES["fixed"]["input_damping"], RULES["fixed"]["output_damping"]
    found = direction("kfac", gradients, operations, numbers("kfac", "fixed"))[0]
    stepped = jax.tree.map(lambda w, d: w - d, problem.params, found)
    for a, b in zip(kernels(stepped)[:-1], kernels(problem.params)[:-1], strict=True):
        np.testing.assert_array_equal(a, b)
    x = jnp.asarray(np.random.default_rng(1).normal(size=(5, own.network.input_dim)))

    def features(x: Any) -> np.ndarray:
        hidden = replace(problem, x=x).activities()[-2][-1]
        return np.asarray(ACTIVATIONS["tanh"](hidden))

    train, test = features(problem.x), features(x)
    kernel = train @ train.T + len(train) * rho_a * np.eye(len(train))
    expected = test @ train.T @ np.linalg.solve(kernel, np.asarray(problem.y)) / (1 + rho_b)
    outputs = np.asarray(replace(problem, params=stepped, x=x).forward())
    np.testing.assert_allclose(outputs, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", ["kfac", "foof", "shampoo"])
def test_multipliers_move_into_initial_weights(name: str) -> None:
    """T5: (a, b, c) and (a + k, b - k, c - 2 k) are the same."""
    own = chosen(width=9, depth=3, activation="tanh", skip=False, parameterisation="sp_gaussian")
    problem = problem_of(own)

    def weights_after_a_step(multiplier: float) -> list[np.ndarray]:
        scaling = {
            role: {**given, "multiplier": multiplier} for role, given in problem.scaling.items()
        }
        params = jax.tree.map(lambda w: w / multiplier, problem.params)
        gradients, operations = observed(replace(problem, params=params, scaling=scaling))
        factors = {**ONE, "multiplier": multiplier}
        found = direction(name, gradients, operations, numbers(name, "fixed"), factors)[0]
        moved = jax.tree.map(lambda w, d: multiplier * (w - d / multiplier**2), params, found)
        return kernels(moved)

    for a, b in zip(weights_after_a_step(1.0), weights_after_a_step(0.2), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)


def test_faint_errors_in_float32_at_width_16384() -> None:
    """Entries of B about 1e-9 are solved for as in float64."""
    rng = np.random.default_rng(0)
    x, c, d = rng.normal(size=(24, 8)), rng.normal(size=(24, 16384)), rng.normal(size=(24, 16384))
    found = {}
    for kind in (np.float32, np.float64):
        inputs, cotangents, fisher = (
            (jnp.asarray(scale * v, kind)[None],)
            for scale, v in ((1.0, x), (1e-7, c), (3e-5, d[None]))
        )
        gradients = (jnp.einsum("lro,lri->loi", cotangents[0], inputs[0]),)
        operations = {"inputs": inputs, "cotangents": cotangents, "fisher": fisher}
        own = numbers("kfac", input_damping=0.1, output_damping=16.0)
        own = {name: kind(value) for name, value in own.items()}
        found[kind] = kernels(direction("kfac", gradients, operations, own)[0])
    assert_close(tuple(jnp.asarray(v)[None] for v in found[np.float32]), found[np.float64], 1e-4)

"""Every row of the table: sizes at initialisation and after one optimiser step, against theory.

Slopes are log-log fits of root mean squares over widths or depths; a power off by 1/2 has to show.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from scaling_limits import algorithms, networks
from scaling_limits.cells import AlgorithmSpec, NetworkSpec
from scaling_limits.networks.network import shift_down
from scaling_limits.parameterisations.table import ROLES, TABLE, resolve
from scaling_limits.parameterisations.theory import depth_exponents, width_exponents

INPUT_DIM, OUTPUT_DIM, BATCH = 16, 3, 8
WIDTHS, CONTROL_WIDTHS, DEPTHS = (64, 128, 256, 512), (64, 256), (17, 33, 65)
SEEDS = 6
TOLERANCE, DETECTED = 0.15, 0.35
RULES = {"sgd": optax.identity(), "adam": optax.scale_by_adam(eps=0.0)}
KINDS = ("preactivation", "gradient", "update")

OPTIONS = {
    "backpropagation": AlgorithmSpec(name="backpropagation"),
    "predictive_coding": AlgorithmSpec(name="predictive_coding", inference="exact"),
}
# mupc is defined with skips only; mean_field with both
CASES = [
    pytest.param(row, skip, id=f"{row.scheme}-{row.update_rule}-{'skip' if skip else 'plain'}")
    for row in TABLE
    for skip in ((True,) if row.scheme == "mupc" else (False, True))
    if row.scheme in ("mupc", "mean_field") or not skip
]


@functools.cache
def unit_weights(width, num_hidden, seed):
    """One array of unit draws per segment, by numpy: nothing to compile."""
    rng = np.random.default_rng(seed)
    shapes = [
        (1, width, INPUT_DIM),
        (num_hidden - 1, width, width),
        (1, OUTPUT_DIM, width),
    ]
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


@functools.cache
def program(width, num_hidden, skip, algorithm):
    """Root mean squares `[3, L]` (see KINDS) of one step of each update rule, at zero epsilon."""
    network = networks.build(
        NetworkSpec(
            name="mlp",
            input_dim=INPUT_DIM,
            output_dim=OUTPUT_DIM,
            width=width,
            num_hidden_layers=num_hidden,
            activation="linear",
            activation_position="before_weight",
            skip=skip,
            mean_subtraction=False,
        )
    )
    rng = np.random.default_rng(5)
    x = jnp.asarray(rng.normal(size=(BATCH, INPUT_DIM)), jnp.float32)
    y = jnp.asarray(rng.normal(size=(BATCH, OUTPUT_DIM)), jnp.float32)

    def rms(stack):
        return jnp.sqrt((stack**2).mean(axis=(1, 2)))

    @jax.jit
    def run(units, scaling):
        roles = [segment.role for segment in network.segments]
        params = tuple(
            {"linear": {"kernel": scaling[role]["init_std"].astype(jnp.float32) * unit}}
            for role, unit in zip(roles, units, strict=True)
        )
        module = algorithms.get(algorithm)
        grads, _ = module.gradients(network, params, scaling, x, y, OPTIONS[algorithm], {})
        activities = network.activities(params, scaling, x)
        sizes = {"sgd": [], "adam": []}
        for role, z, gradient, entering in zip(
            roles, activities, grads, shift_down(x, activities), strict=True
        ):
            kernel = gradient["linear"]["kernel"]
            numbers = scaling[role]
            factor = (numbers["multiplier"] * numbers["learning_rate"]).astype(jnp.float32)
            for name, rule in RULES.items():
                change, _ = rule.update(kernel, rule.init(kernel))
                moved = jnp.einsum("lbi,loi->lbo", entering, change)
                sizes[name].append(jnp.stack([rms(z), rms(kernel), factor * rms(moved)]))
        return {name: jnp.concatenate(layers, axis=1) for name, layers in sizes.items()}

    return run


def measure(row, skip, width, num_hidden, changes, algorithm="backpropagation"):
    """Logarithms of sizes, averaged over seeds; powers of width count from 8, where muP is SP."""
    resolved = resolve(
        row.scheme,
        row.update_rule,
        width=width,
        num_weight_layers=num_hidden + 1,
        input_dim=INPUT_DIM,
        output_dim=OUTPUT_DIM,
        base_width=8,
        base_depth=1,
        output_scale=1.0,
        depth_exponent=0.5 if skip and row.scheme == "mean_field" else None,
        exponent_changes=changes,
    )
    scaling = {
        role: {name: jnp.asarray(value) for name, value in numbers.model_dump().items()}
        for role, numbers in resolved.scaling.items()
    }
    run = program(width, num_hidden, skip, algorithm)
    units = [unit_weights(width, num_hidden, seed) for seed in range(SEEDS)]
    sizes = [run(unit, scaling)[row.update_rule] for unit in units]
    return np.mean(np.log(sizes), axis=0)


def width_slopes(row, skip, widths, changes, algorithm="backpropagation"):
    """Slopes [3, L] of a network of three hidden layers."""
    sizes = np.stack([measure(row, skip, width, 3, changes, algorithm) for width in widths])
    fit = np.polyfit(np.log(widths), sizes.reshape(len(widths), -1), 1)[0]
    return fit.reshape(sizes.shape[1:])


def theory(row, skip, changes):
    predicted = width_exponents(row, num_hidden_layers=3, skip=skip, exponent_changes=changes)
    return np.array([getattr(predicted, kind) for kind in KINDS])


@pytest.mark.parametrize("algorithm", OPTIONS)
@pytest.mark.parametrize(("row", "skip"), CASES)
def test_width(row, skip, algorithm):
    slopes = width_slopes(row, skip, WIDTHS, {}, algorithm)
    # PC's gradient of the output weights meets its power late: z* is h plus a term of order N^-1/2
    kinds = [KINDS.index(kind) for kind in ("preactivation", "update")]
    kinds = [0, 1, 2] if algorithm == "backpropagation" else kinds
    np.testing.assert_allclose(slopes[kinds], theory(row, skip, {})[kinds], atol=TOLERANCE)


@pytest.mark.parametrize(("row", "skip"), CASES)
def test_a_wrong_power_of_width_shows(row, skip):
    right = theory(row, skip, {})
    for role in ROLES:
        for name in ("init_std", "multiplier", "learning_rate"):
            changes = {role: {name: {"width": 0.5}}}
            slopes = width_slopes(row, skip, CONTROL_WIDTHS, changes)
            assert abs(slopes - right).max() > DETECTED, (role, name)


@pytest.mark.parametrize(
    ("row", "skip"),
    [
        c
        for c in CASES
        if c.values[0].scheme in ("mean_field", "mup") and c.values[0].update_rule == "adam"
    ],
)
def test_epsilon_follows_the_gradient(row, skip):
    """Where a scheme scales Adam's epsilon, it is by the power of width of the gradient's entries."""
    gradient = theory(row, skip, {})[KINDS.index("gradient")]
    powers = {role: row.role(role).epsilon.width for role in ROLES}
    assert list(gradient) == [powers["input"], *[powers["hidden"]] * 2, powers["output"]]


@pytest.mark.parametrize(("row", "skip"), [c for c in CASES if c.values[1]])
def test_depth(row, skip):
    """Residual networks: one hidden layer's change against the power of L, and a wrong power."""
    alpha = 0.5 if row.scheme == "mean_field" else None

    def slope(changes):
        sizes = [measure(row, skip, 128, depth - 1, changes)[2] for depth in DEPTHS]
        hidden = [np.exp(layers[1:-1]).mean() for layers in sizes]
        return np.polyfit(np.log(DEPTHS), np.log(hidden), 1)[0]

    right = depth_exponents(row, depth_exponent=alpha, exponent_changes={})["hidden"]
    assert slope({}) == pytest.approx(right, abs=TOLERANCE)
    for name, change in (("learning_rate", 0.5), ("multiplier", -0.5), ("multiplier", 0.5)):
        wrong = {"hidden": {name: {"depth": change}}}
        # too large a multiplier overflows to NaN
        assert not abs(slope(wrong) - right) <= DETECTED, (name, change)
    unstable = {"hidden": {"multiplier": {"depth": 0.5}}}
    assert depth_exponents(row, depth_exponent=alpha, exponent_changes=unstable) is None


def test_theory_counts_changes():
    row = next(row for row in TABLE if (row.scheme, row.update_rule) == ("mean_field", "sgd"))
    np.testing.assert_array_equal(theory(row, False, {})[2], 0.0)
    changed = theory(row, False, {"hidden": {"learning_rate": {"width": 0.5}}})[2]
    np.testing.assert_array_equal(changed, [0.0, 0.5, 0.5, 0.0])

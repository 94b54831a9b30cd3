"""Every weight of blocks of two layers and of the language model, against theory.

Slopes are log-log fits over two widths or depths of what each weight gives, of its gradient and of what one step of it
changes. A power off by 1/2 in any number of any weight has to show, and a fan-in off by a factor of two.
"""

import functools
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scaling_limits import networks
from scaling_limits.algorithms.backpropagation import Options
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import NetworkSpec
from scaling_limits.networks.transformer import Spec
from scaling_limits.parameterisations import theory
from scaling_limits.parameterisations.table import Exponents, Factors, find_row, resolve

TOKENS, VOCABULARY, INPUT_DIM, OUTPUT_DIM, BATCH = 4, 8, 16, 3, 8
WIDTHS, DEPTHS, WIDTH, DEPTH = (32, 256), (8, 64), 32, 2
SEEDS, TOLERANCE, DETECTED = 4, 0.17, 0.3
RULES = ("sgd", "adam")
QUANTITIES = ("init_std", "multiplier", "learning_rate")
TWO_LAYERS = theory.Blocks((("hidden_1", "hidden_2"),))
NETWORKS = {"blocks": TWO_LAYERS, "language model": theory.TRANSFORMER}


def spec(name, width, num_blocks):
    common = {
        "width": width,
        "num_hidden_layers": num_blocks + 1,
        "skip": True,
        "mean_subtraction": False,
    }
    if name == "blocks":
        return NetworkSpec(
            name="mlp",
            input_dim=INPUT_DIM,
            output_dim=OUTPUT_DIM,
            activation="linear",
            activation_position="after_weight",
            block_depth=2,
            **common,
        )
    return Spec(
        name="transformer",
        input_dim=TOKENS * VOCABULARY,
        output_dim=TOKENS * VOCABULARY,
        input_shape=(TOKENS, VOCABULARY),
        activation="gelu",
        activation_position="before_weight",
        num_heads=2,
        layer_norm=True,
        block_fan_ins="own",
        **common,
    )


@functools.cache
def unit_weights(name, width, num_blocks, seed):
    """Normal draws by numpy: nothing to compile."""
    network, rng = networks.build(spec(name, width, num_blocks)), np.random.default_rng(seed)
    numbers = {"init_std": 1.0, "multiplier": 1.0, "branch": 1.0}
    scaling = dict.fromkeys(jax.tree.leaves([s.roles for s in network.segments]), numbers)
    shapes = jax.eval_shape(lambda: network.init(jax.random.key(0), scaling, "normal", jnp.float32))
    return jax.tree.map(lambda leaf: rng.standard_normal(leaf.shape, np.float32), shapes)


@functools.cache
def program(name, width, num_blocks):
    """Root mean squares of one step of SGD or Adam, by layer: `sizes` are [preactivation, gradient, update] and
    `gains` preactivations over what enters, of each of the layer's weights a mean over nodes; `activity` and
    `output_change` as in `theory.BlockExponents`.
    """
    network = networks.build(spec(name, width, num_blocks))
    sequences = name == "language model"
    rng = np.random.default_rng(5)
    if sequences:
        order = np.stack([rng.permutation(VOCABULARY) for _ in range(BATCH)])
        pairs = (np.eye(VOCABULARY)[order[:, k : k + TOKENS]].reshape(BATCH, -1) for k in (0, 1))
    else:
        pairs = (rng.normal(size=(BATCH, n)) for n in (INPUT_DIM, OUTPUT_DIM))
    x, y = (jnp.asarray(v, jnp.float32) for v in pairs)
    loss = "cross_entropy" if sequences else "mean_squared_error"
    options = Options(name="backpropagation", loss=loss)
    roles = tuple(segment.roles for segment in network.segments)

    def rms(values):
        return jnp.sqrt((values**2).mean(axis=tuple(range(1, values.ndim)))).mean()

    @functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
    def run(units, scaling, is_adam):
        def of_all(quantity, tree):
            """`tree` times a number of each weight's."""
            return jax.tree.map(
                lambda role, part: jax.tree.map(lambda w: scaling[role][quantity] * w, part),
                roles,
                tree,
            )

        params = of_all("init_std", units)
        tokens = TOKENS if sequences else 1
        problem = Problem(network, params, scaling, x, y, options, tokens=tokens)
        weights, _, _, operations = backpropagation.observed_update(problem, ())
        # Adam's first step at zero epsilon
        directions = jax.tree.map(lambda g: jnp.where(is_adam, jnp.sign(g), g), weights.forward)
        steps = of_all("learning_rate", directions)
        sizes, gains = {}, {}
        trees = (params, weights.forward, operations["inputs"], steps)
        for segment, *stacks in zip(network.segments, *trees, strict=True):
            for parts in zip(*(segment.by_weight(stack) for stack in stacks), strict=True):
                layer = parts[0][0]
                kernel, gradient, entering, step = (part["kernel"] for _, part in parts)
                given, moved = (
                    scaling[layer]["multiplier"] * jnp.einsum("lb...i,loi->lb...o", entering, w)
                    for w in (kernel, step)
                )
                sizes.setdefault(layer, []).append(jnp.stack([*map(rms, (given, gradient, moved))]))
                gains.setdefault(layer, []).append(rms(given) / rms(entering))
        steps = (*steps[:-1], jax.tree.map(jnp.zeros_like, steps[-1]))
        change = jax.jvp(lambda p: network.forward(p, scaling, x), (params,), (steps,))[1]
        activity = problem.activities()[-2][-1:]
        whole = {"activity": rms(activity), "output_change": rms(change[None])}
        return {"sizes": sizes, "gains": gains, **whole}

    return run


@dataclass(frozen=True)
class Case:
    """A row for one of `NETWORKS`."""

    network: str
    scheme: str
    rule: str
    exponents: Exponents = field(default=Exponents())

    def __str__(self):
        return f"{self.network}-{self.scheme}-{self.rule}"

    @property
    def row(self):
        return find_row(self.scheme, self.rule)

    def theory(self, axis, **changes):
        return theory.block_exponents(
            axis,
            self.row,
            NETWORKS[self.network],
            exponents=self.exponents,
            exponent_changes=changes,
        )


ALPHA_GAMMA = Exponents(0.5, 0.5)
CASES = [
    Case(network, scheme, rule, exponents)
    for network in NETWORKS
    for scheme, exponents in (
        ("depth_mup", ALPHA_GAMMA),
        ("mean_field", Exponents(0.5)),
        ("sp_gaussian", Exponents()),
    )
    for rule in RULES
]
DEEP = [case for case in CASES if case.scheme != "sp_gaussian"]
CHOSEN = [case for case in CASES if case.scheme == "depth_mup"]


def measure(case, width, num_blocks, seeds, fan_ins=None, **changes):
    """Sizes, averaged over seeds."""
    layers = networks.layers_of(spec(case.network, width, num_blocks))
    factors = fan_ins or {}
    weights = {
        layer.name: (layer.role, layer.scaled_by * factors.get(layer.name, 1)) for layer in layers
    }
    resolved = resolve(
        case.scheme,
        case.rule,
        width=width,
        depth=num_blocks,
        input_dim=INPUT_DIM,
        base_width=8,
        base_depth=1,
        skip=True,
        factors=Factors(),
        exponents=case.exponents,
        exponent_changes=changes,
        weights=weights,
        pivot_width=1,
    )
    scaling = {
        name: {key: jnp.float32(value) for key, value in numbers.model_dump().items()}
        for name, numbers in resolved.scaling.items()
    }
    size = case.network, width, num_blocks
    run, is_adam = program(*size), case.rule == "adam"
    found = [
        jax.device_get(run(unit_weights(*size, seed), scaling, is_adam)) for seed in range(seeds)
    ]
    return jax.tree.map(lambda *values: np.exp(np.mean(np.log(values), axis=0)), *found)


def deviation(case, axis, seeds, expected, **changes):
    """The largest distance of a slope to theory, and what it is of."""
    points = [(width, DEPTH) for width in WIDTHS]
    if axis == "depth":
        points = [(WIDTH, depth) for depth in DEPTHS]
    small, large = (measure(case, *point, seeds, **changes) for point in points)
    at = WIDTHS if axis == "width" else DEPTHS
    slopes = jax.tree.map(lambda a, b: np.log(b / a) / np.log(at[1] / at[0]), small, large)
    wholes = ("activity", "output_change")
    far = {name: abs(slopes[name] - getattr(expected, name)) for name in wholes}
    for layer, weights in slopes["sizes"].items():
        for weight in weights:
            names = [f"{layer} {name}" for name in theory.WeightExponents._fields]
            for name, value, other in zip(names, weight, expected.weights[layer], strict=True):
                far[name] = max(far.get(name, 0.0), abs(value - other))
    # an infinity or not a number is far off
    worst = max(far, key=lambda name: np.nan_to_num(far[name], nan=np.inf))
    return np.nan_to_num(far[worst], nan=np.inf), worst


@pytest.mark.parametrize("case", CASES, ids=str)
def test_width(case):
    found = deviation(case, "width", SEEDS, case.theory("width"))
    assert found[0] < TOLERANCE, found


@pytest.mark.parametrize("case", DEEP, ids=str)
def test_depth(case):
    found = deviation(case, "depth", SEEDS, case.theory("depth"))
    assert found[0] < TOLERANCE, found


def mutations(case):
    """Names of weights, or the role, and quantities."""
    layers = networks.layers_of(spec(case.network, WIDTH, DEPTH))
    names = dict.fromkeys(layer.name for layer in layers)
    yield from ((name, quantity) for name in names for quantity in QUANTITIES)
    yield "hidden", "branch"


@pytest.mark.parametrize("axis", ["width", "depth"])
@pytest.mark.parametrize("case", CHOSEN, ids=str)
def test_a_wrong_power_of_any_weight_shows(case, axis):
    expected = case.theory(axis)
    for name, quantity in mutations(case):
        found, _ = deviation(case, axis, 1, expected, **{name: {quantity: {axis: 0.5}}})
        assert found > DETECTED, (name, quantity)


def gains(network, fan_ins=None):
    """Return the logarithm of each weight's gain, 0 at variance 1 / fan_in: what it gives over what enters.

    Of one-hot tokens and positions one entry is not zero.
    """
    case = Case(network, "sp_gaussian", "sgd")
    found = measure(case, WIDTHS[-1], DEPTH, 2, fan_ins)["gains"]
    if network == "language model":
        ones = zip(found["input"], (VOCABULARY, TOKENS), strict=True)
        found["input"] = [gain / entries**0.5 for gain, entries in ones]
    return {layer: np.log(own) for layer, own in found.items()}


@pytest.mark.parametrize("network", NETWORKS)
def test_fan_ins(network):
    for layer, own in gains(network).items():
        np.testing.assert_allclose(own, 0.0, atol=0.1, err_msg=layer)
    for layer in gains(network):
        wrong = gains(network, {layer: 2})[layer]
        assert np.abs(wrong).min() > 0.25, layer


def test_theory_counts_changes():
    """Of a role and of a layer alike; a forward pass that grows has no theory."""
    case = CHOSEN[-1]
    right = case.theory("width")
    changes = {"hidden": {"learning_rate": {"width": 0.5}}, "query": {"init_std": {"width": -0.5}}}
    wrong = case.theory("width", **changes)
    assert wrong.weights["value"].update == right.weights["value"].update + 0.5
    assert wrong.weights["query"].preactivation == -0.5
    # queries reach keys alone
    assert wrong.weights["key"].gradient == right.weights["key"].gradient - 0.5
    assert case.theory("width", value={"init_std": {"width": 0.5}}) is None
    assert case.theory("depth", hidden={"branch": {"depth": 0.25}}) is None

"""Every row of the table: sizes at initialisation and after one optimiser step, against theory.

Slopes are log-log fits of root mean squares over widths or depths; a power off by 1/2 has to show.
"""

import functools
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from scaling_limits import algorithms, networks, optimisers
from scaling_limits.algorithms.backpropagation import Options as Backpropagation
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.predictive_coding import Options as PredictiveCoding
from scaling_limits.algorithms.predictive_coding.exact import rescaling_matrix
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import AlgorithmSpec, NetworkSpec
from scaling_limits.networks.network import shift_down
from scaling_limits.optimisers import foof, kfac
from scaling_limits.optimisers.shampoo import computation as shampoo
from scaling_limits.parameterisations.table import (
    ROLES,
    TABLE,
    Exponents,
    Factors,
    Row,
    find_row,
    resolve,
)
from scaling_limits.parameterisations.theory import depth_exponents, width_exponents
from toys import gradients

INPUT_DIM, OUTPUT_DIM, BATCH, HIDDEN = 16, 3, 8, 3
WIDTHS, CONTROL_WIDTHS, BLOCKS = (128, 1024), (128, 512), (16, 256)
SEEDS, CONTROL_SEEDS = 8, 2
TOLERANCE, DETECTED = 0.15, 0.35
RULES = {"sgd": lambda _: optax.identity(), "adam": lambda _: optax.scale_by_adam(eps=0.0)}
RESCALED = {"momentum": 0.0, "own_power": 1.0, "other_power": 0.0, "smallest_damping": 0.0} | {
    f"{side}_damping": 1.0 for side in ("input", "output")
}
"""second-order (15), at a damping of a tenth of the trace."""
SHAMPOO = {"momentum": 0.0, "damping": 1e-2, "preconditioner_exponent": 0.5}
PRECONDITIONING = {
    "foof": lambda factors: foof.build(RESCALED, factors),
    "kfac": lambda factors: kfac.build(RESCALED, factors),
    "shampoo": lambda factors: shampoo.build(SHAMPOO, factors),
}
FACTORS = {"input_damping_exponent": -1.0, "output_damping_exponent": -1.0}
SUPPLIED = {
    "sgd": {"preconditioner_exponent": 0.0},
    "foof": {"input_preconditioner_exponent": 1.0, "preconditioner_exponent": 0.0, **FACTORS},
    "kfac": {"input_preconditioner_exponent": 1.0, "preconditioner_exponent": 1.0, **FACTORS},
    "shampoo": {"input_preconditioner_exponent": 0.5, "preconditioner_exponent": 0.5},
}
"""What optimisers supply to rows."""
LAYERED = ("preactivation", "error", "gradient", "update")
NONE = Exponents()
NUMBERS = {"activity_learning_rate": jnp.float32(1.0), "seed": 0, "step": 0}

OPTIONS = {
    "backpropagation": Backpropagation(name="backpropagation", fisher="exact"),
    "gauss_newton_target": AlgorithmSpec(name="gauss_newton_target"),
    "predictive_coding": PredictiveCoding(
        name="predictive_coding",
        inference="gradient_descent",
        num_inference_steps=1,
        activity_gradient="per_sample",
        activity_initialisation="forward",
        inference_order="sequential",
        fixed_predictions=False,
    ),
    "equilibrium": PredictiveCoding(name="predictive_coding", inference="exact"),
}


def needed(rule):
    return optimisers.needs(rule) if rule in PRECONDITIONING else ()


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
def program(width, num_hidden, skip, algorithm, preconditioning):
    """Root mean squares of one step of each update rule, at zero epsilon: those of `LAYERED` are
    `[L]`, `output_change` and `rescaling` numbers.
    """
    rules = PRECONDITIONING if preconditioning else RULES
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
    options = OPTIONS[algorithm]
    module = algorithms.get(options)

    def rms(stacks):
        return jnp.concatenate([jnp.sqrt((stack**2).mean(axis=(1, 2))) for stack in stacks])

    def step(rule, params, scaling, inputs, grads, operations):
        """Layers' changes of their preactivation; the output's by all but the output weights."""
        moves, changes = [], []
        for index, segment in enumerate(network.segments):
            numbers, gradient, entering = scaling[segment.role], grads[index], inputs[index]
            given = {name: operations[name][index] for name in needed(rule)}
            transformation = rules[rule](numbers)
            update, _ = transformation.update(gradient, transformation.init(gradient), **given)
            changes.append(jax.tree.map(lambda u, n=numbers: -n["learning_rate"] * u, update))
            moved = jnp.einsum("lbi,loi->lbo", entering, changes[-1]["linear"]["kernel"])
            moves.append(numbers["multiplier"] * moved)
        changes[-1] = jax.tree.map(jnp.zeros_like, changes[-1])
        _, change = jax.jvp(lambda p: network.forward(p, scaling, x), (params,), (tuple(changes),))
        return {"update": rms(moves), "output_change": rms([change[None]])[0]}

    # matrices of a million entries, many times: unoptimised loops over them take twice as long
    @functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 1})
    def run(units, scaling, preconditioner_exponent):
        params = tuple(
            {"linear": {"kernel": scaling[segment.role]["init_std"] * unit}}
            for segment, unit in zip(network.segments, units, strict=True)
        )
        numbers = NUMBERS | {"preconditioner_exponent": preconditioner_exponent}
        problem = Problem(network, params, scaling, x, y, options, numbers)
        grads, _ = gradients(module, problem)
        activities = problem.activities()
        rescaling = rescaling_matrix(problem) - jnp.eye(OUTPUT_DIM)
        common = {
            "preactivation": rms(activities),
            "error": rms(module.errors(problem)),
            "gradient": rms([gradient["linear"]["kernel"] for gradient in grads]),
            "rescaling": jnp.linalg.norm(rescaling),
        }
        inputs = shift_down(x, activities)
        operations = backpropagation.observed_update(problem, ())[3] if preconditioning else {}
        given = params, scaling, inputs, grads, operations
        return {rule: common | step(rule, *given) for rule in rules}

    return run


@dataclass(frozen=True)
class Case:
    """A row in a kind of network, with an algorithm and the exponents that it names."""

    row: Row
    skip: bool = False
    algorithm: str = "backpropagation"
    exponents: Exponents = NONE
    changes: Mapping = field(default_factory=dict)

    def __str__(self):
        given = [str(v) for v in astuple(self.exponents) if v is not None]
        kind = ["skip" if self.skip else "plain", *(["changed"] if self.changes else [])]
        return "-".join([self.row.scheme, self.row.update_rule, *kind, self.algorithm, *given])

    @property
    def widths(self):
        """Preconditioned steps take several times as long, and spread less."""
        return CONTROL_WIDTHS if self.row.update_rule in PRECONDITIONING else WIDTHS

    @property
    def factors(self):
        """pc-tp's orders are those of an infinitesimal gamma' where C grows.

        One sequential step with unit energy weights and variance 1/fan_in cancels the leading order
        of the output's error and of W_L e_{L-1}, as gamma_l W_l W_l^T tends to the identity.
        """
        if self.algorithm != "predictive_coding":
            return Factors()
        small = self.theory().rescaling > 0
        return Factors(energy_weight=0.5, output_energy_weight=1e-4 if small else 0.5)

    def theory(self, **changes):
        named = self.algorithm.replace("equilibrium", "predictive_coding")
        return width_exponents(
            self.row,
            num_hidden_layers=HIDDEN,
            skip=self.skip,
            exponents=self.exponents,
            exponent_changes={**self.changes, **changes},
            algorithm=named,
        )


def plain(algorithm, *schemes, rules=RULES):
    rows = [row for scheme in schemes for row in TABLE if row.scheme == scheme]
    return [Case(row, algorithm=algorithm) for row in rows if row.update_rule in rules]


def second_order():
    """second-order's rows of all optimisers, each at its own (e_A, e_B)."""
    cases = plain("backpropagation", "sp_gaussian", rules=PRECONDITIONING)
    rules = ["sgd", *PRECONDITIONING]
    cases += plain("backpropagation", "preconditioned_mup", "lazy", rules=rules)

    def supplied(row):
        names = row.exponents(skip=False)
        return {k: v for k, v in SUPPLIED[row.update_rule].items() if k in names}

    return [replace(case, exponents=Exponents(**supplied(case.row))) for case in cases]


def residual(algorithm):
    """mupc and depth_mup are defined with skips only."""
    given = {"mupc": (), "mean_field": (0.5,), "depth_mup": (0.5, 0.5)}
    rows = [row for row in TABLE if row.scheme in given]
    return [Case(row, True, algorithm, Exponents(*given[row.scheme])) for row in rows]


def weighted(*schemes):
    """pc-tp's rows at both ends and the middle of its range, (S.44)."""
    cases = plain("predictive_coding", *schemes)
    values = (0.0, -0.5, -1.0)
    return [replace(case, exponents=Exponents(None, None, v)) for case in cases for v in values]


def preconditioned():
    """pc-tp's (11) at both ends and in the middle."""
    cases = plain("gauss_newton_target", "preconditioned_mup", rules=["sgd"])
    values = (0.0, 0.5, 1.0)
    return [
        replace(case, exponents=Exponents(preconditioner_exponent=value))
        for case in cases
        for value in values
    ]


STANDARD = ("sp_gaussian", "sp_uniform", "ntk", "mean_field", "mup")
OVERWEIGHTED = {"output": {"energy_weight": {"width": 1.0}}}
CASES = [
    *plain("backpropagation", *STANDARD),
    *residual("backpropagation"),
    *plain("equilibrium", *STANDARD),
    *residual("equilibrium"),
    *plain("predictive_coding", "sp_gaussian", "ntk", "mup"),
    replace(
        Case(find_row("sp_gaussian", "sgd"), algorithm="predictive_coding"), changes=OVERWEIGHTED
    ),
    *weighted("pc_mup", "pc_ntk"),
    *second_order(),
    *plain("gauss_newton_target", "sp_gaussian", "gnt_mup"),
    *preconditioned(),
]


def measured_scaling(case, width, num_hidden, changes):
    """Numbers of a row; its powers count from width 8, where muP is SP, and from one block."""
    row = case.row
    resolved = resolve(
        row.scheme,
        row.update_rule,
        width=width,
        depth=num_hidden - 1,
        input_dim=INPUT_DIM,
        base_width=8,
        base_depth=1,
        skip=case.skip,
        factors=case.factors,
        exponents=case.exponents,
        exponent_changes={**case.changes, **changes},
    )
    return {
        role: {name: jnp.float32(value) for name, value in numbers.model_dump().items()}
        for role, numbers in resolved.scaling.items()
    }


def measure(case, width, num_hidden, changes, num_seeds=SEEDS):
    """Logarithms of sizes, averaged over seeds."""
    scaling = measured_scaling(case, width, num_hidden, changes)
    rule = case.row.update_rule
    run = program(width, num_hidden, case.skip, case.algorithm, rule in PRECONDITIONING)
    units = [unit_weights(width, num_hidden, seed) for seed in range(num_seeds)]
    given = case.exponents.preconditioner_exponent
    exponent = 1.0 if given is None else given
    sizes = [run(unit, scaling, exponent)[rule] for unit in units]
    return {name: np.mean([np.log(size[name]) for size in sizes], axis=0) for name in sizes[0]}


def width_slopes(case, widths=None, num_seeds=SEEDS, **changes):
    """Slopes of a network of three hidden layers, by name."""
    widths = widths or case.widths
    sizes = [measure(case, width, HIDDEN, changes, num_seeds) for width in widths]

    def slope(name):
        values = np.stack([np.atleast_1d(size[name]) for size in sizes])
        return np.polyfit(np.log(widths), values, 1)[0]

    return {name: slope(name) for name in sizes[0]}


def deviation(slopes, theory):
    """The largest distance to theory."""
    return np.max([np.max(abs(slopes[name] - getattr(theory, name))) for name in slopes])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_width(case):
    """pc-tp's B1 (`update`), B2 (`output_change`), B3 (`rescaling`) and B4 (`error`) among them."""
    assert deviation(width_slopes(case), case.theory()) < TOLERANCE


COSTLY = [c for c in CASES if c.row.update_rule in PRECONDITIONING]
WRONG = [c for c in CASES if c not in COSTLY or c.row.scheme == "preconditioned_mup"]


@pytest.mark.slow
@pytest.mark.parametrize("case", WRONG, ids=str)
def test_a_wrong_power_of_width_shows(case):
    wrong = [(role, name) for role in ROLES for name in ("init_std", "multiplier", "learning_rate")]
    if case.skip:
        wrong.append(("hidden", "branch"))
    if case.algorithm in ("predictive_coding", "equilibrium"):
        wrong.append(("output", "energy_weight"))
    for role, name in wrong:
        changes = {role: {name: {"width": 0.5}}}
        slopes = width_slopes(case, CONTROL_WIDTHS, CONTROL_SEEDS, **changes)
        # an infinity or not a number shows as well
        assert not deviation(slopes, case.theory()) <= DETECTED, (role, name)


def test_the_gradient_of_the_energy_itself_breaks_the_table():
    """pc-tp (S.33) leaves gamma_l out of the weights' update: with it, what an update moves at the
    output grows as the width where the energy weight does.
    """
    case = replace(weighted("pc_mup")[2], row=find_row("pc_mup", "sgd"))
    assert case.exponents == Exponents(None, None, -1.0)
    own, of_energy = [], []
    for width in CONTROL_WIDTHS:
        own.append(measure(case, width, HIDDEN, {})["update"][-1])
        weight = measured_scaling(case, width, HIDDEN, {})["output"]["energy_weight"]
        of_energy.append(own[-1] + np.log(weight))
    logs = np.log(CONTROL_WIDTHS)
    assert np.polyfit(logs, own, 1)[0] == pytest.approx(0.0, abs=TOLERANCE)
    assert np.polyfit(logs, of_energy, 1)[0] == pytest.approx(1.0, abs=TOLERANCE)


FOLLOWING = [
    case
    for case in CASES
    if case.algorithm in ("backpropagation", "predictive_coding")
    and case.row.update_rule == "adam"
    and case.row.scheme in ("mean_field", "mup", "depth_mup", "pc_mup")
]


@pytest.mark.parametrize("case", FOLLOWING, ids=str)
def test_epsilon_follows_the_gradient(case):
    """Where a scheme scales Adam's epsilon, it is by the power of width of the gradient's entries."""
    powers = {
        role: case.exponents.value(case.row.role(role).epsilon.exponent("width", skip=case.skip))
        for role in ROLES
    }
    expected = [powers["input"], *[powers["hidden"]] * 2, powers["output"]]
    assert list(case.theory().gradient) == expected


@pytest.mark.parametrize(
    ("scheme", "rates"), [("tp_mup", (0, 0, 0)), ("sp_gaussian", (0, 1, 1))], ids=str
)
def test_target_propagation(scheme, rates):
    """pc-tp B1 and B2: (S.127) with the feedback weights of (S.120) without ridge, for fewer samples
    than outputs.
    """

    def sizes(width, seed):
        scaling = measured_scaling(Case(find_row(scheme, "sgd")), width, 1, {})
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(4, INPUT_DIM)), rng.normal(size=(4, 10))
        shapes = [(width, INPUT_DIM), (width, width), (width, width), (10, width)]
        roles = ["input", "hidden", "hidden", "output"]
        weights = [
            float(scaling[role]["init_std"]) * rng.normal(size=shape)
            for role, shape in zip(roles, shapes, strict=True)
        ]
        h = [x]
        for weight in weights:
            h.append(h[-1] @ weight.T)
        errors = [y - h[-1]]
        for lower, upper in reversed(list(pairwise(h[1:]))):
            errors.insert(0, errors[0] @ np.linalg.pinv(upper) @ lower)
        moved = [
            float(scaling[role]["learning_rate"]) * (entering @ entering.T) @ error
            for role, entering, error in zip(roles, h, errors, strict=False)
        ]
        shift = moved[0]
        for weight, own in zip(weights[1:-1], moved[1:-1], strict=True):
            shift = shift @ weight.T + own
        return [rms(z) for z in (moved[0], moved[1], moved[-1], shift @ weights[-1].T)]

    def rms(z):
        return np.sqrt((z**2).mean())

    logs = [np.mean(np.log([sizes(w, s) for s in range(SEEDS)]), axis=0) for w in WIDTHS]
    slopes = np.polyfit(np.log(WIDTHS), logs, 1)[0]
    np.testing.assert_allclose(slopes[:3], rates, atol=TOLERANCE)
    # the output's own weights and the change below them are independent: one half, not one
    assert slopes[3] == pytest.approx(rates[1], abs=TOLERANCE)


FAMILY = [(0.5, 0.5), (0.5, 0.0), (0.75, 0.25), (1.0, 0.0), (1.0, 0.5), (1.25, -0.25)]
DEEP = [
    *residual("backpropagation"),
    *[
        Case(find_row("depth_mup", rule), True, exponents=Exponents(*pair))
        for rule in ("sgd", "adam")
        for pair in FAMILY[1:]
    ],
]
FROZEN_INPUT = {"input": {"learning_rate": {"depth": -4.0}}}


def depth_slopes(case, **changes):
    """Slopes over the number of blocks of quantities of `DepthExponents`."""
    sizes = [measure(case, 128, n + 1, {**FROZEN_INPUT, **changes}, num_seeds=3) for n in BLOCKS]

    def slope(values):
        return np.polyfit(np.log(BLOCKS), values, 1)[0]

    return {
        "activity": slope([size["preactivation"][-2] for size in sizes]),
        "update": slope([size["update"][1:-1].max() for size in sizes]),
        "output_change": slope([size["output_change"] for size in sizes]),
    }


def depth_theory(case):
    theory = depth_exponents(case.row, exponents=case.exponents, exponent_changes={})
    measured = ("activity", "update", "output_change")
    return {name: getattr(theory, name) for name in measured}


@pytest.mark.parametrize("case", DEEP, ids=str)
def test_depth(case):
    """depth-mup's C1 (`output_change`) and C2 (`update`)."""
    assert depth_slopes(case) == pytest.approx(depth_theory(case), abs=TOLERANCE)


@pytest.mark.parametrize("case", residual("backpropagation"), ids=str)
def test_a_wrong_power_of_depth_shows(case):
    right = depth_theory(case)
    for name, change in (("learning_rate", 0.5), ("branch", -0.5), ("branch", 0.5)):
        slopes = depth_slopes(case, hidden={name: {"depth": change}})
        # too large a branch overflows
        wrong = np.max([abs(slopes[key] - right[key]) for key in right])
        assert not wrong <= DETECTED, (name, change)


def test_forward_passes_that_grow_faster_than_any_power_of_depth():
    """depth-mup D.1: the mean square grows by 1 + L^(-2 alpha) in each of L blocks."""
    case = Case(find_row("depth_mup", "sgd"), True, exponents=Exponents(0.25, 0.75))
    theory = depth_exponents(case.row, exponents=case.exponents, exponent_changes={})
    assert set(astuple(theory)) == {np.inf}
    sizes = [measure(case, 128, n + 1, {}, num_seeds=3)["preactivation"] for n in BLOCKS]
    growth = [size[-2] - size[0] for size in sizes]
    assert growth == pytest.approx([n / 2 * np.log1p(n**-0.5) for n in BLOCKS], rel=0.1)


def test_theory_counts_changes():
    case = Case(find_row("mean_field", "sgd"))
    assert case.theory().update == (0, 0, 0, 0)
    wrong = case.theory(hidden={"learning_rate": {"width": 0.5}})
    assert wrong.update == (0, 0.5, 0.5, 0)

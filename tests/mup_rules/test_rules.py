"""The powers of each role, against the papers' tables and the project's."""

import jax
import jax.numpy as jnp
import pytest

import scaling_limits
from scaling_limits.mup_rules.rules import OPTIMISERS, Power, multipliers, rule
from scaling_limits.parameterisations.table import Exponents, Factors, find_row, resolve
from scaling_limits.parameterisations.theory import (
    TRANSFORMER,
    block_exponents,
    depth_exponents,
    width_exponents,
)

HIDDEN_INIT, OUTPUT_INIT = -0.5, -1.0
TENSOR_PROGRAMS_V_TABLE_3 = {
    # role: powers of the width in the initial standard deviation and in the learning rates of SGD and Adam
    "input": (0, 1, 0),
    "hidden": (HIDDEN_INIT, 0, -1),
    "output": (OUTPUT_INIT, -1, -1),
    "tied": (0, 1, 0),
    "fixed": (0, 0, 0),
}
GRADIENTS = {"input": -1, "hidden": -1, "output": 0, "tied": -1, "fixed": 0}
"""Powers of the width in the entries of gradients (Tensor Programs V, appendix B.3)."""


@pytest.mark.parametrize("role", TENSOR_PROGRAMS_V_TABLE_3)
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_powers_of_width_are_those_of_tensor_programs_v(role, optimiser):
    init_std, sgd, adam = TENSOR_PROGRAMS_V_TABLE_3[role]
    rate = sgd if optimiser == "sgd" else adam
    powers = rule(role, optimiser, in_branch=False, depth_exponent=1.0)
    assert powers.init_std == Power(init_std)
    assert powers.learning_rate == Power(rate)
    assert powers.weight_decay == Power(-rate)
    assert powers.epsilon == Power(0 if optimiser == "sgd" else GRADIENTS[role])


@pytest.mark.parametrize("alpha", [0.5, 0.75, 1.0])
@pytest.mark.parametrize(
    ("role", "width", "decay"), [("hidden", -1, 1), ("input", 0, 0), ("fixed", 0, 0)]
)
def test_powers_of_depth_are_those_of_completep(role, width, decay, alpha):
    powers = rule(role, "adamw", in_branch=True, depth_exponent=alpha)
    assert powers.learning_rate == Power(width, alpha - 1)
    assert powers.epsilon == Power(GRADIENTS[role], -alpha)
    # the paper's table has the power of width only, which is the same at alpha = 1
    assert powers.weight_decay == Power(decay, 1 - alpha)
    assert powers.init_std.depth == 0


@pytest.mark.parametrize("alpha", [0.5, 0.75, 1.0])
def test_sgd_changes_the_branches_by_one_over_the_depth(alpha):
    rate = rule("hidden", "sgd", in_branch=True, depth_exponent=alpha).learning_rate
    assert -2 * alpha + rate.depth == pytest.approx(-1)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_multipliers(optimiser):
    needed = multipliers(optimiser, tied=True, branches=True, heads=True, depth_exponent=0.75)
    assert needed == {
        "residual branches": Power(depth=-0.75),
        "attention scores": Power(head=-0.5),
        "logits": Power(width=-1),
    }
    none = multipliers(optimiser, tied=False, branches=False, heads=False, depth_exponent=0.75)
    assert none == {}


def network(width, *, depth):
    """Shapes of a residual network with one stack of blocks."""
    of = {
        "first": (3, width),
        "blocks": (depth, width, width),
        "last": (width, 2),
    }
    return {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in of.items()}


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("scheme", ["mup", "depth_mup"])
def test_an_mlp_has_the_numbers_of_the_table(scheme, optimiser):
    """Up to the gauge: a power of the width in `mup`'s output multiplier is one of the weights here."""
    mup = scaling_limits.mup(network(48, depth=5), network(16, depth=5), optimiser)
    target, base = (scaling(scheme, optimiser, width=n, depth=5, skip=False) for n in (48, 16))
    assert_same_numbers(mup, target, base)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_a_residual_network_has_the_numbers_of_the_table(alpha, optimiser):
    mup = scaling_limits.mup(
        network(48, depth=20),
        network(16, depth=20),
        optimiser,
        depth=(5, 20),
        branches="blocks",
        depth_exponent=alpha,
    )
    exponents = {"depth_exponent": alpha, "depth_lr_exponent": 1 - alpha}
    target, base = (
        scaling("depth_mup", optimiser, width=n, depth=depth, skip=True, **exponents)
        for n, depth in ((48, 20), (16, 5))
    )
    assert_same_numbers(mup, target, base)
    branch = mup.multipliers["residual branches"]
    assert branch == pytest.approx(target["hidden"].branch / base["hidden"].branch)


def scaling(scheme, optimiser, *, width, depth, skip, **exponents):
    return resolve(
        scheme,
        optimiser,
        width=width,
        depth=depth,
        input_dim=3,
        base_width=16,
        base_depth=5,
        skip=skip,
        factors=Factors(),
        exponents=Exponents(**exponents),
        exponent_changes={},
    ).scaling


def assert_same_numbers(mup, target, base):
    """A multiplier c of a weight is c in its initial size, and c^2 (SGD) or c (Adam) in its rate, 1/c in epsilon."""
    for path, role in (("first", "input"), ("blocks", "hidden"), ("last", "output")):

        def ratio(quantity, role=role):
            return getattr(target[role], quantity) / getattr(base[role], quantity)

        c, powers = ratio("multiplier"), mup.parameters[path].rule
        sgd = mup.update_rule == "sgd"
        expected = {
            "init_std": ratio("init_std") * c,
            "learning_rate": ratio("learning_rate") * (c**2 if sgd else c),
            "epsilon": 1.0 if sgd else ratio("epsilon") / c,
        }
        found = {name: getattr(powers, name).at(mup.ratios) for name in expected}
        assert found == pytest.approx(expected), path


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_theory_predicts_that_features_learn_at_every_size(alpha, optimiser):
    """Of the row that the powers are of, in an MLP, a residual network and a transformer."""
    row = find_row("depth_mup", optimiser)
    exponents = Exponents(depth_exponent=alpha, depth_lr_exponent=1 - alpha)
    width = width_exponents(
        row, num_hidden_layers=4, skip=False, exponents=exponents, exponent_changes={}
    )
    assert set(width.update) == {0.0}
    assert width.output_change == 0.0
    depth = depth_exponents(row, exponents=exponents, exponent_changes={})
    assert depth.output_change == 0.0
    # a block's own update: CompleteP keeps it, Depth-µP does not
    assert depth.update == alpha - 1
    for axis in ("width", "depth"):
        blocks = block_exponents(axis, row, TRANSFORMER, exponents=exponents, exponent_changes={})
        assert blocks.output_change == 0.0
        of_values = [blocks.weights[name].update for name in ("value", "attention", "expansion")]
        assert of_values == [0.0 if axis == "width" else alpha - 1] * 3
        if axis == "width":
            # shares are uniform at first, so SGD hardly changes queries before values are learned
            assert blocks.weights["query"].update == (-0.5 if optimiser == "sgd" else 0.0)

"""Roles from the axes of Flax's layers, and what shapes are refused."""

import jax
import jax.numpy as jnp
import pytest
from flax import nnx
from scaled_models import Transformer, data

import scaling_limits
from scaling_limits.errors import ConfigurationError


def shapes(**named):
    """A tree of shapes; `_` in a name separates the levels of its path."""
    tree = {}
    for name, shape in named.items():
        *above, leaf = name.split("_")
        level = tree
        for key in above:
            level = level.setdefault(key, {})
        level[leaf] = jax.ShapeDtypeStruct(shape, jnp.float32)
    return tree


def roles_of(params, base_params, **options):
    mup = scaling_limits.mup(params, base_params, **options)
    return {path: parameter.role for path, parameter in mup.parameters.items()}


@pytest.mark.parametrize(
    ("base", "target", "role"),
    [
        ((8, 4), (8, 16), "input"),
        ((4, 4), (16, 16), "hidden"),
        ((4, 16), (16, 64), "hidden"),
        ((4, 10), (16, 10), "output"),
        ((36, 10), (144, 10), "output"),
        ((3, 3, 3, 4), (3, 3, 3, 16), "input"),
        ((3, 3, 4, 4), (3, 3, 16, 16), "hidden"),
        ((1, 1, 4, 10), (1, 1, 16, 10), "output"),
        ((5, 3, 4), (5, 3, 16), "input"),
        ((5, 4, 4), (5, 16, 16), "hidden"),
        # queries of more heads, of larger heads, and of both
        ((4, 2, 2), (16, 8, 2), "hidden"),
        ((4, 2, 2), (16, 2, 8), "hidden"),
        ((4, 2, 2), (16, 4, 4), "hidden"),
        # what comes out of attention
        ((2, 2, 4), (8, 2, 16), "hidden"),
        ((2, 2, 4), (2, 8, 16), "hidden"),
        ((2, 2, 10), (8, 2, 10), "output"),
        ((10, 3), (10, 3), "fixed"),
        ((10,), (10,), "fixed"),
        ((), (), "fixed"),
    ],
)
def test_the_axes_decide_the_role(base, target, role):
    wide, narrow = (
        shapes(first_bias=(width,), kernel=shape) for width, shape in ((16, target), (4, base))
    )
    expected = {"first/bias": "input", "kernel": role}
    assert roles_of(wide, narrow) == roles_of(narrow, wide) == expected


@pytest.mark.parametrize("name", ["query_bias", "norm_scale"])
@pytest.mark.parametrize("shape", [(8, 2), (2, 8), (4, 4)])
def test_vectors_with_axes_of_heads_have_no_fan_in(name, shape):
    found = roles_of(
        shapes(first_bias=(16,), **{name: shape}), shapes(first_bias=(4,), **{name: (2, 2)})
    )
    assert found[name.replace("_", "/")] == "input"


def test_roles_of_a_transformer():
    tokens = data(tokens=True)[0]
    params, base = (
        jax.eval_shape(Transformer(width, heads=2).init, jax.random.key(0), tokens)["params"]
        for width in (32, 16)
    )
    found = roles_of(params, base)
    attention = "MultiHeadDotProductAttention_0"
    kernels = [f"{attention}/{name}/kernel" for name in ("query", "key", "value", "out")]
    hidden = {*kernels, "Dense_0/kernel", "Dense_1/kernel"}
    assert {path for path, role in found.items() if role == "hidden"} == hidden
    assert {path for path, role in found.items() if role == "output"} == {"Dense_2/kernel"}
    assert {path for path, role in found.items() if role == "fixed"} == {"Dense_2/bias"}
    others = {path.split("/")[-1] for path, role in found.items() if role == "input"}
    assert others == {"embedding", "bias", "scale"}


def test_roles_of_an_nnx_state():
    def state(width):
        layers = [nnx.Linear(3, width, rngs=nnx.Rngs(0)), nnx.Linear(width, 2, rngs=nnx.Rngs(0))]
        return nnx.state(nnx.Sequential(*layers), nnx.Param)

    assert roles_of(state(8), state(4)) == {
        "layers/0/bias": "input",
        "layers/0/kernel": "input",
        "layers/1/bias": "fixed",
        "layers/1/kernel": "output",
    }


def test_a_declared_role_replaces_that_of_the_axes():
    # a vocabulary that grows as the width does, and one that does not
    target = shapes(token_embedding=(400, 16), place_embedding=(9, 16), out_kernel=(16, 10))
    base = shapes(token_embedding=(100, 4), place_embedding=(3, 4), out_kernel=(4, 10))
    found = roles_of(target, base, roles={"*/embedding": "input"})
    assert found == {"token/embedding": "input", "place/embedding": "input", "out/kernel": "output"}


def test_a_tied_embedding_is_asked_about():
    target, base = shapes(token_embedding=(9, 16)), shapes(token_embedding=(9, 4))
    with pytest.raises(ConfigurationError, match=r"^token/embedding: no parameter .* 'tied'"):
        scaling_limits.mup(target, base)
    assert roles_of(target, base, roles={"*embedding": "tied"}) == {"token/embedding": "tied"}
    assert roles_of(target, base, roles={"*embedding": "input"}) == {"token/embedding": "input"}


BASE = {"a_kernel": (3, 4), "b_kernel": (4, 4), "c_kernel": (4, 2)}
TARGET = {"a_kernel": (3, 8), "b_kernel": (8, 8), "c_kernel": (8, 2)}
DEEP = {"depth": (2, 4), "branches": "b/*"}


@pytest.mark.parametrize(
    ("changed", "base", "options", "message"),
    [
        ({"d_bias": (8,)}, {}, {}, r"^d/bias: is in params, but not in base_params"),
        ({}, {"d_bias": (8,)}, {}, r"^d/bias: is in base_params, but not in params"),
        (BASE, {}, {}, r"^base_params: all shapes are those of params \(a/kernel"),
        ({"b_kernel": (8, 12)}, {}, {}, r"^a/kernel: its axes grow by 1, 2, but .* b/kernel by 3"),
        ({"b_kernel": (8, 6)}, {}, {}, r"^b/kernel: its axes grow by 2, 3/2, but the width of"),
        ({"b_kernel": (8, 2)}, {}, {}, r"^b/kernel: its axes grow by 2, 1/2"),
        ({"c_kernel": (8, 1, 2)}, {}, {}, r"^c/kernel: has shape .* same number of axes"),
        ({"c_kernel": (0, 2)}, {}, {}, r"^c/kernel: has shape .* none empty"),
        ({"d_kernel": (3, 8, 2)}, {"d_kernel": (3, 4, 2)}, {}, r"^d/kernel: only its middle axis"),
        ({}, {}, {"roles": {"x*": "input"}}, r"^roles\['x\*'\]: matches no parameter"),
        ({}, {}, {"roles": {"a*": "inputs"}}, r"^roles\['a\*'\]: unknown role 'inputs'; did you"),
        ({}, {}, {"roles": {"a*": "input", "*": "hidden"}}, "a/kernel has a role by another"),
        ({}, {}, {"optimiser": "adamax"}, r"^optimiser: unknown optimiser 'adamax'; did you mean"),
        ({}, {}, {"depth": (2, 4)}, r"^branches: is missing"),
        ({}, {}, {"branches": "b/*"}, r"^depth: is missing"),
        ({}, {}, DEEP | {"branches": "x"}, r"^branches\['x'\]: matches no parameter"),
        ({}, {}, DEEP | {"depth": (0, 4)}, r"^depth: is \(0, 4\)"),
        ({}, {}, DEEP | {"depth": 4}, r"^depth: is 4"),
        ({"b_k": (4, 8, 8)}, {"b_k": (2, 4, 4)}, DEEP, r"^b/k: has shape .* a stack of 4 and of 2"),
        ({}, {}, DEEP | {"depth_exponent": 0.4}, r"^depth_exponent: is 0.4"),
    ],
)
def test_bad_input_is_named(changed, base, options, message):
    with pytest.raises(ConfigurationError, match=message):
        scaling_limits.mup(shapes(**TARGET | changed), shapes(**BASE | base), **options)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({}, "^params: has no parameters"),
        ({"a": {"kernel": "text"}}, "^a/kernel: has type str in params"),
        ({"a": {"count": jnp.zeros(3, int)}}, "^a/count: has dtype int64 in params"),
    ],
)
def test_trees_hold_floating_point_arrays(tree, message):
    with pytest.raises(ConfigurationError, match=message):
        scaling_limits.mup(tree, shapes(**BASE))


def test_sizes_of_heads_grow_by_one_ratio():
    target = shapes(a_query_kernel=(16, 2, 8), b_query_kernel=(16, 8, 2))
    base = shapes(a_query_kernel=(4, 2, 2), b_query_kernel=(4, 2, 2))
    with pytest.raises(ConfigurationError, match=r"^b/query/kernel: the size of its heads"):
        scaling_limits.mup(target, base)

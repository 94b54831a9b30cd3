"""Networks with the numbers of the project's table of parameterisations get the verdicts of theory."""

from functools import cache
from typing import Any

import flax.linen as nn
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import scaling_limits
from scaling_limits.parameterisations.table import Exponents, Factors, resolve

INPUTS, CLASSES, STEPS = 8, 10, 6
RATES = {
    ("sp_gaussian", "sgd"): 0.02,
    ("sp_gaussian", "adam"): 0.005,
    ("mup", "sgd"): 0.1,
    ("mup", "adam"): 0.01,
    ("ntk", "sgd"): 1.0,
    ("depth_mup", "adam"): 0.005,
}


@cache
def numbers(scheme: str, rule: str, width: int, depth: int) -> Any:
    """The table's numbers for each role; the base sizes are the smallest ones."""
    residual = scheme == "depth_mup"
    return resolve(
        scheme,
        rule,
        width=width,
        depth=depth,
        input_dim=INPUTS,
        base_width=1 if scheme == "ntk" else 64,
        base_depth=2 if residual else 1,
        skip=residual,
        factors=Factors(),
        exponents=Exponents(depth_exponent=0.5, depth_lr_exponent=0.5) if residual else Exponents(),
        exponent_changes={},
    ).scaling


class Scaled(nn.Module):
    """A linear layer with the initial standard deviation and multiplier of a role."""

    features: int
    role: Any

    @nn.compact
    def __call__(self, x):
        init = nn.initializers.normal(self.role.init_std)
        kernel = self.param("kernel", init, (x.shape[-1], self.features))
        return self.role.multiplier * (x @ kernel)


class Network(nn.Module):
    """The project's fully connected network with ReLU; with `skip` residual with tanh, which is closer to its limit."""

    width: int
    depth: int
    scaling: Any
    skip: bool

    @property
    def act(self):
        return jnp.tanh if self.skip else nn.relu

    @nn.compact
    def __call__(self, x):
        role = self.scaling
        x = Scaled(self.width, role["input"], name="embed")(x)
        for k in range(self.depth):
            branch = Scaled(self.width, role["hidden"], name=f"hidden_{k}")(self.act(x))
            x = x + role["hidden"].branch * branch if self.skip else branch
            if self.skip:
                self.sow("intermediates", f"stream_{k}", x)
        return Scaled(CLASSES, role["output"], name="readout")(self.act(x))


def data():
    generator = np.random.default_rng(0)
    x = generator.standard_normal((64, INPUTS))
    return x, (x @ generator.standard_normal((INPUTS, CLASSES))).argmax(1)


@cache
def report(scheme, rule, *, widths, depths=(1,), unscaled=False):
    residual = scheme == "depth_mup"

    def at(width, depth):
        # without the scaling of depth, a network of any depth has the numbers of the shallowest one
        return numbers(scheme, rule, width, depths[0] if unscaled else depth)

    def build(width, depth):
        return Network(width, depth, at(width, depth), residual)

    def optimiser(width, depth):
        make = {"sgd": optax.sgd, "adam": optax.adam}[rule]
        names = {"embed": "input", "readout": "output", "*": "hidden"}
        rate, scaling = RATES[scheme, rule], at(width, depth)
        return {name: make(rate * scaling[role].learning_rate) for name, role in names.items()}

    return scaling_limits.check(
        build, optimiser, data=data(), widths=widths, depths=depths, seeds=6, steps=STEPS
    )


@pytest.mark.parametrize(
    ("scheme", "rule", "verdict"),
    [
        ("mup", "sgd", "stable"),
        ("mup", "adam", "stable"),
        ("sp_gaussian", "sgd", "explodes"),
        ("sp_gaussian", "adam", "explodes"),
        ("ntk", "sgd", "lazy"),
    ],
)
def test_verdicts_over_the_width(scheme, rule, verdict):
    widths = (64, 512) if scheme == "sp_gaussian" else (64, 192, 512)
    assert report(scheme, rule, widths=widths).verdict == verdict


@pytest.mark.parametrize(("unscaled", "verdict"), [(False, "stable"), (True, "explodes")])
def test_verdicts_over_the_depth(unscaled, verdict):
    checked = report("depth_mup", "adam", widths=(64,), depths=(4, 8, 16), unscaled=unscaled)
    assert checked.verdict == verdict
    assert {layer.axis for layer in checked.layers} == {"depth"}


def test_exponents_of_the_ntk():
    ntk = {layer.name: layer for layer in report("ntk", "sgd", widths=(64, 192, 512)).layers}
    for name, exponent in (("embed", -0.5), ("hidden_0", -0.5), ("readout", 0.0)):
        low, high = ntk[name].slope("change", STEPS).interval
        assert low - 0.1 < exponent < high + 0.1


def test_each_seed_and_width_has_its_own_weights():
    records = report("mup", "adam", widths=(64, 192, 512)).records
    initial = records[(records["quantity"] == "size") & (records["step"] == 0)]
    assert initial["value"].nunique() == len(initial) == 3 * 6 * 3

"""What the check refuses, and that its errors name the layer."""

import flax.linen as nn
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import scaling_limits
from scaling_limits.errors import ConfigurationError

X = np.random.default_rng(0).standard_normal((8, 3))
Y = np.arange(8) % 2


class Net(nn.Module):
    hidden: int
    more: bool = False
    bias: bool = False
    std: float = 0.1

    @nn.compact
    def __call__(self, x):
        init = nn.initializers.normal(self.std)
        x = nn.Dense(self.hidden, name="embed", use_bias=self.bias, kernel_init=init)(x)
        if self.more:
            x = nn.Dense(self.hidden, name="extra")(x)
        return nn.Dense(2, name="readout")(x)


def check(build=lambda width, depth: Net(width), optimiser=None, **changes):
    arguments = {"data": (X, Y), "widths": (4, 8), "seeds": 1, "steps": 2, **changes}
    return scaling_limits.check(build, optimiser or (lambda w, d: optax.sgd(0.1)), **arguments)


CASES = {
    "shapes do not follow the width": (
        {"build": lambda width, depth: Net(4)},
        r"build: layer 'embed' has the same shape \(8, 4\) at the widths 4 and 8",
    ),
    "one width": ({"widths": (4,)}, r"widths: \[4\] and depths \[1\] are one size"),
    "a width twice": ({"widths": (4, 4)}, r"widths: \[4, 4\]; valid are different positive"),
    "no width": ({"widths": (0, 4)}, "widths: .* valid are different positive integers"),
    "not finite at the start": (
        {"build": lambda width, depth: Net(width, std=np.inf)},
        "build: layer 'embed' is not finite at initialisation at width 4 and depth 1",
    ),
    "a loss that is not finite at the start": (
        {"loss": lambda outputs, y: jnp.log(jnp.zeros(())) + outputs.sum()},
        "loss: it is not finite at initialisation at width 4 .* layer 'readout'",
    ),
    "a layer at one width only": (
        {"build": lambda width, depth: Net(width, more=width > 4)},
        "build: layer 'extra': parameter 'extra/bias' exists at width 8 and not at width 4",
    ),
    "a parameter at one width only": (
        {"build": lambda width, depth: Net(width, bias=width > 4)},
        "build: layer 'embed': parameter 'embed/bias' exists at width 8 and not at width 4",
    ),
    "no model": (
        {"build": lambda width, depth: width},
        "build: returns int; valid: a Flax linen module",
    ),
    "an nnx module without rngs": (
        {"build": lambda width, depth: nnx.Linear(3, 2, rngs=nnx.Rngs(0))},
        "build: returns an nnx module and has no parameter rngs",
    ),
    "no optimiser": (
        {"optimiser": lambda width, depth: 0.1},
        "optimiser: returns float; valid: an optax transformation",
    ),
    "a group without parameters": (
        {"optimiser": lambda width, depth: {"head": optax.sgd(1.0), "*": optax.sgd(1.0)}},
        "optimiser: group 'head' matches no parameter; the layers are embed, readout",
    ),
    "a parameter without group": (
        {"optimiser": lambda width, depth: {"embed": optax.sgd(1.0)}},
        "optimiser: layer 'readout': parameter 'readout/bias' matches no group; groups: embed",
    ),
    "an unknown loss": ({"loss": "crossentropy"}, "did you mean 'cross_entropy'"),
    "targets of another shape": (
        {"loss": "mean_squared_error"},
        r"data: y has shape \(8,\); for mean_squared_error .* valid is \(8, 2\)",
    ),
    "data of different lengths": ({"data": (X, Y[:4])}, r"data: x has shape \(8, 3\) and y \(4,\)"),
    "no pair": ({"data": X}, "data: ndarray; valid is a pair"),
    "no seed": ({"seeds": 0}, "seeds: 0; valid is at least 1"),
    "one step": ({"steps": 1}, "steps: 1; valid is at least 2"),
    "blocks that differ between depths": (
        {"build": lambda w, d: Net(w, more=d > 1), "widths": (4,), "depths": (1, 2)},
        "build: layer 'extra' exists at depth 2, and depth 1 has no layer of the same name",
    ),
}


@pytest.mark.parametrize(("changes", "message"), CASES.values(), ids=CASES)
def test_refused(changes, message):
    with pytest.raises(ConfigurationError, match=message):
        check(**changes)


def transfer(optimiser=lambda w, d, learning_rate: optax.sgd(learning_rate), **changes):
    arguments = {
        "data": (X, Y),
        "widths": (4, 8),
        "seeds": 1,
        "steps": 2,
        "learning_rates": [0.1, 0.2, 0.4],
        **changes,
    }
    return scaling_limits.check_transfer(lambda w, d: Net(w), optimiser, **arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"optimiser": lambda w, d: optax.sgd(0.1)}, "neither build nor optimiser has a parameter"),
        ({"learning_rates": [0.1, 0.2]}, "learning_rate: .* at least three different positive"),
        ({"learning_rates": [0.0, 0.1, 0.2]}, "at least three different positive numbers"),
        ({"learning_rates": None}, "hyperparameters: 0 are swept"),
        ({"hyperparameters": {"momentum": [0.1, 0.2, 0.3]}}, "hyperparameters: 2 are swept"),
        (
            {"learning_rates": None, "hyperparameters": {"width": [1.0, 2.0, 3.0]}},
            "width: is no hyperparameter",
        ),
    ],
)
def test_refused_transfer(changes, message):
    with pytest.raises(ConfigurationError, match=message):
        transfer(**changes)

"""Optima of hyperparameters over the width and depth."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import optax
import pytest

import scaling_limits

RATES = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
DATA = np.ones((4, 1)), np.zeros((4, 1))


def loss(outputs, y):
    return 1 + jnp.mean((outputs - y) ** 2) / 2


def quadratic(width, depth):
    """A model with the loss 1 + w² / 2, in which gradient descent at the rate η multiplies w = 1 by 1 − η."""

    def init(key):
        return {"w": jnp.ones((width, 1))}

    def apply(params, x):
        outputs = x * params["w"].mean()
        return outputs, {"w": jnp.broadcast_to(params["w"].T, (len(x), width))}

    return init, apply


@cache
def report(power, name="learning_rate", axis="width"):
    """The best rate is one at the smallest size; `power` is the exponent by which it moves."""

    def optimiser(width, depth, learning_rate):
        size = width if axis == "width" else depth
        return optax.sgd(width * learning_rate * (size / 2) ** -power)

    def with_strength(width, depth, strength):
        return optimiser(width, depth, strength)

    swept = (
        {"learning_rates": RATES}
        if name == "learning_rate"
        else {"hyperparameters": {"strength": RATES}}
    )
    sizes = (
        {"widths": (2, 4, 8), "depths": (1,)}
        if axis == "width"
        else {"widths": (2,), "depths": (2, 4, 8)}
    )
    return scaling_limits.check_transfer(
        quadratic,
        optimiser if name == "learning_rate" else with_strength,
        data=DATA,
        loss=loss,
        seeds=2,
        steps=2,
        **swept,
        **sizes,
    )


def optima(checked, axis):
    best = checked.losses.sort_values("last").groupby(axis).first()
    return best[checked.hyperparameter].tolist()


@pytest.mark.parametrize("axis", ["width", "depth"])
def test_an_optimum_that_stays_or_moves(axis):
    assert optima(report(0.0, axis=axis), axis) == [1.0, 1.0, 1.0]
    assert optima(report(1.0, axis=axis), axis) == [1.0, 2.0, 4.0]
    assert report(0.0, axis=axis).verdict == "transfers"
    assert report(1.0, axis=axis).verdict == "moves"
    assert set(report(1.0, axis=axis).judged) == {axis}


def test_losses_against_the_closed_form():
    losses = report(0.0).losses
    np.testing.assert_allclose(losses["first"], 1.5)
    np.testing.assert_allclose(losses["last"], 1 + (1 - losses["learning_rate"]) ** 4 / 2)


def test_another_hyperparameter():
    other = report(0.0, name="strength")
    assert other.hyperparameter == "strength"
    np.testing.assert_allclose(other.losses["last"], report(0.0).losses["last"])


def test_the_report_in_words_and_as_a_picture():
    checked = report(1.0)
    assert str(checked).startswith(f"verdict: {checked.verdict}\nreason: ")
    figure = checked.plot()
    assert figure.axes[0].get_xlabel() == "learning rate"

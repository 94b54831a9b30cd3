"""Losses against their definitions, and errors against automatic differentiation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scaling_limits.errors import ConfigurationError
from scaling_limits.losses import cross_entropy, registry
from scaling_limits.losses.outputs import accuracy, mean_loss, output_error

OUTPUTS = jnp.asarray([[1.0, -2.0, 0.5], [0.0, 3.0, 2.0]])
TARGETS = jnp.asarray([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def test_definitions() -> None:
    squared = (0 + 4 + 0.25 + 0 + 9 + 1) / 4
    assert mean_loss("mean_squared_error", OUTPUTS, TARGETS) == pytest.approx(squared)
    chosen = [np.exp(1.0) / np.exp([1, -2, 0.5]).sum(), np.exp(2.0) / np.exp([0, 3, 2]).sum()]
    expected = -np.log(chosen).mean()
    assert mean_loss("cross_entropy", OUTPUTS, TARGETS) == pytest.approx(expected)


@pytest.mark.parametrize("name", registry.own)
def test_the_error_is_minus_the_gradient_of_a_samples_loss(name: str) -> None:
    gradient = jax.grad(lambda f: mean_loss(name, f, TARGETS))(OUTPUTS)
    np.testing.assert_allclose(output_error(name, OUTPUTS, TARGETS), -2 * gradient, atol=1e-12)


def test_an_error_that_is_not_given_is_derived(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = output_error("cross_entropy", OUTPUTS, TARGETS)
    monkeypatch.delattr(cross_entropy, "error")
    found = output_error("cross_entropy", OUTPUTS, TARGETS)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_accuracy() -> None:
    assert accuracy(OUTPUTS, TARGETS) == 0.5
    signs = jnp.asarray([[0.3], [-2.0], [0.1]]), jnp.asarray([[1.0], [-1.0], [-1.0]])
    assert accuracy(*signs) == pytest.approx(2 / 3)


@pytest.mark.parametrize("function", [mean_loss, output_error])
def test_unknown_losses_are_refused(function: object) -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'cross_entropy'"):
        function("cross_entrpy", OUTPUTS, TARGETS)  # type: ignore[operator]

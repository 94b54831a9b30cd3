"""Residual networks of convolutions beside pcn-limits Eq. 125, written out."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from equation_networks import backpropagated, check, problem_of, unstacked

from scaling_limits.costs.sizes import layers, num_weights
from scaling_limits.errors import ConfigurationError
from toys import RESIDUAL_CNN, cell


def convolved(x: Any, kernel: Any) -> Any:
    weight = jnp.transpose(kernel.reshape(-1, 3, 3, x.shape[-1]), (1, 2, 3, 0))
    form = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=form)


def energy(x: Any, y: Any, weights: Any, hidden: Any) -> Any:
    """Eq. 125 of two stages of two channels, one of the image's; 7 layers."""
    batch, width, depth = len(x), 18.0, 7.0
    sizes = [8, 8, 4, 4, 4, 2]
    z = [each.reshape(batch, size, size, 2) for each, size in zip(hidden, sizes, strict=True)]
    image = x.reshape(batch, 8, 8, 1)

    def pooled(u: Any) -> Any:
        return (u[:, ::2, ::2] + u[:, 1::2, ::2] + u[:, ::2, 1::2] + u[:, 1::2, 1::2]) / 4

    def branch(u: Any, kernel: Any) -> Any:
        return convolved(jnp.tanh(u), kernel) / (width * depth) ** 0.5 + u

    predictions = [
        convolved(image, weights[0]["linear"]) / 9.0**0.5,
        branch(z[0], weights[1]["linear"]),
        pooled(z[1]),
        convolved(z[2], weights[3]["linear"]) / width**0.5,
        branch(z[3], weights[4]["linear"]),
        pooled(z[4]),
    ]
    errors = sum(((a - b) ** 2).sum() for a, b in zip(z, predictions, strict=True))
    outputs = z[5].reshape(batch, -1) @ weights[6]["linear"].T / (2 * 2 * 2)
    loss = -(y * jax.nn.log_softmax(outputs)).sum()
    return (errors / 2 + loss) / batch


def test_it_is_the_equation() -> None:
    check(RESIDUAL_CNN, energy)


def test_its_premultipliers_are_those_of_the_equation() -> None:
    """Of three stages of three channels on colour images, widths being nine times channels."""
    own = backpropagated(
        RESIDUAL_CNN, dataset="cifar10", input_shape=[16, 16, 3], width=27, depth=10
    )
    of = {role: numbers.multiplier for role, numbers in own.scaling.items()}
    np.testing.assert_allclose(
        [of["input"], of["hidden"], own.scaling["hidden"].branch, of["output"]],
        [27**-0.5, 27**-0.5, 10**-0.5, 1 / (3 * 2 * 2)],
    )
    assert {numbers.init_std for numbers in own.scaling.values()} == {1.0}
    assert num_weights(layers(own)) == 3 * 27 + 5 * 3 * 27 + 10 * 12


def test_frozen_and_sizes_go_by_roles() -> None:
    own = backpropagated(RESIDUAL_CNN, frozen=["hidden"])
    assert own.frozen == ("hidden",)
    shapes = [part["linear"].shape for part in unstacked(problem_of(own)) if part]
    assert shapes == [(2, 9), (2, 18), (2, 18), (2, 18), (10, 8)]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"width": 20}, r"^width: 20 is not a multiple of 9; .* the nearest is 18"),
        ({"depth": 9}, r"^depth: .* not 9 weight_layers; the nearest is 10 weight_layers"),
        ({"depth_kind": "blocks"}, r"^depth: .* not 7 blocks; the nearest is 7 weight_layers"),
        ({"depth": 13}, r"^input_shape: residual_cnn requires images of at least 16 x 16"),
        ({"input_shape": [10, 10]}, r"^input_shape: .* 2 poolings .* 10 x 10; use multiples of 4"),
        (
            {"dataset": "attribute_words", "normalisation": "none"},
            r"^input_shape: residual_cnn requires images",
        ),
        ({"skip": True}, r"^skip: True acts only with network: mlp"),
        (
            {"exponent_changes": {"output": {"branch": {"depth": 0.5}}}},
            r"^exponent_changes.output.branch: acts only on the role hidden",
        ),
    ],
)
def test_other_shapes_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        backpropagated(RESIDUAL_CNN, **settings)


def test_a_network_without_branches_takes_no_depth_exponent() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^depth_exponent: has no effect without residual branches"
    ):
        cell(skip=False, parameterisation="mean_field", depth_exponent=0.5)

"""Inference from zeros has to move all hidden activities, or weights above one that stays never learn."""

from typing import Any

import jax
import numpy as np
import pytest
from toy_networks import build, data, descent, kernels

from scaling_limits.algorithms.predictive_coding import computation as predictive_coding
from scaling_limits.algorithms.problem import Problem
from scaling_limits.configuration import load
from scaling_limits.errors import ConfigurationError
from toys import PAPER, cell, merged, write_project

HIDDEN = 4
BEFORE, AFTER = "before_weight", "after_weight"
NEEDED = [
    # relu'(0) = 0: only what enters below moves activities
    ("relu", BEFORE, False, "synchronous", HIDDEN),
    ("relu", BEFORE, True, "sequential", HIDDEN),
    # a linear output node sees the topmost one
    ("relu", AFTER, False, "synchronous", HIDDEN - 1),
    ("relu", AFTER, True, "synchronous", HIDDEN // 2),
    # from both ends
    ("tanh", BEFORE, False, "synchronous", HIDDEN // 2),
    ("abs", BEFORE, True, "synchronous", HIDDEN // 2),
    ("gelu", AFTER, False, "sequential", 1),
]


def settings(activation: str, position: str, skip: bool, order: str, steps: int) -> dict[str, Any]:
    return {
        "activation": activation,
        "activation_position": position,
        "skip": skip,
        "depth": HIDDEN,
        "parameterisation": "sp_gaussian",
        "activity_initialisation": "zeros",
        "inference_order": order,
        "num_inference_steps": steps,
    }


def learning(
    activation: str, position: str, skip: bool, options: Any, num_hidden_layers: int = HIDDEN
) -> list[bool]:
    """Whether each layer's gradient is anything but zero."""
    network, params, scaling = build(
        scheme="sp_gaussian",
        activation=activation,
        position=position,
        skip=skip,
        num_hidden_layers=num_hidden_layers,
        output_dim=3,
    )
    x, y = data(output_dim=3)

    @jax.jit
    def gradients(params: Any) -> Any:
        numbers = {"activity_learning_rate": 0.2, "seed": 0}
        problem = Problem(network, params, scaling, x, y, options, numbers)
        return predictive_coding.update(problem, ())[0].forward

    return [bool(np.any(kernel)) for kernel in kernels(gradients(params))]


@pytest.mark.parametrize(("activation", "position", "skip", "order", "needed"), NEEDED)
def test_with_fewer_steps_some_weights_never_learn(
    activation: str, position: str, skip: bool, order: str, needed: int
) -> None:
    enough, few = (
        descent(steps, activity_initialisation="zeros", inference_order=order)
        for steps in (needed, needed - 1)
    )
    assert all(learning(activation, position, skip, enough))
    assert not all(learning(activation, position, skip, few))
    assert cell(**settings(activation, position, skip, order, needed))
    with pytest.raises(
        ConfigurationError, match=rf"^num_inference_steps: .* use at least {needed}$"
    ):
        cell(**settings(activation, position, skip, order, needed - 1))


def test_predictions_fixed_at_zero_are_refused() -> None:
    fixed = {"activity_initialisation": "zeros", "fixed_predictions": True}
    assert learning("tanh", BEFORE, True, descent(9, **fixed)) == [True, *[False] * HIDDEN]
    with pytest.raises(ConfigurationError, match=r"^fixed_predictions: .* only the lowest weights"):
        cell(**fixed)


def test_other_starts_take_any_number_of_steps() -> None:
    few = settings("relu", BEFORE, False, "synchronous", 1)
    for start in (None, "forward", "normal"):
        assert cell(**few | {"activity_initialisation": start})


def test_the_refusal_says_where_it_stands(tmp_path) -> None:
    start = {"activity_initialisation": "zeros", "num_inference_steps": 0}
    root = write_project(tmp_path, paper=merged(PAPER, {"transfer": start}))
    message = r"toy/transfer\.yaml:\d+: .*num_inference_steps: 0 leaves activities at zero"
    with pytest.raises(ConfigurationError, match=message):
        load(root).points("toy", "transfer")

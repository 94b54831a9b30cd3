"""Settings that would change nothing are refused; those that act, and the defaults, may be given."""

from typing import Any

import pytest

from scaling_limits.errors import ConfigurationError
from toys import BACKPROPAGATION, EXACT, cell

WEIGHTED = (
    "algorithm: predictive_coding, or measurements: conditioning or equilibrium_alignment or "
    "hessian_spectrum or landscape or loss_over_energy or "
    "rescaling"
)
SGD: dict[str, Any] = {"optimiser": "sgd", "parameterisation": "sp_gaussian"}
EQUILIBRIUM: dict[str, Any] = {**EXACT, "inference": "equilibrium"}


PRECONDITIONED: dict[str, Any] = {
    **BACKPROPAGATION,
    "skip": False,
    "parameterisation": "preconditioned_mup",
    "damping": 0.1,
}
KFAC: dict[str, Any] = {**PRECONDITIONED, "optimiser": "kfac"}
SHAMPOO: dict[str, Any] = {**PRECONDITIONED, "optimiser": "shampoo"}
REFUSED = [
    (
        {**KFAC, "damping_rule": "heuristics"},
        "unknown value 'heuristics'; did you mean 'heuristic'",
    ),
    ({**KFAC, "optimiser": "foof", "damping_rule": "heuristic"}, "valid: rescaled, fixed"),
    ({**KFAC, "kl_clip": 0}, "kl_clip: Input should be greater than 0"),
    ({**KFAC, "accumulation": "summed"}, "valid: none, averaged"),
    (
        {**KFAC, "accumulation": "averaged"},
        "averaging_weight: is required with accumulation: averaged",
    ),
    ({**KFAC, "damping": None}, "damping: is needed with optimiser: foof or kfac or shampoo"),
    (
        {**KFAC, "output_init_exponent": 2, "base_width": 8},
        "output_init_exponent: 2 has no effect",
    ),
    ({**KFAC, **EXACT, "activation": "linear"}, "only with algorithm: backpropagation"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_preconditioners_refuse_what_they_have_no_use_for(settings: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        cell(**settings)


def changed(role: str, quantity: str) -> dict[str, Any]:
    return {"exponent_changes": {role: {quantity: {"width": 0.5}}}}


IDLE = [
    (
        {"momentum": 0.9},
        "momentum: 0.9 acts only with optimiser: foof or kfac or sgd or shampoo",
    ),
    ({**SGD, "damping": 0.1}, "damping: 0.1 acts only with optimiser: foof or kfac or shampoo"),
    ({**SHAMPOO, "fisher": "exact"}, "fisher: exact acts only with optimiser: kfac"),
    (
        {**SHAMPOO, "damping_rule": "fixed"},
        "damping_rule: fixed acts only with optimiser: foof or kfac",
    ),
    (
        {**KFAC, "optimiser": "foof", "kl_clip": 0.1},
        "kl_clip: 0.1 acts only with optimiser: kfac",
    ),
    ({**SGD, "kl_clip": 0.1}, "kl_clip: 0.1 acts only with optimiser: kfac"),
    (
        {**KFAC, "output_damping": 0.1},
        "output_damping: has no effect without damping_rule: fixed",
    ),
    (
        {**KFAC, "input_damping_exponent": 1.0},
        "input_damping_exponent: has no effect without damping_rule: fixed",
    ),
    (
        {**KFAC, "averaging_weight": 0.1},
        "averaging_weight: has no effect without accumulation: averaged",
    ),
    (
        {**SGD, **changed("hidden", "input_damping")},
        "exponent_changes.hidden.input_damping: acts only with optimiser: foof or kfac",
    ),
    ({**SGD, "beta1": 0.8}, "beta1: 0.8 acts only with optimiser: adam"),
    ({**SGD, "beta2": 0.99}, "beta2: 0.99 acts only with optimiser: adam"),
    ({**SGD, "epsilon": 1e-6}, "epsilon: 1e-06 acts only with optimiser: adam"),
    (
        {**BACKPROPAGATION, "energy_weight": 2},
        "energy_weight: 2 acts only with " + WEIGHTED,
    ),
    (
        {**BACKPROPAGATION, "inference_tolerance": 0.1},
        "inference_tolerance: 0.1 acts only with algorithm: predictive_coding",
    ),
    (
        {**BACKPROPAGATION, "activity_decay": 0.1},
        "activity_decay: 0.1 acts only with algorithm: predictive_coding",
    ),
    (
        {**EXACT, "activation": "linear", "inference_tolerance": 0.1},
        "inference_tolerance: has no effect with inference: exact",
    ),
    (
        {**EXACT, "activation": "linear", "activity_decay": 0.1},
        "activity_decay: has no effect with inference: exact",
    ),
    (
        {**EQUILIBRIUM, "inference_tolerance": 1e-5, "num_inference_steps": 10},
        "num_inference_steps: has no effect with inference: equilibrium",
    ),
    (
        {**EQUILIBRIUM, "inference_tolerance": 1e-5, "activity_decay": 0.1},
        "activity_decay: has no effect with inference: equilibrium",
    ),
    (
        {**BACKPROPAGATION, "output_energy_weight": 2},
        "output_energy_weight: 2 acts only with " + WEIGHTED,
    ),
    (
        {"skip": False, **changed("hidden", "branch")},
        "exponent_changes.hidden.branch: acts only on the role hidden with skip: true",
    ),
    (
        changed("input", "branch"),
        "exponent_changes.input.branch: acts only on the role hidden with skip: true",
    ),
    (
        changed("output", "branch"),
        "exponent_changes.output.branch: acts only on the role hidden with skip: true",
    ),
    (
        {**SGD, **changed("input", "epsilon")},
        "exponent_changes.input.epsilon: acts only with optimiser: adam",
    ),
    (
        {**BACKPROPAGATION, **changed("output", "energy_weight")},
        "exponent_changes.output.energy_weight: acts only with " + WEIGHTED,
    ),
    (
        changed("feedback_hidden", "init_std"),
        "exponent_changes.feedback_hidden.init_std: acts only with an algorithm that trains feedback weights",
    ),
    (
        {**BACKPROPAGATION, **changed("inference", "step")},
        "exponent_changes.inference.step: acts only with algorithm: predictive_coding",
    ),
    (
        {**EXACT, "activation": "linear", **changed("inference", "step")},
        "exponent_changes.inference.step: acts only with inference: gradient_descent or adam",
    ),
]


@pytest.mark.parametrize(("settings", "message"), IDLE)
def test_what_would_change_nothing_is_refused(settings: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        cell(**settings)
    assert str(caught.value) == f"{message}; leave it out"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inference_tolerance": 0.0}, "inference_tolerance: .* greater than 0"),
        ({"inference_tolerance": -1e-3}, "inference_tolerance: .* greater than 0"),
        ({"activity_decay": -0.5}, "activity_decay: .* greater than or equal to 0"),
    ],
)
def test_what_inference_cannot_take_is_refused(settings: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        cell(**settings)


REAL: dict[str, Any] = {
    "dataset": "scalar_regression",
    "targets": "real",
    "normalisation": "none",
}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({**REAL, "targets": "one_hot"}, "targets: 'one_hot' .* has real targets; use 'real'"),
        ({**REAL, "targets": "scalar"}, "targets: 'scalar' .* has real targets; use 'real'"),
        ({"targets": "real"}, "targets: 'real' .* 'digits', which has classes; use 'one_hot'"),
        ({**REAL, "loss": "cross_entropy"}, "loss: 'cross_entropy' requires targets: one_hot"),
        (
            {**REAL, "target_dim": 2},
            "target_dim: has no effect with targets: real, which have 1 outputs here; leave it out",
        ),
        (
            {**REAL, "measure": {"training_performance": [0]}},
            "measurements.training_performance: .* targets: real; use one_hot or scalar",
        ),
    ],
)
def test_real_targets_go_with_data_that_have_them(settings: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        cell(**{"num_train": 64, **settings})


def test_none_is_as_if_it_were_not_given() -> None:
    assert cell(momentum=None) == cell()
    assert cell(**BACKPROPAGATION, energy_weight=None) == cell(**BACKPROPAGATION)


@pytest.mark.parametrize(
    ("role", "quantity"),
    [
        ("hidden", "branch"),
        ("input", "epsilon"),
        ("output", "energy_weight"),
        ("inference", "step"),
    ],
)
def test_changes_that_act_change_the_cell(role: str, quantity: str) -> None:
    assert cell(**changed(role, quantity)) != cell()


def test_energy_weights_act_on_equilibria_that_are_measured() -> None:
    """Whatever the algorithm is, its errors are put beside predictive coding's."""
    settings = {**BACKPROPAGATION, **changed("output", "energy_weight"), "energy_weight": 2}
    weighted = cell(**settings, activation="linear", measure={"equilibrium_alignment": [0]})
    assert weighted.scaling["hidden"].energy_weight == 2

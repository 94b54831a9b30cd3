"""Measurements that are not defined for a cell are refused when the configuration is read."""

from typing import Any

import pytest

from scaling_limits.configuration import load
from scaling_limits.errors import ConfigurationError
from toys import BACKPROPAGATION, EXACT, PAPER, cell, merged, write_project

LINEAR: dict[str, Any] = {"activation": "linear", "skip": False, "parameterisation": "sp_gaussian"}
LINEAR |= {"optimiser": "sgd"}
LINEAR_BLOCKS = {"activation": "linear", "depth_kind": "blocks"}
IMAGES: dict[str, Any] = {
    **BACKPROPAGATION,
    "dataset": "mnist",
    "skip": None,
    "parameterisation": "sp_gaussian",
    "optimiser": "sgd",
    "width": 1,
}
CNN = {**IMAGES, "network": "cnn", "depth": 2}
VGG5 = {**IMAGES, "network": "vgg5", "depth": 6}
MEAN = "its expected value is known"


@pytest.mark.parametrize(
    ("measurement", "settings", "words"),
    [
        ("rescaling", {"activation": "tanh"}, "activation: linear .* not .* activation: tanh"),
        (
            "rescaling",
            {**LINEAR, "loss": "cross_entropy"},
            "loss: mean_squared_error, not .* loss: cross_entropy",
        ),
        (
            "rescaling",
            {"activation": "linear", "mean_subtraction": True},
            f"{MEAN} without mean_subtraction",
        ),
        ("rescaling", {**LINEAR_BLOCKS, "block_depth": 2}, f"{MEAN} for block_depth: 1"),
        *(
            (name, {**LINEAR_BLOCKS, "layer_norm": True}, "use layer_norm: false")
            for name in ("rescaling", "equilibrium_alignment", "loss_over_energy")
        ),
        (
            "rescaling",
            {**LINEAR, "exponent_changes": {"input": {"energy_weight": {"width": 0.5}}}},
            f"{MEAN} only if .* the same energy weight",
        ),
        (
            "equilibrium_alignment",
            {"activation": "tanh"},
            "activation: linear .* not .* activation: tanh",
        ),
        (
            "equilibrium_alignment",
            {**CNN, "activation": "linear"},
            "network: mlp, .* not network: cnn",
        ),
        ("feature_increments", CNN, "layers of equal size, .* 'cnn'"),
        ("feature_increments", VGG5, "layers of equal size, .* 'vgg5'"),
        ("conditioning", CNN, "layers of equal size, as in network: mlp, not 'cnn'"),
        ("conditioning", {}, "dtype: float64, not 'float32'"),
        ("hessian_spectrum", {}, "dtype: float64, not 'float32'"),
        ("output_alignment", CNN, "without pooling .* 'cnn'"),
        (
            "loss_over_energy",
            {"activation": "relu"},
            "activation: linear .* not .* activation: relu",
        ),
        ("loss_over_energy", {**LINEAR, "loss": "cross_entropy"}, "not .* loss: cross_entropy"),
        ("inference_trace", BACKPROPAGATION, "gradient_descent or adam, not 'backpropagation'"),
        (
            "inference_trace",
            {**EXACT, "activation": "linear"},
            "gradient_descent or adam, .* with inference 'exact'",
        ),
        ("inference_trace", {"inference_tolerance": 0.1}, "remove inference_tolerance"),
        (
            "landscape",
            {"activation": "linear", "dtype": "float64", "inference_tolerance": 0.1},
            "remove inference_tolerance",
        ),
        (
            "landscape",
            {**BACKPROPAGATION, "activation": "linear", "dtype": "float64"},
            "inference: gradient_descent or adam, not 'backpropagation'",
        ),
        (
            "feedback_reconstruction",
            BACKPROPAGATION,
            "feedback weights, .* not 'backpropagation'",
        ),
    ],
)
def test_what_is_not_defined_is_refused(
    measurement: str, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=rf"^measurements\.{measurement}: .*{words}"):
        cell(**settings, measure={measurement: [0]})


@pytest.mark.parametrize(
    ("measurement", "settings"),
    [
        ("rescaling", LINEAR),
        ("equilibrium_alignment", {**LINEAR, **BACKPROPAGATION}),
        ("loss_over_energy", {**LINEAR, **BACKPROPAGATION}),
        ("loss_over_energy", {**LINEAR_BLOCKS, **BACKPROPAGATION, "block_depth": 2}),
        ("feature_increments", {}),
        ("output_alignment", VGG5),
        ("output_alignment", {}),
    ],
)
def test_what_is_defined_is_taken(measurement: str, settings: dict[str, Any]) -> None:
    found = cell(**settings, measure={measurement: [0]})
    assert [spec.name for spec in found.measurements] == [measurement]


def test_the_mean_rescaling_is_not_that_of_orthogonal_draws() -> None:
    settings = {"activation": "linear", "measure": {"rescaling": [0]}}
    assert cell(parameterisation="sp_gaussian", **settings).measurements
    with pytest.raises(ConfigurationError, match=r"rescaling: .* not 'orthogonal'"):
        cell(parameterisation="orthogonal", **settings)


def test_the_refusal_says_where_the_measurement_stands(tmp_path) -> None:
    changes = {"transfer": {"measurements": {"rescaling": 0}}}
    root = write_project(tmp_path, paper=merged(PAPER, changes))
    message = r"toy/transfer\.yaml:\d+: experiments\.transfer\.grids\.main: measurements\.rescaling: requires"
    with pytest.raises(ConfigurationError, match=message):
        load(root).points("toy", "transfer")

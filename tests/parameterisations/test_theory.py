"""Powers of depth and the regions of depth-mup Fig. 1."""

import math

import pytest

from scaling_limits.errors import ConfigurationError
from scaling_limits.parameterisations.table import Exponents, find_row
from scaling_limits.parameterisations.theory import (
    depth_exponents,
    depth_exponents_of,
    depth_region,
    width_exponents,
)


def predicted(alpha, gamma, optimiser="sgd", **changes):
    row = find_row("depth_mup", optimiser)
    return depth_exponents(row, exponents=Exponents(alpha, gamma), exponent_changes=changes)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize(
    ("alpha", "gamma", "region"),
    [
        # inside
        (0.25, 0.75, "unstable at initialisation"),
        (0.0, 0.0, "unstable at initialisation"),
        (0.25, 2.0, "unstable at initialisation"),
        (0.75, 0.0, "unstable in training"),
        (1.25, -0.5, "unstable in training"),
        (0.75, 0.5, "trivial"),
        (1.5, -0.25, "trivial"),
        # on the line alpha + gamma = 1
        (1.25, -0.25, "unfaithful"),
        (0.75, 0.25, "redundant"),
        (0.6, 0.4, "redundant"),
        # borders: alpha = 1/2 is stable, alpha = 1 on the line faithful
        (0.5, 0.25, "unstable in training"),
        (0.5, 0.75, "trivial"),
        (1.0, 0.0, "redundant"),
        (0.5, 0.5, "diverse"),
        # either side of the borders
        (0.499, 0.501, "unstable at initialisation"),
        (0.501, 0.499, "redundant"),
        (0.501, 0.498, "unstable in training"),
        (0.501, 0.5, "trivial"),
        (1.001, -0.001, "unfaithful"),
    ],
)
def test_regions(alpha, gamma, region, optimiser):
    """depth-mup Claims 7.1 to 7.5; rounding (0.6 + 0.4 - 1) decides nothing."""
    assert predicted(alpha, gamma, optimiser).region == region


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_powers_of_depth(optimiser):
    """f_1 ~ L^(1 - alpha - gamma), h_1 ~ L^max(0, -gamma) on alpha + gamma = 1 (depth-mup App. D.2, D.3)."""
    powers = predicted(1.25, -0.25, optimiser)
    assert (powers.activity, powers.initial_change) == (0.0, -0.75)
    assert (powers.output_change, powers.update, powers.preactivation) == (0.0, 0.25, 0.25)
    faithful = predicted(0.75, 0.25, optimiser)
    assert (faithful.update, faithful.preactivation) == (-0.25, 0.0)
    # initial weights act on features that have grown
    assert predicted(0.5, 0.25, optimiser).preactivation == 0.25
    assert predicted(0.25, 1.0, optimiser).output_change == math.inf


def test_exponent_changes_move_a_parameterisation_to_another_region():
    wrong_branch = {"hidden": {"branch": {"depth": 0.25}}}
    assert predicted(0.5, 0.5, **wrong_branch).region == "unstable at initialisation"
    wrong_rate = {"hidden": {"learning_rate": {"depth": -0.5}}}
    assert predicted(0.5, 0.5, **wrong_rate).region == "trivial"


def test_measured_powers_are_zero_within_a_tolerance():
    measured = {"activity": 0.04, "initial_change": -0.2, "preactivation": 0.1}
    assert depth_region(**measured, output_change=-0.1, tolerance=0.125) == "redundant"
    assert depth_region(**measured, output_change=-0.2, tolerance=0.125) == "trivial"
    assert depth_region(**measured, output_change=0.0, tolerance=0.05) == "unfaithful"


def test_predictions_are_taken_from_a_cells_settings():
    settings = {"parameterisation": "depth_mup", "optimiser": "sgd", "width": 64}
    exponents = {"depth_exponent": 0.75, "depth_lr_exponent": 0.5}
    changes = {"exponent_changes": '{"hidden": {"learning_rate": {"depth": 0.5}}}'}
    missing = {"preconditioner_exponent": math.nan}
    found = depth_exponents_of({**settings, **exponents, **changes, **missing})
    assert found == predicted(0.75, 0.5)
    with pytest.raises(ConfigurationError, match="predicted for sgd and adam, not for 'kfac'"):
        depth_exponents_of({**settings, "optimiser": "kfac"})
    with pytest.raises(ConfigurationError, match=r"depth_exponent: required by"):
        depth_exponents_of(settings | {"depth_exponent": None})
    with pytest.raises(ConfigurationError, match="unknown parameterisation 'mine'"):
        depth_exponents_of(settings | {"parameterisation": "mine"})


def test_powers_of_width_are_not_predicted_for_an_unknown_optimiser():
    row = find_row("sp_gaussian", "sgd").model_copy(update={"update_rule": "lion"})
    network = {"num_hidden_layers": 2, "skip": False}
    with pytest.raises(ConfigurationError, match="adam, sgd, shampoo, foof, kfac, not for 'lion'"):
        width_exponents(row, **network, exponents=Exponents(), exponent_changes={})

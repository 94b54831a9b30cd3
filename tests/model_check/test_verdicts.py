"""Slopes, thresholds and verdicts on made-up values, and the layer that a report names."""

import numpy as np
import pytest

from scaling_limits.model_check.scaling import slope_of
from scaling_limits.model_check.verdicts import (
    AT_MOST,
    CONSTANT,
    bounds_of,
    culprit_of,
    judge,
    verdict_of,
)

SIZES = (64, 128, 256, 512)
STEPS = 10


def values(power, spread=0.02, level=1.0, seed=0):
    noise = np.random.default_rng(seed).standard_normal((len(SIZES), 3))
    return [
        level * (n / 64) ** power * np.exp(spread * e) for n, e in zip(SIZES, noise, strict=True)
    ]


def slope(quantity, power, bounds, step=STEPS, **noise):
    return slope_of(quantity, step, values(power, **noise), SIZES, bounds)


def layer(
    name="hidden",
    kind="hidden",
    *,
    initial=0.0,
    size=0.0,
    change=0.0,
    first=None,
    own=None,
    moves=True,
):
    slopes = [
        slope("size", initial, AT_MOST, step=0),
        slope("size", size, bounds_of("size", kind, last=True)),
        slope("change", change, bounds_of("change", kind, last=True)),
    ]
    if first is not None:
        slopes.append(slope("update", first, AT_MOST, step=1))
    if own is not None:
        slopes.append(slope("update", own, CONSTANT))
    return judge(name, "width", kind, slopes, moves)


@pytest.mark.parametrize("power", [-1.0, -0.5, 0.0, 0.5])
def test_the_interval_covers_the_exponent(power):
    measured = slope("change", power, CONSTANT)
    low, high = measured.interval
    assert low < power < high < low + 0.2
    assert measured.holds is (abs(power) < 0.25)


def test_a_wide_interval_decides_nothing():
    assert slope("change", 0.2, CONSTANT, spread=0.5).holds is None


def test_intervals_cover_as_often_as_they_say():
    covered = 0
    for seed in range(200):
        low, high = slope("change", 0.0, CONSTANT, spread=0.2, seed=seed).interval
        covered += low <= 0 <= high
    assert covered >= 180


@pytest.mark.parametrize(
    ("last", "expected"), [(np.inf, np.inf), (0.0, -np.inf)], ids=["diverged", "zero"]
)
def test_what_has_no_logarithm_at_the_largest_size(last, expected):
    array = [np.ones(3), np.ones(3), np.ones(3), np.full(3, last)]
    measured = slope_of("change", STEPS, array, SIZES, CONSTANT)
    assert measured.value == expected
    assert measured.holds is False


def test_divergence_at_the_smallest_size_decides_nothing():
    array = [np.full(3, np.nan), np.ones(3), np.ones(3), np.ones(3)]
    assert slope_of("change", STEPS, array, SIZES, CONSTANT).holds is None


def test_zero_everywhere_has_no_exponent():
    assert slope_of("change", STEPS, [np.zeros(3)] * 4, SIZES, CONSTANT) is None


@pytest.mark.parametrize(
    ("verdict", "exponents"),
    [
        ("stable", {}),
        ("stable", {"initial": -0.5}),
        ("explodes", {"initial": 0.5}),
        ("explodes", {"size": 0.5}),
        ("explodes", {"change": 1.0}),
        ("explodes", {"first": 1.0}),
        ("explodes", {"own": 1.0, "size": -0.5}),
        ("vanishes", {"size": -0.5}),
        ("vanishes", {"change": -0.5, "moves": False}),
        ("lazy", {"change": -0.5}),
        ("lazy", {"own": -1.0}),
    ],
)
def test_verdict_of_a_hidden_layer(verdict, exponents):
    judged = layer(**exponents)
    assert judged.verdict == verdict
    assert (judged.cause == "") == (verdict == "stable")


def test_only_output_and_inner_products_may_be_small():
    assert layer(kind="output", size=-0.5).verdict == "stable"
    assert layer(kind="inner product", size=-0.5, change=-0.5).verdict == "stable"
    assert layer(kind="inner product", change=0.5).verdict == "explodes"


def test_a_small_initial_output_is_explained():
    assert "look at the last step" in layer(kind="output", initial=-0.5).cause
    assert layer(kind="output").cause == ""


def test_an_output_that_never_changes_vanishes():
    size = slope("size", 0.0, AT_MOST)
    assert judge("readout", "width", "output", [size], output_moves=False).verdict == "vanishes"


def test_the_model_has_its_worst_verdict():
    layers = [layer(), layer(own=-1.0), layer(change=1.0)]
    assert verdict_of(layers) == "explodes"
    assert verdict_of(layers[:2]) == "lazy"
    assert verdict_of(layers[:1]) == "stable"
    assert culprit_of(layers[:1], STEPS) is None


def test_the_first_layer_with_a_large_initial_size_is_named():
    layers = [layer("a"), layer("b", initial=0.5), layer("c", initial=1.0, first=1.0)]
    assert culprit_of(layers, STEPS).name == "b"


def test_the_layer_with_the_farthest_update_is_named():
    layers = [layer("a", first=0.5), layer("b", first=1.0), layer("c", first=1.0, own=2.0)]
    assert culprit_of(layers, STEPS).name == "b"


def test_without_updates_at_the_first_step_the_last_one_counts():
    layers = [layer("a", change=-0.5, own=-0.4), layer("b", own=-1.0)]
    assert culprit_of(layers, STEPS).name == "b"


def test_queries_may_change_less_but_not_vanish():
    assert bounds_of("change", "hidden", last=True, indirect=True) == AT_MOST
    assert bounds_of("update", "hidden", last=True, indirect=True) == AT_MOST
    assert bounds_of("size", "hidden", last=True, indirect=True) == CONSTANT

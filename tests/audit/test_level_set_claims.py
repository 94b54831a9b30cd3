"""Slopes of level sets, as far as the records tell."""

import numpy as np
import pytest
from claim_examples import LEVEL_SET, plane_rows, straight

ONE = {**LEVEL_SET, "each": [], "only": {"width": 32}}
GROWS = {**LEVEL_SET, "each": [], "at_most": None, "growing_along": "width", "at_least": 0.4}


@pytest.mark.parametrize(
    ("rule", "slope", "expected"),
    [
        ({"at_most": -1.5}, -1.8, "holds"),
        ({"at_most": -1.5}, -1.0, "fails"),
        ({"at_most": None, "at_least": -1.3}, -1.0, "holds"),
        ({"at_most": None, "at_least": -1.3}, -1.8, "fails"),
        ({"at_most": None, "expected": -1.0}, -0.9, "holds"),
        ({"at_most": None, "expected": -1.0}, -1.4, "fails"),
    ],
)
def test_the_slope_decides(decide, tabulate, bowl_rows, rule, slope, expected):
    control = -0.5 if "expected" in rule else -1.8 if "at_least" in rule else -1.0
    rows = plane_rows(bowl_rows, straight(slope), noise=0.005)
    rows += plane_rows(bowl_rows, straight(control), noise=0.005, grid="control")
    verdict = decide(ONE | rule, tabulate(rows))
    assert verdict.verdict == expected
    assert verdict.value == pytest.approx(slope, abs=0.05)


def test_exact_values_have_no_interval(decide, tabulate, bowl_rows):
    rows = plane_rows(bowl_rows, straight(-1.8), noise=0, seeds=1)
    verdict = decide(ONE, tabulate([row | {"limit": "exact"} for row in rows]))
    assert verdict.value == pytest.approx(-1.8)
    assert verdict.interval is None


def test_noise_widens_the_interval(decide, tabulate, bowl_rows):
    ends = [
        decide(ONE, tabulate(plane_rows(bowl_rows, straight(-1.8), noise=noise))).interval
        for noise in (0.01, 0.1)
    ]
    (low, high), (lowest, highest) = ends
    assert highest - lowest > 3 * (high - low)
    assert lowest < -1.8 < highest


def test_the_interval_has_what_it_says(measure, tabulate, bowl_rows):
    """Of 30 records whose slope is at the threshold, few are on one side of it for sure."""
    answers = []
    for k in range(30):
        rng = np.random.default_rng(k)
        rows = plane_rows(bowl_rows, straight(-1.5), noise=0, widths=(32,))
        rows = [row | {"value": row["value"] * np.exp(0.05 * rng.normal())} for row in rows]
        answers.append(measure(ONE, tabulate(rows)))
    assert answers.count(None) >= 25


def test_the_farthest_group_counts(decide, tabulate, bowl_rows):
    rows = plane_rows(bowl_rows, lambda n, x, y: straight(-2.0 if n == 32 else -1.2)(n, x, y))
    verdict = decide(LEVEL_SET, tabulate(rows))
    assert verdict.verdict == "fails"
    assert "at width 256, -1.2" in verdict.detail


def flattening(slopes):
    """A slope for each of the widths 32, 64, ..."""
    return lambda n, x, y: straight(slopes[int(np.log2(n / 32))])(n, x, y)


@pytest.mark.parametrize(
    ("slopes", "expected"),
    [
        ((-2.0, -1.4, -1.0), "holds"),
        ((-1.0, -1.0, -1.0), "fails"),  # as where the slope is -1 everywhere
        ((-1.0, -1.4, -2.0), "fails"),
        ((-2.0, -2.6, -1.0), "fails"),  # grows from end to end, and falls on the way
        ((-2.0, -2.0, -1.0), "holds"),
    ],
)
def test_slopes_that_grow(decide, tabulate, bowl_rows, slopes, expected):
    rows = plane_rows(bowl_rows, flattening(slopes), widths=(32, 64, 128))
    rows += plane_rows(bowl_rows, straight(-1.0), grid="control", widths=(32, 64, 128))
    verdict = decide(GROWS, tabulate(rows))
    assert verdict.verdict == expected
    if slopes[1] != -2.6:
        assert verdict.value == pytest.approx(slopes[2] - slopes[0], abs=0.15)
        assert "at width 128 less that at width 32" in verdict.detail
    else:
        assert "at width 64 less that at width 32" in verdict.detail


def test_a_fall_on_the_way_that_noise_explains_does_not_fail(decide, tabulate, bowl_rows):
    rows = plane_rows(bowl_rows, flattening((-1.8, -1.85, -1)), widths=(32, 64, 128), noise=0.1)
    rows += plane_rows(bowl_rows, straight(-1.0), grid="control", widths=(32, 64, 128), noise=0.1)
    assert decide(GROWS, tabulate(rows)).verdict == "holds"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (lambda n, x, y: 3.0 + x**2, "its smallest value is 3"),
        (lambda n, x, y: 1.0, "it is 1 at the smallest learning rate and activity learning rate"),
        (lambda n, x, y: straight(-1.0)(n, x + 7.5, y), "the level set leaves the grid"),
    ],
)
def test_too_few_crossings_decide_nothing(decide, tabulate, bowl_rows, value, said):
    rows = plane_rows(bowl_rows, value, widths=(32,), noise=1e-4)
    verdict = decide(ONE, tabulate(rows))
    assert verdict.verdict == "inconclusive"
    assert verdict.detail.startswith("the level set training loss = 2 crosses ")
    assert "rows and columns of the grid, 3 are needed: " in verdict.detail
    assert said in verdict.detail


def test_divergence_above_the_best_is_no_matter(decide, tabulate, bowl_rows):
    rows = plane_rows(bowl_rows, straight(-1.8), noise=0.005, widths=(32,))
    rows += plane_rows(bowl_rows, straight(-1.0), noise=0.005, widths=(32,), grid="control")
    rows = [
        row | {"value": np.nan} if row["learning_rate"] > 0.3 and row["seed"] else row
        for row in rows
    ]
    assert decide(ONE, tabulate(rows)).verdict == "holds"


def test_one_size_does_not_grow(decide, tabulate, bowl_rows):
    rows = plane_rows(bowl_rows, straight(-1.0), widths=(32,))
    assert decide(GROWS, tabulate(rows)).detail == "there is only one width"

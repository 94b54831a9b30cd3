"""Points by setting and seed, intervals of what is drawn, and what they decide."""

import numpy as np
import pandas as pd
import pytest

from scaling_limits.claims.intervals import decide, extreme_of, interval_of
from scaling_limits.claims.points import Table, by_size, grouped, points_of, ratio_of

INF = np.inf


@pytest.mark.parametrize(
    ("value", "interval", "expected"),
    [
        (0.5, (0.1, 0.9), True),
        (0.5, (0.0, 1.0), True),
        (0.5, (-0.1, 0.9), None),
        (0.5, (0.1, 1.1), None),
        (1.5, (0.9, 2.0), None),
        (1.5, (1.1, 2.0), False),
        (-0.5, (-0.9, -0.1), False),
        (0.5, (-INF, INF), None),
        (0.5, None, True),
        (1.0, None, True),
        (1.5, None, False),
        (INF, None, False),
        (np.nan, (np.nan, np.nan), None),
    ],
)
def test_what_lies_between_none_and_one(value, interval, expected):
    assert decide(value, interval, 0.0, 1.0) is expected


def test_an_interval_leaves_out_a_fortieth_at_each_end():
    drawn = np.random.default_rng(0).permutation(1001) / 1000
    assert interval_of(drawn) == (0.025, 0.975)
    assert interval_of(drawn, drawn + 1) == (0.025, 1.975)


def test_an_interval_is_open_if_more_than_a_fortieth_is():
    drawn = np.linspace(0, 1, 1001)
    few, many = (np.where(drawn < share, -INF, drawn) for share in (0.02, 0.03))
    assert interval_of(few) == (0.025, 0.975)
    assert interval_of(many) == (-INF, 0.975)


def test_an_extreme_may_be_as_far_on_the_other_side():
    """By differences, or by factors: a positive number is not below zero for being found in different sizes."""
    drawn = np.full(1001, 8.0)
    drawn[:100] = 4.0
    assert extreme_of(2.0, drawn) == (-4.0, 8.0)
    assert extreme_of(2.0, drawn, least=0.0) == (0.0, 8.0)
    assert extreme_of(2.0, drawn, logarithmic=True) == (0.5, 8.0)
    assert extreme_of(16.0, drawn, logarithmic=True) == (4.0, 64.0)


@pytest.mark.parametrize("drawn", [[2.0, 2.0], [INF, INF], []], ids=str)
def test_what_does_not_scatter_has_no_interval(drawn):
    assert interval_of(np.array(drawn)) is None


def test_a_ratio_of_what_diverged():
    values, references = np.array([1.0, 1.0, INF, INF]), np.array([2.0, INF, 2.0, INF])
    assert ratio_of(values, references).tolist() == [0.5, 0.0, INF, INF]


def test_exact_values_have_no_interval():
    rows = pd.DataFrame({"width": [1, 2], "seed": [0, 0], "value": [1.0, 2.0]})
    for exact in (True, False):
        drawn = points_of(Table(rows, exact=exact), ["width"]).draws(np.random.default_rng(0))
        assert (interval_of(drawn[0]) is None) == exact


def test_seeds_may_differ_from_group_to_group():
    rows = [
        (n, k, s, 1.0 + s) for n, seeds in ((32, 3), (64, 1)) for k in (1, 2) for s in range(seeds)
    ]
    rows += [(32, 1, 7, 9.0)]
    table = Table(pd.DataFrame(rows, columns=["width", "rate", "seed", "value"]))
    found = grouped(table, ["width"], ["rate"])
    assert [points.num_seeds for points in found.values()] == [3, 1]
    assert found[(32,)].means.tolist() == [2.0, 2.0]


def test_steps_of_the_same_runs_share_the_effects_of_seeds():
    """A seed scales a whole run, which cancels between steps, but not between networks of other widths."""
    rows = [(10.0**-t * 2.0**seed, t, seed) for t in (1, 2, 3) for seed in (-1, 0, 1)]
    table = pd.DataFrame(rows, columns=["value", "step", "seed"])
    steps = by_size(Table(table), "step", [])
    assert [points.means.item() for points in steps.values()] == pytest.approx(
        [10.0**-t * 3.5 / 3 for t in (1, 2, 3)]
    )
    assert all(points.spread.shared == 0 for points in steps.values())
    assert all(points.spread.independent.max() < 1e-30 for points in steps.values())
    widths = by_size(Table(table.rename(columns={"step": "width"})), "width", [])
    assert all(
        points.spread.independent.sum() + points.spread.shared > 0.1 for points in widths.values()
    )


def test_intervals_of_all_points_hold_together():
    """Some mean lies above its interval's upper end by chance in at most a fortieth of all records."""
    rng, num_points, missed = np.random.default_rng(1), 14, 0
    for _ in range(400):
        values = np.exp(0.1 * rng.standard_normal((num_points, 3)))
        rows = [(value, n, s) for n, row in enumerate(values) for s, value in enumerate(row)]
        points = points_of(Table(pd.DataFrame(rows, columns=["value", "width", "seed"])), ["width"])
        missed += bool((points.ends(0.025 / num_points)[:, 1] < 1).any())
    assert missed <= 0.025 * 400 + 2 * np.sqrt(0.025 * 400)

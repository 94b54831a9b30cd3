"""One hyperparameter that is flatter than another."""

import numpy as np
import pytest
from claim_examples import FLATTER, bowls, plane_rows

ONE = {**FLATTER, "each": []}
FLAT, STEEP = "activity_learning_rate", "learning_rate"


def rows_of(bowl_rows, flatness, **options):
    return plane_rows(bowl_rows, bowls(flatness), widths=(32,), **options)


@pytest.mark.parametrize(("flatness", "expected"), [(4, "holds"), (2.5, "fails"), (0.25, "fails")])
def test_the_ratio_of_spreads_decides(decide, tabulate, bowl_rows, flatness, expected):
    """Both bowls reach four octaves from the best, where they are 1.6 and 1.6 / flatness above it."""
    verdict = decide(ONE, tabulate(rows_of(bowl_rows, flatness, noise=1e-3)))
    assert verdict.verdict == expected
    assert verdict.value == pytest.approx(1 / flatness, rel=0.01)
    assert verdict.threshold == "ratio of spreads at most 0.333"


def test_exact_values_have_the_spread_of_their_definition(decide, tabulate, bowl_rows):
    rows = [row | {"limit": "exact"} for row in rows_of(bowl_rows, 4, seeds=1, noise=0)]
    verdict = decide(ONE, tabulate(rows))
    assert verdict.value == pytest.approx(0.4 / 1.6)
    assert verdict.interval is None


def test_spreads_are_those_of_the_best_over_the_other(decide, tabulate, bowl_rows):
    """In a valley along the diagonal, rows and columns are steep and their best values are not."""
    valley = plane_rows(bowl_rows, lambda n, x, y: 1 + (x - y) ** 2 + 0.1 * x**2, noise=0)
    rows = [row | {"limit": "exact"} for row in valley if row["width"] == 32]
    # the best at x is 1 + 0.1 x^2, where y = x; the best at y = -8 is where x = -8 or -7
    assert decide(ONE, tabulate([r for r in rows if r["seed"] == 0])).value == pytest.approx(
        min(0.1 * 64, 1 + 0.1 * 49) / (0.1 * 64)
    )


def test_the_groups_all_count(decide, tabulate, bowl_rows):
    rows = plane_rows(bowl_rows, lambda n, x, y: bowls(4 if n == 32 else 2)(n, x, y))
    verdict = decide(FLATTER, tabulate(rows))
    assert verdict.verdict == "fails"
    assert "at width 256" in verdict.detail
    assert decide(ONE | {"only": {"width": 32}}, tabulate(rows)).verdict == "holds"


def test_further_columns_count_at_their_best(decide, tabulate, bowl_rows):
    rows = [
        row | {"momentum": m, "value": row["value"] * (2 if m else 1)}
        for row in rows_of(bowl_rows, 4)
        for m in (0.0, 0.9)
    ]
    verdict = decide(ONE | {"profile": ["momentum"]}, tabulate(rows))
    assert verdict.value == pytest.approx(0.25, rel=0.05)


def test_divergence_over_the_flat_one_fails(decide, tabulate, bowl_rows):
    rows = [row | {"value": np.nan} if row[FLAT] == 1 else row for row in rows_of(bowl_rows, 1000)]
    verdict = decide(ONE, tabulate(rows))
    assert verdict.verdict == "fails"
    assert verdict.detail == "at some activity learning rate every cell diverged"


def test_divergence_over_the_steep_one_is_no_evidence(decide, tabulate, bowl_rows):
    """Both are as flat; where rates diverge the spread is that of the others, here over three octaves."""

    def value(n, x, y):
        return (1 + 0.1 * (x + 8) ** 2) * bowls(1)(n, -4.0, y)

    rows = plane_rows(bowl_rows, value, widths=(32,), noise=1e-3)
    lost = [row | {"value": np.inf} if row[STEEP] > 2.0**-5 else row for row in rows]
    verdict = decide(ONE, tabulate(lost))
    assert verdict.verdict == "fails"
    assert verdict.value == pytest.approx(1.6 / 0.9, rel=0.01)
    lost = [row | {"value": np.inf} if row[STEEP] > 2.0**-8 else row for row in rows]
    assert decide(ONE, tabulate(lost)).detail == (
        "training loss is the same at every learning rate that did not diverge"
    )


def test_spans_that_differ_decide_nothing(decide, tabulate, bowl_rows):
    verdict = decide(ONE, tabulate(rows_of(bowl_rows, 4, other_rates=(0.5, 1.0))))
    assert verdict.detail == (
        "activity learning rate spans 1 octave and learning rate spans 8 octaves: "
        "spreads compare over equal spans"
    )


def test_noise_widens_the_interval(decide, tabulate, bowl_rows):
    quiet, loud = (
        decide(ONE, tabulate(rows_of(bowl_rows, 5, noise=noise))).interval for noise in (0.01, 0.1)
    )
    assert loud[1] - loud[0] > 5 * (quiet[1] - quiet[0])


def test_flat_in_both_is_not_flatter(decide, tabulate, bowl_rows):
    """Luck alone spreads as much over either."""
    rows = plane_rows(bowl_rows, lambda n, x, y: 1.0, widths=(32,), noise=0.05)
    assert decide(ONE, tabulate(rows)).verdict != "holds"

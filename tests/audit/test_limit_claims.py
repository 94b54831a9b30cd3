"""Agreement with a limit, as networks grow."""

import numpy as np
import pytest
from claim_examples import AGREES


def network_rows(map_rows, *, order=-0.5, bias=0.0, grid="main", **options):
    """1 + depth, off by the width to the power `order`, to either side, and by a share `bias`."""

    def value(width, depth, seed):
        error = 0.4 * (-1) ** (seed + depth // 2) * width**order
        return (1 + depth) * (1 + error + bias)

    return map_rows(value, grid=grid, **options)


def limit_rows(map_rows, **options):
    options = {"widths": (1,), "seeds": 1, "grid": "limit"} | options
    return map_rows(lambda n, d, s: 1 + d, **options)


@pytest.fixture
def wrong(map_rows):
    """A control off by a tenth at every width."""
    return network_rows(map_rows, bias=0.1, grid="control")


def test_holds_beside_a_control_with_another_limit(decide, tabulate, map_rows, wrong):
    rows = network_rows(map_rows) + limit_rows(map_rows) + wrong
    verdict = decide(AGREES, tabulate(rows))
    assert verdict.verdict == "holds"
    assert verdict.value == pytest.approx(0.4 / 3 * 256**-0.5)
    assert verdict.interval[0] <= verdict.value <= verdict.interval[1]
    assert verdict.threshold == "at most 0.05, slope at most -0.4"
    assert "over 6 points is 0.00833" in verdict.detail
    assert "log-log slope of -0.5; it should be" in verdict.detail


def test_fails_off_the_limit(decide, tabulate, map_rows):
    rows = network_rows(map_rows, bias=0.06) + limit_rows(map_rows)
    assert decide(AGREES, tabulate(rows)).verdict == "fails"


def test_one_point_off_fails(decide, tabulate, map_rows):
    rows = network_rows(map_rows) + limit_rows(map_rows)
    for row in rows:
        if (row["grid"], row["width"], row["depth"], row["step"]) == ("main", 256, 4, 10):
            row["value"] *= 1.1
    verdict = decide(AGREES | {"slope_at_most": None}, tabulate(rows))
    assert verdict.verdict == "fails"
    assert "(at width 256, depth 4, step 10)" in verdict.detail


def test_errors_that_do_not_fall_fail(decide, tabulate, map_rows, wrong):
    rows = network_rows(map_rows, order=-0.2) + limit_rows(map_rows) + wrong
    assert decide(AGREES | {"tolerance": 0.2}, tabulate(rows)).verdict == "fails"
    close = AGREES | {"tolerance": 0.08, "slope_at_most": None}
    assert decide(close, tabulate(rows)).verdict == "holds"


def test_errors_of_seeds_that_cancel_still_count_for_the_slope(decide, tabulate, map_rows):
    """Their mean is exact at every width."""
    rows = network_rows(map_rows, order=0.0, seeds=2) + limit_rows(map_rows)
    verdict = decide(AGREES, tabulate(rows))
    assert verdict.value == pytest.approx(0.0, abs=1e-12)
    assert verdict.verdict == "fails"


def test_along_an_axis_of_the_records(decide, tabulate, map_rows):
    def rows(**options):
        return [
            row | {"index": k, "value": row["value"] * 2.0**k}
            for row in network_rows(map_rows, depths=(2,), **options)
            for k in range(3)
        ]

    limit = [
        row | {"index": k, "value": row["value"] * 2.0**k}
        for row in limit_rows(map_rows, depths=(2,))
        for k in range(3)
    ]
    claim = AGREES | {"by": ["index"], "quantity": {"metric": "train_loss", "per": "index"}}
    results = tabulate(rows() + limit + rows(bias=0.1, grid="control"))
    verdict = decide(claim, results)
    assert verdict.verdict == "holds"
    assert "over 6 points" in verdict.detail
    fewer = [row for row in limit if row["index"] < 2]
    verdict = decide(claim, tabulate(rows() + fewer))
    assert verdict.verdict == "untested"
    assert verdict.detail.startswith("limit gives no train loss, or zero, at a point")


def test_divergence_fails(decide, tabulate, map_rows):
    rows = network_rows(map_rows) + limit_rows(map_rows)
    rows[0]["value"] = np.nan
    verdict = decide(AGREES, tabulate(rows))
    assert verdict.verdict == "fails"
    assert verdict.value is None


@pytest.mark.parametrize("value", [0.0, np.inf])
def test_a_reference_without_size_is_untested(decide, tabulate, map_rows, value):
    limit = [row | {"value": value} for row in limit_rows(map_rows)]
    verdict = decide(AGREES, tabulate(network_rows(map_rows) + limit))
    assert verdict.verdict == "untested"


def test_a_reference_that_was_not_run_is_untested(decide, tabulate, map_rows):
    verdict = decide(AGREES, tabulate(network_rows(map_rows)))
    assert (verdict.verdict, verdict.detail) == ("untested", "no cell of limit was run")


def test_the_size_of_the_reference_does_not_decide(decide, tabulate, map_rows):
    rows = network_rows(map_rows, widths=(16, 32)) + limit_rows(map_rows, widths=(512,))
    verdict = decide(AGREES | {"decided_at": {"width": 64}}, tabulate(rows))
    assert verdict.detail == "the width reaches 32; the claim is decided from 64 on"


def test_a_control_that_agrees(decide, tabulate, map_rows):
    rows = network_rows(map_rows) + limit_rows(map_rows) + network_rows(map_rows, grid="control")
    verdict = decide(AGREES, tabulate(rows))
    assert verdict.verdict == "untested"
    assert "the control does not violate it" in verdict.detail

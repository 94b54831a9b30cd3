"""Agreement with a limit, as networks grow."""

import numpy as np
import pytest
from claim_examples import AGREES


def network_rows(map_rows, *, order=-0.5, bias=0.0, grid="main", **options):
    """1 + depth, off by the width to the power `order`, to either side of it, and by a share `bias`.

    Seeds are off by a tenth more or less.
    """

    def value(width, depth, seed):
        error = 0.4 * (-1) ** (depth // 2) * (0.9 + 0.1 * seed) * width**order
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
    assert verdict.value == pytest.approx(0.4 * 256**-0.5)
    assert verdict.interval == pytest.approx((0.017, 0.033), abs=0.002)
    assert verdict.threshold == "error at most 0.05, slope at most -0.4"
    assert "over 6 points is 0.025 [0.01" in verdict.detail
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


def test_errors_that_do_not_fall_fail(decide, tabulate, map_rows):
    wrong = network_rows(map_rows, bias=0.3, grid="control")
    rows = network_rows(map_rows, order=-0.2) + limit_rows(map_rows) + wrong
    assert decide(AGREES | {"tolerance": 0.2}, tabulate(rows)).verdict == "fails"
    close = AGREES | {"tolerance": 0.2, "slope_at_most": None}
    assert decide(close, tabulate(rows)).verdict == "holds"


def test_errors_of_seeds_that_cancel_still_count_for_the_slope(decide, tabulate, map_rows):
    """Their mean is exact at every width."""
    rows = map_rows(lambda n, d, s: 1 + d + 0.4 * (-1) ** s, seeds=2) + limit_rows(map_rows)
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
    results = tabulate(rows() + limit + rows(bias=-0.1, grid="control"))
    verdict = decide(claim, results)
    assert verdict.verdict == "holds"
    assert "over 6 points" in verdict.detail
    fewer = [row for row in limit if row["index"] < 2]
    verdict = decide(claim, tabulate(rows() + fewer))
    assert verdict.verdict == "inconclusive"
    assert verdict.detail.startswith("limit gives no training loss, or zero, at a point")


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
    assert verdict.verdict == "inconclusive"


def test_a_reference_that_was_not_run_is_untested(decide, tabulate, map_rows):
    verdict = decide(AGREES, tabulate(network_rows(map_rows)))
    assert (verdict.verdict, verdict.detail) == ("inconclusive", "no cell of limit was run")


def test_the_size_of_the_reference_does_not_decide(decide, tabulate, map_rows):
    rows = network_rows(map_rows, widths=(16, 32)) + limit_rows(map_rows, widths=(512,))
    verdict = decide(AGREES | {"decided_at": {"width": 64}}, tabulate(rows))
    assert verdict.detail == "the width is at most 32; the claim is decided from 64 on"


def test_a_control_that_agrees(decide, tabulate, map_rows):
    rows = network_rows(map_rows) + limit_rows(map_rows) + network_rows(map_rows, grid="control")
    verdict = decide(AGREES, tabulate(rows))
    assert verdict.verdict == "inconclusive"
    assert "the control 'control' does not violate it" in verdict.detail


def test_seeds_whose_errors_reach_across_are_untested(decide, tabulate, map_rows):
    """At the largest width they are off by 0.045 on average: any may be by 0.05."""
    claim = AGREES | {"slope_at_most": None}

    def rows(spread):
        def value(width, depth, seed):
            return 1 + 0.72 * width**-0.5 * (1 + spread * (-1) ** (width.bit_length() + seed))

        limit = map_rows(lambda n, d, s: 1.0, widths=(1,), seeds=1, grid="limit")
        return tabulate(
            map_rows(value, seeds=2) + limit + network_rows(map_rows, bias=0.5, grid="control")
        )

    assert decide(claim, rows(0.01)).verdict == "holds"
    verdict = decide(claim, rows(0.3))
    assert verdict.verdict == "inconclusive"
    assert verdict.value == pytest.approx(0.045)
    assert verdict.interval[1] > 0.05


@pytest.mark.parametrize(("at_most", "expected"), [(-0.4, "holds"), (-0.49, "inconclusive")])
def test_the_interval_of_the_slope_decides(decide, tabulate, map_rows, wrong, at_most, expected):
    rows = network_rows(map_rows) + limit_rows(map_rows) + wrong
    for row in rows:
        if row["grid"] == "main":
            luck = 1 + 0.05 * (-1) ** (row["width"].bit_length() + row["seed"])
            row["value"] = (1 + row["depth"]) * (1 + 0.4 * row["width"] ** -0.5 * luck)
    verdict = decide(AGREES | {"slope_at_most": at_most}, tabulate(rows))
    assert verdict.verdict == expected


def paired_rows(map_rows, *, grid="main", share=0.01, widths=(16, 256)):
    """Each seed has data of its own, which moves network and limit alike, by a half or more."""
    return map_rows(lambda n, d, s: 0.5 * (1 + s) * (1 + d) * (1 + share), grid=grid, widths=widths)


class TestPairs:
    """A limit of each seed's own data, of which it is the reference."""

    CLAIM = AGREES | {"slope_at_most": None}

    def test_a_network_is_compared_with_its_own_limit(self, decide, tabulate, map_rows):
        """Errors of each seed are 0.01; beside the mean of the limits they would scatter by a half."""
        rows = paired_rows(map_rows) + paired_rows(map_rows, grid="limit", share=0, widths=(1,))
        rows += paired_rows(map_rows, grid="control", share=0.1)
        verdict = decide(self.CLAIM, tabulate(rows))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(0.01)
        assert verdict.interval in (None, pytest.approx((0.01, 0.01)))

    def test_pairs_weigh_alike(self, decide, tabulate, map_rows):
        """Their mean is that of relative errors: one of three seeds is off by a fifth."""
        rows = paired_rows(map_rows, share=0)
        for row in rows:
            row["value"] *= (1.2, 1.0, 1.0)[row["seed"]]
        rows += paired_rows(map_rows, grid="limit", share=0, widths=(1,))
        assert decide(self.CLAIM, tabulate(rows)).value == pytest.approx(0.2 / 3)

    def test_without_a_limit_of_each_seed_their_mean_is_the_reference(
        self, decide, tabulate, map_rows
    ):
        """Of the limits 0.5 and 1 that is 0.75; the networks' mean is 1."""
        rows = paired_rows(map_rows, share=0)
        rows += map_rows(
            lambda n, d, s: 0.5 * (1 + s) * (1 + d), grid="limit", widths=(1,), seeds=2
        )
        assert decide(self.CLAIM, tabulate(rows)).value == pytest.approx(1 / 3)


def test_networks_as_a_reference_are_compared_at_their_own_size(decide, tabulate, map_rows, wrong):
    """The reference depends on the width; what it does not have at all is left out."""

    def of_width(rows):
        return [row | {"value": row["value"] * row["width"]} for row in rows]

    widths = {"widths": (64, 256), "seeds": 1}
    reference = of_width(limit_rows(map_rows, **widths))
    rows = of_width(network_rows(map_rows) + wrong)
    assert decide(AGREES, tabulate(rows + reference)).verdict == "holds"
    biased = of_width(network_rows(map_rows, bias=0.06))
    assert decide(AGREES, tabulate(biased + reference)).verdict == "fails"

"""Each kind of claim on records that satisfy it, that must fail it, and that decide nothing."""

import numpy as np
import pytest

STAYS = {
    "kind": "optimum_stays",
    "along": "width",
    "over": "learning_rate",
    "max_shift": 1,
    "control": ["control"],
}
COST = {
    "kind": "transfer_cost",
    "along": "width",
    "over": ["learning_rate", "activity_learning_rate"],
    "tolerance": 0.1,
    "control": ["control"],
}
IMPROVES = {"kind": "improves_with", "along": "width", "over": ["learning_rate"], "tolerance": 0.02}
BOUND = {
    "kind": "bound",
    "where": {"ratio": ["width", "depth"], "at_least": 16},
    "at": "all",
    "at_least": 0.99,
}
RANK = {"kind": "rank_correlation", "ratio": ["width", "depth"], "above": 0.9}
SLOPE = {
    "kind": "slope",
    "along": "width",
    "each": ["depth"],
    "expected": -1,
    "tolerance": 0.1,
    "control": ["control"],
}


def still(width):
    return -4.0


def moving(width):
    """Off by 1/2 in the exponent."""
    return -3.0 - 0.5 * np.log2(width / 32)


def far(width):
    return -3.0 - np.log2(width / 32)


class TestOptimumStays:
    def test_holds_beside_a_control_that_moves(self, decide, tabulate, bowl_rows):
        control = bowl_rows(far, grid="control", widths=(32, 256), seeds=1)
        verdict = decide(STAYS, tabulate(bowl_rows(still) + control))
        assert verdict.verdict == "holds"
        assert verdict.value == 0.0
        assert verdict.interval == (0.0, 0.0)
        assert verdict.threshold == "at most 1 octave"
        assert verdict.detail.startswith(
            "the best learning rate moves by 0 [0, 0] octaves from width 32 to 256; allowed 1; "
            "in the control 'control', the best learning rate moves by -3 octaves"
        )

    def test_fails(self, decide, tabulate, bowl_rows):
        verdict = decide(STAYS, tabulate(bowl_rows(far)))
        assert verdict.verdict == "fails"
        assert verdict.value == -3.0

    def test_control_that_stays(self, decide, tabulate, bowl_rows):
        verdict = decide(STAYS, tabulate(bowl_rows(still) + bowl_rows(still, grid="control")))
        assert verdict.verdict == "untested"
        assert "the control does not violate it" in verdict.detail
        assert verdict.value == 0.0

    @pytest.mark.parametrize("edge", ["lower", "upper"])
    def test_optimum_at_the_edge(self, decide, tabulate, bowl_rows, edge):
        rates = [2.0**k for k in (range(-4, 1) if edge == "lower" else range(-8, -3))]
        verdict = decide(STAYS, tabulate(bowl_rows(still, rates=rates)))
        assert verdict.verdict == "untested"
        assert f"0.0625, is at the {edge} edge of the grid" in verdict.detail

    def test_an_optimum_beside_divergence_counts(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, diverges_above=2.0**-4)
        control = bowl_rows(far, grid="control", widths=(32, 256))
        assert decide(STAYS, tabulate(rows + control)).verdict == "holds"

    def test_flat_direction(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, depth_of_bowl=1e-4, noise=0.1)
        verdict = decide(STAYS, tabulate(rows))
        assert verdict.verdict == "untested"
        assert "is not resolved from" in verdict.detail or "edge" in verdict.detail

    def test_half_octaves_are_compared_an_octave_away(self, decide, tabulate, bowl_rows):
        rates = [2.0 ** (k / 4) for k in range(-32, 1)]
        verdict = decide(STAYS, tabulate(bowl_rows(far, rates=rates, noise=0.03)))
        assert verdict.verdict == "fails"

    def test_one_seed(self, decide, tabulate, bowl_rows):
        verdict = decide(STAYS, tabulate(bowl_rows(far, seeds=1)))
        assert verdict.verdict == "fails"
        assert verdict.interval is None
        shallow = bowl_rows(still, seeds=1, depth_of_bowl=0.04, noise=0)
        assert "is not resolved" in decide(STAYS, tabulate(shallow)).detail

    def test_profile_over_the_other_rate(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(far, other_rates=(0.1, 1.0, 10.0))
        verdict = decide(STAYS | {"profile": ["activity_learning_rate"]}, tabulate(rows))
        assert verdict.verdict == "fails"
        assert verdict.value == -3.0

    def test_between_diverged_cells(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still)
        for row in rows:
            if row["learning_rate"] != 2.0**-4:
                row["value"] = np.nan
        assert "stands between diverged cells" in decide(STAYS, tabulate(rows)).detail

    def test_everything_diverged(self, decide, tabulate, bowl_rows):
        verdict = decide(STAYS, tabulate(bowl_rows(still, diverges_above=0)))
        assert verdict.verdict == "untested"
        assert "every cell diverged" in verdict.detail

    def test_blow_up_with_spread_is_resolved(self, decide, tabulate, bowl_rows):
        """Finite losses over orders of magnitude: their standard error exceeds their mean."""
        rows = bowl_rows(still)
        for row in rows:
            if row["learning_rate"] > 2.0**-4:
                row["value"] = 10.0 ** (2 + 4 * row["seed"])
        control = bowl_rows(far, grid="control", widths=(32, 256))
        assert decide(STAYS, tabulate(rows + control)).verdict == "holds"


class TestTransferCost:
    def test_holds_in_a_flat_direction(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, other_rates=(0.1, 1.0, 10.0))
        control = bowl_rows(moving, grid="control", widths=(32, 256), seeds=1)
        verdict = decide(COST, tabulate(rows + control))
        assert verdict.verdict == "holds"
        assert 1.0 <= verdict.value < 1.1
        assert verdict.interval[0] <= verdict.value <= verdict.interval[1]
        assert verdict.detail.startswith("the best of width 32 (learning rate 0.0625, activity")

    def test_fails(self, decide, tabulate, bowl_rows):
        verdict = decide(COST, tabulate(bowl_rows(moving)))
        assert verdict.verdict == "fails"
        assert verdict.value > 1.1

    def test_divergence_of_the_transferred_rate_fails(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, widths=(32, 64))
        rows += bowl_rows(lambda width: -6.0, widths=(256,), diverges_above=2.0**-5)
        verdict = decide(COST, tabulate(rows))
        assert verdict.verdict == "fails"
        assert verdict.value is None
        assert verdict.interval is None
        assert "gives infinite" in verdict.detail

    def test_control_that_costs_nothing(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still) + bowl_rows(still, grid="control", widths=(32, 256), seeds=1)
        verdict = decide(COST, tabulate(rows))
        assert verdict.verdict == "untested"
        assert "the control does not violate it" in verdict.detail

    def test_open_edge(self, decide, tabulate, bowl_rows):
        rates = [2.0**k for k in range(-4, 1)]
        verdict = decide(COST, tabulate(bowl_rows(lambda width: -5.0, rates=rates)))
        assert verdict.verdict == "untested"
        assert "at the edge of the grid, where the quantity still falls" in verdict.detail

    def test_open_edge_of_a_size_that_costs_too_much_already(self, decide, tabulate, bowl_rows):
        rates = [2.0**k for k in range(-5, 1)]
        assert decide(COST, tabulate(bowl_rows(far, rates=rates))).verdict == "fails"

    def test_other_grid(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, widths=(32,)) + bowl_rows(still, widths=(64,), rates=(0.03, 0.05))
        assert "not the same grid" in decide(COST, tabulate(rows)).detail


class TestImprovesWith:
    def test_holds(self, decide, tabulate, bowl_rows):
        verdict = decide(IMPROVES, tabulate(bowl_rows(still)))
        assert verdict.verdict == "holds"
        assert verdict.value < 1

    def test_fails(self, decide, tabulate, bowl_rows):
        verdict = decide(IMPROVES, tabulate(bowl_rows(still, level=np.log2)))
        assert verdict.verdict == "fails"

    def test_one_rise_fails(self, decide, tabulate, bowl_rows):
        level = {32: 1.0, 64: 0.8, 128: 0.9, 256: 0.5}
        verdict = decide(IMPROVES, tabulate(bowl_rows(still, level=level.__getitem__)))
        assert verdict.verdict == "fails"
        assert verdict.value == pytest.approx(0.9 / 0.8, rel=0.05)

    def test_a_rise_within_the_tolerance(self, decide, tabulate, bowl_rows):
        level = {32: 1.0, 64: 0.8, 128: 0.81, 256: 0.5}
        rows = bowl_rows(still, level=level.__getitem__, noise=1e-4)
        assert decide(IMPROVES, tabulate(rows)).verdict == "holds"

    def test_small_rises_that_add_up_fail(self, decide, tabulate, bowl_rows):
        level = {32: 1.0, 64: 1.01, 128: 1.02, 256: 1.03}
        rows = bowl_rows(still, level=level.__getitem__, noise=1e-4)
        assert decide(IMPROVES, tabulate(rows)).verdict == "fails"

    def test_no_difference(self, decide, tabulate, bowl_rows):
        verdict = decide(IMPROVES, tabulate(bowl_rows(still, level=lambda n: 1.0, noise=0.05)))
        assert verdict.verdict == "untested"
        assert "no resolved difference" in verdict.detail

    def test_diverged_size_fails(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, widths=(32, 64))
        rows += bowl_rows(still, widths=(128, 256), diverges_above=0)
        verdict = decide(IMPROVES, tabulate(rows))
        assert verdict.verdict == "fails"
        assert verdict.value is None

    def test_open_edge(self, decide, tabulate, bowl_rows):
        rates = [2.0**k for k in range(-3, 1)]
        assert decide(IMPROVES, tabulate(bowl_rows(still, rates=rates))).verdict == "untested"

    def test_one_seed_without_hyperparameters(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, rates=(0.0625,), seeds=1)
        assert decide(IMPROVES | {"over": []}, tabulate(rows)).verdict == "holds"

    def test_control(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still) + bowl_rows(still, grid="control")
        verdict = decide(IMPROVES | {"control": ["control"]}, tabulate(rows))
        assert verdict.verdict == "untested"


class TestBound:
    def test_holds_over_all_steps(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: 1 - 0.1 * d / n - 1e-4 * s)
        verdict = decide(BOUND, tabulate(rows))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(1 - 0.1 / 16 - 1e-4)
        assert verdict.interval[0] <= verdict.value <= verdict.interval[1]
        assert verdict.detail.startswith("the smallest train loss over 9 points at 2 steps is 0.99")

    def test_fails(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: 0.5 if (n, d) == (256, 8) else 1.0)
        verdict = decide(BOUND, tabulate(rows))
        assert verdict.verdict == "fails"
        assert "(width 256, depth 8, step 10)" in verdict.detail

    def test_at_most_and_one_step(self, decide, tabulate, map_rows):
        claim = {"kind": "bound", "at_most": 0.5, "at": [10]}
        rows = map_rows(lambda n, d, s: 0.6, steps=(0,)) + map_rows(
            lambda n, d, s: 0.4, steps=(10,)
        )
        assert decide(claim, tabulate(rows)).verdict == "holds"
        assert decide(claim | {"at": "all"}, tabulate(rows)).verdict == "fails"

    def test_outside_the_region_does_not_count(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: 1.0 if n >= 16 * d else 0.0)
        assert decide(BOUND, tabulate(rows)).verdict == "holds"
        rows = map_rows(lambda n, d, s: 1.0, depths=(64,))
        assert decide(BOUND, tabulate(rows)).detail == "no point has such a width / depth"

    def test_region_has_two_sides(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: 1.0 if n <= 32 * d else 0.0)
        region = {"ratio": ["width", "depth"], "at_least": 16, "at_most": 32}
        assert decide(BOUND | {"where": region}, tabulate(rows)).verdict == "holds"

    def test_divergence_fails_on_either_side(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: np.nan if n == 256 else 1.0)
        assert decide(BOUND, tabulate(rows)).verdict == "fails"
        claim = {"kind": "bound", "at_most": 2}
        assert decide(claim, tabulate(rows)).verdict == "fails"

    def test_one_seed(self, decide, tabulate, map_rows):
        verdict = decide(BOUND, tabulate(map_rows(lambda n, d, s: 1.0, seeds=1)))
        assert verdict.verdict == "holds"
        assert verdict.interval is None

    def test_control(self, decide, tabulate, map_rows):
        claim = BOUND | {"control": ["control"]}
        rows = map_rows(lambda n, d, s: 1.0)
        alike = map_rows(lambda n, d, s: 1.0, grid="control")
        broken = map_rows(lambda n, d, s: 0.7, grid="control")
        assert decide(claim, tabulate(rows + alike)).verdict == "untested"
        assert decide(claim, tabulate(rows + broken)).verdict == "holds"


class TestRankCorrelation:
    def test_holds(self, decide, tabulate, map_rows):
        verdict = decide(RANK, tabulate(map_rows(lambda n, d, s: 1 - d / n - 1e-4 * s)))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(1.0)
        assert verdict.interval[0] > 0.9

    def test_fails_when_only_width_counts(self, decide, tabulate, map_rows):
        verdict = decide(RANK, tabulate(map_rows(lambda n, d, s: n)))
        assert verdict.verdict == "fails"
        assert 0 < verdict.value < 0.9

    def test_worst_step_counts(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: n / d, steps=(0,))
        rows += map_rows(lambda n, d, s: d / n, steps=(10,))
        assert decide(RANK | {"at": [0]}, tabulate(rows)).verdict == "holds"
        verdict = decide(RANK | {"at": "all"}, tabulate(rows))
        assert verdict.value == pytest.approx(-1.0)

    def test_constant_is_not_ordered(self, decide, tabulate, map_rows):
        verdict = decide(RANK, tabulate(map_rows(lambda n, d, s: 1.0)))
        assert (verdict.verdict, verdict.value) == ("fails", 0.0)

    def test_divergence_fails(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: np.inf if (n, s) == (16, 0) else n / d)
        verdict = decide(RANK, tabulate(rows))
        assert verdict.verdict == "fails"
        assert verdict.detail == "training diverged at 3 of 15 points"

    def test_too_few_points(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: n / d, widths=(16, 32, 64), depths=(2,))
        assert decide(RANK, tabulate(rows)).verdict == "untested"

    def test_one_seed(self, decide, tabulate, map_rows):
        verdict = decide(RANK, tabulate(map_rows(lambda n, d, s: n / d, seeds=1)))
        assert verdict.verdict == "holds"
        assert verdict.interval is not None

    def test_control(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: n / d)
        rows += map_rows(lambda n, d, s: n / d, grid="control")
        verdict = decide(RANK | {"control": ["control"]}, tabulate(rows))
        assert verdict.verdict == "untested"


class TestSlope:
    @staticmethod
    def rows(map_rows, exponent, **options):
        return map_rows(lambda n, d, s: d * n**exponent * (1 + 0.01 * s), **options)

    def test_holds(self, decide, tabulate, map_rows):
        control = self.rows(map_rows, -0.5, grid="control", widths=(16, 256), seeds=1)
        verdict = decide(SLOPE, tabulate(self.rows(map_rows, -1.0) + control))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(-1.0, abs=0.02)
        assert verdict.interval[0] <= verdict.value <= verdict.interval[1]
        assert verdict.threshold == "-1 ± 0.1"

    def test_fails(self, decide, tabulate, map_rows):
        assert decide(SLOPE, tabulate(self.rows(map_rows, -0.5))).verdict == "fails"

    def test_worst_group_counts(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: n ** (-1.0 if d < 8 else -0.7))
        verdict = decide(SLOPE, tabulate(rows))
        assert verdict.verdict == "fails"
        assert "at depth 8" in verdict.detail

    @pytest.mark.parametrize(
        ("rule", "exponent", "expected"),
        [
            ({"at_most": -1}, -2.0, "holds"),
            ({"at_most": -1}, -0.5, "fails"),
            ({"at_least": -0.1}, 0.0, "holds"),
            ({"at_least": -0.1}, -1.0, "fails"),
        ],
    )
    def test_bounds(self, decide, tabulate, map_rows, rule, exponent, expected):
        wrong = -0.5 if "at_most" in rule else -1.0
        claim = {
            "kind": "slope",
            "along": "width",
            "each": ["depth"],
            "control": ["control"],
        } | rule
        rows = self.rows(map_rows, exponent) + self.rows(map_rows, wrong, grid="control")
        assert decide(claim, tabulate(rows)).verdict == expected

    def test_only_the_region_counts(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: n ** (-1.0 if d < 8 else -0.7))
        rows += self.rows(map_rows, -0.5, grid="control")
        inside = {"where": {"ratio": ["depth", "width"], "at_most": 1 / 64}}
        assert decide(SLOPE, tabulate(rows)).verdict == "fails"
        assert decide(SLOPE | inside, tabulate(rows)).verdict == "holds"
        nowhere = {"where": {"ratio": ["width", "depth"], "at_least": 1e6}}
        assert decide(SLOPE | nowhere, tabulate(rows)).verdict == "untested"

    def test_control_with_the_same_slope(self, decide, tabulate, map_rows):
        rows = self.rows(map_rows, -1.0) + self.rows(map_rows, -1.0, grid="control")
        assert decide(SLOPE, tabulate(rows)).verdict == "untested"

    def test_divergence_fails_and_zero_decides_nothing(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: np.nan if n == 256 else 1.0)
        assert decide(SLOPE, tabulate(rows)).verdict == "fails"
        rows = map_rows(lambda n, d, s: 0.0 if n == 256 else 1.0)
        assert decide(SLOPE, tabulate(rows)).verdict == "untested"

    def test_one_size(self, decide, tabulate, map_rows):
        verdict = decide(SLOPE, tabulate(self.rows(map_rows, -1.0, widths=(16,))))
        assert verdict.detail == "there is only one width"

    def test_one_seed(self, decide, tabulate, map_rows):
        verdict = decide(SLOPE, tabulate(self.rows(map_rows, -0.5, seeds=1)))
        assert verdict.verdict == "fails"
        assert verdict.interval is None


@pytest.mark.parametrize("claim", [STAYS, COST, IMPROVES, BOUND, RANK, SLOPE])
def test_too_small_sizes_are_untested(decide, tabulate, bowl_rows, claim):
    claim = claim | {"decided_at": {"width": 512, "depth": 8}}
    verdict = decide(claim, tabulate(bowl_rows(still, widths=(32, 64))))
    assert verdict.verdict == "untested"
    assert verdict.detail == "the width reaches 64; the claim is decided from 512 on"


@pytest.mark.parametrize("claim", [STAYS, COST, IMPROVES, BOUND, RANK, SLOPE])
def test_no_cells_are_untested(decide, tabulate, bowl_rows, claim):
    verdict = decide(claim | {"grids": ["other"]}, tabulate(bowl_rows(still)))
    assert verdict.verdict == "untested"
    assert verdict.detail == "no cell of other was run"

"""Whether the best value of a hyperparameter stays or moves."""

import numpy as np
import pytest
from claim_examples import MOVES, STAYS, far, still


def slow(width):
    """An octave from 32 to 256."""
    return -3.0 - np.log2(width / 32) / 3


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

    def test_a_second_valley_that_seeds_may_prefer(self, decide, tabulate, bowl_rows):
        """At width 32 a rate three octaves above the best is better for one seed of three."""
        rows = bowl_rows(still)
        for row in rows:
            if row["width"] == 32 and row["learning_rate"] == 2.0**-1:
                row["value"] = (0.25, 0.25, 0.13)[row["seed"]]
        verdict = decide(STAYS, tabulate(rows))
        assert verdict.verdict == "untested"
        assert "moves by 0 [-3, 0] octaves" in verdict.detail
        assert verdict.detail.endswith("so it may move by more than 1 octave")

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

    def test_a_control_that_leaves_the_grid_has_moved(self, decide, tabulate, bowl_rows):
        """Its optimum lies at the lower edge or beyond, three octaves from where it began."""
        rates = [2.0**k for k in range(-6, 1)]
        control = bowl_rows(lambda width: 2 * far(width), rates=rates, grid="control")
        verdict = decide(STAYS, tabulate(bowl_rows(still) + control))
        assert verdict.verdict == "untested"
        control = bowl_rows(lambda width: -3 - 3 * np.log2(width / 32), rates=rates, grid="control")
        verdict = decide(STAYS, tabulate(bowl_rows(still) + control))
        assert verdict.verdict == "holds"
        assert verdict.detail.endswith(
            "in the control 'control', the best learning rate moves by -3 [-3, -3] octaves from width "
            "32 to 256, by 3 at least (at width 256, the best learning rate, 0.015625, is at the "
            "lower edge of the grid); allowed 1"
        )

    def test_an_optimum_that_is_open_within_what_is_allowed_stays(
        self, decide, tabulate, bowl_rows
    ):
        """Two equal rates, one octave apart, at the largest width: either would do."""
        rows = bowl_rows(still) + bowl_rows(far, grid="control")
        best = {}
        for row in rows:
            if row["grid"] != "control" and row["width"] == 256:
                best.setdefault(row["seed"], []).append(row)
        for row_list in best.values():
            low, high = sorted(row_list, key=lambda row: row["value"])[:2]
            high["value"] = low["value"]
        assert decide(STAYS, tabulate(rows)).verdict == "holds"
        assert decide(STAYS | {"max_shift": 0.5}, tabulate(rows)).verdict == "untested"

    def test_an_edge_may_hide_that_it_stays(self, decide, tabulate, bowl_rows):
        """One octave up to the edge, and perhaps further."""
        rates = [2.0**k for k in range(-8, -2)]
        verdict = decide(STAYS, tabulate(bowl_rows(lambda width: far(width) + 3, rates=rates)))
        assert verdict.verdict == "untested"
        optima = {32: -4.0, 64: -4.0, 128: -4.0, 256: -3.0}
        verdict = decide(STAYS, tabulate(bowl_rows(optima.__getitem__, rates=rates)))
        assert verdict.verdict == "untested"
        assert "at width 256, the best learning rate, 0.125, is at the upper edge" in verdict.detail

    @pytest.mark.parametrize(
        ("noise", "expected", "reason"),
        [
            (0.0, "fails", "by 4 at least"),
            (0.1, "fails", "by 3 at least"),
            (0.5, "untested", "0.00390625, is at the lower edge of the grid"),
        ],
    )
    def test_an_edge_counts_if_the_grid_falls_towards_it(
        self, decide, tabulate, bowl_rows, noise, expected, reason
    ):
        """Means rise with the rate; noise at every second rate, of mean zero, hides some of it."""
        rows = bowl_rows(still, widths=(32, 256))
        for row in (row for row in rows if row["width"] == 256):
            octave = round(np.log2(row["learning_rate"])) + 8
            row["value"] = 1 + 0.06 * octave + noise * (octave % 2) * (row["seed"] - 1)
        rows = [row for row in rows if row["learning_rate"] < 0.5]
        verdict = decide(STAYS, tabulate(rows))
        assert verdict.verdict == expected
        assert reason in verdict.detail


class TestOptimumMoves:
    def test_holds_beside_a_control_that_stays(self, decide, tabulate, bowl_rows):
        control = bowl_rows(still, grid="control")
        verdict = decide(MOVES, tabulate(bowl_rows(far) + control))
        assert verdict.verdict == "holds"
        assert verdict.value == -3.0
        assert verdict.interval == (-3.0, -3.0)
        assert verdict.threshold == "at least 2 octaves down"

    @pytest.mark.parametrize("optimum", [still, slow])
    def test_fails(self, decide, tabulate, bowl_rows, optimum):
        assert decide(MOVES, tabulate(bowl_rows(optimum))).verdict == "fails"

    def test_a_shift_that_seeds_may_undo(self, decide, tabulate, bowl_rows):
        """At width 256 a rate one octave from where it began is better for one seed of three."""
        rows = bowl_rows(far, widths=(32, 256))
        for row in rows:
            if row["width"] == 256 and row["learning_rate"] == 2.0**-4:
                row["value"] = (0.16, 0.16, 0.08)[row["seed"]]
        verdict = decide(MOVES, tabulate(rows))
        assert verdict.verdict == "untested"
        assert verdict.detail.endswith("which may be less than 2 octaves")

    def test_the_other_direction_fails(self, decide, tabulate, bowl_rows):
        assert decide(MOVES | {"direction": "up"}, tabulate(bowl_rows(far))).verdict == "fails"

    def test_one_size_is_enough(self, decide, tabulate, bowl_rows):
        control = bowl_rows(still, grid="control")
        optima = {32: -3.0, 64: -3.0, 128: -6.0, 256: -4.0}
        verdict = decide(MOVES, tabulate(bowl_rows(optima.__getitem__) + control))
        assert verdict.verdict == "holds"
        assert "from width 32 to 128" in verdict.detail

    def test_an_edge_bounds_the_shift(self, decide, tabulate, bowl_rows):
        control = bowl_rows(still, grid="control")
        rates = [2.0**k for k in range(-5, 1)]
        verdict = decide(MOVES, tabulate(bowl_rows(far, rates=rates) + control))
        assert verdict.verdict == "holds"
        assert verdict.value == -2.0
        assert "by 2 at least (at width 256, the best learning rate, 0.03125, is" in verdict.detail
        verdict = decide(MOVES | {"min_shift": 3}, tabulate(bowl_rows(far, rates=rates) + control))
        assert verdict.verdict == "untested"
        assert "is at the lower edge of the grid" in verdict.detail

    def test_an_edge_on_the_other_side_fails(self, decide, tabulate, bowl_rows):
        """Above the grid is not two octaves down."""
        rates = [2.0**k for k in range(-8, -3)]
        rows = bowl_rows(lambda width: -5.0 + np.log2(width / 32) / 2, rates=rates)
        assert decide(MOVES, tabulate(rows)).verdict == "fails"

    def test_a_control_that_moves(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(far) + bowl_rows(far, grid="control")
        verdict = decide(MOVES, tabulate(rows))
        assert verdict.verdict == "untested"
        assert "the control does not violate it" in verdict.detail


class TestLargestWithin:
    """Bowls too flat for a best rate, which end at some rate."""

    CLAIM = STAYS | {"within": 0.1}

    @staticmethod
    def cliff_rows(bowl_rows, end, *, above=3.0, **options):
        rows = bowl_rows(still, depth_of_bowl=0, **options)
        for row in rows:
            if np.log2(row["learning_rate"]) > end(row["width"]) + 1e-9:
                row["value"] *= above
        return rows

    @pytest.mark.parametrize("above", [1.5, np.inf])
    def test_holds_where_the_best_rate_decides_nothing(self, decide, tabulate, bowl_rows, above):
        rows = self.cliff_rows(bowl_rows, still, above=above)
        rows += self.cliff_rows(bowl_rows, far, grid="control", above=above)
        assert decide(STAYS, tabulate(rows)).verdict == "untested"
        verdict = decide(self.CLAIM, tabulate(rows))
        assert verdict.verdict == "holds"
        assert (verdict.value, verdict.interval) == (0.0, (0.0, 0.0))
        assert verdict.detail.startswith(
            "the largest learning rate within a factor 1.1 of the best moves by 0 [0, 0] octaves from "
            "width 32 to 256; allowed 1; in the control 'control', the largest learning rate within a "
            "factor 1.1 of the best moves by -3"
        )

    def test_fails_and_moves(self, decide, tabulate, bowl_rows):
        rows = self.cliff_rows(bowl_rows, far)
        verdict = decide(self.CLAIM, tabulate(rows))
        assert (verdict.verdict, verdict.value) == ("fails", -3.0)
        control = self.cliff_rows(bowl_rows, still, grid="control")
        verdict = decide(MOVES | {"within": 0.1}, tabulate(rows + control))
        assert (verdict.verdict, verdict.value) == ("holds", -3.0)

    @pytest.mark.parametrize(("within", "shift"), [(0.07, 0), (0.1, 1), (0.31, 1), (0.7, 2)])
    def test_it_is_where_the_bowl_reaches_the_factor(
        self, decide, tabulate, bowl_rows, within, shift
    ):
        """Bowls 1 + 0.3 d^2 and 1 + 0.075 d^2 in the octaves d from the same best rate."""
        rows = bowl_rows(still, widths=[32], depth_of_bowl=0.3, noise=0)
        rows += bowl_rows(still, widths=[256], depth_of_bowl=0.075, noise=0)
        claim = MOVES | {"within": within, "direction": "up", "min_shift": 9}
        verdict = decide(claim, tabulate(rows))
        assert (verdict.verdict, verdict.value) == ("fails", shift)

    @pytest.mark.parametrize(("side", "end"), [("upper", 1.0), ("lower", -8.0)])
    def test_an_end_at_the_edge_of_the_grid_is_open(self, decide, tabulate, bowl_rows, side, end):
        rows = self.cliff_rows(bowl_rows, lambda width: end)
        verdict = decide(self.CLAIM, tabulate(rows))
        assert verdict.verdict == "untested"
        assert f"is at the {side} edge of the grid" in verdict.detail

    def test_what_is_as_near_the_limit_as_its_error_is_open(self, decide, tabulate, bowl_rows):
        """At the largest width, three rates cost a tenth on average and any seed more or less."""
        rows = self.cliff_rows(bowl_rows, still, noise=0)
        for row in rows:
            if row["width"] == 256 and 2.0**-4 < row["learning_rate"] < 1.0:
                row["value"] *= (1.0999 + 0.5 * (row["seed"] - 1)) / 3
        rows += self.cliff_rows(bowl_rows, lambda width: 2 * far(width) + 3, grid="control")
        verdict = decide(self.CLAIM, tabulate(rows))
        assert verdict.verdict == "untested"
        assert "of the best, 0.5, is not resolved: 0.5 is as near the limit" in verdict.detail
        assert decide(self.CLAIM | {"max_shift": 3}, tabulate(rows)).verdict == "holds"

    def test_a_good_rate_beyond_a_bad_one_does_not_count(self, decide, tabulate, bowl_rows):
        rows = self.cliff_rows(bowl_rows, still)
        for row in rows:
            if row["learning_rate"] == 1.0 and row["width"] == 256:
                row["value"] /= 2.8
        control = self.cliff_rows(bowl_rows, far, grid="control")
        assert decide(self.CLAIM, tabulate(rows + control)).verdict == "holds"

    def test_everything_diverged(self, decide, tabulate, bowl_rows):
        verdict = decide(self.CLAIM, tabulate(bowl_rows(still, diverges_above=0)))
        assert "every cell diverged" in verdict.detail

"""Whether the best value of a hyperparameter stays or moves, and where it lies."""

import numpy as np
import pytest
from claim_examples import MOVES, STAYS, an_octave, far, still

from scaling_limits.claims.optima import neighbours

UNEVEN = (0.004, 0.01, 0.02, 0.03, 0.07, 0.1, 0.3, 0.5, 0.9)


def parabola(bowl_rows, optimum, *, rates, widths=(32, 256), grid="main"):
    """Losses whose logarithm is 0.1 times the squared distance in octaves; of all seeds the same."""
    rows = bowl_rows(still, rates=rates, widths=widths, grid=grid, noise=0)
    for row in rows:
        row["value"] = 3 * np.exp(
            0.1 * (np.log2(row["learning_rate"]) - optimum(row["width"])) ** 2
        )
    return rows


class TestWhereItLies:
    """Between the points of a grid, and how surely."""

    @pytest.mark.parametrize(
        "rates", [UNEVEN, [2.0**k for k in range(-8, 1)]], ids=["uneven", "even"]
    )
    @pytest.mark.parametrize("ends", [(-4.3, -2.1), (-5.0, -5.4), (-3.33, -3.32)])
    def test_at_the_vertex_of_a_parabola(self, decide, tabulate, bowl_rows, rates, ends):
        optima = dict(zip((32, 256), ends, strict=True))
        verdict = decide(STAYS, tabulate(parabola(bowl_rows, optima.__getitem__, rates=rates)))
        assert verdict.value == pytest.approx(ends[1] - ends[0], abs=1e-6)
        assert verdict.interval == pytest.approx((verdict.value, verdict.value), abs=1e-6)

    def test_values_without_logarithms_have_a_vertex_of_their_own(
        self, decide, tabulate, bowl_rows
    ):
        rows = bowl_rows(still, rates=UNEVEN, widths=(32, 256), noise=0)
        for row in rows:
            optimum = -4.3 if row["width"] == 32 else -2.1
            row["value"] = (np.log2(row["learning_rate"]) - optimum) ** 2 - 1
        assert decide(STAYS, tabulate(rows)).value == pytest.approx(2.2, abs=1e-6)

    def test_an_error_of_zero_is_the_best(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, noise=0, widths=(32, 256))
        for row in rows:
            row["value"] = (np.log2(row["learning_rate"]) + 4) ** 2
        control = bowl_rows(far, grid="control")
        verdict = decide(STAYS, tabulate(rows + control))
        assert (verdict.verdict, verdict.value) == ("holds", 0.0)

    @pytest.mark.parametrize("shared", [0.0, 3.0])
    def test_the_interval_is_that_of_the_vertex(self, decide, tabulate, bowl_rows, shared):
        """Own spread 0.01 moves a vertex between y0, y1, y2 by (y0 - y2) / (4 * 0.1), at either size.

        The points beside it scatter in opposite ways, and what they share cancels.
        """
        rows = parabola(bowl_rows, still, rates=[2.0**k for k in (-6, -5, -4, -3, -2)])
        luck = np.random.default_rng(0)
        shifts = {(n, s): shared * luck.standard_normal() for n in (32, 256) for s in range(3)}
        for row in rows:
            # the median of these five points is 0, and four have a variance of 0.01^2
            side = np.sign(np.log2(row["learning_rate"]) + 4) or 0.0
            row["value"] *= np.exp(
                0.01 * (row["seed"] - 1) * side + shifts[row["width"], row["seed"]]
            )
        verdict = decide(STAYS, tabulate(rows))
        own = 0.01**2 * 5 / 4
        # all five are near the best
        moderated = (3 * own * 4 / 5 + 2 * own) / 5
        error = np.sqrt(2 * 2 * moderated / 3) / (4 * 0.1)
        # of the sum of a few t variables, a little below one
        half = 2.4 * error
        assert verdict.interval[1] - verdict.interval[0] == pytest.approx(2 * half, rel=0.15)
        if not shared:
            assert verdict.interval == pytest.approx((-half, half), rel=0.2)

    def test_what_a_seed_does_to_all_rates_of_a_width_does_not_move_it(
        self, decide, tabulate, bowl_rows
    ):
        """One large number for each width and seed, added to the logarithms."""
        rows = bowl_rows(still)
        before = decide(STAYS, tabulate(rows))
        luck = np.random.default_rng(1)
        shifts = {
            (n, s): np.exp(luck.standard_normal()) for n in (32, 64, 128, 256) for s in range(3)
        }
        for row in rows:
            row["value"] *= shifts[row["width"], row["seed"]]
        after = decide(STAYS, tabulate(rows))
        assert after.value == pytest.approx(before.value, abs=0.02)
        assert after.interval == pytest.approx(before.interval, abs=0.02)
        assert after.interval[1] - after.interval[0] < 0.1

    @pytest.mark.parametrize(("untrained", "decided"), [(1, True), (3, False)])
    def test_sizes_that_do_not_train_have_none(
        self, decide, tabulate, bowl_rows, untrained, decided
    ):
        """The optimum stays but for the largest sizes, whose losses are above that of chance."""
        rows = bowl_rows(still, noise=0)
        lost = sorted({row["width"] for row in rows})[-untrained:]
        chance = 2 * max(row["value"] for row in rows)
        for row in rows:
            if row["width"] in lost:
                row["value"] = chance * (1 + row["learning_rate"])
        table = tabulate(rows + bowl_rows(far, grid="control"))
        quantity = {"metric": "train_loss"}
        assert decide(STAYS | {"quantity": quantity}, table).verdict == "fails"
        verdict = decide(STAYS | {"quantity": quantity | {"chance": chance}}, table)
        assert verdict.verdict == ("holds" if decided else "inconclusive")
        assert decided or verdict.detail == "fewer than two values of width train"

    @pytest.mark.parametrize("end", [2.0**-4, 2.0**-3])
    def test_beside_divergence_within_half_a_step(self, decide, tabulate, bowl_rows, end):
        """At the largest rate that trains; at the second largest it is found as elsewhere."""
        rows = bowl_rows(still, noise=0, diverges_above=end, widths=(32, 512))
        verdict = decide(STAYS | {"max_shift": 1}, tabulate(rows + bowl_rows(far, grid="control")))
        assert (verdict.verdict, verdict.value) == ("holds", 0.0)
        if end > 2.0**-4:
            assert verdict.interval == pytest.approx((0.0, 0.0), abs=1e-9)
        else:
            # of two numbers in half an octave about the best one: the difference has a triangle's ends
            ends = 1 - np.sqrt(0.05)
            assert verdict.interval == pytest.approx((-ends, ends), abs=0.05)

    @pytest.mark.parametrize("seeds", [1, 2])
    def test_a_single_rate_may_be_anywhere(self, decide, tabulate, bowl_rows, seeds):
        verdict = decide(STAYS, tabulate(bowl_rows(still, rates=[0.0625], seeds=seeds)))
        assert (verdict.verdict, verdict.value, verdict.interval) == (
            "inconclusive",
            0.0,
            (None, None),
        )
        assert "moves by 0 [-∞, ∞] octaves" in verdict.detail

    def test_seeds_that_differ_from_size_to_size(self, decide, tabulate, bowl_rows):
        rows = [
            row for row in bowl_rows(still) if row["seed"] < (1 if row["width"] == 256 else 3)
        ] + bowl_rows(far, grid="control")
        verdict = decide(STAYS, tabulate(rows))
        assert verdict.verdict == "holds"
        assert verdict.interval[0] < verdict.value < verdict.interval[1]


class TestOptimumStays:
    def test_holds_beside_a_control_that_moves(self, decide, tabulate, bowl_rows):
        control = bowl_rows(far, grid="control", widths=(32, 256))
        verdict = decide(STAYS, tabulate(bowl_rows(still) + control))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(0.0, abs=0.03)
        assert -0.1 < verdict.interval[0] < verdict.value < verdict.interval[1] < 0.1
        assert verdict.threshold == "shift of at most 1 octave, and 0.25 a doubling (0.75)"
        assert (
            "octaves from width 32 to 256; allowed 0.75 octaves, 0.25 a doubling" in verdict.detail
        )
        assert (
            "; in the control 'control', the best learning rate moves by -2.99 [-3.0"
            in verdict.detail
        )

    def test_fails(self, decide, tabulate, bowl_rows):
        verdict = decide(STAYS, tabulate(bowl_rows(far)))
        assert verdict.verdict == "fails"
        assert verdict.value == pytest.approx(-3.0, abs=0.03)

    def test_control_that_stays(self, decide, tabulate, bowl_rows):
        verdict = decide(STAYS, tabulate(bowl_rows(still) + bowl_rows(still, grid="control")))
        assert verdict.verdict == "inconclusive"
        assert "the control 'control' does not violate it" in verdict.detail

    @pytest.mark.parametrize(
        ("moves", "widest", "expected"),
        [
            (-0.45, 128, "holds"),
            (-0.55, 128, "inconclusive"),
            (-0.7, 256, "holds"),
            (-0.8, 256, "inconclusive"),
            (-0.9, 512, "holds"),
            (-0.9, 1024, "holds"),
            (-1.1, 1024, "fails"),
        ],
    )
    def test_a_quarter_octave_a_doubling_is_allowed(
        self, decide, tabulate, bowl_rows, moves, widest, expected
    ):
        """Up to `max_shift`; of the widest alone, for the others are nearer."""
        optima = {32: -4.0, 64: -4.0 + 0.9 * moves, widest: -4.0 + moves}
        rates = [2.0**k for k in range(-7, -1)]
        rows = parabola(bowl_rows, optima.__getitem__, rates=rates, widths=optima)
        rows += parabola(bowl_rows, far, rates=rates, grid="control")
        verdict = decide(STAYS, tabulate(rows))
        assert verdict.verdict == expected
        assert verdict.value == pytest.approx(moves)

    @pytest.mark.parametrize(("noise", "expected"), [(0.0, "holds"), (0.05, "inconclusive")])
    def test_half_an_octave_over_two_doublings_needs_an_interval_within(
        self, decide, tabulate, bowl_rows, noise, expected
    ):
        """The value keeps to the quarter octave a doubling in both cases."""
        optima = {32: -4.0, 64: -4.2, 128: -4.3}
        rows = bowl_rows(optima.__getitem__, widths=optima, noise=noise)
        rows += bowl_rows(far, grid="control", widths=(32, 128, 512), noise=0)
        verdict = decide(STAYS, tabulate(rows))
        assert verdict.verdict == expected
        assert abs(verdict.value) < 0.5

    def test_any_size_may_have_moved_too_far(self, decide, tabulate, bowl_rows):
        optima = {32: -4.0, 64: -4.0, 128: -6.0, 256: -4.0}
        verdict = decide(STAYS, tabulate(bowl_rows(optima.__getitem__)))
        assert verdict.verdict == "fails"
        assert "from width 32 to 128" in verdict.detail

    @pytest.mark.parametrize("edge", ["lower", "upper"])
    def test_optimum_at_the_edge(self, decide, tabulate, bowl_rows, edge):
        """It lies from half a step inside to anywhere beyond."""
        rates = [2.0**k for k in (range(-4, 1) if edge == "lower" else range(-8, -3))]
        verdict = decide(STAYS, tabulate(bowl_rows(still, rates=rates)))
        assert verdict.verdict == "inconclusive"
        assert None in verdict.interval
        assert "the best learning rate, 0.0625, is at the edge of the grid" in verdict.detail

    def test_an_optimum_beside_divergence_counts(self, decide, tabulate, bowl_rows):
        """Within half a step: over four doublings that is less than the quarter octave a doubling that is allowed."""
        control = bowl_rows(far, grid="control", widths=(32, 512))
        for widest, expected in ((512, "holds"), (256, "inconclusive")):
            rows = bowl_rows(still, diverges_above=2.0**-4, widths=(32, 64, widest))
            assert decide(STAYS, tabulate(rows + control)).verdict == expected

    def test_flat_direction(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, depth_of_bowl=1e-4, noise=0.1)
        verdict = decide(STAYS, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert verdict.detail.endswith("the interval contains a threshold")

    def test_a_second_valley_that_seeds_may_prefer(self, decide, tabulate, bowl_rows):
        """At width 32 a rate three octaves above the best is better for one seed of three."""
        rows = bowl_rows(still)
        for row in rows:
            if row["width"] == 32 and row["learning_rate"] == 2.0**-1:
                row["value"] = (0.25, 0.25, 0.13)[row["seed"]]
        verdict = decide(STAYS, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert verdict.value == pytest.approx(0.0, abs=0.05)
        assert verdict.interval[0] == pytest.approx(-3.0, abs=0.25)
        assert verdict.interval[1] < 0.3

    def test_a_fine_grid_with_spread(self, decide, tabulate, bowl_rows):
        rates = [2.0 ** (k / 4) for k in range(-32, 1)]
        verdict = decide(STAYS, tabulate(bowl_rows(far, rates=rates, noise=0.03)))
        assert verdict.verdict == "fails"

    def test_one_seed(self, decide, tabulate, bowl_rows):
        """What is assumed of its spread leaves a deep bowl resolved, and a shallow one not."""
        verdict = decide(STAYS, tabulate(bowl_rows(far, seeds=1)))
        assert verdict.verdict == "fails"
        assert 1 < verdict.interval[1] - verdict.interval[0] < 5
        shallow = bowl_rows(still, seeds=1, depth_of_bowl=0.01, noise=0)
        verdict = decide(STAYS, tabulate(shallow))
        assert (verdict.verdict, verdict.value) == ("inconclusive", 0.0)

    def test_profile_over_the_other_rate(self, decide, tabulate, bowl_rows):
        """Which is another one at each width, and neither the first nor the mean over all."""
        rows = bowl_rows(far, other_rates=(0.1, 1.0, 10.0))
        for row in rows:
            if row["activity_learning_rate"] == 1.0:
                row["value"] = 1 + (np.log2(row["learning_rate"]) + 4) ** 2
            elif (row["activity_learning_rate"] < 1) == (row["width"] < 128):
                row["value"] *= 1.5
        verdict = decide(STAYS | {"profile": ["activity_learning_rate"]}, tabulate(rows))
        assert verdict.verdict == "fails"
        assert verdict.value == pytest.approx(-3.0, abs=0.05)

    def test_between_diverged_cells(self, decide, tabulate, bowl_rows):
        """Within half a step on either side, at all widths: less than an octave together."""
        widths = (32, 64, 512)
        rows = bowl_rows(still, widths=widths) + bowl_rows(far, grid="control", widths=widths)
        for row in rows:
            if row["grid"] == "main" and row["learning_rate"] != 2.0**-4:
                row["value"] = np.nan
        assert decide(STAYS, tabulate(rows)).verdict == "holds"
        verdict = decide(STAYS | {"max_shift": 0.5}, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert "at width 32, the best learning rate, 0.0625, is next to diverged" in verdict.detail

    def test_everything_diverged(self, decide, tabulate, bowl_rows):
        verdict = decide(STAYS, tabulate(bowl_rows(still, diverges_above=0)))
        assert (verdict.verdict, verdict.detail) == ("diverged", "every cell diverged")

    def test_all_cells_of_one_size_diverged(self, decide, tabulate, bowl_rows):
        rows = [
            row | {"value": np.inf if row["width"] == 128 else row["value"]}
            for row in bowl_rows(still)
        ]
        verdict = decide(STAYS, tabulate(rows))
        assert verdict.detail == "every cell diverged at width 128"

    def test_blow_up_with_spread_is_resolved(self, decide, tabulate, bowl_rows):
        """Finite losses over orders of magnitude: their standard error exceeds their mean."""
        rows = bowl_rows(still)
        for row in rows:
            if row["learning_rate"] > 2.0**-4:
                row["value"] = 10.0 ** (2 + 4 * row["seed"])
        control = bowl_rows(far, grid="control", widths=(32, 256))
        assert decide(STAYS, tabulate(rows + control)).verdict == "holds"

    def test_a_control_that_leaves_the_grid_has_moved(self, decide, tabulate, bowl_rows):
        """Its optimum lies at the lower edge or beyond, three octaves or so from where it began."""
        rates = [2.0**k for k in range(-6, 1)]
        control = bowl_rows(lambda width: far(width) - 3, rates=rates, grid="control")
        verdict = decide(STAYS, tabulate(bowl_rows(still) + control))
        assert verdict.verdict == "inconclusive"
        control = bowl_rows(lambda width: -3 - 3 * np.log2(width / 32), rates=rates, grid="control")
        verdict = decide(STAYS, tabulate(bowl_rows(still) + control))
        assert verdict.verdict == "holds"
        assert "in the control 'control', the best learning rate moves by -3" in verdict.detail
        assert "[-∞, -2." in verdict.detail

    def test_an_optimum_that_is_open_within_what_is_allowed_stays(
        self, decide, tabulate, bowl_rows
    ):
        """Two equal rates, one octave apart, at the largest width: half an octave up."""
        rows = bowl_rows(still, noise=0) + bowl_rows(far, grid="control")
        for row in rows:
            if (row["grid"], row["width"], row["learning_rate"]) == ("main", 256, 2.0**-3):
                row["value"] /= 1.3
        verdict = decide(STAYS, tabulate(rows))
        assert (verdict.verdict, verdict.value) == ("holds", pytest.approx(0.5))
        assert decide(STAYS | {"max_shift": 0.4}, tabulate(rows)).verdict == "fails"

    def test_an_edge_may_hide_that_it_stays(self, decide, tabulate, bowl_rows):
        """One octave up to the edge, and perhaps further."""
        rates = [2.0**k for k in range(-8, -2)]
        verdict = decide(STAYS, tabulate(bowl_rows(lambda width: far(width) + 3, rates=rates)))
        assert verdict.verdict == "inconclusive"
        optima = {32: -4.0, 64: -4.0, 128: -4.0, 256: -3.0}
        verdict = decide(STAYS, tabulate(bowl_rows(optima.__getitem__, rates=rates)))
        assert verdict.verdict == "inconclusive"
        assert "at width 256, the best learning rate, 0.125, is at the edge" in verdict.detail

    @pytest.mark.parametrize(
        ("noise", "expected"), [(0.0, "fails"), (0.1, "fails"), (0.5, "inconclusive")]
    )
    def test_an_edge_counts_if_the_grid_falls_towards_it(
        self, decide, tabulate, bowl_rows, noise, expected
    ):
        """Means rise with the rate; spread at every second rate, of mean zero, hides some of it."""
        rows = bowl_rows(still, widths=(32, 256))
        for row in (row for row in rows if row["width"] == 256):
            octave = round(np.log2(row["learning_rate"])) + 8
            row["value"] = 1 + 0.06 * octave + noise * (octave % 2) * (row["seed"] - 1)
        verdict = decide(STAYS, tabulate(rows))
        assert verdict.verdict == expected
        assert None in verdict.interval
        assert "[-∞, " in verdict.detail


class TestOptimumMoves:
    def test_holds_beside_a_control_that_stays(self, decide, tabulate, bowl_rows):
        control = bowl_rows(still, grid="control")
        verdict = decide(MOVES, tabulate(bowl_rows(far) + control))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(-3.0, abs=0.03)
        assert verdict.interval == pytest.approx((-3.0, -3.0), abs=0.1)
        assert verdict.threshold == "shift of at least 2 octaves down"

    @pytest.mark.parametrize("optimum", [still, an_octave])
    def test_fails(self, decide, tabulate, bowl_rows, optimum):
        assert decide(MOVES, tabulate(bowl_rows(optimum))).verdict == "fails"

    def test_a_shift_that_seeds_may_undo(self, decide, tabulate, bowl_rows):
        """At width 256 a rate one octave from where it began is better for one seed of three."""
        rows = bowl_rows(far, widths=(32, 256))
        for row in rows:
            if row["width"] == 256 and row["learning_rate"] == 2.0**-4:
                row["value"] = (0.16, 0.16, 0.08)[row["seed"]]
        verdict = decide(MOVES, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert verdict.interval[0] < -2.9
        assert verdict.interval[1] > -1.5

    def test_the_other_direction_fails(self, decide, tabulate, bowl_rows):
        assert decide(MOVES | {"direction": "up"}, tabulate(bowl_rows(far))).verdict == "fails"

    @pytest.mark.parametrize("sign", [1, -1])
    def test_either_direction(self, decide, tabulate, bowl_rows, sign):
        claim = {key: value for key, value in MOVES.items() if key != "direction"}
        control = bowl_rows(still, grid="control")

        def moving(width):
            return -4.0 + sign * np.log2(width / 32)

        verdict = decide(claim, tabulate(bowl_rows(moving) + control))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(3.0 * sign, abs=0.03)
        assert verdict.threshold == "shift of at least 2 octaves up or down"
        assert verdict.place == "from width 32 to 256"
        assert decide(claim, tabulate(bowl_rows(an_octave))).verdict == "fails"

    def test_one_size_is_enough(self, decide, tabulate, bowl_rows):
        control = bowl_rows(still, grid="control")
        optima = {32: -3.0, 64: -3.0, 128: -6.0, 256: -4.0}
        verdict = decide(MOVES, tabulate(bowl_rows(optima.__getitem__) + control))
        assert verdict.verdict == "holds"
        assert "from width 32 to 128" in verdict.detail

    def test_an_edge_bounds_the_shift(self, decide, tabulate, bowl_rows):
        """Of an optimum at the edge it is known that it lies half a step inside or beyond."""
        rates = [2.0**k for k in range(-5, 1)]
        rows = bowl_rows(far, rates=rates, noise=1e-3) + bowl_rows(still, grid="control")
        verdict = decide(MOVES | {"min_shift": 1.45}, tabulate(rows))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(-2.0, abs=0.01)
        assert "(at width 256, the best learning rate, 0.0312, is at the edge" in verdict.detail
        verdict = decide(MOVES | {"min_shift": 3}, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert "is at the edge of the grid" in verdict.detail
        assert verdict.place == "from width 32 to 256, uncertain at 256"

    def test_an_edge_on_the_other_side_fails(self, decide, tabulate, bowl_rows):
        """Above the grid is not two octaves down."""
        rates = [2.0**k for k in range(-8, -3)]
        rows = bowl_rows(lambda width: -5.0 + np.log2(width / 32) / 2, rates=rates)
        assert decide(MOVES, tabulate(rows)).verdict == "fails"

    def test_a_control_that_moves(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(far) + bowl_rows(far, grid="control")
        verdict = decide(MOVES, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert "the control 'control' does not violate it" in verdict.detail


class TestLargestWithin:
    """Bowls too flat for a best rate, which end at some rate."""

    CLAIM = STAYS | {"within": 0.1}

    @staticmethod
    def cliff_rows(bowl_rows, end, *, above=3.0, **options):
        """Flat but for a slight fall towards the end, so that the best is none at the other edge."""
        rows = bowl_rows(still, depth_of_bowl=0, **options)
        for row in rows:
            octave = np.log2(row["learning_rate"])
            row["value"] *= above if octave > end(row["width"]) + 1e-9 else 1 - 0.02 * (octave + 8)
        return rows

    @pytest.mark.parametrize("above", [1.5, 3.0])
    def test_stays_beside_a_control_that_moves(self, decide, tabulate, bowl_rows, above):
        rows = self.cliff_rows(bowl_rows, still, above=above)
        rows += self.cliff_rows(bowl_rows, far, grid="control", above=above, noise=0)
        verdict = decide(self.CLAIM, tabulate(rows))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(0.0, abs=0.05)
        assert -0.2 < verdict.interval[0] < verdict.interval[1] < 0.2
        own, control = verdict.detail.split("; in the control 'control', ")
        moves = "the largest learning rate within a factor 1.1 of the best moves by "
        assert own.startswith(moves)
        assert control.startswith(f"{moves}-")

    def test_it_may_end_at_a_cliff_into_divergence(self, decide, tabulate, bowl_rows):
        """Anywhere between the last rate that trains and the first that does not."""
        rows = self.cliff_rows(bowl_rows, still, above=np.inf, widths=(32, 512))
        rows += self.cliff_rows(bowl_rows, far, grid="control", above=np.inf)
        verdict = decide(self.CLAIM, tabulate(rows))
        assert (verdict.verdict, verdict.value) == ("holds", 0.0)
        ends = 1 - np.sqrt(0.05)
        assert verdict.interval == pytest.approx((-ends, ends), abs=0.05)

    def test_a_best_rate_at_the_lower_edge_leaves_it_open(self, decide, tabulate, bowl_rows):
        """Where the loss still falls below it, less is within the factor."""
        rows = bowl_rows(lambda width: -9.0, depth_of_bowl=0.3)
        verdict = decide(self.CLAIM, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert None in verdict.interval
        assert "is at the edge of the grid" in verdict.detail

    def test_fails_and_moves(self, decide, tabulate, bowl_rows):
        rows = self.cliff_rows(bowl_rows, far)
        verdict = decide(self.CLAIM, tabulate(rows))
        assert (verdict.verdict, verdict.value) == ("fails", pytest.approx(-3.0, abs=0.05))
        control = self.cliff_rows(bowl_rows, still, grid="control")
        verdict = decide(MOVES | {"within": 0.1}, tabulate(rows + control))
        assert (verdict.verdict, verdict.value) == ("holds", pytest.approx(-3.0, abs=0.05))

    @pytest.mark.parametrize(
        ("within", "first", "last"), [(0.07, 0, 0), (0.1, 0, 1), (0.31, 1, 2), (0.7, 1, 3)]
    )
    def test_it_is_where_the_bowl_reaches_the_factor(
        self, decide, tabulate, bowl_rows, within, first, last
    ):
        """Bowls 1 + 0.3 d^2 and 1 + 0.075 d^2 in the octaves d from the same best rate.

        The last whole octaves below the factor are given; from there the logarithm goes straight.
        """
        rows = bowl_rows(still, widths=[32], depth_of_bowl=0.3, noise=0)
        rows += bowl_rows(still, widths=[256], depth_of_bowl=0.075, noise=0)
        claim = MOVES | {"within": within, "direction": "up", "min_shift": 9}
        verdict = decide(claim, tabulate(rows))

        def end(bowl, octaves):
            below, above = (np.log1p(bowl * d**2) for d in (octaves, octaves + 1))
            return octaves + (np.log1p(within) - below) / (above - below)

        shift = end(0.075, last) - end(0.3, first)
        assert (verdict.verdict, verdict.value) == ("fails", pytest.approx(shift, abs=1e-6))

    def test_an_end_at_the_edge_of_the_grid_is_open(self, decide, tabulate, bowl_rows):
        verdict = decide(
            self.CLAIM, tabulate(self.cliff_rows(bowl_rows, lambda width: 1.0, noise=0))
        )
        assert (verdict.verdict, verdict.value) == ("inconclusive", 0.0)
        assert "of the best, 1, is at the edge of the grid" in verdict.detail

    def test_what_is_as_near_the_limit_as_its_error_is_open(self, decide, tabulate, bowl_rows):
        """At the largest width, three rates cost a tenth on average and any seed more or less."""
        rows = self.cliff_rows(bowl_rows, still, noise=0)
        for row in rows:
            if row["width"] == 256 and 2.0**-4 < row["learning_rate"] < 1.0:
                row["value"] *= 0.92 * (1.0999 + 0.5 * (row["seed"] - 1)) / 3
        rows += self.cliff_rows(bowl_rows, lambda width: 2 * far(width) + 3, grid="control")
        verdict = decide(self.CLAIM, tabulate(rows))
        assert (verdict.verdict, verdict.reason) == ("inconclusive", "interval")
        assert "[-∞, " in verdict.detail

    def test_a_loss_of_zero_has_no_factor(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, level=lambda n: 0.0, noise=0)
        verdict = decide(self.CLAIM, tabulate(rows))
        assert verdict.detail == "training loss is not positive, so that ratios are undefined"

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


@pytest.mark.filterwarnings("error")
def test_exponents_have_neighbours_although_they_have_no_octaves():
    """Damping exponents of -1, -1/2 and 0: a neighbour is one octave away."""
    exponents = np.array([-1.0, -0.5, 0.0])
    assert list(neighbours(exponents, 0)) == [
        ("lower", range(-1, -1, -1), False),
        ("upper", range(1, 2), True),
    ]

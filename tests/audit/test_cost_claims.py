"""What transfer costs, whether larger is better, and whether one arm is better than another."""

import re

import numpy as np
import pytest
from claim_examples import COST, GAP, IMPROVES, assumed, far, moving, still


class TestTransferCost:
    def test_holds_in_a_flat_direction(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, other_rates=(0.1, 1.0, 10.0))
        control = bowl_rows(moving, grid="control", widths=(32, 256))
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
        assert "gives ∞" in verdict.detail

    def test_control_that_costs_nothing(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still) + bowl_rows(still, grid="control", widths=(32, 256))
        verdict = decide(COST, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert "the control 'control' does not violate it" in verdict.detail

    def test_the_cost_is_that_of_the_smallest_sizes_best(self, decide, tabulate, bowl_rows):
        """One octave off a bowl of 0.3 at the largest size, none in between."""
        rows = bowl_rows(lambda width: -4.0 - (width == 256), noise=1e-6)
        verdict = decide(COST, tabulate(rows))
        assert verdict.value == pytest.approx(1.3, rel=1e-5)
        assert verdict.interval == pytest.approx((1.3, 1.3), rel=1e-4)

    def test_which_is_best_at_the_smallest_size_is_drawn_as_well(self, decide, tabulate, bowl_rows):
        """Two rates tie there; at the larger size one is best, the other costs nearly a third."""
        optima = {32: -4.5, 64: -4.0}
        rows = bowl_rows(optima.__getitem__, widths=optima, noise=0.01)
        verdict = decide(COST, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert verdict.interval == pytest.approx((1.0, 1.3), abs=0.03)

    def test_a_loss_of_zero_has_no_ratio(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, noise=0, level=lambda n: 0.0)
        verdict = decide(COST, tabulate(rows))
        assert verdict.detail == "training loss reaches 0 at width 32, so that ratios are undefined"

    def test_one_seed_has_an_assumed_spread(self, decide, tabulate, bowl_rows):
        """At least that of two points; the smallest of all may be a lucky one, so it is larger still."""
        rows = bowl_rows(lambda width: -4.0 - (width == 256), seeds=1, noise=0, depth_of_bowl=3.0)
        verdict = decide(COST, tabulate(rows))
        largest = np.exp(assumed(1, -1))
        assert verdict.value == pytest.approx(4)
        assert verdict.interval[0] == 1
        assert 4 * largest < verdict.interval[1] < 4 * largest**2

    def test_where_any_choice_costs_little_nothing_is_told(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, depth_of_bowl=0.001) + bowl_rows(moving, grid="control")
        verdict = decide(COST, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert "half of the grid may cost as little, so that any choice would do" in verdict.detail

    def test_open_edge(self, decide, tabulate, bowl_rows):
        rates = [2.0**k for k in range(-4, 1)]
        verdict = decide(COST, tabulate(bowl_rows(lambda width: -5.0, rates=rates)))
        assert verdict.verdict == "inconclusive"
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
        # the step that fails is reported, not the fall in all
        assert (verdict.value, verdict.place) == (
            pytest.approx(1.125, rel=0.05),
            "from width 64 to 128",
        )
        assert verdict.interval[0] > 1.02
        assert verdict.threshold.endswith("at most 1.02 from each width to the next")
        assert "a ratio of 0.5" in verdict.detail
        assert "the largest ratio is 1.13 [1." in verdict.detail

    def test_a_fall_by_less_than_the_margin_fails(self, decide, tabulate, bowl_rows):
        level = {32: 1.0, 64: 0.995, 128: 0.99, 256: 0.985}
        results = tabulate(bowl_rows(still, level=level.__getitem__, noise=1e-4))
        assert decide(IMPROVES, results).verdict == "fails"
        assert decide(IMPROVES | {"margin": 0.01}, results).verdict == "holds"
        assert decide(IMPROVES | {"margin": 0.015}, results).verdict == "inconclusive"

    def test_a_rise_within_the_tolerance(self, decide, tabulate, bowl_rows):
        level = {32: 1.0, 64: 0.8, 128: 0.81, 256: 0.5}
        rows = bowl_rows(still, level=level.__getitem__, noise=1e-4)
        assert decide(IMPROVES, tabulate(rows)).verdict == "holds"

    def test_a_step_from_a_size_with_a_large_spread_is_named(self, decide, tabulate, bowl_rows):
        """The largest measured step is the last one, but the first may be larger."""
        level = {32: 1.0, 64: 0.6, 128: 0.5, 256: 0.48}
        rows = [
            row
            for width in level
            for row in bowl_rows(
                still, level=level.__getitem__, widths=[width], noise=0.25 if width == 32 else 0.001
            )
        ]
        verdict = decide(IMPROVES, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert verdict.place == "from width 128 to 256, uncertain from 32 to 64"

    def test_a_rise_that_is_not_resolved_is_untested(self, decide, tabulate, bowl_rows):
        level = {32: 1.0, 64: 0.3, 128: 0.36, 256: 0.2}
        rows = bowl_rows(still, level=level.__getitem__, noise=0.2)
        verdict = decide(IMPROVES, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        # the fall in all is decided, and a step is not
        fall = re.search(r"a ratio of \S+ \[\S+, (\S+)\]", verdict.detail)
        assert float(fall[1]) < 0.98
        assert verdict.interval[0] < 1.02 < verdict.interval[1]
        assert verdict.place == "from width 64 to 128"
        assert "the largest ratio is 1.2" in verdict.detail
        assert verdict.detail.endswith("at most 1.02; the interval contains a threshold")

    @pytest.mark.parametrize(
        ("step", "noise", "verdict"),
        [
            (0.9, 1e-3, "holds"),
            (0.9, 0.1, "inconclusive"),
            (1.05, 0.1, "inconclusive"),
            (1.05, 1e-3, "fails"),
        ],
    )
    def test_a_step_is_judged_by_its_interval(
        self, decide, tabulate, bowl_rows, step, noise, verdict
    ):
        """Its value alone says nothing, on either side of the tolerance; the fall in all is resolved in each case."""
        level = {32: 1.0, 64: 0.4, 128: 0.4 * step, 256: 0.1}
        rows = bowl_rows(still, level=level.__getitem__, noise=noise, rates=(0.0625,))
        found = decide(IMPROVES | {"over": []}, tabulate(rows))
        assert found.verdict == verdict
        fall = re.search(r"a ratio of \S+ \[\S+, (\S+)\]", found.detail)
        assert float(fall[1]) < 0.98
        printed = re.search(r"largest ratio is (\S+) \[(\S+), (\S+)\]", found.detail)
        low, high = (float(number) for number in printed.groups()[1:])
        assert (low < 1.02 < high) == (verdict == "inconclusive")
        if verdict == "holds":
            assert found.interval[1] == pytest.approx(float(fall[1]), rel=0.01)
        else:
            assert found.interval == pytest.approx((low, high), rel=0.01)

    def test_small_rises_that_add_up_fail(self, decide, tabulate, bowl_rows):
        level = {32: 1.0, 64: 1.01, 128: 1.02, 256: 1.03}
        rows = bowl_rows(still, level=level.__getitem__, noise=1e-4)
        assert decide(IMPROVES, tabulate(rows)).verdict == "fails"

    def test_a_fall_that_is_not_resolved_is_untested(self, decide, tabulate, bowl_rows):
        level = {32: 1.0, 64: 0.98, 128: 0.96, 256: 0.94}
        rows = bowl_rows(still, level=level.__getitem__, noise=0.05)
        verdict = decide(IMPROVES, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert verdict.interval[0] < 0.98 < verdict.interval[1]

    def test_diverged_size_fails(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, widths=(32, 64))
        rows += bowl_rows(still, widths=(128, 256), diverges_above=0)
        verdict = decide(IMPROVES, tabulate(rows))
        assert verdict.verdict == "fails"
        assert verdict.value is None

    def test_open_edge(self, decide, tabulate, bowl_rows):
        rates = [2.0**k for k in range(-3, 1)]
        assert decide(IMPROVES, tabulate(bowl_rows(still, rates=rates))).verdict == "inconclusive"

    def test_a_loss_of_zero_has_no_ratio(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still, noise=0, level=lambda n: float(n < 256))
        verdict = decide(IMPROVES, tabulate(rows))
        assert verdict.detail == "training loss reaches 0, so that ratios are undefined"

    def test_one_seed_without_hyperparameters(self, decide, tabulate, bowl_rows):
        """A tenth is no more than what is assumed of two networks of one seed."""
        claim = IMPROVES | {"over": []}
        options = {"rates": (0.0625,), "seeds": 1, "noise": 0}
        falling = bowl_rows(still, level=lambda width: (32 / width) ** 3, **options)
        assert decide(claim, tabulate(falling)).verdict == "holds"
        level = {32: 1.0, 64: 0.97, 128: 0.94, 256: 0.9}
        rows = bowl_rows(still, level=level.__getitem__, **options)
        verdict = decide(claim, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        half = assumed(1, -1, 1, -1)
        assert np.log(verdict.interval) - np.log(0.9) == pytest.approx([-half, half], rel=0.2)

    def test_control(self, decide, tabulate, bowl_rows):
        rows = bowl_rows(still) + bowl_rows(still, grid="control")
        verdict = decide(IMPROVES | {"control": ["control"]}, tabulate(rows))
        assert verdict.verdict == "inconclusive"


class TestGap:
    """Of the largest width, each at its own best rate."""

    GROWS = GAP | {"grows": True}

    def rows(self, bowl_rows, level, other, noise=1e-2, **changes):
        own = bowl_rows(still, level=level, noise=noise)
        return own + bowl_rows(
            lambda n: -5.0, grid="control", level=other, noise=2 * noise, **changes
        )

    def test_holds(self, decide, tabulate, bowl_rows):
        # worse at every width but the largest
        def level(width):
            return 1.0 if width == 256 else 3.0

        rows = self.rows(bowl_rows, level, lambda width: 2.0)
        verdict = decide(GAP, tabulate(rows))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(0.5, rel=0.05)
        assert verdict.interval[0] <= verdict.value <= verdict.interval[1]
        assert verdict.threshold == "ratio of the training loss below 0.98"
        assert verdict.place == "at width 256"

    def test_fails(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda width: 2.0, lambda width: 1.0)
        verdict = decide(GAP, tabulate(rows))
        assert verdict.verdict == "fails"
        assert verdict.value == pytest.approx(2.0, rel=0.05)

    @pytest.mark.parametrize(
        ("ours", "theirs", "outcome", "value"),
        [
            (0, 40, "holds", 0.5 / 40),
            (40, 0, "fails", 40 / 0.5),
            (0, 0, "inconclusive", 1.0),
            (0, 1, "inconclusive", 0.5),
        ],
    )
    def test_an_error_of_zero_counts_as_half_a_sample(
        self, decide, tabulate, ours, theirs, outcome, value
    ):
        """Some of 200 samples are wrong at the best learning rate of each arm, and three times as many at others."""
        rows = [
            {"grid": grid, "width": 8, "learning_rate": rate, "seed": seed, "num_train": 200}
            | {"value": 1 - wrong * (1 if rate == 0.2 else 3) / 200}
            for grid, wrong in (("main", ours), ("control", theirs))
            for rate in (0.1, 0.2, 0.4)
            for seed in range(3)
        ]
        noisy = [row | {"value": row["value"] - (row["seed"] == 1) / 200} for row in rows]
        claim = GAP | {"quantity": {"metric": "train_accuracy", "complement": True}}
        assert decide(claim, tabulate(rows, "train_accuracy")).value == pytest.approx(value)
        assert decide(claim, tabulate(noisy, "train_accuracy")).verdict == outcome

    def test_a_tie_that_is_resolved_fails_and_another_is_untested(
        self, decide, tabulate, bowl_rows
    ):
        rows = self.rows(bowl_rows, lambda width: 1.0, lambda width: 1.0, noise=1e-3)
        assert decide(GAP, tabulate(rows)).verdict == "fails"
        rows = self.rows(bowl_rows, lambda width: 1.0, lambda width: 1.0, noise=0.05)
        verdict = decide(GAP, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert verdict.interval[0] < 0.98 < verdict.interval[1]

    def test_one_size_is_enough_unless_it_should_grow(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda width: 1.0, lambda width: 2.0)
        results = tabulate([row for row in rows if row["width"] == 256])
        assert decide(GAP, results).verdict == "holds"
        verdict = decide(self.GROWS, results)
        assert (verdict.verdict, verdict.detail) == ("inconclusive", "there is only one width")

    def test_a_gap_of_less_than_the_margin_fails(self, decide, tabulate, bowl_rows):
        results = tabulate(self.rows(bowl_rows, lambda n: 0.9, lambda n: 1.0, noise=1e-3))
        assert decide(GAP | {"margin": 0.05}, results).verdict == "holds"
        assert decide(GAP | {"margin": 0.15}, results).verdict == "fails"

    def test_with_a_negative_margin_it_may_be_worse_by_that_much(self, decide, tabulate, bowl_rows):
        results = tabulate(self.rows(bowl_rows, lambda n: 1.05, lambda n: 1.0, noise=1e-3))
        assert decide(GAP | {"margin": -0.1}, results).verdict == "holds"
        assert decide(GAP | {"margin": -0.02}, results).verdict == "fails"

    def test_a_gap_grows_beside_that_of_the_smallest_size(self, decide, tabulate, bowl_rows):
        """The ratio goes from 0.8 to 0.4; the sizes in between do not count."""
        level = {32: 0.8, 64: 9.0, 128: 9.0, 256: 0.2}
        rows = self.rows(bowl_rows, level.__getitem__, lambda n: 1.0 if n < 256 else 0.5)
        verdict = decide(self.GROWS, tabulate(rows))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(0.5, rel=0.05)
        assert "the ratio changes by a factor of 0." in verdict.detail

    @pytest.mark.parametrize(("late", "expected"), [(1.1, "holds"), (1.4, "fails")])
    def test_a_gap_by_another_quantity(self, decide, tabulate, map_rows, late, expected):
        """From 1.3 times the reference at step 3 to `late` times at step 9: does it narrow?"""
        quantities = {
            key: {"metric": "train_loss", "reduce": "at", "step": step}
            for key, step in (("quantity", 9), ("reference_quantity", 3))
        }
        rows = [
            row | {"grid": grid, "step": step}
            for grid, step, level in (
                ("main", 3, 1.3),
                ("main", 9, late),
                ("control", 3, 1.0),
                ("control", 9, 1.0),
            )
            for row in map_rows(lambda n, d, s, level=level: level * (1 + 0.002 * s), depths=(8,))
        ]
        claim = {"kind": "gap", "along": "width", "reference": ["control"]}
        verdict = decide(claim | quantities, tabulate(rows))
        assert verdict.verdict == expected
        assert verdict.value == pytest.approx(late / 1.3, rel=0.01)
        assert verdict.detail.count("in control") == 2

    def test_a_gap_is_compared_with_one_other(self, decide, tabulate, bowl_rows):
        results = tabulate(self.rows(bowl_rows, lambda n: 0.9, lambda n: 1.0))
        with pytest.raises(ValueError, match="give grows or reference_quantity"):
            decide(self.GROWS | {"reference_quantity": {"metric": "train_loss"}}, results)

    def test_a_gap_that_does_not_grow(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 0.5, lambda n: 1.0, noise=1e-3)
        assert decide(GAP, tabulate(rows)).verdict == "holds"
        verdict = decide(self.GROWS, tabulate(rows))
        assert (verdict.verdict, verdict.value) == ("fails", pytest.approx(1.0, rel=0.01))
        rows = self.rows(bowl_rows, lambda n: 0.5, lambda n: 1.0, noise=0.05)
        assert decide(self.GROWS, tabulate(rows)).verdict == "inconclusive"

    def test_a_gap_that_shrinks_fails(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 0.2 if n == 32 else 0.5, lambda n: 1.0)
        assert decide(self.GROWS, tabulate(rows)).verdict == "fails"

    @pytest.mark.parametrize("arm", ["main", "control"])
    def test_nothing_grows_from_a_size_that_diverged(self, decide, tabulate, bowl_rows, arm):
        rows = self.rows(bowl_rows, lambda n: 1.0, lambda n: 2.0)
        for row in rows:
            if (row["grid"], row["width"]) == (arm, 32):
                row["value"] = np.nan
        verdict = decide(self.GROWS, tabulate(rows))
        assert verdict.detail == "every cell diverged at width 32"

    def test_a_threshold_that_no_arm_reaches(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 1.0, lambda n: 2.0)
        never = {"quantity": {"metric": "train_loss", "below": 0.1}}
        verdict = decide(GAP | never, tabulate(rows))
        assert (verdict.verdict, verdict.reason) == ("inconclusive", "values")
        assert (
            verdict.detail == "at width 256, training loss does not fall below 0.1 for every seed"
        )

    def test_a_reference_that_may_be_better_beyond_its_grid(self, decide, tabulate, bowl_rows):
        rates = [2.0**k for k in range(-2, 3)]
        rows = self.rows(bowl_rows, lambda width: 1.0, lambda width: 2.0, rates=rates)
        verdict = decide(GAP, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert "at the edge of the grid" in verdict.detail

    @pytest.mark.parametrize(
        ("first", "chance", "expected"),
        [(-4, 2.0, "holds"), (-4, 5.0, "inconclusive"), (-3, 2.0, "inconclusive")],
        ids=["learns nothing", "learns", "was not run where the other is best"],
    )
    def test_a_reference_that_learns_nothing(
        self, decide, tabulate, bowl_rows, first, chance, expected
    ):
        rates = [2.0**k for k in range(first, 1)]
        rows = self.rows(bowl_rows, lambda width: 1.0, lambda width: 2.0, rates=rates)
        claim = GAP | {"quantity": {"metric": "train_loss", "chance": chance}}
        assert decide(claim, tabulate(rows)).verdict == expected

    def test_sizes_differ(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 1.0, lambda n: 2.0, widths=(32, 64))
        assert "differs: 256 and 64" in decide(GAP, tabulate(rows)).detail

    def test_a_reference_that_diverged(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 1.0, lambda n: 2.0, diverges_above=0)
        verdict = decide(GAP, tabulate(rows))
        assert verdict.verdict == "holds"
        assert verdict.value == 0

    def test_an_arm_that_diverged_fails(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 1.0, lambda n: 2.0)
        for row in rows:
            if (row["grid"], row["width"]) == ("main", 256):
                row["value"] = np.nan
        for claim in (GAP, self.GROWS):
            verdict = decide(claim, tabulate(rows))
            assert (verdict.verdict, verdict.value) == ("fails", None)

    def test_a_loss_of_zero_has_no_ratio(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 0.0, lambda n: 2.0)
        verdict = decide(GAP, tabulate(rows))
        assert (
            verdict.detail == "training loss reaches 0 at width 256, so that ratios are undefined"
        )

    def test_control(self, decide, tabulate, bowl_rows):
        """A second arm that must not come out as better."""
        rows = self.rows(bowl_rows, lambda n: 1.0, lambda n: 2.0)
        claim = GAP | {"control": ["second"]}
        worse = bowl_rows(still, grid="second", level=lambda n: 3.0)
        assert decide(claim, tabulate(rows + worse)).verdict == "holds"
        better = bowl_rows(still, grid="second", level=lambda n: 1.0)
        verdict = decide(claim, tabulate(rows + better))
        assert verdict.verdict == "inconclusive"
        assert "the control 'second' does not violate it" in verdict.detail

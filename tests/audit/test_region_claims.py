"""Bounds over regions of settings, and order by a ratio."""

import numpy as np
import pandas as pd
import pytest
from claim_examples import BOUND, RANK
from scipy.stats import t as student

from scaling_limits.records import Results


class TestBound:
    def test_holds_over_all_steps(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: 1 - 0.1 * d / n - 1e-4 * s)
        verdict = decide(BOUND, tabulate(rows))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(1 - 0.1 / 16 - 1e-4)
        assert verdict.interval[0] <= verdict.value <= verdict.interval[1]
        assert verdict.detail.startswith(
            "the smallest training loss over 9 points at 2 steps is 0.99"
        )

    def test_fails(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: 0.5 if (n, d) == (256, 8) else 1.0)
        verdict = decide(BOUND, tabulate(rows))
        assert verdict.verdict == "fails"
        assert "(width 256, depth 8, step 0)" in verdict.detail

    def test_a_clear_violation_next_to_an_uncertain_one(self, decide, tabulate, map_rows):
        """At the last step a seed may be on either side, but at the first all are below the bound."""
        scattered = (0.99, 0.7, 0.4)
        rows = map_rows(lambda n, d, s: 0.98 + 1e-4 * s, widths=(256,), steps=(0,))
        rows += map_rows(lambda n, d, s: scattered[s], widths=(256,), steps=(10,))
        claim = BOUND | {"quantity": {"metric": "gradient_cosine"}}
        verdict = decide(claim, tabulate(rows, "gradient_cosine"))
        assert verdict.verdict == "fails"
        assert verdict.interval[0] < verdict.value < verdict.interval[1] < 0.99
        assert "at width 256, depth 2, step 0, it is 0.98" in verdict.detail
        # a diverged network that counts as evidence does not hide the violation
        lost = [row | {"value": np.inf} if row["depth"] == 4 else row for row in rows]
        evidence = decide(claim | {"divergence": "evidence"}, tabulate(lost, "gradient_cosine"))
        assert evidence.verdict == "fails"
        scattered_only = tabulate(rows[9:], "gradient_cosine")
        assert decide(claim, scattered_only).verdict == "inconclusive"

    def test_one_run_refutes_an_exact_claim(self, decide, tabulate, map_rows):
        claim = BOUND | {"at_least": 0}
        one = tabulate(map_rows(lambda n, d, s: -0.1 if (n, d, s) == (256, 8, 1) else 1.0))
        assert decide(claim, one).verdict == "inconclusive"
        verdict = decide(claim | {"exact": 1e-9}, one)
        assert verdict.verdict == "fails"
        assert (verdict.value, verdict.interval) == (-0.1, None)
        assert verdict.place == "at width 256, depth 8, step 0"
        assert "of 54 is -0.1 (width 256, depth 8, step 0, seed 1)" in verdict.detail
        none = tabulate(map_rows(lambda n, d, s: 1.0 + s))
        assert decide(claim | {"exact": 1e-9}, none).verdict == "holds"

    def test_an_exact_claim_has_no_interval_but_a_tolerance(self, decide, tabulate, map_rows):
        """Spread over seeds leaves the mean open; single runs are at the bound, and rounded."""
        claim = BOUND | {"at_least": 1}
        runs = tabulate(map_rows(lambda n, d, s: 1 - 1e-12 if s == 0 else 1.0 + 0.2 * s))
        assert decide(claim, runs).verdict == "inconclusive"
        verdict = decide(claim | {"exact": 1e-9}, runs)
        assert (verdict.verdict, verdict.value, verdict.interval) == ("holds", 1 - 1e-12, None)
        assert verdict.threshold == "training loss at least 1; for every run, up to 1e-09"
        assert decide(claim | {"exact": 1e-13}, runs).verdict == "fails"
        assert decide(BOUND | {"at_least": None, "at_most": 1.5, "exact": 1e-9}, runs).verdict == (
            "holds"
        )
        lost = tabulate(map_rows(lambda n, d, s: np.nan if (n, s) == (256, 1) else 1.0))
        assert decide(claim | {"exact": 1e-9}, lost).verdict == "fails"

    def test_at_most_and_one_step(self, decide, tabulate, map_rows):
        claim = {"kind": "bound", "at_most": 0.5, "at": [10]}
        rows = map_rows(lambda n, d, s: 0.6, steps=(0,)) + map_rows(
            lambda n, d, s: 0.4, steps=(10,)
        )
        assert decide(claim, tabulate(rows)).verdict == "holds"
        assert decide(claim | {"at": "all"}, tabulate(rows)).verdict == "fails"

    def test_all_steps_of_a_ratio_are_those_of_both_metrics(self, decide, tabulate, map_rows):
        whole = tabulate(map_rows(lambda n, d, s: 1.0, steps=(0, 10, 20)))
        other = tabulate(map_rows(lambda n, d, s: 2.0, steps=(0, 10)), "test_loss")
        ids = dict(zip(other.cells["cell_id"], whole.cells["cell_id"], strict=True))
        others = other.records.assign(cell_id=other.records["cell_id"].map(ids))
        results = Results(whole.cells, pd.concat([whole.records, others]))
        claim = {"quantity": {"metric": "test_loss", "relative_to": "train_loss"}, "at_least": 2}
        verdict = decide(BOUND | claim, results)
        assert verdict.value == pytest.approx(2.0)
        assert (
            "the smallest test loss over training loss over 9 points at 2 steps" in verdict.detail
        )

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

    def test_an_interval_reaches_as_far_to_either_side(self, decide, tabulate, map_rows):
        """By differences where there is a largest value, as of cosines, else by factors."""
        rows = map_rows(lambda n, d, s: 0.3 + 0.05 * (s - 1) + 0.2 * (n != 16))
        claim = {"kind": "bound", "at_least": 0.1, "by": ["width", "depth"]}
        cosine = claim | {"quantity": {"metric": "gradient_cosine"}}
        verdict = decide(cosine, tabulate(rows, "gradient_cosine"))
        low, high = verdict.interval
        assert 0 < low < verdict.value < high < 1
        assert high - verdict.value == pytest.approx(verdict.value - low)
        loss = decide(claim, tabulate(rows))
        assert loss.interval[1] / loss.value == pytest.approx(loss.value / loss.interval[0])

    def test_one_seed_has_an_assumed_spread(self, decide, tabulate, map_rows):
        """Ten percent, of a loss or of what a cosine lacks to one."""
        rows = map_rows(lambda n, d, s: 0.995, seeds=1)
        verdict = decide(BOUND, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert verdict.interval[0] < 0.95
        cosine = BOUND | {"quantity": {"metric": "gradient_cosine"}}
        verdict = decide(cosine, tabulate(rows, "gradient_cosine"))
        assert verdict.verdict == "inconclusive"
        few = map_rows(lambda n, d, s: 0.999, seeds=1)
        verdict = decide(cosine, tabulate(few, "gradient_cosine"))
        assert verdict.verdict == "holds"
        assert 0.99 < verdict.interval[0] < 0.999

    def test_seeds_that_reach_across_are_untested(self, decide, tabulate, map_rows):
        def rows(spread):
            return tabulate(map_rows(lambda n, d, s: 0.992 * (1 + spread * (s - 1))))

        assert decide(BOUND, rows(1e-4)).verdict == "holds"
        verdict = decide(BOUND, rows(3e-3))
        assert verdict.verdict == "inconclusive"
        assert verdict.value == pytest.approx(0.992)
        assert verdict.interval[0] < 0.99 < verdict.interval[1]

    def test_one_point_has_a_t_interval(self, decide, tabulate, map_rows):
        """Six degrees of freedom: two of its own, four of the prior."""
        rows = map_rows(lambda n, d, s: 2 * np.exp(0.01 * (s - 1)), widths=[64], depths=[4])
        verdict = decide(BOUND, tabulate([row for row in rows if row["step"] == 10]))
        half = student.ppf(0.975, 6) * 0.01 / np.sqrt(3)
        expected = tuple(2 * np.exp([-half, half]))
        assert verdict.interval == pytest.approx(expected, abs=0.4 * half)

    @pytest.mark.parametrize(
        ("region", "points"),
        [
            ({"ratio": ["width"], "at_least": 64}, 9),
            ({"ratio": ["depth"], "at_least": 3, "at_most": 5}, 5),
        ],
    )
    def test_a_region_may_be_of_one_column(self, decide, tabulate, map_rows, region, points):
        verdict = decide(BOUND | {"where": region}, tabulate(map_rows(lambda n, d, s: 1.0)))
        assert verdict.verdict == "holds"
        assert f"over {points} points" in verdict.detail

    def test_control(self, decide, tabulate, map_rows):
        claim = BOUND | {"control": ["control"]}
        rows = map_rows(lambda n, d, s: 1.0)
        alike = map_rows(lambda n, d, s: 1.0, grid="control")
        broken = map_rows(lambda n, d, s: 0.7, grid="control")
        assert decide(claim, tabulate(rows + alike)).verdict == "inconclusive"
        assert decide(claim, tabulate(rows + broken)).verdict == "holds"


BEST = {"kind": "bound", "by": ["width"], "over": ["learning_rate"]}
AT_MOST, AT_LEAST = BEST | {"at_most": 0.5}, BEST | {"at_least": 0.5}
EVIDENCE = {"divergence": "evidence"}


class TestBoundOnTheBest:
    """The best over the rate at each width: a bowl with its bottom at `level`."""

    def rows(self, bowl_rows, level, **said):
        return bowl_rows(lambda n: -4.0, level=level, **said)

    def test_only_the_best_counts(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 0.4)
        assert max(row["value"] for row in rows) > 1
        verdict = decide(AT_MOST, tabulate(rows))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(0.4, rel=0.02)
        assert verdict.interval[0] < verdict.value < verdict.interval[1] < 0.5
        assert verdict.detail.startswith("the largest best training loss over 4 points is 0.4")

    def test_a_single_point_without_a_good_rate_fails(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 0.6 if n == 64 else 0.1)
        verdict = decide(AT_MOST, tabulate(rows))
        assert verdict.verdict == "fails"
        assert "(width 64)" in verdict.detail

    def test_a_good_rate_at_a_single_point_breaks_a_lower_bound(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 0.6)
        assert decide(AT_LEAST, tabulate(rows)).verdict == "holds"
        rows = self.rows(bowl_rows, lambda n: 0.4 if n == 64 else 0.9)
        verdict = decide(AT_LEAST, tabulate(rows))
        assert verdict.verdict == "fails"
        assert verdict.value == pytest.approx(0.4, rel=0.02)

    def test_what_may_be_better_beyond_the_grid_has_no_lower_bound(
        self, decide, tabulate, bowl_rows
    ):
        rows = self.rows(bowl_rows, lambda n: 0.6, rates=[2.0**k for k in range(-4, 1)])
        verdict = decide(AT_LEAST, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert verdict.detail.startswith(
            "at width 32, the best learning rate, 0.0625, is at the edge"
        )
        # but what is small enough would only be smaller
        assert decide(BEST | {"at_most": 0.7}, tabulate(rows)).verdict == "holds"
        # and what is too small already, as it should be in a control, would be so beyond
        assert decide(BEST | {"at_least": 2.0}, tabulate(rows)).verdict == "fails"
        large = bowl_rows(lambda n: -4.0, grid="control", level=lambda n: 3.0)
        swapped = {**BEST, "at_least": 2.0, "grids": ["control"], "control": ["main"]}
        assert decide(swapped, tabulate(rows + large)).verdict == "holds"

    def test_what_diverged_is_not_the_best(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 0.4, diverges_above=0.1)
        assert decide(AT_MOST, tabulate(rows)).verdict == "holds"
        assert decide(AT_LEAST, tabulate(rows)).verdict == "fails"
        assert decide(AT_LEAST | EVIDENCE, tabulate(rows)).verdict == "fails"

    def test_that_everything_diverged_is_evidence_where_the_claim_says_so(
        self, decide, tabulate, bowl_rows
    ):
        """Also in a region only; in a control it then does not violate the claim."""
        lost = self.rows(bowl_rows, lambda n: 0.4, diverges_above=0.0)
        trained = bowl_rows(lambda n: -4.0, grid="control", level=lambda n: 0.4)
        fails = AT_LEAST | EVIDENCE | {"control": ["control"]}
        verdict = decide(fails, tabulate(lost + trained))
        assert (verdict.verdict, verdict.value) == ("holds", None)
        assert "is ∞" in verdict.detail
        for claim in (AT_LEAST, AT_MOST):
            verdict = decide(claim, tabulate(lost + trained))
            assert (verdict.verdict, verdict.detail) == ("diverged", "every cell diverged")
        swapped = fails | {"grids": ["control"], "control": ["main"]}
        assert decide(swapped, tabulate(lost + trained)).verdict == "fails"
        large = {"where": {"ratio": ["width"], "at_least": 128}}
        some = [row | {"value": 0.4} if row["width"] < 128 else row for row in lost]
        assert decide(fails | large, tabulate(some + trained)).verdict == "holds"
        assert decide(AT_LEAST | large, tabulate(some)).detail == "every cell diverged"

    def test_without_others_to_count_what_diverged_breaks_a_bound_or_is_evidence(
        self, decide, tabulate, map_rows
    ):
        claim = {"kind": "bound", "at_least": 0.5}
        rows = map_rows(lambda n, d, s: np.nan if n == 16 else 0.9)
        assert decide(claim, tabulate(rows)).verdict == "fails"
        assert decide(claim | EVIDENCE, tabulate(rows)).verdict == "holds"

    def test_what_is_never_below_has_not_diverged(self, decide, tabulate, bowl_rows):
        never = {"quantity": {"metric": "train_loss", "below": 0.1}}
        rows = self.rows(bowl_rows, lambda n: 0.4)
        assert decide(AT_MOST | never, tabulate(rows)).verdict == "fails"
        lost = self.rows(bowl_rows, lambda n: 0.4, diverges_above=0.0)
        assert decide(AT_MOST | never, tabulate(lost)).detail == "every cell diverged"

    def test_a_spread_that_reaches_across_is_untested(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 0.49, noise=0.1)
        assert decide(AT_MOST, tabulate(rows)).verdict == "inconclusive"


class TestRankCorrelation:
    def test_holds(self, decide, tabulate, map_rows):
        """Five ratios, three of which stand at two or three points."""
        verdict = decide(RANK, tabulate(map_rows(lambda n, d, s: (1 - d / n) * (1 + 1e-4 * s))))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(1.0)
        assert verdict.interval[0] > 0.9

    def test_as_much_as_is_asked_holds(self, decide, tabulate, map_rows):
        """Two neighbours of four are exchanged: 1 - 6 * 2 / (4 * 15)."""
        order = {8.0: 1.0, 16.0: 3.0, 32.0: 2.0, 64.0: 4.0}
        rows = map_rows(lambda n, d, s: order[n / d], widths=(32, 128), depths=(2, 4))
        verdict = decide(RANK | {"above": 0.81}, tabulate(rows))
        assert (verdict.verdict, verdict.value) == ("fails", pytest.approx(0.8))

    @pytest.mark.parametrize(
        ("power", "expected"), [(0.5, "fails"), (1.0, "holds"), (2.0, "fails")]
    )
    @pytest.mark.parametrize("law", [np.asarray, np.tanh, lambda x: 1 + x**2])
    def test_a_wrong_power_of_the_depth_fails(
        self, decide, tabulate, map_rows, law, power, expected
    ):
        """Its rank correlation is above 0.9 as well."""
        luck = np.random.default_rng(0)
        rows = map_rows(
            lambda n, d, s: float(law(n / d**power / 64)) * np.exp(0.02 * luck.normal()),
            depths=(2, 4, 8),
        )
        assert decide(RANK, tabulate(rows)).verdict == expected

    def test_a_power_may_leave_the_claim_open(self, decide, tabulate, map_rows):
        """The correlation is above 0.9, and the power of depth is next to the largest allowed one."""
        luck = np.random.default_rng(0)
        rows = map_rows(lambda n, d, s: n / d**1.4 * np.exp(0.08 * luck.normal()), depths=(2, 4, 8))
        verdict = decide(RANK, tabulate(rows))
        assert (verdict.verdict, verdict.reason) == ("inconclusive", "interval")
        assert "over 15 points is 0.98" in verdict.detail
        # the power is reported
        assert verdict.interval[0] < 2**0.5 < verdict.interval[1]
        assert verdict.threshold == "power p of width / depth^p between 0.707 and 1.41"
        assert "as a function of width / depth^p it has p = 1." in verdict.detail
        assert "], which should be from 0.707 to 1.41; the interval" in verdict.detail

    def test_a_column_alone_has_an_order_and_no_power(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: n * (1 + 0.01 * s), depths=(2,))
        verdict = decide(RANK | {"ratio": ["width"]}, tabulate(rows))
        assert (verdict.verdict, verdict.value) == ("holds", pytest.approx(1.0))
        assert "^p" not in verdict.detail
        assert decide(RANK | {"ratio": ["depth"]}, tabulate(rows)).reason == "sizes"

    def test_of_a_single_depth_no_ratio_is_told(self, decide, tabulate, map_rows):
        verdict = decide(RANK, tabulate(map_rows(lambda n, d, s: n, depths=(2,))))
        assert (verdict.verdict, verdict.reason) == ("inconclusive", "sizes")
        assert verdict.detail == "there is only one depth"

    def test_order_that_seeds_may_change_is_untested(self, decide, tabulate, map_rows):
        def rows(spread):
            luck = np.random.default_rng(0)
            return map_rows(lambda n, d, s: n / d * np.exp(spread * luck.standard_normal()))

        assert decide(RANK, tabulate(rows(0.05))).verdict == "holds"
        verdict = decide(RANK, tabulate(rows(0.8)))
        assert verdict.verdict == "inconclusive"
        assert verdict.interval[0] < 0.9 < verdict.interval[1]

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

    def test_the_interval_is_that_of_the_worst_step(self, decide, tabulate, map_rows):
        """At one step surely ordered, at the other perhaps."""
        luck = np.random.default_rng(0)
        rows = map_rows(lambda n, d, s: n / d * (1 + 1e-3 * s), steps=(0,))
        rows += map_rows(lambda n, d, s: n / d * np.exp(0.8 * luck.standard_normal()), steps=(10,))
        verdict = decide(RANK | {"at": "all"}, tabulate(rows))
        assert verdict.verdict == "inconclusive"
        assert verdict.interval[0] < 0.9

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
        assert decide(RANK, tabulate(rows)).verdict == "inconclusive"

    def test_one_seed_has_an_assumed_spread(self, decide, tabulate, map_rows):
        """It changes the order of a weak law, and hardly that of powers of four."""
        steep = map_rows(lambda n, d, s: (n / d) ** 2, seeds=1, steps=(0,))
        assert decide(RANK, tabulate(steep)).verdict == "holds"
        weak = map_rows(lambda n, d, s: (n / d) ** 0.01, seeds=1, steps=(0,))
        verdict = decide(RANK, tabulate(weak))
        assert verdict.verdict == "fails"
        assert verdict.interval[0] < verdict.interval[1] < 0.9

    def test_control(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: n / d)
        rows += map_rows(lambda n, d, s: n / d, grid="control")
        verdict = decide(RANK | {"control": ["control"]}, tabulate(rows))
        assert verdict.verdict == "inconclusive"

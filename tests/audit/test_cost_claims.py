"""What transfer costs, whether larger is better, and whether one is better than another."""

import numpy as np
import pytest
from claim_examples import BEATS, COST, IMPROVES, far, moving, still


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

    def test_a_rise_that_is_not_resolved_is_said(self, decide, tabulate, bowl_rows):
        level = {32: 1.0, 64: 0.3, 128: 0.36, 256: 0.2}
        rows = bowl_rows(still, level=level.__getitem__, noise=0.2)
        verdict = decide(IMPROVES, tabulate(rows))
        assert verdict.verdict == "holds"
        assert verdict.value > 1.02
        assert verdict.detail.endswith("allowed 1.02, and this rise is within two standard errors")

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


class TestBeats:
    """Of the largest width alone, each at its own best rate."""

    def rows(self, bowl_rows, level, other, **changes):
        own = bowl_rows(still, level=level, noise=1e-2)
        return own + bowl_rows(lambda n: -5.0, grid="control", level=other, noise=2e-2, **changes)

    def test_holds(self, decide, tabulate, bowl_rows):
        # worse at every width but the largest
        def level(width):
            return 1.0 if width == 256 else 3.0

        rows = self.rows(bowl_rows, level, lambda width: 2.0)
        verdict = decide(BEATS, tabulate(rows))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(0.5, rel=0.05)
        assert verdict.interval[0] <= verdict.value <= verdict.interval[1]

    def test_fails(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda width: 2.0, lambda width: 1.0)
        verdict = decide(BEATS, tabulate(rows))
        assert verdict.verdict == "fails"
        assert verdict.value == pytest.approx(2.0, rel=0.05)

    def test_no_difference(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda width: 1.0, lambda width: 1.0)
        verdict = decide(BEATS, tabulate(rows))
        assert verdict.verdict == "untested"
        assert "no resolved difference" in verdict.detail

    def test_a_reference_that_may_be_better_beyond_its_grid(self, decide, tabulate, bowl_rows):
        rates = [2.0**k for k in range(-2, 3)]
        rows = self.rows(bowl_rows, lambda width: 1.0, lambda width: 2.0, rates=rates)
        verdict = decide(BEATS, tabulate(rows))
        assert verdict.verdict == "untested"
        assert "at the edge of the grid" in verdict.detail

    def test_sizes_differ(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 1.0, lambda n: 2.0, widths=(32, 64))
        assert "differs: 256 and 64" in decide(BEATS, tabulate(rows)).detail

    def test_a_reference_that_diverged(self, decide, tabulate, bowl_rows):
        rows = self.rows(bowl_rows, lambda n: 1.0, lambda n: 2.0, diverges_above=0)
        verdict = decide(BEATS, tabulate(rows))
        assert verdict.verdict == "holds"
        assert verdict.value == 0

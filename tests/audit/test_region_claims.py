"""Bounds over regions of settings, and order by a ratio."""

import numpy as np
import pytest
from claim_examples import BOUND, RANK


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

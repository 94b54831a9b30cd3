"""Powers of a size, and along an axis of the records."""

from typing import ClassVar

import numpy as np
import pytest
from claim_examples import SLOPE, assumed
from pydantic import ValidationError

from scaling_limits.errors import ConfigurationError
from scaling_limits.records import Results


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
        assert verdict.threshold == "slope -1 ± 0.1"

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
        assert decide(SLOPE | nowhere, tabulate(rows)).verdict == "inconclusive"

    def test_control_with_the_same_slope(self, decide, tabulate, map_rows):
        rows = self.rows(map_rows, -1.0) + self.rows(map_rows, -1.0, grid="control")
        assert decide(SLOPE, tabulate(rows)).verdict == "inconclusive"

    def test_divergence_fails_and_zero_decides_nothing(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: np.nan if n == 256 else 1.0)
        assert decide(SLOPE, tabulate(rows)).verdict == "fails"
        rows = map_rows(lambda n, d, s: 0.0 if n == 256 else 1.0)
        assert decide(SLOPE, tabulate(rows)).verdict == "inconclusive"

    def test_one_size(self, decide, tabulate, map_rows):
        verdict = decide(SLOPE, tabulate(self.rows(map_rows, -1.0, widths=(16,))))
        assert verdict.detail == "there is only one width"

    def test_one_seed_has_an_assumed_spread(self, decide, tabulate, map_rows):
        """Ten percent of a point's own; what all widths share leaves the slope as it is."""
        results = tabulate(self.rows(map_rows, -0.5, seeds=1, depths=(2,)))
        verdict = decide(SLOPE, results)
        assert verdict.verdict == "fails"
        # weights of a least-squares slope over five doublings: its logarithms lie -2 to 2 about their mean
        half = assumed(-2, -1, 0, 1, 2) / 10 / np.log(2)
        assert verdict.interval == pytest.approx((-0.5 - half, -0.5 + half), abs=0.2 * half)

    def test_what_a_seed_does_to_all_sizes_leaves_no_interval(self, decide, tabulate, map_rows):
        rows = map_rows(lambda n, d, s: n**-0.5 * np.exp(s), depths=(2,))
        assert decide(SLOPE, tabulate(rows)).interval == pytest.approx((-0.5, -0.5))

    @pytest.mark.parametrize(
        ("exponent", "spread", "expected"),
        [
            (-0.95, 0.01, "holds"),
            (-0.95, 0.2, "inconclusive"),
            (-0.85, 0.2, "inconclusive"),
            (-0.85, 0.01, "fails"),
        ],
    )
    def test_the_interval_decides(self, decide, tabulate, map_rows, exponent, spread, expected):
        def value(width, depth, seed):
            return width**exponent * np.exp(spread * (-1) ** (width.bit_length() + seed))

        rows = map_rows(value, seeds=2) + self.rows(map_rows, -0.5, grid="control")
        verdict = decide(SLOPE, tabulate(rows))
        assert verdict.verdict == expected
        assert verdict.value == pytest.approx(exponent)
        assert verdict.interval[0] < verdict.value < verdict.interval[1]

    def test_a_mean_that_may_be_negative_has_no_slope(self, decide, tabulate, map_rows):
        """Its seeds are of both signs, so plausible means are as well."""
        rows = map_rows(lambda n, d, s: 1 / n + (s - 1) * 0.1, depths=(2,))
        verdict = decide(SLOPE, tabulate(rows))
        assert (verdict.verdict, verdict.interval) == ("inconclusive", (None, None))
        assert "is -1 [-∞, ∞]" in verdict.detail


class TestSlopePredictedByTheory:
    """Powers of depth at points (alpha, gamma) of the plane of exponents."""

    CLAIM: ClassVar = {
        "kind": "slope",
        "along": "depth",
        "each": ["depth_exponent", "depth_lr_exponent"],
        "expected": {"theory": "output_change"},
        "tolerance": 0.125,
        "control": ["control"],
    }
    POINTS = ((0.5, 0.25), (0.5, 0.5), (1.0, 0.5), (1.25, -0.25))

    @staticmethod
    def right(alpha, gamma):
        return 1 - alpha - gamma

    @staticmethod
    def rows(exponent, points=POINTS, **settings):
        cell = {"grid": "main", "parameterisation": "depth_mup", "optimiser": "sgd"}
        cell = cell | {"exponent_changes": "{}"} | settings
        return [
            {**cell, "depth_exponent": a, "depth_lr_exponent": g, "depth": depth, "seed": 0}
            # limits are exact
            | {"limit": "depth_recursion", "value": 3.0 * depth ** exponent(a, g)}
            for a, g in points
            for depth in (16, 64, 256)
        ]

    def control(self):
        """A rate that is wrong by one half, which the prediction does not know of."""
        changes = '{"hidden": {"learning_rate": {"depth": 0.5}}}'
        wrong = lambda a, g: self.right(a, g) + 0.5  # noqa: E731
        return self.rows(wrong, grid="control", exponent_changes=changes)

    def test_every_point_has_its_own_exponent(self, decide, tabulate):
        rows = self.rows(lambda a, g: self.right(a, g) + 0.1 * (a == 1.0))
        verdict = decide(self.CLAIM, tabulate(rows + self.control()))
        assert verdict.verdict == "holds"
        # the point that is farthest from its exponent is named
        assert "at depth exponent 1, depth lr exponent 0.5 is -0.4;" in verdict.detail
        assert verdict.threshold == "slope -0.5 ± 0.125"

    def test_one_wrong_point_fails_by_name(self, decide, tabulate):
        rows = self.rows(lambda a, g: self.right(a, g) + 0.25 * (a == 1.25))
        verdict = decide(self.CLAIM, tabulate(rows + self.control()))
        assert verdict.verdict == "fails"
        assert "at depth exponent 1.25, depth lr exponent -0.25 is 0.25;" in verdict.detail

    def test_one_exponent_for_all_points_fails(self, decide, tabulate):
        assert decide(self.CLAIM, tabulate(self.rows(lambda a, g: 0.0))).verdict == "fails"
        turned = self.rows(lambda a, g: -self.right(a, g))
        assert decide(self.CLAIM, tabulate(turned)).verdict == "fails"

    def test_a_control_without_a_wrong_exponent_decides_nothing(self, decide, tabulate):
        rows = self.rows(self.right) + self.rows(self.right, grid="control")
        assert decide(self.CLAIM, tabulate(rows)).verdict == "inconclusive"

    @pytest.mark.parametrize(("growth", "expected"), [(2.0, "holds"), (0.05, "fails")])
    def test_faster_than_any_power_is_at_least_the_tolerance(
        self, decide, tabulate, growth, expected
    ):
        claim = self.CLAIM | {"expected": {"theory": "activity"}}
        points = (*self.POINTS, (0.25, 0.75))
        rows = self.rows(lambda a, g: growth * (a < 0.5), points)
        control = self.rows(lambda a, g: 0.5, points, grid="control")
        verdict = decide(claim, tabulate(rows + control))
        assert verdict.verdict == expected
        if expected == "fails":
            assert verdict.threshold == "slope at least 0.125"

    @pytest.mark.parametrize(
        ("theory", "exponent"),
        [("update", lambda a, g: -g), ("preactivation", lambda a, g: max(0, -g, 1 - a - g))],
    )
    def test_other_quantities(self, decide, tabulate, theory, exponent):
        claim = self.CLAIM | {"expected": {"theory": theory}}
        rows = self.rows(exponent) + self.control()
        assert decide(claim, tabulate(rows)).verdict == "holds"
        assert decide(claim, tabulate(self.rows(lambda a, g: g))).verdict == "fails"

    def test_a_cell_at_which_several_points_meet_counts_at_each(self, decide, tabulate):
        """At the base depth, here 16, all exponents give the same cell; a point is wrong from there on only."""
        rows = self.rows(lambda a, g: self.right(a, g))
        for row in rows:
            exponent = self.right(row["depth_exponent"], row["depth_lr_exponent"])
            row["value"] *= 16.0**-exponent * (1.8 if row["depth"] > 16 and exponent < 0 else 1)
        results = tabulate(rows + self.control())
        cells = results.cells
        meeting = (cells["grid"] == "main") & (cells["depth"] == 16)
        first = cells.loc[meeting, "cell_id"].iloc[0]
        cells = cells.assign(cell_id=cells["cell_id"].mask(meeting, first))
        found = decide(self.CLAIM, Results(cells, results.records))
        assert found.verdict == "fails"
        assert "in depth from 16 to 256 at depth exponent 1, depth lr" in found.detail

    def test_groups_of_several_exponents(self, decide, tabulate):
        claim = self.CLAIM | {"each": ["depth_exponent"], "only": {"depth": 16}}
        rows = (
            self.rows(self.right, ((0.5, 0.5),))
            + [row | {"depth": 64} for row in self.rows(self.right, ((0.5, 0.25),))][:1]
        )
        with pytest.raises(
            ConfigurationError, match=r"each: theory predicts the exponents 0, 0\.25"
        ):
            decide(claim | {"only": {}}, tabulate([rows[0], rows[-1]]))

    def test_only_along_the_depth(self, decide, tabulate):
        with pytest.raises(ValidationError, match="theory predicts powers of depth"):
            decide(self.CLAIM | {"along": "width"}, tabulate(self.rows(self.right)))


class TestSlopeAlongAnAxisOfRecords:
    """Increments of features against the number of blocks k, at each depth."""

    CLAIM = SLOPE | {
        "quantity": {"metric": "train_loss", "per": "index"},
        "along": "index",
        "expected": 0.5,
        "where": {"ratio": ["index", "depth"], "at_most": 1 / 16},
    }

    @staticmethod
    def rows(exponent, grid="main", far=0.0):
        return [
            {"grid": grid, "depth": depth, "seed": seed, "index": k}
            | {
                "value": (k / depth) ** exponent
                * (1 + far * (k / depth > 1 / 16))
                * (1 + 0.01 * seed)
            }
            for depth in (64, 256)
            for seed in range(2)
            for k in (1, 2, 4, 8, 16, 32, 64, 128)
            if k <= depth / 2
        ]

    def test_holds_at_each_depth(self, decide, tabulate):
        control = self.rows(1.0, "control")
        verdict = decide(self.CLAIM, tabulate(self.rows(0.5, far=3.0) + control))
        assert verdict.verdict == "holds"
        assert verdict.value == pytest.approx(0.5)
        assert "in index from 1 to" in verdict.detail
        relative = self.CLAIM | {"along": "relative_index"}
        with pytest.raises(ConfigurationError, match="ratio: unknown column 'index'"):
            decide(relative, tabulate(self.rows(0.5)))
        whole = relative | {"where": None}
        assert decide(whole, tabulate(self.rows(0.5) + control)).verdict == "holds"

    def test_fails(self, decide, tabulate):
        assert decide(self.CLAIM, tabulate(self.rows(0.75))).verdict == "fails"

    def test_points_outside_the_region_do_not_count(self, decide, tabulate):
        rows = self.rows(0.5, far=3.0)
        assert decide(self.CLAIM | {"where": None}, tabulate(rows)).verdict == "fails"

    def test_values_along_the_axis_must_be_told_apart(self, decide, tabulate):
        along = {"along": "depth", "each": [], "where": None}
        with pytest.raises(ConfigurationError, match="they differ in index, relative_index"):
            decide(self.CLAIM | along, tabulate(self.rows(0.5)))

    def test_one_index_is_a_number_of_the_cell(self, decide, tabulate):
        quantity = {"quantity": {"metric": "train_loss", "index": 4}}
        claim = (
            self.CLAIM | quantity | {"along": "depth", "each": [], "where": None, "expected": -0.5}
        )
        rows = self.rows(0.5) + self.rows(1.0, "control")
        assert decide(claim, tabulate(rows)).verdict == "holds"

    def test_layers_can_be_points_of_a_bound(self, decide, tabulate):
        rows = [row | {"layer": row.pop("index")} for row in self.rows(0.5)]
        bound = {"kind": "bound", "by": ["depth", "layer"], "at_most": 1}
        quantity = {"quantity": {"metric": "train_loss", "per": "layer"}}
        verdict = decide(bound | quantity, tabulate(rows))
        assert verdict.verdict == "holds"
        assert "over 14 points" in verdict.detail
        assert "depth 64, layer 32" in verdict.detail or "depth 256, layer 128" in verdict.detail
        assert decide(bound | quantity | {"at_most": 0.5}, tabulate(rows)).verdict == "fails"

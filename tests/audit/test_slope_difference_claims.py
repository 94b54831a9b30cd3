"""Log-log slopes compared between grids, quantities and sizes, seed by seed."""

import numpy as np
import pandas as pd
import pytest
from claim_examples import DIFFERENCE, PAIRED
from scipy.stats import t

from scaling_limits.errors import ConfigurationError
from scaling_limits.records import Results

LUCK = np.random.default_rng(1).normal(size=(3, 9))


def slopes(map_rows, slope, *, grid="main", luck=0.0, own=0.01, **options):
    """Powers of the width whose exponent a seed moves by its `luck`, and each grid by its `own`."""
    number = ["main", "control", "third"].index(grid)

    def value(width, depth, seed):
        drawn = luck * LUCK[0, seed] + own * LUCK[number, seed + 3]
        return width ** ((slope(depth) if callable(slope) else slope) + drawn)

    return map_rows(value, grid=grid, steps=(10,), **options)


def three(map_rows, apart, **options):
    """A grid whose slope is `apart` from the reference's, and a control that is as far on the other side."""
    rows = slopes(map_rows, 0.7 + apart, **options)
    rows += slopes(map_rows, 0.7, grid="control", **options)
    return rows + slopes(map_rows, 0.7 - apart, grid="third", **options)


@pytest.mark.parametrize(
    ("apart", "expected"), [(-0.1, "holds"), (-0.03, "inconclusive"), (0.1, "fails")]
)
def test_slopes_of_two_grids(decide, tabulate, map_rows, apart, expected):
    verdict = decide(PAIRED, tabulate(three(map_rows, apart)))
    assert verdict.verdict == expected
    assert verdict.value == pytest.approx(apart, abs=0.02)
    assert "less that in control" in verdict.detail


def test_what_a_seed_does_to_both_cancels(decide, tabulate, map_rows):
    """Slopes that scatter by 0.3 over seeds differ by 0.1 with an interval of what is a grid's own."""
    results = tabulate(three(map_rows, -0.1, luck=0.3))
    verdict = decide(PAIRED | {"each": [], "only": {"depth": 2}}, results)
    assert verdict.verdict == "holds"
    differences = -0.1 + 0.01 * (LUCK[0, 3:6] - LUCK[1, 3:6])
    half = t.ppf(0.975, 2) * differences.std(ddof=1) / np.sqrt(3)
    mean = differences.mean()
    assert verdict.value == pytest.approx(mean)
    assert verdict.interval == pytest.approx((mean - half, mean + half))
    unpaired = [
        row | {"seed": row["seed"] + 1} if row["grid"] == "control" else row
        for row in three(map_rows, -0.1, luck=0.3)
    ]
    assert decide(PAIRED, tabulate(unpaired)).verdict == "inconclusive"


def test_no_common_seed_decides_nothing(decide, tabulate, map_rows):
    rows = three(map_rows, -0.1)
    rows = [row | {"seed": row["seed"] + 5 * (row["grid"] == "control")} for row in rows]
    assert decide(PAIRED, tabulate(rows)).detail == (
        "no seed was run in both, so there is no difference within a seed"
    )


@pytest.fixture
def bent(map_rows):
    """A slope of 0.6 up to a width of 64 and of 2 beyond it, and a reference that was run on `widths`."""

    def rows(widths):
        found = map_rows(lambda n, d, s: n**0.6 * max(n / 64, 1) ** 1.4, steps=(10,))
        found += slopes(map_rows, 0.7, grid="control", widths=widths)
        return found + slopes(map_rows, 0.8, grid="third")

    return rows


def test_slopes_compare_over_the_same_points(decide, tabulate, bent):
    assert decide(PAIRED, tabulate(bent((16, 32, 64)))).verdict == "holds"
    assert decide(PAIRED, tabulate(bent((16, 32, 64, 128, 256)))).verdict == "fails"


def test_only_the_region_counts(decide, tabulate, bent):
    region = {"where": {"ratio": ["width"], "at_most": 64}}
    verdict = decide(PAIRED | region, tabulate(bent((16, 32, 64, 128, 256))))
    assert verdict.verdict == "holds"
    assert verdict.value == pytest.approx(-0.1, abs=0.02)


@pytest.mark.parametrize(("late", "expected"), [(0.8, "holds"), (0.7, "fails")])
def test_slopes_of_one_grid_at_two_steps(decide, tabulate, map_rows, late, expected):
    claim = {
        "kind": "slope_difference",
        "along": "width",
        "each": ["depth"],
        "quantity": {"metric": "train_loss", "reduce": "at", "step": 300},
        "reference_quantity": {"metric": "train_loss", "reduce": "at", "step": 30},
        "at_least": 0.05,
    }
    early, later = (
        slopes(map_rows, slope, luck=0.3, own=own) for slope, own in ((0.66, 0), (late, 0.003))
    )
    rows = [r | {"step": 30} for r in early] + [r | {"step": 300} for r in later]
    verdict = decide(claim, tabulate(rows))
    assert verdict.verdict == expected
    assert verdict.value == pytest.approx(late - 0.66, abs=0.01)
    assert "less that of training loss at step 30" in verdict.detail


@pytest.mark.parametrize(("grows", "expected"), [(0.4, "holds"), (0.2, "fails")])
def test_slopes_at_the_largest_and_the_smallest_size(decide, tabulate, map_rows, grows, expected):
    """By `grows` a doubling, from 2 to 8; the size between them does not count."""
    rows = slopes(map_rows, lambda d: -2 + grows * np.log2(d / 2) if d != 4 else 7, luck=0.3)
    verdict = decide(DIFFERENCE, tabulate(rows))
    assert verdict.verdict == expected
    assert verdict.value == pytest.approx(2 * grows)
    assert "at the largest depth less that at the smallest" in verdict.detail


def test_sizes_with_other_points(decide, tabulate, map_rows):
    """As relative depths: a deep network has more of them."""
    rows = slopes(map_rows, -1, depths=(2,), widths=(16, 32))
    rows += slopes(map_rows, -0.3, depths=(8,))
    assert decide(DIFFERENCE, tabulate(rows)).value == pytest.approx(0.7)


def test_along_an_axis_of_the_records(decide):
    rows = [
        {"grid": "main", "depth": depth, "seed": seed, "index": k, "value": (k / depth) ** power}
        for depth, power in ((8, 0.5), (32, 1.2))
        for seed in (0, 1)
        for k in (1, 2, 4, 8, 16)
        if k < depth
    ]
    table = pd.DataFrame(rows)
    table["cell_id"] = table["depth"].astype(str) + "-" + table["seed"].astype(str)
    cells = table[["grid", "cell_id", "depth", "seed"]].drop_duplicates()
    records = table[["cell_id", "index", "value"]].assign(metric="feature_increment", step=10)
    claim = DIFFERENCE | {
        "along": "relative_index",
        "quantity": {"metric": "feature_increment", "per": "index"},
        "where": {"ratio": ["relative_index"], "at_least": 1 / 64, "at_most": 1 / 2},
    }
    assert decide(claim, Results(cells, records)).value == pytest.approx(0.7)


def test_one_seed_has_an_assumed_spread(decide, tabulate, map_rows):
    """Ten percent of every point's own, with two degrees of freedom, of both slopes."""
    verdict = decide(DIFFERENCE, tabulate(slopes(map_rows, lambda d: -1 + d / 8, seeds=1)))
    # logarithms of five sizes lie -2 to 2 octaves about their mean
    scatter = 0.1 * np.sqrt(2 / 10) / np.log(2)
    half = t.ppf(0.975, 2) * scatter
    assert verdict.interval == pytest.approx((verdict.value - half, verdict.value + half))


def test_limits_are_exact(decide, tabulate, map_rows):
    rows = [r | {"limit": "exact"} for r in slopes(map_rows, lambda d: -1 + d / 8, seeds=1, own=0)]
    verdict = decide(DIFFERENCE, tabulate(rows))
    assert (verdict.value, verdict.interval) == (pytest.approx(0.75), None)


def test_divergence_fails_but_in_a_reference(decide, tabulate, map_rows):
    rows = three(map_rows, -0.1)

    def lost(grid, depth=2):
        return tabulate(
            [
                row | {"value": np.nan} if (row["grid"], row["depth"]) == (grid, depth) else row
                for row in rows
            ]
        )

    assert decide(PAIRED, lost("main")).verdict == "fails"
    verdict = decide(PAIRED, lost("control"))
    assert verdict.detail == "training diverged in the reference, so it has no slope"
    assert decide(DIFFERENCE, lost("main", 8)).verdict == "fails"
    assert decide(DIFFERENCE, lost("main", 2)).verdict == "fails"


@pytest.mark.parametrize(
    ("claim", "options", "said"),
    [
        (DIFFERENCE, {"depths": (2,)}, "there is only one depth"),
        (DIFFERENCE, {"widths": (16,)}, "there is only one width"),
        (PAIRED, {"widths": (16,)}, "there is only one width"),
    ],
)
def test_too_few_sizes_decide_nothing(decide, tabulate, map_rows, claim, options, said):
    assert decide(claim, tabulate(three(map_rows, -0.1, **options))).detail == said


def test_points_of_several_cells_are_refused(decide, tabulate, map_rows):
    with pytest.raises(ConfigurationError, match="they differ in depth"):
        decide(PAIRED | {"each": []}, tabulate(three(map_rows, -0.1)))

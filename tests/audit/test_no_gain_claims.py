"""No gain along a size, and values that get worse."""

import numpy as np
import pytest
from claim_examples import NO_GAIN, an_octave, still

WORSE = {**NO_GAIN, "tolerance": None, "margin": 0.05, "control": []}


def level(ratio):
    """The best value at the largest of four sizes is `ratio` times that at the smallest."""
    return lambda width: ratio ** (np.log2(width / 32) / 3)


@pytest.mark.parametrize(
    ("claim", "ratio", "expected"),
    [
        (NO_GAIN, 1.2, "holds"),
        (NO_GAIN, 1.0, "holds"),
        (NO_GAIN, 0.97, "holds"),
        (NO_GAIN, 0.93, "fails"),
        (WORSE, 1.07, "holds"),
        (WORSE, 1.03, "fails"),
        (WORSE, 1.0, "fails"),
    ],
)
def test_the_ratio_decides(decide, tabulate, bowl_rows, claim, ratio, expected):
    rows = bowl_rows(an_octave, level=level(ratio), noise=1e-3)
    rows += bowl_rows(still, grid="control", level=level(0.8), noise=1e-3)
    verdict = decide(claim, tabulate(rows))
    assert verdict.verdict == expected
    assert verdict.value == pytest.approx(ratio, rel=0.01)
    bound = "0.95" if claim is NO_GAIN else "1.05"
    assert verdict.threshold == f"ratio of the training loss at least {bound}"


def test_sizes_between_the_ends_do_not_count(decide, tabulate, bowl_rows):
    rows = bowl_rows(still, level=lambda n: 1.0 if n in (32, 256) else 0.5)
    rows += bowl_rows(still, grid="control", level=level(0.5))
    assert decide(NO_GAIN, tabulate(rows)).verdict == "holds"


@pytest.mark.parametrize(("first", "expected"), [(None, "fails"), (64, "holds")])
def test_only_sizes_in_the_region_count(decide, tabulate, bowl_rows, first, expected):
    """The loss falls by half to the second size and not at all from there on."""
    rows = bowl_rows(still, level=lambda n: 2.0 if n == 32 else 1.0)
    rows += bowl_rows(still, grid="control", level=level(0.5))
    where = first and {"ratio": ["width"], "at_least": first}
    verdict = decide({**NO_GAIN, "where": where}, tabulate(rows))
    assert verdict.verdict == expected
    assert ("at width 64 to" in verdict.detail) == (first == 64)


def test_a_control_that_gains_nothing_either(decide, tabulate, bowl_rows):
    rows = bowl_rows(still, level=level(1)) + bowl_rows(still, grid="control", level=level(1))
    verdict = decide(NO_GAIN, tabulate(rows))
    assert verdict.verdict == "inconclusive"
    assert "the control 'control' does not violate it" in verdict.detail


@pytest.mark.parametrize(("ratio", "open_at"), [(1.2, 256), (0.5, 32)])
def test_an_open_edge_of_the_larger_value_decides_nothing(
    decide, tabulate, bowl_rows, ratio, open_at
):
    """Beyond the edge it may be smaller still; the edge of the other one cannot change the verdict."""

    def verdict(size):
        rows = bowl_rows(lambda n: -9.0 if n == size else -4.0, level=level(ratio), noise=1e-3)
        best = min(row["value"] for row in rows if row["width"] == size)
        lifted = {size: level(ratio)(size) / best}
        rows = [row | {"value": row["value"] * lifted.get(row["width"], 1.0)} for row in rows]
        control = bowl_rows(still, grid="control", level=level(0.5))
        return decide(NO_GAIN, tabulate(rows + control))

    found = verdict(open_at)
    assert found.verdict == "inconclusive"
    assert f"at width {open_at}, the best learning rate" in found.detail
    assert "is at the edge of the grid" in found.detail
    other = 32 if open_at == 256 else 256
    assert verdict(other).verdict == ("holds" if ratio > 1 else "fails")


@pytest.mark.parametrize("size", [32, 256])
def test_divergence_of_a_whole_size_decides_nothing(decide, tabulate, bowl_rows, size):
    """Networks that do not train at all say nothing of how well they would."""
    rows = bowl_rows(still)
    rows = [row | {"value": np.nan} if row["width"] == size else row for row in rows]
    assert decide(WORSE, tabulate(rows)).detail == f"every cell diverged at width {size}"


def test_values_without_ratios_decide_nothing(decide, tabulate, bowl_rows):
    verdict = decide(WORSE, tabulate(bowl_rows(still, level=lambda n: -1.0)))
    assert verdict.detail == "training loss is negative at width 32, so that ratios are undefined"

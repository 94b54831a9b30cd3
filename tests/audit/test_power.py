"""What the judge makes of simulated records, on grids that decide and on grids that do not."""

import numpy as np
import pytest
from claim_examples import (
    DIFFERENCE,
    FLATTER,
    LEVEL_SET,
    NO_GAIN,
    PAIRED,
    STAYS,
    bowls,
    plane_rows,
    straight,
)

from scaling_limits.audit.power import Power, planned_seeds, power_of, recorded_power
from toys import parsed_claim

REPEATS = 4
COMMON = {
    "id": "the-claim",
    "statement": "It is so.",
    "source": "Fig 1",
    "grids": ["main"],
    "quantity": {"metric": "train_loss"},
    "control": ["control"],
}
SLOPE = {"kind": "slope", "along": "width", "expected": -1, "tolerance": 0.25, "by": None}


def power(results, repeats=REPEATS, **said) -> Power:
    claim = COMMON | {key: value for key, value in said.items() if value is not None}
    return power_of(parsed_claim(claim), results, repeats)


@pytest.mark.parametrize("doublings", [2, 4])
def test_an_exponent_wrong_by_one_half_never_holds(tabulate, bowl_rows, doublings):
    widths = [32 * 2**k for k in range(doublings + 1)]
    found = power(tabulate(bowl_rows(lambda width: -4, widths=widths)), **STAYS)
    assert found.holds["true"] == 1
    assert found.holds["half"] == 0
    assert found.void == 0
    assert found.decides


@pytest.mark.parametrize("size", [None, 512])
def test_errors_from_a_network_that_is_but_larger_fall_faster(tabulate, size):
    """At 512 there is none; where the reference has no size, one over the size falls with a slope of one."""
    sizes = [
        {"width": n, "value": 1 + 1 / n - (1 / size if size else 0)} for n in (32, 64, 128, 256)
    ]
    rows = [row | {"grid": "main"} for row in sizes] + [
        {"grid": "limit", "width": size, "value": 1.0}
    ]
    rows = [row | {"limit": "recursion", "seed": 0} for row in rows]
    claim = {"kind": "agrees_with", "along": "width", "reference": ["limit"], "tolerance": 0.1}
    found = power(tabulate(rows), slope_at_most=-1.1 if size else -0.9, **claim)
    assert (found.holds["true"], found.holds["half"]) == (1, 0)


def test_of_many_steps_some_are_simulated(tabulate, map_rows):
    steps = range(40)
    rows = map_rows(lambda n, d, s: 0.5 * np.exp(0.1 * s), steps=steps, widths=(16, 64))
    claim = {"kind": "bound", "at_most": 1, "at": "all", "control": None}
    found = power(tabulate(rows), **claim)
    assert (found.holds["true"], found.holds["half"]) == (1, 0)
    lost = [row | {"value": np.nan} if row["step"] == steps[-1] else row for row in rows]
    assert power(tabulate(lost), **claim).holds["true"] == 0


def test_runs_of_an_exact_claim_do_not_scatter_beyond_its_bound(tabulate, map_rows):
    """All runs are at the bound, and some seeds lie far within it."""
    rows = map_rows(lambda n, d, s: 1.0 + 0.5 * (s if n > 16 else 0), steps=(0,))
    claim = {"kind": "bound", "at_least": 1, "control": None}
    found = power(tabulate(rows), exact=1e-9, **claim)
    assert (found.holds["true"], found.holds["half"], found.void) == (1, 0, 0)


def test_settings_that_were_not_run_leave_a_bowl(tabulate, bowl_rows):
    """As where two grids of rates overlap."""
    rows = bowl_rows(lambda width: -4, other_rates=(0.1, 1.0, 10.0))
    left = [r for r in rows if r["activity_learning_rate"] > 0.1 or r["learning_rate"] > 2.0**-7]
    claim = {"kind": "transfer_cost", "along": "width", "tolerance": 0.1}
    found = power(tabulate(left), over=["learning_rate", "activity_learning_rate"], **claim)
    assert (found.holds["true"], found.holds["half"]) == (1, 0)


def test_noise_takes_the_power(tabulate, bowl_rows):
    rows = bowl_rows(lambda width: -4, noise=0.4)
    found = power(tabulate(rows), **STAYS)
    assert found.holds["true"] < 0.5
    assert not found.decides


def falling(exponent: float, noise: float = 0.02) -> list[dict]:
    rng = np.random.default_rng(0)
    return [
        {"grid": "main", "width": n, "seed": s, "value": n**exponent * np.exp(noise * rng.normal())}
        for n in (32, 64, 128)
        for s in range(3)
    ]


def test_slopes(tabulate):
    found = power(tabulate(falling(-1.0)), **SLOPE)
    assert (found.holds["true"], found.holds["half"], found.void) == (1, 0, 0)
    assert not power(tabulate(falling(-1.0, noise=1.0)), **SLOPE).decides


def test_a_slope_of_nothing_is_not_void(tabulate):
    found = power(tabulate(falling(0.0)), **{**SLOPE, "expected": 0})
    assert found.holds["flat"] is None
    assert found.decides


def test_better_with_the_size(tabulate):
    claim = {"kind": "improves_with", "along": "width", "tolerance": 0.05, "control": None}
    found = power(tabulate(falling(-0.5)), **claim)
    assert found.decides
    assert found.holds["quarter"] is None
    assert not power(tabulate(falling(-0.02, noise=0.1)), **claim).decides


def test_what_is_bounded_is_turned_beyond_its_bound(tabulate, map_rows):
    rows = map_rows(lambda n, d, s: 0.5 * np.exp(0.1 * s))
    found = power(tabulate(rows), kind="bound", at_most=1, control=None)
    assert (found.holds["true"], found.holds["quarter"], found.holds["half"]) == (1, None, 0)
    assert found.decides


@pytest.mark.parametrize("bound", [{"at_most": 0.6}, {"at_least": 0.25}])
def test_a_bound_on_the_best_is_passed_by_the_best(tabulate, bowl_rows, bound):
    """All others stay as far from the best as they are, on whichever side of the bound that is."""
    rows = bowl_rows(lambda n: -4.0, level=lambda n: 0.4)
    said = {"kind": "bound", "by": ["width"], "over": ["learning_rate"], "control": None}
    found = power(tabulate(rows), **said, **bound)
    assert (found.holds["true"], found.holds["quarter"], found.holds["half"]) == (1, None, 0)
    assert found.holds["diverged"] == 0
    if "at_least" in bound:
        found = power(tabulate(rows), **said, **bound, divergence="evidence")
        assert found.holds["diverged"] is None
    assert found.decides


def test_an_order_with_a_wrong_power_does_not_hold(tabulate, map_rows):
    rows = map_rows(lambda n, d, s: d / n)
    claim = {"kind": "rank_correlation", "ratio": ["depth", "width"], "above": 0.9, "control": None}
    found = power(tabulate(rows), **claim)
    assert (found.holds["true"], found.holds["half"], found.void) == (1, 0, 0)


def test_the_order_of_a_column_is_turned(tabulate, map_rows):
    rows = map_rows(lambda n, d, s: n * (1 + 0.01 * s), depths=(2,))
    claim = {"kind": "rank_correlation", "ratio": ["width"], "above": 0.9, "control": None}
    found = power(tabulate(rows), **claim)
    assert (found.holds["true"], found.holds["quarter"], found.holds["half"]) == (1, None, 0)


@pytest.mark.parametrize("left_out", [None, 64])
def test_a_tie_is_void(tabulate, left_out):
    """Also where the reference lacks a size that is not judged."""
    other = [
        {**row, "grid": "other", "value": 2 * row["value"]}
        for row in falling(-0.5)
        if row["width"] != left_out
    ]
    claim = {"kind": "gap", "along": "width", "reference": ["other"], "control": None}
    found = power(tabulate([*falling(-0.5), *other]), **claim)
    assert (found.holds["true"], found.holds["half"], found.void) == (1, 0, 0)


def test_the_best_of_a_reference_is_of_settings_that_converged(tabulate):
    """At 0.2 one of its seeds diverged and the other is the best of all: not what it is judged by."""
    rng = np.random.default_rng(0)
    rows = [
        {"grid": grid, "width": 8, "learning_rate": rate, "seed": seed}
        | {"value": np.nan if value is None else value * np.exp(0.02 * rng.normal())}
        for grid, rate, values in (
            ("main", 0.05, (1.2, 1.2, 1.2)),
            ("main", 0.1, (1.0, 1.0, 1.0)),
            ("main", 0.2, (1.2, 1.2, 1.2)),
            ("other", 0.05, (2.4, 2.4, 2.4)),
            ("other", 0.1, (2.0, 2.0, 2.0)),
            ("other", 0.2, (None, 0.5, 0.5)),
        )
        for seed, value in enumerate(values)
    ]
    claim = {"kind": "gap", "along": "width", "over": ["learning_rate"], "reference": ["other"]}
    found = power(tabulate(rows), control=None, **claim)
    assert (found.holds["true"], found.holds["half"], found.void) == (1, 0, 0)


def test_a_gap_that_narrows_in_training(tabulate):
    """From 1.4 to 1.1 times the reference; a gap as wide as before is void, although the reference is still better."""
    rng = np.random.default_rng(0)
    rows = [
        {"grid": grid, "width": 8, "step": step, "seed": seed}
        | {"value": level * np.exp(0.02 * rng.normal())}
        for grid, levels in (("main", {3: 1.4, 9: 1.1}), ("other", {3: 1.0, 9: 1.0}))
        for step, level in levels.items()
        for seed in range(4)
    ]
    at = {
        key: {"metric": "train_loss", "reduce": "at", "step": step}
        for key, step in (("quantity", 9), ("reference_quantity", 3))
    }
    claim = {"kind": "gap", "along": "width", "reference": ["other"], "control": None}
    found = power(tabulate(rows), **claim, **at)
    assert (found.holds["true"], found.holds["half"], found.void) == (1, 0, 0)


@pytest.mark.parametrize(("smallest", "largest"), [(0.4, 0.1), (0.1, 0.4)])
def test_a_spread_that_follows_the_size_makes_no_gap(tabulate, smallest, largest):
    """Loud noise lifts the mean of positive values, by more where there is more of it."""
    rng = np.random.default_rng(0)
    rows = [
        {"grid": grid, "width": n, "seed": s, "value": level * np.exp(spread * rng.normal())}
        for grid, falls in (("main", 0.5), ("other", 0.0))
        for n, level, spread in ((16, 1.0, smallest), (256, 16**-falls, largest))
        for s in range(10)
    ]
    claim = {"kind": "gap", "along": "width", "reference": ["other"], "grows": True}
    found = power(tabulate(rows), repeats=20, control=None, **claim)
    assert found.holds["true"] > 0.9
    assert found.void <= 0.05


@pytest.mark.parametrize(
    ("quantity", "values", "said", "others"),
    [
        ("positive", lambda n, d, s: 0.5 + 0.01 * s, {"at_least": 0}, {}),
        (
            "close",
            lambda n, d, s: 1 + 0.001 * (s - 1),
            {"tolerance": 0.05},
            {"reference": ["limit"]},
        ),
    ],
)
def test_what_has_no_exponent_lies_as_far_beyond(
    tabulate, map_rows, quantity, values, said, others
):
    """Also beyond zero, and where errors do not have to fall."""
    rows = map_rows(values, steps=(0,)) + map_rows(lambda n, d, s: 1.0, grid="limit", steps=(0,))
    kinds = {
        "positive": {"kind": "bound"},
        "close": {"kind": "agrees_with", "along": "width", "by": ["depth"]},
    }
    claim = kinds[quantity] | said | others | {"control": ["limit"] if others else None}
    found = power(tabulate(rows), **claim)
    assert (found.holds["true"], found.holds["quarter"], found.holds["half"]) == (1, None, 0)


@pytest.mark.parametrize("rule", [{"tolerance": 0.05}, {"margin": 0.05, "tolerance": None}])
@pytest.mark.parametrize("ratio", [0.9, 1.0, 1.15])
def test_no_gain_is_turned_at_its_bound(tabulate, bowl_rows, rule, ratio):
    """Whether or not the records gain: the simulated ones are as far from the bound. A tie is no gain."""
    rows = bowl_rows(lambda n: -4.0, level=lambda n: ratio if n == 256 else 1.0, noise=0.005)
    found = power(tabulate(rows), **NO_GAIN | rule)
    assert (found.holds["true"], found.holds["quarter"], found.holds["half"]) == (1, None, 0)
    flat = (None, None) if rule["tolerance"] else (0, 0)
    assert (found.holds["flat"], found.holds["noise"]) == flat
    assert found.holds["diverged"] == 0
    assert found.decides


def test_the_flatter_hyperparameter_changes_place_with_the_other(tabulate, bowl_rows):
    """Also where the grids have other numbers of values, or some diverged."""
    rows = plane_rows(bowl_rows, bowls(8), other_rates=[2.0**-8, 2.0**-5, 2.0**-2, 1])
    rows = [row | {"value": np.nan} if row["learning_rate"] > 0.3 else row for row in rows]
    found = power(tabulate(rows), **FLATTER)
    assert (found.holds["true"], found.holds["quarter"], found.holds["half"]) == (1, None, 0)
    assert found.decides
    noisy = plane_rows(bowl_rows, bowls(8), noise=0.8)
    assert not power(tabulate(noisy), **FLATTER).decides


@pytest.mark.parametrize("apart", [0.1, -0.1])
def test_differences_of_slopes_are_turned_at_their_bound(tabulate, map_rows, apart):
    """The recorded difference, or one as far on the other side of the bound, with the recorded scatter."""
    luck = np.random.default_rng(0).normal(size=(2, 9))

    def rows(grid, slope, k):
        def value(n, d, s):
            return n ** (slope + 0.3 * luck[0, s] + 0.01 * luck[k, s + 3])

        return map_rows(value, grid=grid, steps=(0,))

    results = tabulate(rows("main", apart, 0) + rows("control", 0.0, 1))
    found = power(results, **PAIRED)
    assert (found.holds["true"], found.holds["quarter"], found.holds["half"]) == (1, None, 0)
    assert found.void == 0
    assert found.decides
    # a difference of 0 is at least -0.02: equal slopes say nothing
    other = power(results, **PAIRED | {"at_most": None, "at_least": -0.02})
    assert (other.holds["true"], other.holds["half"], other.holds["flat"]) == (1, 0, None)


def test_slopes_that_grow_and_those_of_two_quantities(tabulate, map_rows):
    rows = map_rows(lambda n, d, s: n ** (-1 + np.log2(d) / 2 + 0.01 * (s - 1)), steps=(3,))
    found = power(tabulate(rows), **DIFFERENCE | {"control": None})
    assert (found.holds["true"], found.holds["half"], found.void) == (1, 0, 0)
    late = [
        r | {"step": 9, "value": r["value"] * r["width"] ** (0.1 + 0.01 * r["seed"])} for r in rows
    ]
    at = {
        key: {"metric": "train_loss", "reduce": "at", "step": step}
        for key, step in (("quantity", 9), ("reference_quantity", 3))
    }
    claim = {"kind": "slope_difference", "along": "width", "each": ["depth"], "at_least": 0.05}
    found = power(tabulate(rows + late), control=None, **claim, **at)
    assert (found.holds["true"], found.holds["half"], found.void) == (1, 0, 0)
    assert found.decides


@pytest.mark.parametrize(
    "rule",
    [
        {},
        {"at_most": None, "expected": -1.8},
        {"at_most": None, "at_least": -2.0},
        {"at_most": None, "at_least": 0.5, "growing_along": "width", "each": None},
    ],
)
@pytest.mark.parametrize("slope", [-1.8, -1.0])
def test_level_sets_are_turned(tabulate, bowl_rows, rule, slope):
    """Planes with the claimed slope, whatever the records have."""
    found = power(tabulate(plane_rows(bowl_rows, straight(slope), noise=0.02)), **LEVEL_SET | rule)
    assert (found.holds["true"], found.holds["half"], found.void) == (1, 0, 0)
    assert found.holds["quarter"] is not None
    assert found.decides


@pytest.mark.parametrize(("noise", "low", "high"), [(0.01, 1.0, 1.0), (0.15, 0.0, 0.9)])
def test_recorded_power_is_the_share_of_similar_records_that_hold(
    tabulate, bowl_rows, noise, low, high
):
    claim = parsed_claim({**COMMON, **STAYS})
    rows = bowl_rows(lambda n: -4.0, noise=noise)
    assert low <= recorded_power(claim, tabulate(rows)) <= high


def test_without_values_there_is_no_recorded_power(tabulate, bowl_rows):
    claim = parsed_claim({**COMMON, **STAYS, "grids": ["other"]})
    assert recorded_power(claim, tabulate(bowl_rows(lambda n: -4.0))) is None


@pytest.mark.parametrize(("noise", "least", "most"), [(0.01, 3, 3), (0.2, 4, 32)])
def test_seeds_are_planned_from_the_recorded_spread(tabulate, bowl_rows, noise, least, most):
    claim = parsed_claim({**COMMON, **STAYS})
    planned = planned_seeds(claim, tabulate(bowl_rows(lambda n: -4.0, noise=noise)))
    assert least <= planned <= most


def test_nothing_is_planned_where_more_seeds_do_not_help(tabulate, bowl_rows):
    claim = parsed_claim({**COMMON, **STAYS})
    assert planned_seeds(claim, tabulate(bowl_rows(lambda n: -4.0, noise=3.0))) is None
    one = bowl_rows(lambda n: -4.0, seeds=1, depth_of_bowl=0.01)
    assert planned_seeds(claim, tabulate(one)) is None

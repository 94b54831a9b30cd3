"""What all kinds share: validation, selection, controls, substitution, reproducibility."""

import pandas as pd
import pytest
from claim_examples import AGREES, BOUND, GAP, MOVES, RANK, SLOPE
from pydantic import ValidationError

from scaling_limits.audit.judge import judge
from scaling_limits.audit.register import Register, RegisteredFailure
from scaling_limits.errors import ConfigurationError
from scaling_limits.records import Results
from toys import parsed_claim

IMPROVES = {"kind": "improves_with", "along": "width", "over": ["learning_rate"], "tolerance": 0.02}
WHOLE = dict(
    id="wider-is-better",
    statement="Wider networks reach a lower loss.",
    source="Fig 5",
    grids=["main"],
    quantity={"metric": "train_loss", "reduce": "min"},
    **IMPROVES,
)


def still(width):
    return -4.0


@pytest.mark.parametrize(
    "change",
    [
        {"colour": "blue"},
        {"grids": []},
        {"id": "With Spaces"},
        {"kind": "slope", "along": "width", "control": ["c"]},
        {"kind": "bound", "at_least": 1, "at_most": 2},
        {"kind": "bound", "at_most": 1, "divergence": "evidence"},
        {"kind": "bound", "at_least": 1, "divergence": "inconclusive"},
        SLOPE | {"divergence": "evidence"},
        {"kind": "bound", "at_least": 1, "where": {"ratio": ["width", "depth"]}},
        {"kind": "slope", "along": "width", "at_most": -1},
        SLOPE | {"tolerance": 0.3},
        SLOPE | {"tolerance": None},
        GAP | {"margin": -1},
        IMPROVES | {"margin": 1},
        RANK | {"above": 1},
        {"kind": "optimum_stays", "along": "width", "over": "learning_rate", "max_shift": 1},
        MOVES | {"direction": "left"},
        MOVES | {"min_shift": 0},
        AGREES | {"reference": []},
        AGREES | {"control": []},
    ],
)
def test_refused(change):
    kept = WHOLE if "kind" not in change else {k: WHOLE[k] for k in WHOLE if k not in IMPROVES}
    with pytest.raises(ValidationError):
        parsed_claim(kept | change)


def test_verdict_carries_the_claim_and_its_registration(tabulate, bowl_rows):
    claim = parsed_claim(WHOLE)
    named = {"paper": "mupc", "figure": "fig5", "claim": claim.id, "presets": ["smoke"]}
    said = {"clause": "too few updates", "text": "Too short a training.", "checked": True}
    failure = RegisteredFailure.model_validate(named | said)
    register = Register({("mupc", "fig5", "wider-is-better", "smoke"): failure})
    options = {"paper": "mupc", "figure": "fig5", "substituted": False, "register": register}
    results = tabulate(bowl_rows(still))
    (verdict,) = judge([claim], results, preset="smoke", **options)
    assert (verdict.paper, verdict.figure, verdict.claim) == ("mupc", "fig5", claim.id)
    assert (verdict.statement, verdict.source) == (claim.statement, claim.source)
    assert (verdict.registered, verdict.clause) == ("Too short a training.", "too few updates")
    (verdict,) = judge([claim], results, preset="laptop", **options)
    assert (verdict.registered, verdict.clause) == (None, None)


@pytest.mark.parametrize(("names", "expected"), [(True, "data not available"), (False, "holds")])
def test_substitution(decide, tabulate, bowl_rows, names, expected):
    claim = IMPROVES | {"names_dataset": names}
    results = tabulate(bowl_rows(still))
    substituted = decide(claim, results, substituted=True)
    assert substituted.verdict == expected
    # what was found on the substitute is given, but does not decide
    assert substituted.value == decide(claim, results, substituted=False).value
    assert ("a substitute was used: the best training loss" in substituted.detail) == names
    assert decide(claim, results, substituted=False).verdict == "holds"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (0.5, 0.5, "holds"),
        (0.5, 2.0, "fails"),
        (None, 2.0, "fails"),
        (0.5, None, "inconclusive"),
    ],
)
def test_a_conjunction_follows_from_its_parts(tabulate, map_rows, first, second, expected):
    """Whatever its own rule would give; None is a value that one seed puts beyond the bound."""
    rule = {"kind": "bound", "by": ["width"], "at_most": 1, "only": {"depth": 2}}
    shared = {key: WHOLE[key] for key in ("statement", "source", "quantity")} | rule
    rows = []
    for grid, level in (("one", first), ("two", second)):
        values = (0.5, 0.9, 1.3) if level is None else (level,) * 3
        rows += map_rows(lambda n, d, s, v=values: v[s], grid=grid)
    claims = [
        parsed_claim(shared | {"id": "both", "grids": ["one", "two"], "all_of": ["a", "b"]}),
        parsed_claim(shared | {"id": "a", "grids": ["one"]}),
        parsed_claim(shared | {"id": "b", "grids": ["two"]}),
    ]
    options = {"paper": "mupc", "figure": "fig5", "preset": "smoke", "register": Register()}
    results = tabulate(rows)
    both, *parts = judge(claims, results, substituted=False, with_power=False, **options)
    assert both.verdict == expected
    assert (both.value, both.interval, both.power) == (None, None, None)
    if expected == "inconclusive":
        opened = next(part for part in parts if part.verdict == "inconclusive")
        assert (both.reason, both.detail) == ("interval", opened.detail)
    else:
        assert both.detail == f"a: {parts[0].verdict}; b: {parts[1].verdict}"


def test_every_control_must_violate(decide, tabulate, bowl_rows):
    rows = bowl_rows(still) + bowl_rows(still, grid="worse", level=lambda n: n)
    rows += bowl_rows(still, grid="alike")
    assert decide(IMPROVES | {"control": ["worse"]}, tabulate(rows)).verdict == "holds"
    verdict = decide(IMPROVES | {"control": ["worse", "alike"]}, tabulate(rows))
    assert verdict.verdict == "inconclusive"
    assert "the control 'alike' does not violate it" in verdict.detail
    assert (verdict.reason, verdict.control.name) == ("control", "alike")
    # the measured ratio of the control, which improves as well
    low, high = verdict.control.interval
    assert low < verdict.control.value < high < 0.98
    titles = {"alike": "control: same loss"}
    titled = decide(IMPROVES | {"control": ["worse", "alike"]}, tabulate(rows), titles=titles)
    assert titled.control.name == "same loss"


def test_a_control_whose_interval_reaches_across_does_not_violate(decide, tabulate, bowl_rows):
    control = bowl_rows(still, grid="control", level=lambda n: 1 - 0.04 * (n > 32), noise=0.05)
    verdict = decide(IMPROVES | {"control": ["control"]}, tabulate(bowl_rows(still) + control))
    assert verdict.verdict == "inconclusive"
    assert "the control 'control' may not violate it" in verdict.detail
    assert verdict.control.name == ""
    low, high = verdict.control.interval
    assert low < 1.02 < high


def test_control_that_was_not_run(decide, tabulate, bowl_rows):
    verdict = decide(IMPROVES | {"control": ["absent"]}, tabulate(bowl_rows(still)))
    assert verdict.verdict == "inconclusive"
    assert verdict.detail.endswith(
        "the control 'absent' decides nothing: no cell of absent was run"
    )


def test_only_fixes_a_column(decide, tabulate, bowl_rows):
    deep = [row | {"depth": 32, "value": 1.0} for row in bowl_rows(still)]
    results = tabulate(bowl_rows(still) + deep)
    with pytest.raises(ConfigurationError, match="they differ in depth"):
        decide(IMPROVES, results)
    assert decide(IMPROVES | {"only": {"depth": 8}}, results).verdict == "holds"


@pytest.mark.parametrize(
    "change",
    [{"along": "widht"}, {"only": {"widht": 1}}, {"decided_at": {"widht": 1}}],
)
def test_unknown_columns_are_named(decide, tabulate, bowl_rows, change):
    with pytest.raises(ConfigurationError, match="'widht'; did you mean 'width'"):
        decide(IMPROVES | change, tabulate(bowl_rows(still)))


def test_a_cell_in_two_grids_counts_once(decide, tabulate, bowl_rows):
    results = tabulate(bowl_rows(still))
    twice = pd.concat([results.cells, results.cells.assign(grid="depth")], ignore_index=True)
    verdict = decide(IMPROVES | {"grids": ["main", "depth"]}, Results(twice, results.records))
    assert verdict == decide(IMPROVES, results)


def test_limits_are_exact_and_networks_of_one_seed_are_not(decide, tabulate, map_rows):
    rows = [row | {"limit": "dmft"} for row in map_rows(lambda n, d, s: 0.995, seeds=1)]
    verdict = decide(BOUND, tabulate(rows))
    assert (verdict.verdict, verdict.interval) == ("holds", None)
    networks = [row | {"limit": None} if row["width"] == 16 else row for row in rows]
    for some in (networks, map_rows(lambda n, d, s: 0.995, seeds=1)):
        verdict = decide(BOUND, tabulate(some))
        assert verdict.verdict == "inconclusive"
        assert verdict.interval[0] < 0.99 < verdict.interval[1]


def test_partly_recorded_cells_are_untested(decide, tabulate, bowl_rows):
    results = tabulate(bowl_rows(still))
    verdict = decide(IMPROVES, Results(results.cells, results.records.iloc[1:]))
    assert verdict.verdict == "inconclusive"
    assert verdict.detail == "training loss was recorded in 107 of 108 cells"


def test_seeds_are_those_that_all_points_have(decide, tabulate, bowl_rows):
    rows = bowl_rows(still, seeds=1) + [row for row in bowl_rows(still) if row["width"] == 32][:3]
    rows = list({tuple(row.items())[:6]: row for row in rows}.values())
    verdict = decide(IMPROVES, tabulate(rows))
    assert verdict == decide(IMPROVES, tabulate(bowl_rows(still, seeds=1)))
    split = [row | {"seed": int(row["learning_rate"] < 0.1)} for row in bowl_rows(still, seeds=1)]
    assert decide(IMPROVES, tabulate(split)).detail == "no seed was run at every point"


def test_intervals_are_reproducible_and_ignore_row_order_and_id(decide, tabulate, bowl_rows):
    results = tabulate(bowl_rows(still, noise=0.1))
    shuffled = Results(
        results.cells.sample(frac=1, random_state=0), results.records.sample(frac=1, random_state=1)
    )
    verdict = decide(IMPROVES, results)
    assert verdict.interval[0] < verdict.interval[1]
    assert verdict == decide(IMPROVES, results) == decide(IMPROVES, shuffled)
    assert decide(IMPROVES | {"id": "another"}, results).interval == verdict.interval


def test_a_claim_about_an_equilibrium_that_was_not_reached_is_untested(decide, tabulate, map_rows):
    """At any step, of any cell that it is about; what diverged is left to the claim."""
    results = tabulate(map_rows(lambda n, d, s: 1.0))
    losses = results.records

    def verdict(unreached, loss=None, residual=3e-4):
        (cell,) = losses["cell_id"].unique()[-1:]  # the widest
        said = {"inference_unreached": unreached, "inference_residual": residual}
        own = pd.DataFrame(
            {
                "cell_id": cell,
                "step": losses["step"].iloc[0],
                "metric": list(said),
                "value": list(said.values()),
            }
        )
        kept = losses.copy()
        if loss is not None:
            kept.loc[kept["cell_id"] == cell, "value"] = loss
        return decide(BOUND, Results(results.cells, pd.concat([kept, own])))

    assert verdict(0.0).verdict == "holds"
    short = verdict(0.1)
    assert short.verdict == "inconclusive"
    assert "in 1 of" in short.detail
    assert "the residual is up to 0.0003" in short.detail
    assert verdict(1.0, loss=float("nan")).verdict == "fails"
    # as stored before a residual that is not a number counted as not reached
    for lost in (verdict(0.0, residual=float("nan")), verdict(float("nan"))):
        assert lost.verdict == "inconclusive"
    assert verdict(0.0, residual=float("nan")).detail.endswith("the residual is not finite")


def test_a_size_that_no_cell_has_is_not_reached(decide, tabulate, bowl_rows):
    rows = [row | {"depth": float("nan")} for row in bowl_rows(still)]
    verdict = decide(IMPROVES | {"decided_at": {"depth": 8}}, tabulate(rows))
    assert verdict.verdict == "inconclusive"
    assert verdict.detail.startswith("the depth is at most nan")

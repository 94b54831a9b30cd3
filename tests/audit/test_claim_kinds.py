"""What holds for each kind of claim."""

import typing

import numpy as np
import pytest
from claim_examples import ACROSS, EVERY, FAILS, PAIRED, still

from scaling_limits.audit.table import read_verdicts, write_verdicts
from scaling_limits.claims import models
from scaling_limits.claims.intervals import Condition, deciding
from toys import parsed_claim


def test_each_kind_has_a_model_a_measure_and_an_example():
    assert list(models()) == list(EVERY)
    for kind, model in models().items():
        assert typing.get_args(model.model_fields["kind"].annotation) == (kind,)


@pytest.mark.parametrize("kind", EVERY)
def test_each_kind_can_fail(decide, tabulate, bowl_rows, map_rows, kind):
    verdict = decide(EVERY[kind], tabulate(FAILS[kind](bowl_rows, map_rows)))
    assert verdict.verdict == "fails"
    assert verdict.value is not None


@pytest.mark.parametrize("kind", EVERY)
def test_each_kind_is_inconclusive_where_its_interval_reaches_across(
    decide, tabulate, bowl_rows, map_rows, kind
):
    """As exact values, of a limit, the same means would do: only a control is missing."""
    rows = ACROSS[kind](bowl_rows, map_rows)
    verdict = decide(EVERY[kind], tabulate(rows))
    assert verdict.verdict == "inconclusive"
    assert verdict.reason == "interval"
    assert verdict.detail.endswith("; the interval contains a threshold")
    assert verdict.interval[0] < verdict.value < verdict.interval[1]
    alone = decide(EVERY[kind], tabulate([row | {"limit": "exact"} for row in rows]))
    assert alone.value == verdict.value
    assert alone.verdict == "holds" or "but the control 'control' decides nothing" in alone.detail


@pytest.mark.parametrize("claim", EVERY.values(), ids=EVERY)
def test_too_small_sizes_are_inconclusive(decide, tabulate, bowl_rows, claim):
    claim = claim | {"decided_at": {"width": 512, "depth": 8}}
    verdict = decide(claim, tabulate(bowl_rows(still, widths=(32, 64))))
    assert (verdict.verdict, verdict.reason) == ("inconclusive", "sizes")
    assert verdict.detail == "the width is at most 64; the claim is decided from 512 on"


@pytest.mark.parametrize("claim", EVERY.values(), ids=EVERY)
def test_no_cells_are_inconclusive(decide, tabulate, bowl_rows, claim):
    verdict = decide(claim | {"grids": ["other"]}, tabulate(bowl_rows(still)))
    assert verdict.verdict == "inconclusive"
    assert verdict.detail == "no cell of other was run"


@pytest.mark.parametrize("values", [[np.inf], [np.nan], [np.inf, np.nan]], ids=str)
@pytest.mark.parametrize("claim", EVERY.values(), ids=EVERY)
def test_a_claim_has_diverged_where_everything_did(
    tmp_path, decide, tabulate, bowl_rows, map_rows, claim, values
):
    if "over" in claim:
        rows = bowl_rows(still) + bowl_rows(still, grid="control")
    else:
        rows = map_rows(lambda n, d, s: 1.0) + map_rows(lambda n, d, s: 1.0, grid="control")
    rows = [row | {"value": values[k % len(values)]} for k, row in enumerate(rows)]
    rows += map_rows(lambda n, d, s: 1.0, grid="limit", widths=(1,), seeds=1)
    verdict = decide(claim, tabulate(rows))
    assert (verdict.verdict, verdict.detail) == ("diverged", "every cell diverged")
    write_verdicts(tmp_path, [verdict])
    assert read_verdicts(tmp_path) == [verdict]


ODD = (0.0, -1.0, 1e-40, 1e38, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("odd", [ODD, ODD[2:], ODD[4:]], ids=["signs", "sizes", "diverged"])
@pytest.mark.parametrize("claim", [*EVERY.values(), PAIRED], ids=[*EVERY, "paired"])
def test_no_record_is_too_odd_for_a_verdict(decide, tabulate, bowl_rows, map_rows, claim, odd):
    """Any share of odd values, one rate or more, seeds that differ: no warning, nothing undefined."""
    rng = np.random.default_rng(0)
    limit = map_rows(lambda n, d, s: 1.0, grid="limit", widths=(1,), seeds=1)
    for share in (0.1, 0.3, 0.3, 0.6, 1.0):
        some = {"seeds": rng.integers(1, 4), "widths": (32, 64, 128)}
        if "over" in claim:
            rates = [2.0**-k for k in range(rng.integers(1, 5))]
            rows = [
                row
                for g in ("main", "control")
                for row in bowl_rows(still, grid=g, rates=rates, **some)
            ]
        else:
            rows = [
                row
                for g in ("main", "control")
                for row in map_rows(lambda n, d, s: n, grid=g, **some)
            ]
        rows = [row for row in rows if row["width"] < 128 or row["seed"] < 2]
        for row in rows:
            if rng.random() < share:
                row["value"] = rng.choice(odd)
        verdict = decide(claim, tabulate(rows + limit))
        assert "nan" not in verdict.detail


def test_every_grid_that_a_claim_names_is_known(decide):
    claim = parsed_claim(
        EVERY["agrees_with"]
        | {"id": "c", "statement": "s", "source": "s", "quantity": {"metric": "train_loss"}}
    )
    assert claim.all_grids == ("main", "control", "limit")


@pytest.mark.parametrize(
    ("answers", "reported"),
    [
        ((True, True), 0),
        ((True, None), 1),
        ((None, True), 0),
        ((None, False), 1),
        ((False, None), 0),
    ],
)
def test_the_condition_that_decides_is_reported(answers, reported):
    conditions = [Condition(answer, float(k), None, "") for k, answer in enumerate(answers)]
    assert deciding(conditions).value == reported

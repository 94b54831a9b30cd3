"""The judge's verdicts on records of this project's figures, which a change of the judge should keep.

Each folder of `tests/reference/recorded` has the cells and records of a figure, as a run wrote them, reduced to what
its claims use: their grids, columns, metrics, layers, and the first and last steps. `claims.json` has the claims with
the verdicts of that run.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from scaling_limits.audit.judge import judge
from scaling_limits.audit.register import Register
from scaling_limits.records import Results
from toys import parsed_claim

FOLDER = Path(__file__).parents[1] / "reference" / "recorded"
RECORDED = [
    pytest.param(folder, recorded, id=f"{folder.name}-{recorded['claim']['id']}")
    for folder in sorted(FOLDER.iterdir())
    for recorded in json.loads((folder / "claims.json").read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("folder", "recorded"), RECORDED)
def test_a_claim_has_the_verdict_that_was_recorded(folder: Path, recorded: dict[str, Any]) -> None:
    results = Results(*(pd.read_csv(folder / f"{name}.csv") for name in ("cells", "records")))
    (verdict,) = judge(
        [parsed_claim(recorded["claim"])],
        results,
        paper="paper",
        figure="fig",
        preset="smoke",
        substituted=False,
        register=Register(),
        with_power=False,
    )
    assert (verdict.verdict, verdict.reason) == (recorded["verdict"], recorded["reason"])
    assert verdict.value == pytest.approx(recorded["value"], rel=1e-9)
    assert verdict.interval is not None
    for end, then in zip(verdict.interval, recorded["interval"], strict=True):
        assert end == (None if then is None else pytest.approx(then, rel=1e-6))


def test_the_recorded_claims_have_every_kind_of_outcome() -> None:
    kinds = {recorded["claim"]["kind"] for _, recorded in (param.values for param in RECORDED)}
    outcomes = {recorded["verdict"] for _, recorded in (param.values for param in RECORDED)}
    assert kinds == {"gap", "optimum_stays", "slope"}
    assert outcomes == {"holds", "fails", "inconclusive"}

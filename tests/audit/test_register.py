"""Registered failures and amendments, read from their files."""

import re
from pathlib import Path

import pytest

from published import on_published, published
from scaling_limits.audit.lock import REMOVED
from scaling_limits.audit.register import Register, RegisteredFailure
from scaling_limits.errors import ConfigurationError
from toys import as_yaml

ROOT = Path(__file__).parents[2]
CLAIM = {"paper": "mupc", "figure": "fig5", "claim": "stays", "presets": ["smoke", "laptop"]}
FAILURE = {**CLAIM, "clause": "it is known", "text": "known", "checked": True}
AMENDMENT = {
    **CLAIM,
    "commits": ["abc1234"],
    "kinds": ["sizes", "seeds"],
    "changed": ["seeds from 2 to 4", "widths to 512"],
    "before": "inconclusive",
    "measured": "0.5 octaves [-1, 2]",
    "why": "The interval was too wide.",
}


def read(folder: Path, registered: object, amendments: object, observed: object = None) -> Register:
    deviations, changes = (folder / f"{name}.yaml" for name in ("registered", "amendments"))
    deviations.write_text(as_yaml({"registered": registered, "observed": observed}))
    changes.write_text(as_yaml({"amendments": amendments}))
    return Register.read(deviations, changes)


def test_entries_are_found_by_claim_and_preset(tmp_path: Path) -> None:
    register = read(tmp_path, [FAILURE], [AMENDMENT])
    key = ("mupc", "fig5", "stays", "laptop")
    assert register.failures == {
        (*key[:3], preset): RegisteredFailure.model_validate(FAILURE)
        for preset in ("smoke", "laptop")
    }
    assert register.failures[key].clause == "it is known"
    assert register.failures[key].whole_text == "known"
    amendment = register.amendments[key]
    assert amendment.grids_tried == 3
    assert amendment.text == (
        "inconclusive before (0.5 octaves [-1, 2]). Changed after a result: seeds from 2 to 4; widths to 512. "
        "The interval was too wide."
    )
    assert read(tmp_path, None, None) == Register()
    unchecked = read(tmp_path, [{**FAILURE, "checked": False}], [])
    explained = unchecked.failures[key]
    assert explained.whole_text == "known No experiment has checked this explanation."


@pytest.mark.parametrize(
    ("registered", "amendments", "message"),
    [
        ([FAILURE, FAILURE], [], "registered.yaml: registered: twice: mupc, fig5, stays, smoke"),
        ([], [AMENDMENT, AMENDMENT], "amendments.yaml: amendments: twice: mupc, fig5, stays"),
        ([CLAIM], [], r"registered.yaml: registered.0.text: "),
        (CLAIM, [], r"registered.yaml: registered: should be a list, not {"),
        # under a picture there is room for a line
        ([{**FAILURE, "clause": "x" * 141}], [], r"registered.yaml: registered.0.clause: .*140"),
        ([{**CLAIM, "text": "known"}], [], r"registered.yaml: registered.0.checked: "),
        ([], [AMENDMENT, {**AMENDMENT, "chnged": []}], "amendments.1.chnged: unknown key 'chnged'"),
        ([], [{**AMENDMENT, "before": "untested"}], "amendments.0.before"),
    ],
)
def test_an_invalid_entry_is_named(
    tmp_path: Path, registered: object, amendments: object, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read(tmp_path, registered, amendments)


def test_observations_are_found_by_figure_and_preset(tmp_path: Path) -> None:
    seen = {key: CLAIM[key] for key in ("paper", "figure", "presets")} | {"text": "it rises"}
    found = read(tmp_path, [], [], [seen]).observations
    assert {key: each.text for key, each in found.items()} == {
        ("mupc", "fig5", preset): "it rises" for preset in ("smoke", "laptop")
    }
    with pytest.raises(ConfigurationError, match=r"registered.yaml: observed: twice: mupc, fig5"):
        read(tmp_path, [], [], [seen, seen])
    with pytest.raises(ConfigurationError, match=r"observed.0.text: .*240"):
        read(tmp_path, [], [], [seen | {"text": "x" * 241}])


@on_published
def test_the_projects_entries_name_claims_and_commits_that_exist() -> None:
    docs = ROOT / "docs"
    register = Register.read(docs / "deviations.yaml", docs / "amendments.yaml")
    configuration = published("laptop")
    for key in {**register.failures, **register.amendments}:
        paper, figure, claim, _ = key
        amendment = register.amendments.get(key)
        removed = amendment is not None and amendment.digest == REMOVED
        claims = {each.id for each in configuration.figure(paper, figure).claims}
        assert (claim in claims) != removed, (paper, figure, claim)
    for paper, figure, _ in register.observations:
        assert configuration.figure(paper, figure)
    assert len(register.amendments) >= 37
    for amendment in register.amendments.values():
        assert all(re.fullmatch("[0-9a-f]{7}", commit) for commit in amendment.commits)

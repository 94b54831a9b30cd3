"""Every case of the table in `bad_input.py`: refused before anything is computed, with words that help, or accepted."""

import re
from pathlib import Path

import pytest

from bad_input import CASES, ELSEWHERE, Case

PARAMETERS = [
    pytest.param(case, id=case.id, marks=[pytest.mark.pipeline] if case.runs else [])
    for case in CASES
]


@pytest.mark.parametrize("case", PARAMETERS)
def test_what_is_said(tmp_path: Path, case: Case) -> None:
    said = case.message(tmp_path)
    if not case.words:
        assert said == ""
    rest = said
    for word in case.words:
        assert word in rest, said
        rest = rest.split(word, 1)[1]
    assert not {"results", "figures"} & {path.name for path in tmp_path.iterdir()}
    place = re.match(r"(config/[^:]*):(\d+)", said)
    # what cannot be read may end before the line that is named
    if place and "cannot be read" not in said:
        # at the line that is named stands a word of what is said
        line = (tmp_path / place[1]).read_text("utf-8").splitlines()[int(place[2]) - 1]
        # where something lacks, nothing stands
        lacks = "required" in said or "needs one" in said
        assert lacks or set(re.findall(r"\w+", line)) & set(
            re.findall(r"\w+", said.split(": ", 1)[1])
        ), line


def test_no_two_cases_have_one_name() -> None:
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("file", ELSEWHERE)
def test_other_cases_have_their_tests(file: str) -> None:
    text = (Path(__file__).parent / "pipeline" / file).read_text("utf-8")
    assert [name for name in ELSEWHERE[file] if f"\ndef {name}(" not in text] == []

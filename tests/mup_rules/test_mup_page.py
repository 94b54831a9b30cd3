"""The code of docs/mup.md runs, and its table is the one of the model."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/mup.md").read_text("utf-8")
MODEL, DEPTH, CHECK = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def names_of(*blocks):
    """The names that code defines, one block after the other."""
    names = {}
    for block in blocks:
        exec(block, names)
    return names


def test_the_page_is_what_its_code_does():
    names = names_of(MODEL, DEPTH)
    columns, _, *rows = re.search(r"\| parameter .*?\n\n", PAGE, re.DOTALL)[0].strip().split("\n")
    documented = [[word.strip() for word in row.strip("|").split("|")] for row in [columns, *rows]]
    shown = names["mup"].table()[documented[0]].astype(str)
    assert shown.to_numpy().tolist() == documented[1:]
    assert names["model"].branch == 1 / 4


@pytest.mark.slow
def test_the_scaled_model_passes_the_check():
    assert names_of(MODEL, CHECK)["report"].verdict == "stable"

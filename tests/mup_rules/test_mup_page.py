"""The code of docs/mup.md runs, and its table is the one of the model."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/mup.md"


def test_the_page_is_what_its_code_does():
    page = PAGE.read_text("utf-8")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)
    columns, _, *rows = re.search(r"\| parameter .*?\n\n", page, re.DOTALL)[0].strip().split("\n")
    documented = [[word.strip() for word in row.strip("|").split("|")] for row in [columns, *rows]]
    shown = names["mup"].table()[documented[0]].astype(str)
    assert shown.to_numpy().tolist() == documented[1:]
    assert names["model"].branch == 1 / 4

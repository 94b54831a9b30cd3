"""The kind of claim of docs/adding/package.md, configured, checked, judged and simulated in a process that knows it."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "adding" / "package.md"
SOURCE = re.search(
    r"```python\n# sharp_networks/seeds_agree\.py\n(.*?)```", PAGE.read_text("utf-8"), re.S
)[1]
"""The file that defines it."""

SCRIPT = """
import json, os, tempfile
from pathlib import Path
import pandas as pd
from scaling_limits.audit.judge import judge
from scaling_limits.audit.register import Register
from scaling_limits.audit.power import power_of
from scaling_limits.configuration import load
from scaling_limits.errors import ConfigurationError
from scaling_limits.records import Results
from toys import FIGURE, PAPER, merged, write_project

os.chdir(tempfile.mkdtemp())

def claims(kind="seeds_agree", only=None, **changes):
    rule = {"grids": "main", "quantity": "loss", "by": ["width", "learning_rate"], "tolerance": 0.1, **changes}
    entry = {"statement": "Seeds agree.", kind: rule if only is None else {**rule, "only": only}}
    paper = merged(PAPER, {"transfer": {"figures": {"fig1": {"claims": {"agree": entry}}}}})
    write_project(Path("claiming"), paper=paper)
    try:
        return load("claiming").figure("toy", "fig1").claims
    except ConfigurationError as error:
        return str(error)

(claim,) = claims()
wrong = [
    claims("seeds_agre"), claims(tolerence=0.1), claims(tolerance=-1), claims(grids="mein"), claims(by="widht"),
    claims(by="width"), claims(control="main"), claims(only={"seed": 0}), claims(quantity="los"),
]

def results(apart):
    levels = {0: apart, 1: 1.0, 2: 1.01}
    points = [(width, rate, seed) for width in (8, 16) for rate in (0.1, 0.01) for seed in levels]
    cells = pd.DataFrame(points, columns=["width", "learning_rate", "seed"])
    cells = cells.assign(grid="main", cell_id=cells.index.map(str))
    values = cells["seed"].map(levels) / cells["width"]
    return Results(cells, cells[["cell_id"]].assign(metric="train_loss", step=0, value=values))

def verdict(apart):
    names = {"paper": "toy", "figure": "fig1", "preset": "whole", "substituted": False, "register": Register()}
    (found,) = judge([claim], results(apart), **names)
    return found.verdict, found.value, found.detail

print(json.dumps({
    "claim": claim.model_dump(mode="json"), "wrong": wrong, "verdicts": [verdict(1.0), verdict(1.5)],
    "power": dict(power_of(claim, results(1.0), 10).holds),
}))
"""
MESSAGES = (
    "claims.agree.seeds_agre: unknown kind of claim 'seeds_agre'; did you mean 'seeds_agree'",
    "claims.agree.seeds_agree.tolerence: unknown key 'tolerence'; did you mean 'tolerance'",
    "claims.agree.seeds_agree.tolerance: Input should be greater than 0",
    "claims.agree.seeds_agree.grids: unknown grid 'mein'; did you mean 'main'",
    "unknown column 'widht'; did you mean 'width'",
    "claims.agree.seeds_agree.grids: the grid main has several cells at one point of width, seed",
    "claims.agree.seeds_agree.control: 'main' is judged itself; take another grid",
    "claims.agree.seeds_agree.grids: all cells have one seed; two are needed",
    "claims.agree.seeds_agree.quantity: unknown quantity 'los'; did you mean 'loss'",
)


def require_whole(printed: dict) -> None:
    """Compare what the script printed with what the kind should do."""
    assert printed["claim"]["by"] == ["width", "learning_rate"]
    assert printed["claim"]["kind"] == "seeds_agree"
    for message, line in zip(MESSAGES, printed["wrong"], strict=True):
        assert message in line
        assert line.startswith("config/papers/toy/transfer.yaml:")
    (holds, ratio, _), (fails, larger, detail) = printed["verdicts"]
    assert (holds, fails) == ("holds", "fails")
    assert abs(ratio - 1.01) < 1e-9
    assert abs(larger - 1.5) < 1e-9
    assert detail == "training loss differs between seeds by a factor 1.5; it should be at most 1.1"
    power = {
        "true": 1.0,
        "quarter": None,
        "half": 0.0,
        "flat": None,
        "noise": None,
        "diverged": 0.0,
    }
    assert printed["power"] == power

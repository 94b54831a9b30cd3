"""The page of the power of the claims."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from scaling_limits.commands import power_command
from scaling_limits.commands.invocation import Invocation
from scaling_limits.errors import ConfigurationError
from toys import parsed_claim

CLAIM = {
    "id": "falls",
    "kind": "slope",
    "statement": "It falls.",
    "source": "Fig 1",
    "grids": ["main"],
    "control": ["flat"],
    "quantity": {"metric": "train_loss"},
    "along": "width",
    "expected": -1,
}


@pytest.fixture(name="run")
def _run(tmp_path, monkeypatch):
    """A folder with the results of one figure, whose claims the configuration has."""
    (tmp_path / "docs").mkdir()
    folder = tmp_path / "results" / "smoke" / "mupc" / "fig5"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    rows = [(n, s, np.exp(0.02 * rng.normal()) / n) for n in (16, 64, 256) for s in (0, 1)]
    cells = pd.DataFrame(rows, columns=["width", "seed", "value"])
    cells = cells.assign(grid="main", cell_id=[f"c{k}" for k in range(len(cells))])
    cells.drop(columns="value").to_parquet(folder / "cells.parquet")
    records = cells[["cell_id", "value"]].assign(metric="train_loss", step=0)
    records.to_parquet(folder / "records.parquet")
    claims = [parsed_claim(CLAIM)]
    claims.append(claims[0].model_copy(update={"id": "elsewhere", "grids": ("other",)}))
    stub = SimpleNamespace(
        papers=["mupc"],
        sound_figures=lambda paper: ["fig5", "fig6"],
        figure=lambda paper, name: SimpleNamespace(claims=claims),
    )
    monkeypatch.setattr(power_command, "load", lambda root, changes: stub)
    return tmp_path


def test_every_claim_of_a_figure_that_was_run_has_a_row(run):
    power_command.run(Invocation(run), ["smoke"], jobs=1)
    lines = (run / "docs" / "power.md").read_text().splitlines()
    assert "## Preset `smoke`" in lines
    assert "1 of 2 claims' grids decide." in lines
    row = next(line for line in lines if "`falls`" in line)
    assert "width 16 to 256 (3), 2 seeds | 1.00 |" in row
    assert row.endswith("| yes | 2 |")
    assert "no cell of other was run" in next(line for line in lines if "elsewhere" in line)


def test_nothing_was_run(run):
    with pytest.raises(ConfigurationError, match="no figure was computed at the preset laptop"):
        power_command.run(Invocation(run), ["laptop"], jobs=1)


def test_what_has_no_results_now_keeps_its_rows_as_long_as_there_are_such_claims(run):
    power_command.run(Invocation(run), ["smoke"], jobs=1)
    page = run / "docs" / "power.md"
    row = next(line for line in page.read_text().splitlines() if "`falls`" in line)
    kept = row.replace("fig5", "fig6")
    gone = [row.replace("fig5", "fig7"), row.replace("`falls`", "`fell`")]
    page.write_text(page.read_text() + "\n".join([kept, *gone]))
    laptop = page.read_text().split("## Preset `smoke`")[1]
    page.write_text(page.read_text() + "\n## Preset `laptop`" + laptop)
    power_command.run(Invocation(run), ["smoke"], jobs=1)
    first, second = page.read_text().split("## Preset ")[1:]
    assert first.startswith("`laptop`")
    assert second.startswith("`smoke`")
    for section in (first, second):
        assert section.count("`falls`") == 2
        assert section.count("mupc/fig5 | `elsewhere`") == 1
        assert not any(line in section for line in gone)
        assert "2 of 3 claims' grids decide." in section


def test_rows_without_a_plan_and_the_section_of_the_benchmark_are_kept(run):
    """Pages from before there were plans have such rows."""
    power_command.run(Invocation(run), ["smoke"], jobs=1)
    page = run / "docs" / "power.md"
    row = next(line for line in page.read_text().splitlines() if "`falls`" in line)
    old = row.replace("fig5", "fig6").removesuffix(" 2 |")
    benchmark = f"{power_command.BENCHMARK}\n\n| record | truth |\n"
    page.write_text(f"{page.read_text().rstrip()}\n{old}\n\n{benchmark}")
    power_command.run(Invocation(run), ["smoke"], jobs=1)
    text = page.read_text()
    assert text.endswith(f"\n{benchmark}")
    assert f"{old}  |" in text
    assert text.count(power_command.BENCHMARK) == 1

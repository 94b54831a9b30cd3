"""The command line with Snakemake behind it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pipeline_project import COMMAND_LINE, Project

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group("pipeline")]


def test_what_is_there_is_judged_and_reported(project: Project, tmp_path: Path) -> None:
    command = replace(project, program=COMMAND_LINE)
    # more than there is without the one claim
    (project / "tests/reference/decided.yaml").write_text("smoke: {decided: 1.0}\n")
    folder = project / "results/smoke/mupc/fig5"
    shutil.move(folder, tmp_path)
    assert "1 missing; 0% decided" in command("audit", "--stored")
    assert "results/smoke/report.html (1 of 2 figures)" in command("report")
    assert (project / "results/smoke/report.html").exists()
    assert not folder.exists()

    shutil.move(tmp_path / "fig5", folder)
    assert "1 hold, 0 fail" in command("audit", "--stored")
    output = command("run", "mupc/fig5", "--cores", "1", "--", "--forcerun", "publish")
    assert "Provided cores: 1" in output
    assert "Finished jobid: 0 (Rule: publish)" in output
    assert output.endswith("figures/mupc/fig5.png\n  holds     The loss is a number.\n")

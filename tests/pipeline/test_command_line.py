"""The command line with Snakemake behind it."""

import json
import os
import shutil
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pipeline_project import COMMAND_LINE, EXPERIMENT, Project, trained

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group(__name__)]

NOTEBOOK = "workflow/notebooks/figure.ipynb"
CALL = "folder.save(picture, record=record)"

# as the console script, which does not look for modules in the working directory
SCRIPT = (sys.executable, "-P", "-m", "scaling_limits")
NO_HOME = ("env", "-u", "XDG_CACHE_HOME", "HOME=/dev/null")
MODULES = ("random", "jax", "pandas", "matplotlib", "snakemake", "yaml")


def in_the_way(project: Project) -> Project:
    """The project without a home for caches, and with files of its own that are named as modules."""
    for name in MODULES:
        (project / f"{name}.py").write_text(f"raise RuntimeError('{name} of the project')\n")
    return replace(project, wrapper=NO_HOME, program=SCRIPT)


def test_what_is_there_is_judged_and_reported(project: Project, tmp_path: Path) -> None:
    command = replace(project, program=COMMAND_LINE)
    # more than there is without the one claim
    (project / "tests/reference/decided.yaml").write_text("smoke: {decided: 1.0}\n")
    folder = project / "results/smoke/mupc/fig5"
    shutil.move(folder, tmp_path)
    said = command("audit", "--stored", fails=True)
    assert (
        "1 of 2 figures have no records: mupc/fig5; compute them, or pass --allow-missing" in said
    )
    assert "1 not computed; 0% decided" in command("audit", "--stored", "--allow-missing")
    assert "results/smoke/report.html (1 of 2 figures)" in command("report")
    assert (project / "results/smoke/report.html").exists()
    assert not folder.exists()

    shutil.move(tmp_path / "fig5", folder)
    assert "1 holds; 100% decided" in command("audit", "--stored")
    output = command("run", "mupc/fig5", "--verbose", "--cores", "1", "--", "--forcerun", "publish")
    assert "Provided cores: 1" in output
    assert "Finished jobid: 0 (Rule: publish)" in output
    assert "\n  holds     The loss is a number.\n" in output


@pytest.mark.slow
def test_imported_results_are_judged_and_drawn_without_computing(
    finished: Project, fresh: Project, tmp_path: Path
) -> None:
    path = str(tmp_path / "smoke.zip")
    assert "and 2 figures of the preset smoke" in replace(finished, program=COMMAND_LINE)(
        "export", "smoke", path
    )
    command = replace(fresh, program=COMMAND_LINE)
    assert "Figures: 2 new, 0 already there." in command("import", path)
    assert "1 holds; 100% decided" in command("audit", "--stored")
    assert not (fresh / "results/datasets").exists()
    # imported files do not hide a change of the configuration here
    fresh.edit(f"config/papers/mupc/{EXPERIMENT}.yaml", "The loss is a number.", "It is one.")
    assert "Would compute 0 of " in command("run", "mupc/fig5", "-n")
    output = command("run", "mupc/fig5", "--verbose")
    asked, stored, computed = trained(output)
    assert asked == stored > 0
    assert computed == 0
    assert "\n  holds     It is one.\n" in output


def test_progress_results_and_errors_of_a_run(project: Project) -> None:
    command = in_the_way(project)
    project.edit(NOTEBOOK, CALL, "raise ValueError('no such colour')")
    output = command("run", "mupc/fig5", fails=True)
    log = "logs/smoke/mupc/fig5/draw.log"
    assert output.startswith(f"mupc/fig5 (draw) failed; its log: {log}\nerror: figure.ipynb failed")
    assert "ValueError: no such colour" in output
    assert output.endswith("1 of 1 figures were not drawn; full log: logs/smoke/snakemake.log\n")
    project.edit(NOTEBOOK, "raise ValueError('no such colour')", CALL)
    output = command("run", "mupc/fig5")
    folder = "results/smoke/mupc/fig5"
    # on a slow machine, progress is printed each minute
    lines = [line for line in output.splitlines() if not line.startswith(("0 of 1", "1 of 1"))]
    assert lines == [
        "mupc/fig5  1 holds  figures/mupc/fig5.png",
        "mupc/fig5",
        "  holds     The loss is a number.",
        "  picture   figures/mupc/fig5.png",
        f"  page      {folder}/summary.html",
        f"  folder    {folder}/",
        "All figures: results/smoke/index.html",
    ]
    assert "Nothing to be done" in replace(project, wrapper=NO_HOME)("figures/mupc/fig5.png")
    assert "2 of 2 figures drawn" in (project / "results/smoke/index.html").read_text("utf-8")


def test_an_interrupted_run_stops_everything_and_goes_on(project: Project) -> None:
    command = in_the_way(project)
    changes = {"mupc": {"experiments": {EXPERIMENT: {"learning_rate": 0.1, "num_steps": 200}}}}
    words = ["run", "mupc/fig5", "--set", f"papers={json.dumps(changes)}"]
    before = len(project.cells())
    process = command.start(*words)
    while len(project.cells()) == before:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    # as a terminal does
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    said = "interrupted: what is stored is kept, the same command goes on from it\n"
    # on a slow machine, progress is printed before
    lines = output.splitlines(keepends=True)
    assert [line for line in lines if not line.startswith("0 of 1 figures, ")] == [said]
    # no lock is left, and nothing of the group runs
    assert not list((project / ".snakemake/locks").glob("*"))
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)

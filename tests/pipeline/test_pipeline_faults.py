"""Disks, permissions, files and numbers that fail: the message first, nothing lost, the same command goes on."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pipeline_project import EXPERIMENT, Project, experiment_changes, trained

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group(__name__)]

FIGURE = "figures/mupc/fig5.png"
RECORDS = "results/smoke/mupc/fig5/records.parquet"
WIDER = experiment_changes(learning_rate=[0.1, 0.03, 0.01])
# root may write anywhere, unless it gives that up
BOUND = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--")


def works(wrapper: tuple[str, ...]) -> bool:
    return (
        shutil.which(wrapper[0]) is not None and not subprocess.run([*wrapper, "true"]).returncode
    )


def cells(project: Project) -> dict[str, bytes]:
    return project.outputs("results/cells")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("prlimit"), reason="no prlimit on this machine")
def test_a_full_disk_costs_the_figure_and_no_cell(project: Project) -> None:
    before = project.outputs("results", "figures")
    (project / "results/smoke/mupc/fig5/figure.svg").unlink()
    (project / FIGURE).unlink()
    # to a program, a limit to the length of files is what a full disk is
    full = replace(project, wrapper=("prlimit", "--fsize=60000", "--"))
    output = full(FIGURE, fails=True)
    assert "figure.ipynb failed for results/smoke/mupc/fig5: WriteError: cannot write" in output
    assert "figure.png: File too large; cells stored so far are" in output
    assert "Traceback" not in output
    assert not list((project / "results/smoke/mupc/fig5").glob("figure.p*"))
    output = project("results/smoke/mupc/fig5/figure.png")
    assert trained(output) == (0, 0, 0)
    output = full(FIGURE, fails=True)
    # the shell's words for it: unlike Python, `cp` dies of a signal
    assert "File size limit exceeded" in output
    assert not (project / FIGURE).exists()
    project(FIGURE)
    assert project.outputs("results", "figures") == before


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() == 0 and not works(BOUND), reason="root with all its rights")
def test_results_that_may_not_be_written_to(project: Project) -> None:
    before = project.outputs("results", "figures", "logs")
    (project / "results").chmod(0o555)
    bound = replace(project, wrapper=BOUND if os.geteuid() == 0 else ())
    try:
        output = bound(RECORDS, "--config", WIDER, fails=True)
        assert "This was a dry-run" in bound(RECORDS, "--dry-run", "--config", WIDER)
    finally:
        (project / "results").chmod(0o755)
    assert "error: cannot write to results/: no permission, or a read-only file system" in output
    assert "Traceback" not in output
    assert project.outputs("results", "figures", "logs") == before
    assert trained(project(RECORDS, "--config", WIDER))[2] > 0


def test_what_diverges_from_the_first_step_on_is_drawn_and_judged(project: Project) -> None:
    bound = {"grids": "width", "only": {"learning_rate": 0.1, "activity_learning_rate": 1}}
    changes = {
        "mupc": {
            "experiments": {EXPERIMENT: {"activation": "linear", "branch_multiplier": 1e30}},
            "figures": {"fig5": {"claims": {"finite": {"bound": bound}}}},
        }
    }
    kept = cells(project)
    output = project(
        FIGURE, "results/smoke/mupc/audit.json", "--config", f"papers={json.dumps(changes)}"
    )
    assert "Traceback" not in output
    table = pd.read_parquet(project / RECORDS)
    losses = table.loc[table["metric"] == "train_loss", "value"]
    assert len(losses) >= 5 * trained(output)[0]
    assert not np.isfinite(losses).any()
    assert "diverged" in (project / "results/smoke/mupc/fig5/figure.svg").read_text("utf-8")
    (verdict,) = json.loads((project / "results/smoke/mupc/audit.json").read_bytes())["verdicts"]
    assert verdict["verdict"] == "diverged"
    assert verdict["detail"] == "every cell diverged"
    assert kept.items() <= cells(project).items()


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("config/config.yaml", b"preset: smoke\n\xff\xfe", "config/config.yaml: cannot be read"),
        ("config/papers/mupc/paper.yaml", b"", "config/papers/mupc/paper.yaml: should be"),
        ("more.yaml", b"audit: run\naudit: stored\n", "more.yaml: cannot be read: line 2: key"),
    ],
)
def test_an_unreadable_configuration_is_named(
    fresh: Project, file: str, content: bytes, words: str
) -> None:
    (fresh / file).write_bytes(content)
    more = ["--configfile", file] if file == "more.yaml" else []
    output = fresh(FIGURE, *more, fails=True)
    assert words in output
    assert output.count("error: ") == 1
    assert "Traceback" not in output
    assert "File " not in output
    assert not (fresh / "results").exists()


@pytest.mark.slow
def test_a_server_that_is_down(fresh: Project) -> None:
    source = fresh / "src/scaling_limits/datasets/mnist.py"
    text = re.sub(r'"https?://[^"]*"', '"http://127.0.0.1:9/"', source.read_text("utf-8"))
    source.write_text(text, "utf-8")
    fresh.edit("src/scaling_limits/datasets/fetch.py", "ROUNDS = 4", "ROUNDS = 1")
    target = "results/datasets/mnist.npz"
    output = fresh(target, fails=True)
    assert "error: train-images-idx3-ubyte.gz could not be downloaded" in output
    assert "Connection refused" in output
    assert "Traceback" not in output
    assert not (fresh / target).exists()
    assert not list((fresh / "data").rglob("*.*"))


@pytest.mark.slow
def test_own_data_in_places_with_spaces_and_other_letters(template: Path, tmp_path: Path) -> None:
    project = Project(tmp_path / "Räume & Maße" / "mein Projekt é")
    shutil.copytree(template, project.folder)
    data = project.folder.parent / "dáta"
    data.mkdir()
    x, y = np.random.default_rng(0).random((20, 4)), np.arange(20) % 2
    arrays = {"x_train": x, "y_train": y, "x_test": x, "y_test": y}
    arguments = [
        RECORDS,
        "--config",
        "data={path: '../dáta', datasets: {mine: '../dáta/mein Satz ß.npz'}}",
        experiment_changes(dataset="mine", num_train=20, num_test=5),
    ]
    path = data / "mein Satz ß.npz"
    np.savez(path, **arrays | {"x_test": np.where(x == x[3, 1], np.nan, x)})
    output = project(*arguments, fails=True)
    assert "mein Satz ß.npz: 'x_test' is nan at index (3, 1); its values must be" in output
    assert "Traceback" not in output
    assert not (project / "results").exists()
    np.savez(path, **arrays)
    total, _, computed = trained(project(*arguments))
    assert 0 < computed == total

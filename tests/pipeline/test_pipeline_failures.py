"""Killed, damaged, failing: said clearly, nothing lost, mended by running again."""

import json

import pytest
from pipeline_project import Project, experiment_changes, trained

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group(__name__)]

RECORDS = "results/smoke/mupc/fig5/records.parquet"
JOB = "results/smoke/mupc/experiments/hyperparameter_transfer_tanh/job-0.parquet"
# cells that take a while: a tenth of a second each
LONG = [
    RECORDS,
    "--config",
    experiment_changes(num_steps=200, learning_rate=0.1),
]


@pytest.mark.parametrize(
    "whole",
    [pytest.param(False, id="the job"), pytest.param(True, id="Snakemake", marks=pytest.mark.slow)],
)
def test_killed_while_training(project: Project, whole: bool) -> None:
    number = len(project.cells())
    project.kill(LONG, whole=whole)
    assert not (project / JOB).exists() or whole
    done = len(project.cells()) - number
    assert done >= 1
    if whole:
        # a stale lock: said with its cure
        output = project(*LONG, fails=True)
        assert "--unlock" in output
        project("--unlock")
    output = project(*LONG)
    total, stored, missing = trained(output)
    assert stored == done
    assert missing == total - done > 0
    assert len(project.cells()) == number + total
    assert "damaged" not in output


def test_a_truncated_cell_is_computed_again(project: Project) -> None:
    before = project.outputs("results/smoke")
    cell = project.cells()[3]
    content = cell.read_bytes()
    cell.write_bytes(content[: len(content) // 2])
    name = next(
        path
        for path in before
        if path.endswith("job-0.json") and cell.stem in json.loads(before[path])
    )
    (project / name).unlink()
    output = project(name)
    assert "is damaged" in output
    assert f"{cell.stem}.corrupt" in output
    assert trained(output)[2] == 1
    after = project.outputs("results/smoke")
    timed = {path for path in before if path.endswith((".json", "summary.html"))}
    assert {p: c for p, c in after.items() if p not in timed} == {
        p: c for p, c in before.items() if p not in timed
    }


@pytest.mark.slow
def test_a_corrupt_dataset_is_said_moved_aside_and_prepared_again(project: Project) -> None:
    path = project / "results/datasets/digits.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    wider = [RECORDS, "--config", experiment_changes(learning_rate=[0.1, 0.03, 0.01])]
    number = len(project.cells())
    output = project(*wider, fails=True)
    assert "digits.npz is corrupt: expected " in output
    assert "moved aside to digits.npz.corrupt" in output
    assert "Traceback" not in output
    assert len(project.cells()) == number
    output = project(*wider)
    total, stored, missing = trained(output)
    assert 0 < missing == total - stored


def test_a_failing_notebook_is_kept_and_named(project: Project) -> None:
    records = project.outputs("results/smoke/pcn-limits/fig1")[
        "results/smoke/pcn-limits/fig1/records.parquet"
    ]
    notebook = "workflow/notebooks/figure.ipynb"
    call = "folder.save(picture, record=record)"
    project.edit(notebook, call, "raise ValueError('no such colour')")
    target = "figures/pcn-limits/fig1.png"
    output = project(target, fails=True)
    assert "figure.ipynb failed for results/smoke/pcn-limits/fig1" in output
    assert "ValueError: no such colour" in output
    failed = project / "logs/smoke/pcn-limits/fig1/failed.ipynb"
    assert str(failed.relative_to(project.folder)) in output
    assert "no such colour" in failed.read_text("utf-8")
    assert not (project / "results/smoke/pcn-limits/fig1/figure.png").exists()
    project.edit(notebook, "raise ValueError('no such colour')", call)
    output = project(target)
    assert trained(output) == (0, 0, 0)
    assert (project / target).exists()
    assert (project / "results/smoke/pcn-limits/fig1/records.parquet").read_bytes() == records
    assert not failed.exists()

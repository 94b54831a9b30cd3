"""What is computed again, and what is not."""

import dataclasses
import re
import sys

import pytest
from pipeline_project import EXPERIMENT, TARGETS, Project, experiment_changes, trained

from scaling_limits.configuration import load

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group(__name__)]

RECORDS = "results/smoke/mupc/fig5/records.parquet"
PC = "src/scaling_limits/algorithms/predictive_coding/stages.py"

AS_IF_BY_A_GPU = """
import sys
from scaling_limits.configuration import load
from scaling_limits.pipeline.keys import cell_key
from scaling_limits.store import Store

store = Store("results/cells")
here = load(".").cells("mupc", sys.argv[1])
there = load(".", {"resources": {"device": "gpu"}}).cells("mupc", sys.argv[1])
for computed, cell in zip(here, there, strict=True):
    store.save(cell_key(cell), store.load(cell_key(computed)))
    print(cell_key(cell))
"""
"""Store the cells of an experiment under the keys that they have on a GPU, and print these."""


def test_nothing_to_be_done(project: Project) -> None:
    before = project.outputs("results", "figures")
    assert "Nothing to be done" in project(*TARGETS)
    assert project.outputs("results", "figures") == before


def test_a_rate_added_trains_its_cells_and_a_rate_removed_none(project: Project) -> None:
    before = project.outputs("results/smoke/mupc")
    number = len(load(project.folder).cells("mupc", EXPERIMENT))
    wider = experiment_changes(learning_rate=[0.1, 0.03, 0.01])
    output = project(RECORDS, "--config", wider)
    # for each of 3 activity rates: two widths and two depths, one of them shared, once more in the
    # controls (at the smallest width the control is the same cell)
    more = trained(output)
    assert more[1] == number
    assert more[2] == more[0] - number == (number - 2) // 2
    output = project(*TARGETS)
    assert trained(output) == (number, number, 0)
    assert project.outputs("results/smoke/mupc") == before


def test_cells_of_a_gpu_are_used_on_a_machine_without_one(project: Project) -> None:
    python = dataclasses.replace(project, program=(sys.executable,))
    keys = python("-c", AS_IF_BY_A_GPU, EXPERIMENT).split()
    output = project(RECORDS, "--config", "resources={device: gpu}")
    assert trained(output) == (len(keys), len(keys), 0)


def test_an_edited_algorithm_retrains_its_cells_and_an_edit_undone_none(project: Project) -> None:
    before = project.outputs("results/smoke/mupc")
    number = len(load(project.folder).cells("mupc", EXPERIMENT))
    stages = ("NUM_STAGES = 4\n", "NUM_STAGES = 3\n")
    project.edit(PC, *stages)
    # the two cells of backpropagation are as good as before
    assert trained(project(RECORDS)) == (number, 2, number - 2)
    project.edit(PC, *stages[::-1])
    assert trained(project(*TARGETS)) == (number, number, 0)
    assert project.outputs("results/smoke/mupc") == before
    project.edit(PC, *(stages[0], f"# a comment\n{stages[0]}"))
    project.edit(PC, '"""Maximum number', '"""Largest number')
    assert "Nothing to be done" in project(*TARGETS)


@pytest.mark.parametrize(
    ("path", "edit", "expected"),
    [
        ("plots/maps/drawing.py", "# a comment\n", set()),
        ("plots/maps/drawing.py", "EDIT = 1\n", {"draw", "publish"}),
        pytest.param("parameterisations/table.py", "EDIT = 1\n", None, marks=pytest.mark.slow),
        pytest.param("datasets/cifar10.py", "EDIT = 1\n", None, marks=pytest.mark.slow),
    ],
)
def test_other_edits_train_nothing(
    project: Project, path: str, edit: str, expected: set[str] | None
) -> None:
    source = project / f"src/scaling_limits/{path}"
    source.write_text(f"{source.read_text('utf-8')}\n\n{edit}", "utf-8")
    output = project(*TARGETS, "--dry-run")
    planned = set(re.findall(r"^(?:local)?rule (\w+):", output, re.MULTILINE))
    if expected is not None:
        assert planned == expected
    # claims may be judged again, but nothing is trained
    assert planned <= {"collect", "draw", "publish"}

"""Clones of the project on one store, without a scheduler."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from pipeline_project import PRESET, Project

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group(__name__)]

EXPERIMENT = "linear_residual_cifar10"
RECORDS = [
    f"results/smoke/pcn-limits/experiments/{EXPERIMENT}/job-{number}.parquet" for number in range(2)
]
SAVE = "        write_file(self.path(key), checksum"
LOGGED = f"        print('saved', key, file=sys.stderr)\n{SAVE}"


@pytest.fixture
def clones(template: Path, tmp_path: Path) -> list[Project]:
    """Two clones in which every job has one cell and logs its key when it is stored."""
    clones = [Project(tmp_path / name) for name in ("a", "b")]
    for clone in clones:
        shutil.copytree(template, clone.folder)
        clone.edit("src/scaling_limits/store.py", SAVE, LOGGED)
        preset = yaml.safe_dump({**PRESET, "job_seconds": 1e-3})
        (clone / "config/presets/smoke.yaml").write_text(preset)
    return clones


def start(clone: Project, tmp_path: Path) -> "subprocess.Popen[str]":
    paths = {"store": str(tmp_path / "cells"), "programs": str(tmp_path / "programs")}
    two = {"seed": 0, "grids": {"main": {"width": 8}}}
    papers = {"pcn-limits": {"experiments": {EXPERIMENT: two}}}
    changes = [f"paths={json.dumps(paths)}", f"papers={json.dumps(papers)}"]
    return clone.start(*RECORDS, "--cores", "1", "--config", *changes)


def computed(clone: Project) -> list[str]:
    """The keys of the cells that a clone has computed."""
    logs = (clone / f"logs/smoke/pcn-limits/{EXPERIMENT}").glob("*.log")
    return [key for log in logs for key in re.findall(r"^saved (\w+)$", log.read_text(), re.M)]


def test_clones_share_the_cells_of_an_experiment(clones: list[Project], tmp_path: Path) -> None:
    processes = [start(clone, tmp_path) for clone in clones]
    printed = [process.communicate(timeout=600)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], printed
    stored = sorted(path.stem for path in (tmp_path / "cells").glob("*/*.cell"))
    assert len(stored) == 2
    assert sorted(key for clone in clones for key in computed(clone)) == stored
    for path in RECORDS:
        assert (clones[0] / path).read_bytes() == (clones[1] / path).read_bytes()
    assert not any((clone / "results/cells").exists() for clone in clones)
    # a folder for this kind of machine, in which no process has left a file
    [folder] = (tmp_path / "programs").iterdir()
    programs = [path.name for path in folder.iterdir()]
    assert programs
    assert all(re.fullmatch(r".+\.[0-9a-f]{16}", name) for name in programs)
    # each process has its own order of jobs, after collecting and drawing
    orders = [set(map(float, re.findall(r"priority: (\S+)", output))) for output in printed]
    assert len(orders[0]) == len(orders[1]) == 2
    assert orders[0].isdisjoint(orders[1])
    assert max(orders[0] | orders[1]) < 0

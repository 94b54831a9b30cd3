"""What the Makefile would run."""

import re
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]


def printed(*words: str) -> str:
    command = ["make", "--dry-run", *words]
    return subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(("target", "runs"), [("figures", 1), ("audit", 1), ("report", 2)])
def test_further_arguments_stand_behind_all_others(target: str, runs: int) -> None:
    arguments = "--configfile more.yaml --cores 8"
    lines = printed(target, f"ARGS={arguments}", "CONFIG=data={path: DIR}").splitlines()
    commands = [line for line in lines if "/snakemake " in line]
    assert len(commands) == runs
    for command in commands:
        assert ' --config preset=smoke "data={path: DIR}" --' in command
        assert command.endswith(f" {arguments}")


def test_the_gallery_has_the_figures_of_the_papers_only() -> None:
    (patterns,) = re.findall(r"for file in (.*?);", printed("gallery"))
    slugs = [path.parent.name for path in (PROJECT / "config/papers").glob("*/paper.yaml")]
    assert set(patterns.split()) == {f"figures/{slug}/*.png" for slug in slugs}


def test_a_variable_that_no_command_knows_is_refused() -> None:
    command = ["make", "--dry-run", "figures", "PRESETS=paper"]
    done = subprocess.run(command, cwd=PROJECT, check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert "unknown variable PRESETS; there are PYTHON PRESET" in done.stderr


def test_clean_keeps_the_stored_cells(tmp_path: Path) -> None:
    kept = tmp_path / "results" / "cells" / "ab" / "ab12.cell"
    gone = [tmp_path / name / "file" for name in ("results/smoke/mupc", "results/datasets", "logs")]
    for file in (kept, *gone):
        file.parent.mkdir(parents=True)
        file.touch()
    makefile = str(PROJECT / "Makefile")
    for _ in range(2):
        subprocess.run(["make", "-f", makefile, "clean"], cwd=tmp_path, check=True)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [kept]

"""What the Makefile would run."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]


def printed(*words: str) -> str:
    command = ["make", "--dry-run", *words]
    return subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True).stdout


def commands(*words: str) -> list[list[str]]:
    """The arguments of each call of the command line."""
    lines = map(shlex.split, printed(*words).splitlines())
    return [words[1:] for words in lines if words and words[0].endswith("/scaling-limits")]


CHANGES = ["--preset", "laptop", "--set", "data={path: DIR}"]


@pytest.mark.parametrize(
    ("target", "called"),
    [("figures", ["run"]), ("audit", ["audit"])],
)
def test_further_arguments_are_handed_on_to_snakemake(target: str, called: list[str]) -> None:
    further = "--configfile more.yaml --cores 8"
    given = ["PRESET=laptop", f"ARGS={further}", "CONFIG=data={path: DIR}"]
    made = [[name, *CHANGES, "--", *further.split()] for name in called]
    assert commands(target, *given) == made


@pytest.mark.parametrize("value", ['data={path: "my data"}', "title=it's $HOME `pwd`"])
def test_the_shell_reads_nothing_in_a_change(value: str) -> None:
    assert commands("figures", f"CONFIG={value.replace('$', '$$')}")[0][-1] == value


def test_another_interpreter_makes_the_environment_anew(tmp_path: Path) -> None:
    configuration = PROJECT / ".venv" / "pyvenv.cfg"
    if not configuration.is_file():
        pytest.skip("there is no .venv")
    (present,) = re.findall("^executable = (.+)$", configuration.read_text(), re.MULTILINE)
    other = tmp_path / "python"
    other.write_text(f"#!/bin/sh\necho {other}\n")
    other.chmod(0o755)
    assert "-m venv" not in printed("setup", f"PYTHON={present}")
    assert f"{other} -m venv --clear .venv" in printed("setup", f"PYTHON={other}")


def test_the_gallery_is_that_of_the_preset() -> None:
    """After its figures are drawn; what the gallery has of them, `tests/audit/test_gallery.py` tests."""
    lines = [shlex.split(line) for line in printed("gallery", "PRESET=laptop").splitlines()]
    (gallery,) = (words for words in lines if "scaling_limits.audit.gallery" in words)
    assert gallery[0].endswith("/python")
    assert gallery[1:] == [
        "-m",
        "scaling_limits.audit.gallery",
        "results/laptop",
        "docs/gallery",
        "README.md",
    ]
    assert ["cp", "results/laptop/audit.md", "docs/results.md"] in lines
    (drawn,) = (words for words in lines if words[1:2] == ["run"])
    assert lines.index(drawn) < lines.index(gallery)


def test_a_variable_that_no_command_knows_is_refused() -> None:
    command = ["make", "--dry-run", "figures", "PRESETS=paper"]
    done = subprocess.run(command, cwd=PROJECT, check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert "unknown variable PRESETS; valid are PYTHON PRESET" in done.stderr


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

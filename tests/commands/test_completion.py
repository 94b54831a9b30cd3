"""What the shell offers after a part of a word."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from scaling_limits.commands.main import main
from scaling_limits.configuration import load

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from scaling_limits.commands.main import main
try:
    main(prog_name="scaling-limits")
finally:
    assert not {"jax", "pandas", "matplotlib"} & set(sys.modules)
"""


def offered(*words: str) -> list[str]:
    *before, incomplete = words
    found = ShellComplete(main, {}, "scaling-limits", "_SCALING_LIMITS_COMPLETE").get_completions(
        before, incomplete
    )
    return [item.value for item in found]


def test_figures_papers_and_presets_are_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    configuration = load(ROOT)
    figures = [f"mupc/{name}" for name in configuration.figures("mupc")]
    assert sorted(offered("run", "mupc/")) == sorted(figures)
    assert sorted(offered("estimate", "mup")) == sorted(["mupc", *figures])
    assert offered("show", "mupc/fig6") == ["mupc/fig6"]
    assert offered("audit", "no-such/") == []
    assert offered("list", "p") == ["pc-tp", "pcn-limits"]
    presets = ["full", "laptop", "paper", "smoke"]
    assert offered("run", "--preset", "") == offered("lock", "") == presets
    assert offered("power", "smoke", "l") == ["laptop"]


def test_nothing_is_offered_outside_of_a_project_but_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert offered("run", "mupc/fig6") == offered("lock", "") == []
    assert offered("run", "--directory", str(ROOT), "mupc/fig6") == ["mupc/fig6"]


def test_files_that_cannot_be_read_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "config" / "experiments"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("figures: {one: {title: a}}\n")
    (folder / "wrong.yaml").write_text("figures: [\n")
    assert offered("run", "own/") == ["own/one"]
    (folder / "other.yml").write_text("")
    assert offered("run", "own/") == []


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_script_calls_the_program(shell: str) -> None:
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0
    assert f"_SCALING_LIMITS_COMPLETE={shell}_complete" in done.output
    assert CliRunner().invoke(main, ["completion", "csh"]).exit_code == 2


def test_completion_imports_no_numerics() -> None:
    words = {"COMP_WORDS": "scaling-limits run mupc/fig6", "COMP_CWORD": "2"}
    environment = os.environ | words | {"_SCALING_LIMITS_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.stdout == "plain,mupc/fig6\n"
    assert done.stderr == ""

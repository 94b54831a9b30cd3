"""Copies of the project with two tiny figures, in which Snakemake runs as a user would run it."""

import compileall
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

import psutil
import yaml

SOURCE = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
COMMAND_LINE = (sys.executable, "-m", "scaling_limits")
COPIED = ("Snakefile", "config", "envs", "profiles", "src", "workflow")
COPIED += ("docs/amendments.yaml", "docs/claims.lock.yaml", "docs/deviations.yaml")
FIGURES = {"mupc": "fig5", "pcn-limits": "fig1"}
TARGETS = [f"figures/{paper}/{figure}.png" for paper, figure in FIGURES.items()]
CLAIM = {
    "statement": "The loss is a number.",
    "source": "none",
    "bound": {
        "grids": "backpropagation",
        "only": {"learning_rate": 0.1},
        "quantity": {"metric": "train_loss"},
        "decided_at": None,
        "at_most": 1e9,
    },
}
BACKPROPAGATION = {
    "depth": 2,
    "algorithm": "backpropagation",
    **dict.fromkeys(("inference", "num_inference_steps", "activity_gradient")),
    "activity_learning_rate": None,
    "width": [8],
    "learning_rate": [0.1, 0.01],
}
PRESET = {
    "description": "two figures of tiny networks, a few steps each",
    "caps": {"seeds": 1, "num_steps": 5, "batch_size": 16},
    "substitutions": {"mnist": "digits", "cifar10": "digits"},
}
MUPC = {
    "learning_rate": [0.1, 0.01],
    "activity_learning_rate": [10, 1, 0.1],
    "grids": {
        "width": {"depth": 2, "width": [8, 16]},
        "depth": {"width": 8, "depth": [2]},
        "control_width": {"depth": 2, "pivot_width": 8, "width": [8, 16]},
        "control_depth": {"width": 8, "depth": [2]},
        "backpropagation": {},
    },
}
PCN_LIMITS = {
    "grids": {"main": {"width": [8, 16], "depth": [2]}, "control": {"width": [8], "depth": [2]}},
    "measurements": {"gradient_alignment": [0, 4]},
}
EXPERIMENT = "hyperparameter_transfer_tanh"


def experiment_changes(**parts: Any) -> str:
    """The argument of `--config` that changes the mupc experiment."""
    changes = {"mupc": {"experiments": {EXPERIMENT: parts}}}
    return f"papers={json.dumps(changes)}"


@dataclass(frozen=True)
class Project:
    """A copy of the project; calling it runs `program` there, as the last words of a command `wrapper`."""

    folder: Path
    wrapper: tuple[str, ...] = ()
    program: tuple[str, ...] = (str(PROGRAMS / "snakemake"),)

    def __truediv__(self, path: str) -> Path:
        return self.folder / path

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start the program in a process group of its own."""
        environment = {
            **os.environ,
            "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.folder / "src"),
            # two edits of equal length within a second would be taken for one
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": str(self.folder / ".cache"),
        }
        for name in ("PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER"):
            environment.pop(name, None)
        return subprocess.Popen(
            [*self.wrapper, *self.program, *arguments],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )

    def __call__(self, *arguments: str, fails: bool = False) -> str:
        """Run the program to its end; what it printed."""
        process = self.start(*arguments)
        try:
            output, _ = process.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        assert (process.returncode != 0) == fails, output
        return output

    def kill(self, arguments: list[str], *, whole: bool) -> str:
        """Kill Snakemake and all its children, or its job alone, while cells are being trained."""
        before = len(self.cells())
        process = self.start(*arguments)
        try:
            deadline = time.monotonic() + 300
            while len(self.cells()) == before:
                assert process.poll() is None, process.communicate()[0]
                assert time.monotonic() < deadline, "no cell was trained"
                time.sleep(0.01)
            if whole:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                children = psutil.Process(process.pid).children(recursive=True)
                jobs = [p for p in children if ".snakemake/scripts" in " ".join(p.cmdline())]
                assert jobs
                for job in jobs:
                    job.kill()
            output, _ = process.communicate(timeout=120)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        assert process.returncode != 0
        return output

    def cells(self) -> list[Path]:
        """The stored cells."""
        return sorted((self / "results/cells").glob("*/*.cell"))

    def outputs(self, *folders: str) -> dict[str, bytes]:
        """The files below these folders by relative path."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for folder in folders
            for path in sorted((self / folder).rglob("*"))
            if path.is_file()
        }

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a text that stands once in a file."""
        text = (self / path).read_text("utf-8")
        assert text.count(old) == 1
        (self / path).write_text(text.replace(old, new), "utf-8")


def trained(output: str) -> tuple[int, int, int]:
    """Cells in all, stored and trained, added up over the jobs that Snakemake ran."""
    found = re.findall(r"(\d+) cells: (\d+) stored, (\d+) to compute", output)
    counts = [tuple(map(int, row)) for row in found]
    return (sum(c[0] for c in counts), sum(c[1] for c in counts), sum(c[2] for c in counts))


def create(folder: Path) -> None:
    """A copy of the project that has not run yet, cut down to the two figures."""
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (SOURCE / name).is_dir():
            shutil.copytree(SOURCE / name, target, ignore=ignored)
        else:
            shutil.copy2(SOURCE / name, target)
    for paper in (folder / "config" / "papers").iterdir():
        if paper.name not in FIGURES:
            shutil.rmtree(paper)
            continue
        for path in paper.glob("*.yaml"):
            cut_down(path)
    # as in conftest.py: the programs of tests run once or twice
    runtime = folder / "src/scaling_limits/runtime.py"
    text, flags = runtime.read_text("utf-8"), '"XLA_FLAGS": "'
    assert flags in text
    runtime.write_text(text.replace(flags, f"{flags}{os.environ['XLA_FLAGS']} "), "utf-8")
    # once for all copies, and by content: of files that a test edits, processes see it
    by_content = PycInvalidationMode.CHECKED_HASH
    assert compileall.compile_dir(folder / "src", quiet=1, invalidation_mode=by_content)
    (folder / "config/presets/smoke.yaml").write_text(yaml.safe_dump(PRESET, sort_keys=False))
    reference = folder / "tests/reference/decided.yaml"
    reference.parent.mkdir(parents=True)
    reference.write_text("smoke: {decided: 0.0}\n")


def cut_down(path: Path) -> None:
    """A file of a paper with its part of `FIGURES` alone, and the tiny sizes; without any, an experiment goes."""
    content = yaml.safe_load(path.read_text("utf-8"))
    name = FIGURES[path.parent.name]
    content["figures"] = {key: f for key, f in content["figures"].items() if key == name}
    if path.stem != "paper" and not content["figures"]:
        path.unlink()
        return
    if path.stem == EXPERIMENT:
        content["grids"]["backpropagation"] = BACKPROPAGATION
        content["presets"] = {"smoke": MUPC}
        content["figures"][name]["claims"] = {"finite": CLAIM}
    elif path.stem != "paper":
        # others would have their own sizes
        content["grids"] = {grid: content["grids"][grid] for grid in PCN_LIMITS["grids"]}
        content["presets"] = {"smoke": PCN_LIMITS}
        del content["figures"][name]["claims"]
    path.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")

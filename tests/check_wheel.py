"""The wheel in an environment of its own, with the newest libraries that its bounds admit.

`python tests/check_wheel.py` builds it, installs it for the newest Python that is found, trains two networks, compares
their numbers to those of its own environment, and asks for a figure without and with the extra `workflow`.
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("src", "pyproject.toml", "README.md", "LICENSE")
PROJECT = ("config", "docs", "envs", "profiles", "workflow", "Snakefile")
FIGURE = "pcn-limits/fig2"
TRAIN = """
import json
import scaling_limits

settings = {
    "dataset": "digits", "depth": 3, "depth_kind": "hidden_layers", "activation": "tanh", "parameterisation": "mup",
    "algorithm": "backpropagation", "learning_rate": 0.1, "batch_size": 64,
}
# programs that are compiled quickly and partly
for more in (
    {"width": 64, "optimiser": "sgd", "num_steps": 20},
    {"width": 128, "optimiser": "adam", "num_steps": 400, "learning_rate": 0.001},
):
    records = scaling_limits.train({**settings, **more}, {"performance": [0, "end"]})
    print(json.dumps(records["value"].tolist()))
"""


def run(*words: str | Path, folder: Path, ok: bool = True) -> str:
    """Run a command and return its output; its exit code has to be zero if `ok`, and another one otherwise."""
    # nothing of the environment that this runs in
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    if (done.returncode == 0) != ok:
        raise SystemExit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout + done.stderr


def interpreters() -> list[str]:
    """Return the interpreters of Python 3.11 and newer that run here, the newest first."""
    named = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    managed = glob.glob(f"{os.environ.get('PYENV_ROOT', '')}/versions/3.*/bin/python3")
    found = {}
    for path in {sys.executable, *filter(None, named), *managed}:
        asked = [path, "-c", "import sys, venv; print(*sys.version_info[:3])"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found[tuple(map(int, done.stdout.split()))] = path
    return [found[version] for version in sorted(found, reverse=True) if version >= (3, 11)]


def wheel(folder: Path) -> Path:
    """The built wheel. The sources are copied, as building leaves files beside them."""
    sources = folder / "sources"
    for name in PARTS:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        sources.mkdir(exist_ok=True)
        copy(ROOT / name, sources / name)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    run(*pip, "--wheel-dir", folder, sources, folder=folder)
    [path] = folder.glob("*.whl")
    return path


def environment(python: str, folder: Path) -> tuple[Path, tuple[str | Path, ...]]:
    """A new environment below `folder`: its folder of programs, and the command that installs packages into it."""
    uv = str(Path(sys.executable).with_name("uv"))
    programs = folder / "environment" / "bin"
    run(uv, "venv", "--quiet", "--python", python, programs.parent, folder=folder)
    return programs, (uv, "pip", "install", "--quiet", "--python", programs / "python")


def losses(text: str) -> list[list[float]]:
    """The numbers of each network."""
    return [[float(v) for v in line.strip("[]").split(",")] for line in text.splitlines()]


def close(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    """Whether all numbers agree to a thousandth."""
    return len(ours) == len(theirs) and all(
        abs(a - b) <= 1e-3 * max(abs(a), abs(b)) for a, b in zip(ours, theirs, strict=True)
    )


def check(python: str, folder: Path) -> None:
    """Everything, in `folder`, by the interpreter `python`."""
    built = wheel(folder)
    programs, install = environment(python, folder)
    run(*install, built, folder=folder)
    versions = (
        "import sys, jax, numpy; print(sys.version.split()[0], jax.__version__, numpy.__version__)"
    )
    print("Python, jax, numpy:", run(programs / "python", "-c", versions, folder=folder).strip())
    newest = losses(run(programs / "python", "-c", TRAIN, folder=folder))
    locked = losses(run(sys.executable, "-c", TRAIN, folder=folder))
    if len(newest) != 2 or not all(map(close, locked, newest)):
        raise SystemExit(f"locked libraries: {locked}\nnewest libraries: {newest}")
    project = folder / "project"
    project.mkdir()
    for name in PROJECT:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, project / name)
    command = programs / "scaling-limits"
    said = run(command, "run", FIGURE, folder=project, ok=False)
    if "scaling-limits[workflow]" not in said:
        raise SystemExit(f"run without the extra says: {said}")
    run(*install, f"scaling-limits[workflow] @ {built.as_uri()}", folder=folder)
    run(command, "run", FIGURE, folder=project)
    if not (project / "figures" / f"{FIGURE}.png").is_file():
        raise SystemExit(f"run with the extra has drawn no {FIGURE}.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        check(interpreters()[0], Path(temporary))

"""The package without the project's folder: built as a wheel, installed into an empty folder, used from another one."""

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pipeline_project import SOURCE, Project

pytestmark = [
    pytest.mark.pipeline,
    pytest.mark.xdist_group(__name__),
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, ("pip", "setuptools"))),
        reason="builds a wheel without a network, which takes pip and setuptools",
    ),
]

NEEDED = ("pyproject.toml", "README.md", "LICENSE")
WHERE = """
import sys
from pathlib import Path
elsewhere = [
    module.__file__ for name, module in sys.modules.items()
    if name.startswith("scaling_limits") and Path(sys.argv[1]) not in Path(module.__file__).parents
]
assert not elsewhere, elsewhere
"""
LOAD = """
import scaling_limits
table = scaling_limits.load("mupc/fig5", root=".")
print(len(table), *sorted(set(table["grid"])))
"""


def pip(*words: str | Path) -> None:
    command = [sys.executable, "-m", "pip", *words, "--no-deps", "--no-index", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, as building leaves files beside the sources."""
    copied = tmp_path_factory.mktemp("sources")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(SOURCE / "src", copied / "src", ignore=ignored)
    for name in NEEDED:
        shutil.copy2(SOURCE / name, copied / name)
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-build-isolation", "--wheel-dir", folder, copied)
    [path] = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    pip("install", "--no-compile", "--target", folder, wheel)
    return folder


def alone(script: str, installed: Path, folder: Path) -> str:
    """What a script prints that runs in `folder` and has imported nothing of this package but what is installed."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", script + WHERE, str(installed)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    folders = ("__pycache__", "scaling_limits.egg-info")
    files = {
        path.relative_to(SOURCE / "src").as_posix()
        for path in (SOURCE / "src").rglob("*")
        if path.is_file() and not set(folders) & set(path.parts)
    }
    assert packed == files
    assert "scaling_limits/py.typed" in packed


def test_it_trains_a_network(installed: Path, tmp_path: Path) -> None:
    page = (SOURCE / "docs/own.md").read_text("utf-8")
    example = page.split("## From Python")[1].split("```python\n")[1].split("```")[0]
    assert "test_accuracy" in alone(example, installed, tmp_path)


def test_it_loads_a_figure(installed: Path, finished: Project, tmp_path: Path) -> None:
    folder = Path("results", "smoke", "mupc", "fig5")
    shutil.copytree(finished / str(folder), tmp_path / folder)
    rows, *grids = alone(LOAD, installed, tmp_path).split()
    assert int(rows) > 0
    assert {"width", "depth", "control_width"} <= set(grids)

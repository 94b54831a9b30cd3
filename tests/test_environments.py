"""The environments hold the same pins, and what refers to them refers to the right one."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
ENVS = ROOT / "envs"
LOCKS = {
    "cpu": "requirements.lock",
    "cuda": "requirements-cuda.lock",
    "slurm": "requirements-slurm.lock",
    "docs": "requirements-docs.lock",
    "mutation": "requirements-mutation.lock",
}
SEPARATE = {"docs": "latex2mathml", "mutation": "packaging"}
"""Environments without the project's requirements, and a package that they share with it."""
CONDA = ("cpu", "cuda")
"""Environments that conda can make, too."""

# a requirement with its marker, and the hashes on the lines that it is continued on
PIN = re.compile(r"(?P<requirement>[a-z0-9-]+==[^\\\n]+?) \\\n(?P<hashes>(?:    --hash=.*\n)+)")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")


def pins(device: str) -> dict[str, set[str]]:
    """Every pinned package of a lock: its versions with their markers."""
    text = (ENVS / LOCKS[device]).read_text()
    found: dict[str, set[str]] = {}
    for match in PIN.finditer(text):
        assert all(HASH.fullmatch(line) for line in match["hashes"].splitlines())
        name, version = match["requirement"].split("==", 1)
        found.setdefault(name, set()).add(version)
    assert PIN.sub("", text) == "", "a lock holds versions and hashes only"
    return found


def versions(device: str) -> dict[str, set[str]]:
    """Every pinned package of a lock: its versions without their markers."""
    return {name: {pin.split(" ")[0] for pin in found} for name, found in pins(device).items()}


def requirements(name: str) -> list[str]:
    lines = (ENVS / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_the_cuda_lock_adds_cuda_and_changes_nothing() -> None:
    cpu, cuda = pins("cpu"), pins("cuda")
    assert len(cpu) > 100
    assert {name: cuda.get(name) for name in cpu} == cpu
    added = cuda.keys() - cpu.keys()
    assert "jax-cuda12-plugin" in added
    assert all(name.startswith(("jax-cuda12-", "nvidia-")) for name in added)
    assert cuda["jax-cuda12-plugin"] == cuda["jax-cuda12-pjrt"] == cuda["jax"]


def test_the_slurm_lock_adds_an_executor_and_changes_nothing() -> None:
    cpu, slurm = pins("cpu"), pins("slurm")
    assert {name: slurm.get(name) for name in cpu} == cpu
    added = slurm.keys() - cpu.keys()
    assert "snakemake-executor-plugin-slurm" in added
    assert all(name.startswith("snakemake-executor-plugin-slurm") for name in added)


@pytest.mark.parametrize(
    ("name", "added"), [("cuda", "jax[cuda12]"), ("slurm", "snakemake-executor-plugin-slurm")]
)
def test_other_requirements_extend_the_first(name: str, added: str) -> None:
    assert requirements(f"requirements-{name}.in") == ["--requirement requirements.in", added]


@pytest.mark.parametrize(("name", "common"), SEPARATE.items())
def test_a_separate_lock_has_the_versions_of_the_first(name: str, common: str) -> None:
    cpu, other = versions("cpu"), versions(name)
    shared = cpu.keys() & other.keys()
    assert common in shared
    assert {package: other[package] for package in shared} == {p: cpu[p] for p in shared}


@pytest.mark.parametrize("device", LOCKS)
def test_every_requirement_is_locked(device: str) -> None:
    source = f"requirements-{device}.in" if device in SEPARATE else "requirements.in"
    wanted = {re.split(r"[=<\[]", line)[0].lower() for line in requirements(source)}
    assert wanted <= pins(device).keys()


def test_the_package_asks_for_no_less_than_what_is_locked_and_has_upper_bounds() -> None:
    """With `make wheel`, which takes the newest: both ends are tested."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["workflow"]]
    locked = versions("cpu")
    for line in asked:
        requirement = Requirement(line)
        found = set(map(Version, locked[requirement.name]))
        bounds = {bound.operator: Version(bound.version) for bound in requirement.specifier}
        assert bounds.keys() == {">=", "<"}, line
        assert min(found) == bounds[">="], line
        assert all(version in requirement.specifier for version in found), line


@pytest.mark.parametrize("device", CONDA)
def test_the_conda_environments_install_the_locks(device: str) -> None:
    # conda itself is on no machine of ours: only what the files say can be checked
    environment = yaml.safe_load((ENVS / f"{device}.yaml").read_text())
    assert environment["dependencies"] == [f"python={python_version()}", "pip"]
    script = (ENVS / f"{device}.post-deploy.sh").read_text()
    assert re.findall(r"--requirement (\S+)", script) == [f"envs/{LOCKS[device]}"]
    assert "--require-hashes" in script


def test_the_oldest_python_is_locked_and_tested() -> None:
    (locked,) = re.findall(r"--python-version (\S+)", (ROOT / "Makefile").read_text())
    assert locked == python_version()
    for name, job in github_jobs().items():
        (setup,) = (step["with"] for step in job["steps"] if "setup-python" in step.get("uses", ""))
        if name == "tests":
            assert setup == {"python-version": "${{ matrix.python }}"}
            assert python_version() in job["strategy"]["matrix"]["python"]
        else:
            assert setup == {"python-version": python_version()}


def test_github_runs_what_ci_runs() -> None:
    script = (ROOT / ".ci/run").read_text().splitlines()
    ci = [line for line in script if line.startswith(("make ", ".venv/bin/scaling-limits "))]
    runs = [step["run"] for job in github_jobs().values() for step in job["steps"] if "run" in step]
    github = [command for command in runs if "apt-get" not in command]
    assert set(github) == set(ci)


def github_jobs() -> dict[str, Any]:
    jobs: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    return jobs


def test_make_lock_makes_every_lock() -> None:
    made = re.findall(r"-o envs/(\S+)", (ROOT / "Makefile").read_text())
    assert sorted(made) == sorted(path.name for path in ENVS.glob("*.lock"))
    assert sorted(made) == sorted(LOCKS.values())


def python_version() -> str:
    """The oldest Python that the project runs on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version: str = project["requires-python"]
    return version.removeprefix(">=")

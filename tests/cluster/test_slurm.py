"""Runs on a Slurm cluster of two nodes on this machine: pytest -m cluster tests/cluster.

Needs root and Debian's slurm-wlm, slurmdbd, munge and mariadb-server. Packages are installed into another environment.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("slurm.sh")
NEEDED = ("slurmctld", "slurmd", "slurmdbd", "munged", "mariadbd")
FIGURE = "mupc/fig5"
COPIED = ("config", "docs", "envs", "profiles", "tests/reference", "workflow", "Snakefile")
# but the page, which says how long it took
BYTES = (
    *("records.parquet", "cells.parquet", "verdicts.json", "figure.json"),
    *("figure.png", "figure.pdf", "figure.svg", "notebook.ipynb"),
)
GPUS = """
rule all:
    input: "a.txt", "b.txt"
rule one:
    output: "{job}.txt"
    resources: gpu=1
    shell:
        "(date +%s.%N; echo $CUDA_VISIBLE_DEVICES $SLURMD_NODENAME; sleep 20; date +%s.%N) > {output}"
"""

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster")]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], None]]:
    """Call slurm.sh with an action."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin"])
    if missing := [name for name in NEEDED if shutil.which(name, path=path) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    # its sockets' paths have to be short
    folder = Path("/tmp") / f"slurm-{os.getpid()}"

    def call(action: str) -> None:
        with (tmp_path_factory.getbasetemp() / "slurm.log").open("ab") as log:
            subprocess.run(["bash", SCRIPT, action, folder], check=True, stdout=log, stderr=log)

    call("up")
    yield call
    call("down")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with Snakemake's executor for Slurm, and this project."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    lock = ROOT / "envs/requirements-slurm.lock"
    for words in (
        ["--require-hashes", "--requirement", lock],
        ["--no-deps", "--no-build-isolation", "--editable", ROOT],
    ):
        uv = [Path(sys.executable).with_name("uv"), "pip", "install", "--quiet"]
        subprocess.run([*uv, "--python", folder / "bin/python", *words], check=True)
    return folder


def with_programs_of(environment: Path) -> dict[str, str]:
    """The variables of this process, with an environment's programs found first."""
    return os.environ | {"PATH": os.pathsep.join([str(environment / "bin"), os.environ["PATH"]])}


class Project:
    """A copy of the project's files, run with the programs of an environment."""

    def __init__(self, folder: Path, environment: Path):
        self.root = folder
        self.environment = environment
        for name in COPIED:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            (folder / name).parent.mkdir(exist_ok=True)
            copy(source, folder / name)
        profile = folder / "profiles/slurm/config.yaml"
        text = profile.read_text()
        assert "ACCOUNT" in text
        assert "PARTITION" in text
        profile.write_text(text.replace("ACCOUNT", "research").replace("PARTITION", "cpu"))

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        program = [self.environment / "bin/scaling-limits", "run", FIGURE, *words]
        return subprocess.Popen(
            program, cwd=self.root, env=with_programs_of(self.environment), start_new_session=True
        )

    def run(self, *words: str) -> None:
        assert self.start(*words).wait(1800) == 0

    def cells(self) -> dict[str, int]:
        found = (self.root / "results/cells").glob("*/*.cell")
        return {path.name: path.stat().st_mtime_ns for path in found}

    def bytes(self) -> dict[str, bytes]:
        folder = self.root / "results/smoke" / FIGURE
        return {name: (folder / name).read_bytes() for name in BYTES if (folder / name).exists()}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, installed: Path) -> Project:
    """A project with the figure, computed without Slurm."""
    project = Project(tmp_path_factory.mktemp("local"), installed)
    project.run()
    return project


def states() -> set[str]:
    command = ["sacct", "--allocations", "--noheader", "--format=state%20"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 900
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_faults_leave_the_bytes_of_a_local_run(
    tmp_path: Path, local: Project, installed: Path, cluster: Callable[[str], None]
) -> None:
    project = Project(tmp_path, installed)
    process = project.start("--profile", "slurm")
    until(lambda: len(project.cells()) > 10)
    # a minute without accounting, meanwhile its jobs are cancelled
    cluster("accounting-stop")
    subprocess.run(["scancel", "--state=RUNNING", "--user=root"], check=True)
    time.sleep(60)
    cluster("accounting-start")
    before = len(project.cells())
    until(lambda: len(project.cells()) > before + 10)
    assert process.poll() is None
    # Snakemake is killed, its jobs go on
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    stored = project.cells()
    subprocess.run([installed / "bin/snakemake", "--unlock"], cwd=project.root, check=True)
    project.run("--profile", "slurm")
    assert stored.items() <= project.cells().items()
    assert project.cells().keys() == local.cells().keys()
    assert project.bytes() == local.bytes()
    assert len(local.bytes()) >= 8
    assert any(state.startswith("CANCELLED") for state in states())


def test_a_job_gets_more_time_and_memory_with_each_attempt(
    tmp_path: Path, local: Project, installed: Path, cluster: Callable[[str], None]
) -> None:
    project = Project(tmp_path, installed)
    # too little for Python, then for JAX, then enough
    project.run(
        "--profile",
        "slurm",
        "--",
        "--set-resources",
        "run:mem_mb=250 * attempt ** 2",
        "run:runtime=1 * attempt",
    )
    assert {"FAILED", "OUT_OF_MEMORY"} & states()
    assert project.bytes() == local.bytes()


def test_two_jobs_on_a_node_have_gpus_of_their_own(
    tmp_path: Path, installed: Path, cluster: Callable[[str], None]
) -> None:
    (tmp_path / "Snakefile").write_text(GPUS)
    resources = ["slurm_account=research", "slurm_partition=gpu", "runtime=5", "mem_mb=1500"]
    # one node alone: both run there
    subprocess.run(["scontrol", "update", "nodename=n2", "state=drain", "reason=test"], check=True)
    command = [
        installed / "bin/snakemake",
        "--executor",
        "slurm",
        "--jobs",
        "2",
        "--slurm-status-command",
        "squeue",
    ]
    options = ["--slurm-init-seconds-before-status-checks", "5", "--default-resources", *resources]
    variables = with_programs_of(installed)
    try:
        subprocess.run([*command, *options], cwd=tmp_path, check=True, env=variables)
    finally:
        subprocess.run(["scontrol", "update", "nodename=n2", "state=resume"], check=True)
    found = [(tmp_path / f"{job}.txt").read_text().split() for job in "ab"]
    (begun_a, gpu_a, node_a, ended_a), (begun_b, gpu_b, node_b, ended_b) = found
    assert {gpu_a, gpu_b} == {"0", "1"}
    assert node_a == node_b == "n1"
    assert max(float(begun_a), float(begun_b)) < min(float(ended_a), float(ended_b))

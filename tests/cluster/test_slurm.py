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

from scaling_limits.configuration import load
from scaling_limits.locks import Locks

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("slurm.sh")
NEEDED = ("slurmctld", "slurmd", "slurmdbd", "munged", "mariadbd")
FIGURE = "mupc/fig5"
# the cheapest whole paper
PAPER = "pc-tp"
COPIED = ("config", "docs", "envs", "profiles", "tests/reference", "workflow", "Snakefile")
# but the page, which says how long it took
BYTES = (
    *("records.parquet", "cells.parquet", "verdicts.json", "figure.json"),
    *("figure.png", "figure.pdf", "figure.svg", "notebook.ipynb"),
    *("table.csv", "table.tex"),
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
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., None]]:
    """Call slurm.sh with an action and its arguments."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin"])
    if missing := [name for name in NEEDED if shutil.which(name, path=path) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    # its sockets' paths have to be short
    folder = Path("/tmp") / f"slurm-{os.getpid()}"

    def call(action: str, *words: str) -> None:
        command = ["bash", SCRIPT, action, folder, *words]
        with (tmp_path_factory.getbasetemp() / "slurm.log").open("ab") as log:
            subprocess.run(command, check=True, stdout=log, stderr=log)

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
    """A copy of the project's files, in which a figure or paper is run with the programs of an environment."""

    def __init__(self, folder: Path, environment: Path, target: str = FIGURE):
        self.root = folder
        self.environment = environment
        self.target = target
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
        program = [self.environment / "bin/scaling-limits", "run", self.target, *words]
        return subprocess.Popen(
            program, cwd=self.root, env=with_programs_of(self.environment), start_new_session=True
        )

    def run(self, *words: str) -> None:
        self.end(self.start(*words))

    def end(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.wait(7200) == 0

    def cells(self) -> dict[str, int]:
        found = (self.root / "results/cells").glob("*/*.cell")
        return {path.name: path.stat().st_mtime_ns for path in found}

    def bytes(self) -> dict[str, bytes]:
        folder = self.root / "results/smoke" / self.target
        paths = (path for path in folder.rglob("*") if path.name in BYTES)
        return {str(path.relative_to(folder)): path.read_bytes() for path in paths}

    def requests(self) -> list[tuple[str, str, str]]:
        """Return number, state and requested minutes of the project's jobs, from Slurm's accounting."""
        command = ["sacct", "--allocations", "--duplicates", "--noheader", "--parsable2"]
        command.append("--format=workdir,jobid,state,timelimitraw")
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rows = [line.split("|") for line in lines.splitlines()]
        return [(job, state, time) for folder, job, state, time in rows if folder == str(self.root)]

    def states(self) -> list[str]:
        return [state for _, state, _ in self.requests()]

    def queue(self, state: str) -> dict[str, str]:
        """Return the node of each of the project's jobs in a state, from Slurm's controller."""
        command = ["squeue", "--noheader", f"--states={state}", "--format=%i|%N|%Z"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rows = [line.split("|") for line in lines.splitlines()]
        return {job: node for job, node, folder in rows if folder == str(self.root)}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, installed: Path) -> Project:
    """A project with the figure, computed without Slurm."""
    project = Project(tmp_path_factory.mktemp("local"), installed)
    project.run()
    return project


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 1800
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_a_whole_paper_has_the_bytes_of_a_local_run(
    tmp_path: Path, installed: Path, cluster: Callable[..., None]
) -> None:
    folders = tmp_path / "local", tmp_path / "slurm"
    local, project = (Project(folder, installed, PAPER) for folder in folders)
    process = local.start()
    project.run("--profile", "slurm")
    local.end(process)
    assert "COMPLETED" in project.states()
    assert project.cells().keys() == local.cells().keys()
    assert project.bytes() == local.bytes()
    assert {Path(name).parts[0] for name in local.bytes()} == set(load(ROOT).figures(PAPER))


def test_faults_leave_the_bytes_of_a_local_run(
    tmp_path: Path, local: Project, installed: Path, cluster: Callable[..., None]
) -> None:
    project = Project(tmp_path, installed)
    process = project.start("--profile", "slurm")
    until(lambda: len(project.cells()) > 10)
    subprocess.run(["scancel", *project.queue("RUNNING")], check=True)
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
    assert any(state.startswith("CANCELLED") for state in project.states())


def test_a_job_of_a_lost_node_goes_on_on_another(
    tmp_path: Path, local: Project, installed: Path, cluster: Callable[..., None]
) -> None:
    project = Project(tmp_path, installed)
    process = project.start("--profile", "slurm")
    until(lambda: len(project.cells()) > 10)
    ((job, node),) = project.queue("RUNNING").items()
    cluster("node-lost", node)
    stored = project.cells()
    try:
        project.end(process)
    finally:
        cluster("node-back", node)
    # Slurm queues the job again, with the same number
    assert (job, "NODE_FAIL") in [(number, state) for number, state, _ in project.requests()]
    assert stored.items() <= project.cells().items()
    assert project.cells().keys() == local.cells().keys()
    assert project.bytes() == local.bytes()


def test_a_run_survives_two_time_limits_and_ten_minutes_without_accounting(
    tmp_path: Path, local: Project, installed: Path, cluster: Callable[..., None]
) -> None:
    project = Project(tmp_path, installed)
    expired: dict[str, str] = {}
    with Locks(project.root / "results/cells/lock") as locks:
        # a cell locked by this process: the job waits for it, whatever the speed of this machine
        locks.take(Path(min(local.cells())).stem)
        cluster("accounting-stop")
        end = time.monotonic() + 600
        try:
            runtime = "run:runtime=1 if attempt < 3 else 60"
            process = project.start("--profile", "slurm", "--", "--set-resources", runtime)
            # the controller forgets a job after five minutes
            until(lambda: expired.update(project.queue("TIMEOUT")) or len(expired) == 2)
            until(lambda: time.monotonic() > end)
        finally:
            cluster("accounting-start")
        assert process.poll() is None
        stored = project.cells()
    project.end(process)
    assert stored.items() <= project.cells().items()
    assert project.bytes() == local.bytes()
    assert sorted(project.states()) == ["COMPLETED", "COMPLETED", "TIMEOUT", "TIMEOUT"]


def test_a_job_requests_more_with_each_attempt_up_to_the_limit_of_a_partition(
    tmp_path: Path, local: Project, installed: Path, cluster: Callable[..., None]
) -> None:
    refused = ["sbatch", "--test-only", "--partition=short", "--time=11", "--wrap=true"]
    assert subprocess.run(refused, capture_output=True).returncode != 0
    project = Project(tmp_path, installed)
    # a little more than ten minutes, which Slurm rounds down; memory too little for Python, then for JAX, then enough
    project.run(
        "--profile",
        "slurm",
        "--set",
        "resources.max_hours=0.167",
        "--",
        "--set-resources",
        "run:mem_mb=250 * attempt ** 2",
        "run:slurm_partition=short",
    )
    first, *later, figure = project.requests()
    assert first[1] in {"FAILED", "OUT_OF_MEMORY"}
    assert int(first[2]) < 10
    assert {minutes for _, _, minutes in later} == {"10"}
    assert later[-1][1] == "COMPLETED"
    assert figure[1:] == ("COMPLETED", "30")
    assert project.bytes() == local.bytes()


def test_two_jobs_on_a_node_have_gpus_of_their_own(
    tmp_path: Path, installed: Path, cluster: Callable[..., None]
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

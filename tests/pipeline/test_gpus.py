"""Jobs on a machine with several GPUs; stand-ins do, as CUDA is not asked."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = (
    "import os; from scaling_limits.pipeline.gpus import take_gpu\n"
    "held = take_gpu(); print(os.environ.get('CUDA_VISIBLE_DEVICES', '-'), flush=True); input()"
)


class Jobs:
    """Jobs that hold their GPU until they are killed."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, visible: str | None) -> str:
        """Start a job; the GPUs that it sees afterwards."""
        variables = os.environ | {"TMPDIR": str(self.folder)}
        variables.pop("CUDA_VISIBLE_DEVICES", None)
        if visible is not None:
            variables["CUDA_VISIBLE_DEVICES"] = visible
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.running.append(process)
        assert process.stdout is not None
        return process.stdout.readline().decode().strip()


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    jobs = Jobs(tmp_path)
    yield jobs
    for process in jobs.running:
        process.kill()
        process.communicate()


def test_four_jobs_have_four_gpus_and_a_killed_one_frees_its_own(jobs: Jobs) -> None:
    assert [jobs.start("2,5,GPU-a,7") for _ in range(4)] == ["2", "5", "GPU-a", "7"]
    # more jobs than GPUs share them
    assert jobs.start("2,5,GPU-a,7") in ("2", "5", "GPU-a", "7")
    jobs.running[1].kill()
    jobs.running[1].wait()
    assert jobs.start("2,5,GPU-a,7") == "5"


@pytest.mark.parametrize("visible", ["", "3"])
def test_a_job_with_one_gpu_or_none_has_nothing_to_choose(jobs: Jobs, visible: str) -> None:
    assert [jobs.start(visible) for _ in range(2)] == [visible] * 2
    assert not list(jobs.folder.iterdir())

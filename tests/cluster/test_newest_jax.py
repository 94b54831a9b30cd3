"""Training with the newest libraries: pytest -m cluster tests/cluster/test_newest_jax.py.

The wheel is installed into an environment of its own with the newest libraries that its bounds admit, and the tests of
training run there.
"""

import subprocess
from pathlib import Path

import pytest

from check_wheel import ROOT, environment, interpreters, run, wheel

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster")]

TESTS = ("tests/training", "tests/gpu")


def test_networks_train_with_the_newest_libraries(tmp_path: Path) -> None:
    programs, install = environment(interpreters()[0], tmp_path)
    built = f"scaling-limits[workflow] @ {wheel(tmp_path).as_uri()}"
    installed = subprocess.run(
        [*install, built, "pytest", "pytest-xdist"], capture_output=True, text=True, check=False
    )
    if installed.returncode:
        pytest.skip(f"packages cannot be installed: {installed.stderr}")
    # new libraries warn of what they will drop
    run(programs / "python", "-m", "pytest", "-q", "-W", "default", *TESTS, folder=ROOT)

"""Strict numerics for all tests, and data for those that train."""

import gc
import os
from pathlib import Path

import jax
import pytest

from scaling_limits.datasets.preparation import prepare

# most programs of tests run once or twice: optimising them takes longer than they do, and so do emitting them through
# MLIR, of which each program sets up a context of its own, and splitting them up for threads
os.environ["XLA_FLAGS"] = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_parallel_codegen_split_count=1"
)
# later versions do not know it, and XLA ends a process at an unknown flag
if jax.__version_info__ < (0, 11):
    os.environ["XLA_FLAGS"] += " --xla_cpu_use_fusion_emitters=false"
# what is compiled stays for the session, and every collection would go through all of it
gc.set_threshold(100_000)
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")


def pytest_addoption(parser: pytest.Parser) -> None:
    """For machines with a GPU, which may be lent for minutes."""
    parser.addoption(
        "--cpu-losses",
        type=Path,
        help="losses.npz that `tests/gpu/every_part.py cpu FOLDER` wrote; computed if absent",
    )


@pytest.fixture(scope="session")
def datasets_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prepared digits."""
    folder = tmp_path_factory.mktemp("datasets")
    output = folder / "digits.npz"
    prepare("digits", data_path=None, downloads=folder, output=output, user={})
    return folder

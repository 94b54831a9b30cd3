"""Strict numerics for all tests, and data for those that train."""

from pathlib import Path

import jax
import pytest

from scaling_limits.datasets.preparation import prepare

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture(scope="session")
def datasets_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prepared digits."""
    folder = tmp_path_factory.mktemp("datasets")
    output = folder / "digits.npz"
    prepare("digits", data_path=None, downloads=folder, output=output, user={})
    return folder

from pathlib import Path

import pytest

from scaling_limits.datasets.preparation import prepare


@pytest.fixture(scope="session")
def datasets_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prepared digits."""
    folder = tmp_path_factory.mktemp("datasets")
    output = folder / "digits.npz"
    prepare("digits", data_path=None, downloads=folder, output=output, user={})
    return folder

"""Folders of figures with made-up records."""

from pathlib import Path

import pytest
from plotting_records import (
    ALONG_PLOT,
    COSINE_PLOT,
    CURVES_PLOT,
    RATE_PLOT,
    SCALING_PLOT,
    TRANSFER_PLOT,
    along_rows,
    cosine_rows,
    curve_rows,
    rate_rows,
    scaling_rows,
    transfer_rows,
    write_folder,
)

from scaling_limits.plotting.figure_folder import FigureFolder


@pytest.fixture
def transfer(tmp_path: Path) -> Path:
    sizes = [(64, 8), (128, 8)]
    rows = transfer_rows("width", sizes) + transfer_rows("control", sizes, shift=1.0)
    return write_folder(tmp_path / "results" / "transfer", "maps", TRANSFER_PLOT, rows)


@pytest.fixture
def cosine(tmp_path: Path) -> Path:
    rows = cosine_rows("main", (4, 16, 64), (2, 4), (0, 5, 10))
    rows += cosine_rows("control", (4, 16, 64), (2, 4), (0, 5, 10), bad=0.3)
    return write_folder(tmp_path / "results" / "cosine", "maps", COSINE_PLOT, rows)


@pytest.fixture
def curves(tmp_path: Path) -> Path:
    rows = curve_rows((4, 16, 64), range(0, 30, 5))
    return write_folder(tmp_path / "results" / "curves", "curves", CURVES_PLOT, rows)


@pytest.fixture
def scaling(tmp_path: Path) -> Path:
    rows = scaling_rows("main", (16, 64, 256), (2, 8))
    rows += scaling_rows("control", (16, 64, 256), (2, 8), exponent=-0.5)
    return write_folder(tmp_path / "results" / "scaling", "scaling", SCALING_PLOT, rows)


@pytest.fixture
def along(tmp_path: Path) -> Path:
    rows = along_rows((16, 64, 256))
    return write_folder(tmp_path / "results" / "along", "scaling", ALONG_PLOT, rows)


@pytest.fixture
def rates(tmp_path: Path) -> Path:
    rows = rate_rows("main", (32, 64, 128)) + rate_rows("control", (32, 64, 128), drift=1.0)
    return write_folder(tmp_path / "results" / "rates", "transfer", RATE_PLOT, rows)


@pytest.fixture
def scaling_folder(scaling: Path) -> FigureFolder:
    return FigureFolder.open(scaling)

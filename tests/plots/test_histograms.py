"""What histograms show, read from their artists."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from plotting_records import Drawn, cells, drawn, write_folder

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.plots.options import PlotOptions

EIGENVALUES: dict[str, Any] = {"metric": "hessian_eigenvalue", "per": "index"}
HISTOGRAMS: dict[str, Any] = {
    "kind": "histograms",
    "quantity": EIGENVALUES,
    "hue": "depth",
    "panels": [{"grid": "one", "title": "first"}, {"grid": "other"}],
    "bins": 4,
    "limits": [0, 8],
    "marks": [{"at": 7.0, "label": "bound"}, {"at": 1.0, "label": "bound"}],
}


def write(folder: Path, **said: Any) -> Path:
    """Of two depths and seeds: at depth 2 three of four values lie below 2, at depth 8 all between 4 and 6."""
    values = {2: (0.5, 1.0, 1.5, 7.0), 8: (4.1, 4.5, 5.0, 5.9)}

    def value(depth: int, **_: Any) -> Any:
        return {"hessian_eigenvalue": {(0, k): v for k, v in enumerate(values[depth])}}

    rows = [
        row for grid in ("one", "other") for row in cells(grid, value, depth=(2, 8), seed=(0, 1))
    ]
    return write_folder(folder, HISTOGRAMS | said, rows)


@pytest.fixture(scope="module")
def spectra(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return drawn(write(tmp_path_factory.mktemp("histograms") / "f"))


def heights(ax: Axes, colour: Any) -> list[float]:
    """The densities of the line of a colour in the middle of each bin."""
    (line,) = [x for x in ax.lines if np.allclose(to_rgb(x.get_color()), colour)]
    x, y = (np.asarray(values, float) for values in line.get_data())
    return [float(y[np.searchsorted(x, middle) - 1]) for middle in (1.0, 3.0, 5.0, 7.0)]


def test_densities_are_of_each_size_by_itself(spectra: Drawn) -> None:
    for ax in spectra.axes:
        assert heights(ax, spectra.page.palette[2]) == pytest.approx([0.375, 0, 0, 0.125])
        assert heights(ax, spectra.page.palette[8]) == pytest.approx([0, 0, 0.5, 0])


def test_densities_have_a_logarithmic_axis_with_the_largest_size_on_top(spectra: Drawn) -> None:
    smallest, largest = spectra.page.palette[2], spectra.page.palette[8]
    for ax in spectra.axes:
        assert ax.get_yscale() == "log"
        low, high = ax.get_ylim()
        assert low < 0.125 < 0.5 < high
        colours = [to_rgb(x.get_color()) for x in ax.lines]
        order = [k for k, c in enumerate(colours) if c in (to_rgb(smallest), to_rgb(largest))]
        assert [colours[k] for k in order] == [to_rgb(smallest), to_rgb(largest)]


def test_panels_share_axes_and_marks(spectra: Drawn) -> None:
    first, second = spectra.axes
    assert first.get_xlim() == second.get_xlim() == (0, 8)
    assert first.get_ylim() == second.get_ylim()
    assert [ax.get_title() for ax in spectra.axes] == ["first", "other"]
    for ax in spectra.axes:
        marks = [x.get_xdata()[0] for x in ax.lines if len(x.get_xdata()) == 2]  # type: ignore[arg-type, index]
        assert sorted(marks) == [1.0, 7.0]
    assert set(spectra.legend) == {"$L$ = 2", "$L$ = 8", "bound"}


def test_limits_are_those_of_values_and_marks(tmp_path: Path) -> None:
    found = drawn(write(tmp_path / "f", limits=None, marks=[{"at": 9.0, "label": "far"}]))
    assert found.axes[0].get_xlim() == pytest.approx((0.5 - 0.255, 9.0 + 0.255))


def test_a_quantity_has_many_numbers() -> None:
    with pytest.raises(ValueError, match="a histogram is of many numbers: a quantity `per: index`"):
        PlotOptions.model_validate(HISTOGRAMS | {"quantity": {"metric": "train_loss"}})


def test_a_hue_that_cells_lack_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScalingLimitsError, match=r"unknown column of the cells 'dept'.*'depth'"):
        drawn(write(tmp_path / "f", hue="dept"))

"""What landscapes show, read from their artists."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plotting_records import Drawn, cells, drawn, write_folder

from scaling_limits.errors import ScalingLimitsError

LANDSCAPES: dict[str, Any] = {
    "kind": "landscapes",
    "panels": [{"grid": "main", "title": "linear", "along": "depth"}],
    "limits": [-2, 2],
}


def write(folder: Path, **said: Any) -> Path:
    """Curvatures 1/depth and 4, and a path of two steps towards the equilibrium, further away in the second seed."""

    def value(depth: int, seed: int) -> Any:
        path = {
            (0, k, step): (1 + seed) * (k + 1) / (1 + step) for k in (0, 1) for step in (0, 1, 2)
        }
        return {
            "landscape_curvature": {(0, 0): 1 / depth, (0, 1): 4.0},
            "landscape_path": path,
        }

    rows = cells("main", value, depth=(2, 8), seed=(0, 1))
    return write_folder(folder, LANDSCAPES | said, rows)


@pytest.fixture(scope="module")
def landscapes(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return drawn(write(tmp_path_factory.mktemp("landscapes") / "f"))


def test_the_energy_is_the_quadratic_form(landscapes: Drawn) -> None:
    panel = landscapes.page.plot.panels[0]
    places, energy = landscapes.page.energy(panel, 8)
    assert (places[0], places[-1]) == (-2, 2)
    at = np.argmin(np.abs(places - 1.0))
    np.testing.assert_allclose(energy[at, at], (places[at] ** 2 / 8 + 4 * places[at] ** 2) / 2)
    # the flat direction goes across
    middle = len(places) // 2
    np.testing.assert_allclose([energy[middle, -1], energy[-1, middle]], [0.25, 8.0], atol=1e-12)


def test_the_path_is_that_of_the_first_seed(landscapes: Drawn) -> None:
    for ax in landscapes.axes:
        path, star = ax.lines
        np.testing.assert_allclose(
            np.asarray(path.get_xydata()), [[1, 2], [0.5, 1], [1 / 3, 2 / 3]]
        )
        assert np.asarray(star.get_xydata()).tolist() == [[0, 0]]
    assert [ax.get_title(loc="left") for ax in landscapes.axes] == ["linear\n", ""]
    assert [ax.get_title() for ax in landscapes.axes] == ["$L$ = 2", "$L$ = 8"]
    assert set(landscapes.legend) == {"inference trajectory", "equilibrium"}
    assert not any(ax.texts for ax in landscapes.axes)


def test_a_path_beyond_the_limits_is_named(tmp_path: Path) -> None:
    landscape = drawn(write(tmp_path / "f", limits=[-0.1, 0.1]))
    # the end of the path, along the direction of smallest curvature
    assert [text.get_text() for ax in landscape.axes for text in ax.texts] == [
        "trajectory at 0.33 \N{RIGHTWARDS ARROW}"
    ] * 2


def test_values_select_landscapes(tmp_path: Path) -> None:
    panel = {"grid": "main", "along": "depth", "values": [8]}
    assert len(drawn(write(tmp_path / "f", panels=[panel])).axes) == 1
    with pytest.raises(ScalingLimitsError, match="none of the values of 'depth' to be shown: 3"):
        drawn(write(tmp_path / "g", panels=[panel | {"values": [3]}]))

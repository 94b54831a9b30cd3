"""The plane of depth exponents, read from its artists."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from plotting_records import Drawn, Rows, cells, drawn, write_folder

from scaling_limits.plots.exponent_plane.drawing import UNDECIDED
from scaling_limits.plotting import colours

NAMES = ("activity", "initial_change", "preactivation", "output_change")
PLOT: dict[str, Any] = {
    "kind": "exponent_plane",
    "points": ["main", "between"],
    "quantities": {name: {"metric": name} for name in NAMES},
}
ALPHAS, GAMMAS = (0.25, 0.5, 1.0, 1.25), (-0.25, 0.0, 0.5)


def value(
    depth: int, depth_exponent: float, depth_lr_exponent: float, **_: Any
) -> dict[str, float]:
    """Sizes that follow depth-mup's Claims 7.1 to 7.5, wrong by one half at (1, 0.5), and zero at (1, -0.25)."""
    alpha, gamma = depth_exponent, depth_lr_exponent
    growth = 2.0 if alpha < 0.5 else 0.0
    wrong = 0.5 if (alpha, gamma) == (1.0, 0.5) else 0.0
    powers = {
        "activity": growth,
        "initial_change": growth or 0.5 - alpha,
        "preactivation": growth + max(0.0, -gamma, 1 - alpha - gamma),
        "output_change": growth + 1 - alpha - gamma + wrong,
    }
    sizes = {name: 3.0 * depth**power for name, power in powers.items()}
    return sizes | ({"output_change": 0.0} if (alpha, gamma) == (1.0, -0.25) else {})


def rows() -> Rows:
    own = {"parameterisation": ("depth_mup",), "optimiser": ("sgd",), "depth": (16, 64)}
    return [
        *cells("main", value, depth_exponent=ALPHAS, depth_lr_exponent=GAMMAS, **own),
        *cells("between", value, depth_exponent=(0.75,), depth_lr_exponent=(0.25,), **own),
    ]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return drawn(write_folder(tmp_path_factory.mktemp("plane") / "f", PLOT, rows()))


def test_it_can_be_one_of_several_plots(plane: Drawn, tmp_path: Path) -> None:
    several = {"kind": "composite", "plots": [PLOT, PLOT | {"tolerance": 0.2}]}
    for one in drawn(write_folder(tmp_path / "f", several, rows())).plots:
        assert one.measured.equals(plane.page.measured)
        assert len(one.ax.lines) == len(plane.axes[0].lines)


def marks(plane: Drawn) -> dict[tuple[float, float], str]:
    """The region that the colour of each mark says."""
    names = {to_rgb(colour): region for region, colour in colours.REGIONS.items()}
    return {
        (float(x), float(y)): names[to_rgb(line.get_markerfacecolor())]  # type: ignore[arg-type]
        for line in plane.axes[0].lines
        if line.get_linestyle() == "None" and line.get_markerfacecolor() != "none"
        for x, y in zip(*line.get_data(), strict=True)
    }


def test_marks_are_in_the_region_that_is_measured(plane: Drawn) -> None:
    found = marks(plane)
    assert len(found) == 13
    assert {found[0.25, gamma] for gamma in GAMMAS} == {"unstable at initialisation"}
    assert found[0.5, 0.5] == "diverse"
    assert found[0.75, 0.25] == found[1.0, 0.0] == "redundant"
    assert found[1.25, -0.25] == "unfaithful"
    assert found[0.5, 0.0] == found[0.5, -0.25] == "unstable in training"
    assert found[1.25, 0.5] == "trivial"
    # theory says trivial, and unstable in training
    assert found[1.0, 0.5] == "redundant"
    assert found[1.0, -0.25] == UNDECIDED


def test_a_point_measured_in_another_region_is_ringed(plane: Drawn) -> None:
    (ring,) = [x for x in plane.axes[0].lines if x.get_markerfacecolor() == "none"]
    points = set(zip(*map(tuple, ring.get_data()), strict=True))  # type: ignore[arg-type]
    assert points == {(1.0, 0.5), (1.0, -0.25)}
    assert "measured in another region (2 of 13)" in plane.legend
    assert "diverse (Depth-µP)" in plane.legend


def test_the_background_is_what_theory_predicts(plane: Drawn) -> None:
    ax = plane.axes[0]
    areas = {
        region: next(
            (path for c in ax.collections if np.allclose(c.get_facecolor()[0, :3], tint)
             for path in c.get_paths()), None)
        for region, colour in colours.REGIONS.items()
        for tint in [1 - 0.25 * (1 - np.array(colour))]
    }  # fmt: skip
    inside = {
        "unstable at initialisation": [(0.2, 0.0), (0.49, 0.6), (0.49, -0.3)],
        "unstable in training": [(0.51, 0.48), (0.51, -0.3), (1.2, -0.25)],
        "trivial": [(0.51, 0.51), (1.3, 0.4), (1.1, -0.05)],
    }
    for region, points in inside.items():
        for name, path in areas.items():
            assert path is None or path.contains_points(points).all() == (name == region)
            assert path is None or path.contains_points(points).any() == (name == region)
    # what lies on the line alpha + gamma = 1
    on_line = [x for x in ax.lines if x.get_linestyle() == "-"]
    assert len(on_line) == 3
    for line in on_line:
        x, y = (np.asarray(data, float) for data in line.get_data())
        kept = np.isfinite(y)
        np.testing.assert_allclose(x[kept] + y[kept], 1.0)
    ends = sorted((x[np.isfinite(y)].min(), x[np.isfinite(y)].max()) for x, y in (
        (np.asarray(a, float) for a in line.get_data()) for line in on_line))  # fmt: skip
    assert ends[0] == (0.5, 0.5)
    assert ends[1][0] == pytest.approx(0.5, abs=0.02)
    assert ends[1][1] == 1.0
    assert ends[2][0] == pytest.approx(1.0, abs=0.02)


def test_names_stand_in_their_regions(plane: Drawn) -> None:
    predicted = plane.page.region
    names = plane.axes[0].texts
    assert len(names) == 3
    for name in names:
        assert predicted(*name.get_position()) == name.get_text()

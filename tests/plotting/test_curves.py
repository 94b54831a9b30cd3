"""What curves show, read from the artists of the figures."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from figure_reading import legend, lines, luminance
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from plotting_records import CURVES_PLOT, curve_rows, write_folder

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.plotting.kinds import curves as curves_module

STEPS = range(0, 30, 5)


def draw_curves(path: Path, plot: dict[str, Any], rows: list[Any]) -> Figure:
    return curves_module.draw(FigureFolder.open(write_folder(path / "f", "curves", plot, rows)))


def test_curves_are_means_over_seeds_in_colours_ordered_by_size(curves: Path) -> None:
    figure = curves_module.draw(FigureFolder.open(curves))
    left, right = figure.axes
    assert [ax.get_title() for ax in figure.axes] == ["Rescaling", "Energy and loss"]
    assert (left.get_xlabel(), left.get_ylabel()) == ("training step $t$", "rescaling $s$")
    assert left.get_ylim() == (0.9, 3)
    assert (left.get_yscale(), right.get_yscale()) == ("linear", "log")
    small, medium, large = lines(left, "rescaling")
    assert small.get_xdata().tolist() == list(STEPS)
    for line, width in ((small, 4), (medium, 16), (large, 64)):
        assert line.get_ydata() == pytest.approx(1 + 4.5 / width)
    assert luminance(small) < luminance(medium) < luminance(large) < 0.8
    handles = legend(figure)
    assert list(handles)[:3] == ["$N$ = 4", "$N$ = 16", "$N$ = 64"]
    assert to_rgba(handles["$N$ = 16"].get_color()) == to_rgba(medium.get_color())


def test_bands_show_the_range_if_there_are_several_seeds(curves: Path, tmp_path: Path) -> None:
    figure = curves_module.draw(FigureFolder.open(curves))
    band = figure.axes[0].collections[0].get_paths()[0].get_extents()
    assert (band.y0, band.y1) == pytest.approx((1 + 4 / 4, 1 + 5 / 4))
    assert "range over seeds" in legend(figure)

    single = draw_curves(tmp_path, CURVES_PLOT, curve_rows((4, 16), STEPS, seeds=1))
    assert not any(ax.collections for ax in single.axes)
    assert "range over seeds" not in legend(single)


def test_a_line_ends_where_a_seed_is_no_longer_finite(curves: Path) -> None:
    figure = curves_module.draw(FigureFolder.open(curves))
    ax = figure.axes[1]
    small, medium, _ = lines(ax, "energy")
    assert small.get_xdata().tolist() == [0, 5]
    assert medium.get_xdata().tolist() == list(STEPS)
    (cross,) = lines(ax, "diverged")
    assert (cross.get_xdata()[0], cross.get_ydata()[0]) == (5, small.get_ydata()[-1])
    assert "diverged (at least one seed)" in legend(figure)


def test_crosses_of_lines_that_never_were_finite_stand_over_each_other(tmp_path: Path) -> None:
    rows = curve_rows((4, 16, 64), STEPS)
    for _, values in rows[:4]:
        values[:] = [(metric, step, np.nan) for metric, step, _ in values]
    ax = draw_curves(tmp_path, CURVES_PLOT, rows).axes[0]
    crosses = [line for line in lines(ax, "diverged") if len(line.get_xdata())]
    assert [cross.get_xdata().tolist() for cross in crosses] == [[0], [0]]
    assert len({cross.get_ydata()[0] for cross in crosses}) == 2


def test_styles_of_lines_are_explained_and_the_limit_is_black(curves: Path) -> None:
    figure = curves_module.draw(FigureFolder.open(curves))
    *each, limit = lines(figure.axes[1], "train_loss")
    assert len(each) == 3
    assert {line.get_linestyle() for line in each} == {"--"}
    assert to_rgba(limit.get_color()) == (0, 0, 0, 1)
    assert limit.get_ydata() == pytest.approx(np.exp(-np.array(STEPS) / 25))
    handles = legend(figure)
    assert handles["loss, infinite width"].get_color() == "black"
    assert handles["energy"].get_linestyle() == "-"
    assert handles["loss"].get_color() not in ("black", *(line.get_color() for line in each))
    assert list(handles)[3:6] == ["energy", "loss", "loss, infinite width"]


def test_a_limit_can_stand_alone(tmp_path: Path) -> None:
    panel = CURVES_PLOT["panels"][1]
    plot = {"panels": [panel | {"lines": panel["lines"][2:]}]}
    figure = draw_curves(tmp_path, plot, curve_rows((), STEPS))
    assert list(legend(figure)) == ["loss, infinite width"]
    assert len(figure.axes[0].lines) == 1


def test_selected_sizes_that_a_preset_left_out_are_not_shown(tmp_path: Path) -> None:
    rows = curve_rows((4, 16, 64), STEPS)
    figure = draw_curves(tmp_path / "a", CURVES_PLOT | {"values": [16, 64, 1024]}, rows)
    assert list(legend(figure))[:3] == ["$N$ = 16", "$N$ = 64", "energy"]
    with pytest.raises(ScalingLimitsError, match=r"none of the values of 'width' .*: 1024, 2048"):
        draw_curves(tmp_path / "b", CURVES_PLOT | {"values": [1024, 2048]}, rows)


def test_curves_of_different_experiments_are_not_averaged(tmp_path: Path) -> None:
    rows = curve_rows((4, 16), STEPS)
    (panel,) = CURVES_PLOT["panels"][:1]
    black = [line | {"each": False} for line in panel["lines"]]
    with pytest.raises(ScalingLimitsError, match="varies not only over step and seed: width"):
        draw_curves(tmp_path / "a", {"panels": [panel | {"lines": black}]}, rows)
    other = {"panels": [panel | {"lines": [{"grid": "main", "metric": "loss"}]}]}
    with pytest.raises(ScalingLimitsError, match="no records of the metric 'loss'"):
        draw_curves(tmp_path / "b", other, rows)
    with pytest.raises(ScalingLimitsError, match="unknown column of the cells 'colour'"):
        draw_curves(tmp_path / "c", {"hue": "colour", "panels": [panel]}, rows)

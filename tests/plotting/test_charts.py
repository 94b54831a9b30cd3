"""What curves and scaling plots show, read from the artists of the figures."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from plotting_records import CURVES_PLOT, SCALING_PLOT, curve_rows, scaling_rows, write_folder

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.plotting import curves as curves_module
from scaling_limits.plotting import scaling as scaling_module
from scaling_limits.plotting.figure_folder import FigureFolder

STEPS = range(0, 30, 5)


def lines(ax: Axes, name: str) -> list[Line2D]:
    return [line for line in ax.lines if line.get_label() == name]


def legend(figure: Figure) -> dict[str, Any]:
    return {
        text.get_text(): handle
        for box in figure.legends
        for text, handle in zip(box.get_texts(), box.legend_handles, strict=True)
    }


def luminance(line: Line2D) -> float:
    red, green, blue, _ = to_rgba(line.get_color())
    return 0.30 * red + 0.59 * green + 0.11 * blue


def draw_curves(path: Path, plot: dict[str, Any], rows: list[Any]) -> Figure:
    return curves_module.draw(FigureFolder.open(write_folder(path / "f", "curves", plot, rows)))


def draw_scaling(path: Path, plot: dict[str, Any], rows: list[Any]) -> Figure:
    return scaling_module.draw(FigureFolder.open(write_folder(path / "f", "scaling", plot, rows)))


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


def test_bands_show_one_standard_deviation_if_there_are_several_seeds(
    curves: Path, tmp_path: Path
) -> None:
    figure = curves_module.draw(FigureFolder.open(curves))
    band = figure.axes[0].collections[0].get_paths()[0].get_extents()
    half = np.std([4, 5], ddof=1) / 4
    assert (band.y0, band.y1) == pytest.approx((1 + 4.5 / 4 - half, 1 + 4.5 / 4 + half))
    assert "± 1 std over seeds" in legend(figure)

    single = draw_curves(tmp_path, CURVES_PLOT, curve_rows((4, 16), STEPS, seeds=1))
    assert not any(ax.collections for ax in single.axes)
    assert "± 1 std over seeds" not in legend(single)


def test_a_line_ends_where_a_seed_is_no_longer_finite(curves: Path) -> None:
    figure = curves_module.draw(FigureFolder.open(curves))
    ax = figure.axes[1]
    small, medium, _ = lines(ax, "energy")
    assert small.get_xdata().tolist() == [0, 5]
    assert medium.get_xdata().tolist() == list(STEPS)
    (cross,) = lines(ax, "diverged")
    assert (cross.get_xdata()[0], cross.get_ydata()[0]) == (5, small.get_ydata()[-1])
    assert "diverged (at least one seed)" in legend(figure)


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
    with pytest.raises(ScalingLimitsError, match="positive numbers in the column 'seed'"):
        draw_curves(tmp_path / "c", {"hue": "seed", "panels": [panel]}, curve_rows((4,), STEPS))


def test_scaling_shows_means_bars_and_what_is_expected(scaling: Path) -> None:
    figure = scaling_module.draw(FigureFolder.open(scaling))
    width, depth, control = figure.axes
    assert [ax.get_xscale() for ax in figure.axes] == ["log"] * 3
    assert [ax.get_yscale() for ax in figure.axes] == ["log"] * 3
    assert (width.get_xlabel(), depth.get_xlabel()) == ("width $N$", "depth $L$")
    assert width.get_ylabel() == "$s - 1$"
    assert [tick.get_text() for tick in width.get_xticklabels()] == ["16", "64", "256"]
    shallow, deep = lines(width, "measured")
    assert shallow.get_xdata().tolist() == [16, 64, 256]
    assert shallow.get_ydata() == pytest.approx(1.1 * 2 / np.array([16, 64, 256]))
    (bar, *_) = width.collections[0].get_segments()
    half = np.std([1, 1.2], ddof=1) * 2 / 16
    assert bar[:, 1] == pytest.approx([1.1 * 2 / 16 - half, 1.1 * 2 / 16 + half])
    expected = lines(width, "expected")[1]
    assert expected.get_ydata() == pytest.approx(8 / np.array([16, 64, 256]))
    assert expected.get_color() == deep.get_color()
    assert expected.get_linestyle() == "--"
    assert lines(control, "measured")[0].get_ydata()[0] == pytest.approx(1.1 * 2 / 4)


def test_one_legend_has_the_sizes_of_both_columns(scaling: Path) -> None:
    figure = scaling_module.draw(FigureFolder.open(scaling))
    handles = legend(figure)
    assert list(handles) == [
        "$L$ = 2",
        "$L$ = 8",
        "$N$ = 16",
        "$N$ = 64",
        "$N$ = 256",
        "$L/N$",
        "± 1 std over seeds",
        "diverged (at least one seed)",
    ]
    assert handles["$L$ = 2"].get_marker() != handles["$N$ = 16"].get_marker()
    assert handles["$L$ = 8"].get_color() == lines(figure.axes[2], "measured")[1].get_color()


def test_sizes_where_a_seed_diverged_are_marked_and_not_averaged(scaling: Path) -> None:
    ax = scaling_module.draw(FigureFolder.open(scaling)).axes[0]
    deep = lines(ax, "measured")[1]
    assert deep.get_xdata().tolist() == [64, 256]
    (cross,) = [line for line in lines(ax, "diverged") if len(line.get_xdata())]
    assert cross.get_xdata().tolist() == [16]
    assert cross.get_color() == deep.get_color()


def test_guide_lines_have_their_slope_and_lie_below_the_points(scaling: Path) -> None:
    ax = scaling_module.draw(FigureFolder.open(scaling)).axes[0]
    (guide,) = lines(ax, "$1/N$")
    x, y = guide.get_xdata(), guide.get_ydata()
    assert np.log(y[1] / y[0]) / np.log(x[1] / x[0]) == pytest.approx(-1)
    shallow = lines(ax, "measured")[0]
    assert (np.interp(shallow.get_xdata(), x, y)[[0, -1]] < shallow.get_ydata()[[0, -1]]).all()
    assert "$1/N$" in [text.get_text() for text in ax.texts]


def test_a_semi_logarithmic_plot_without_expectations_connects_its_points(tmp_path: Path) -> None:
    plot = {
        "quantity": SCALING_PLOT["quantity"],
        "scale": "linear",
        "rows": [{"grid": "main", "x": "width", "hue": "depth"}],
    }
    figure = draw_scaling(tmp_path, plot, scaling_rows("main", (16, 64), (2, 8), seeds=1))
    (ax,) = figure.axes
    assert ax.get_yscale() == "linear"
    assert {line.get_linestyle() for line in lines(ax, "measured")} == {"-"}
    assert not lines(ax, "expected")
    assert "± 1 std over seeds" not in legend(figure)


def test_values_without_a_logarithm_have_no_point(tmp_path: Path) -> None:
    rows = scaling_rows("main", (16, 64), (2,), seeds=1)
    rows[1][1][0] = ("excess", 0, 0.0)
    figure = draw_scaling(tmp_path, SCALING_PLOT | {"rows": SCALING_PLOT["rows"][:1]}, rows)
    assert [line.get_xdata().tolist() for line in lines(figure.axes[0], "measured")] == [[]]


def test_a_scaling_grid_that_varies_over_something_else_is_refused(tmp_path: Path) -> None:
    rows = scaling_rows("main", (16, 64), (2, 4))
    for index, (cell, _) in enumerate(rows):
        cell["output_scale"] = 1.0 + index % 2
        cell["seed"] = 0
    with pytest.raises(ScalingLimitsError, match=r"varies not only .*: output_scale"):
        draw_scaling(tmp_path, SCALING_PLOT | {"rows": SCALING_PLOT["rows"][:1]}, rows)

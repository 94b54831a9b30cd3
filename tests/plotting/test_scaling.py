"""What scaling plots show, read from the artists of the figures."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from figure_reading import legend, lines, luminance
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from plotting_records import (
    ALONG_PLOT,
    SCALING_PLOT,
    along_rows,
    rate_rows,
    scaling_rows,
    write_folder,
)

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.figures.plots.scaling import ScalingPlot
from scaling_limits.figures.quantities import Quantity
from scaling_limits.plotting.colours import size_colours
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.plotting.kinds import scaling

FIRST = {"panels": SCALING_PLOT["panels"][:1]}
TOWARDS, ALONG = ALONG_PLOT["panels"]
WIDTHS = (16, 64, 256)


def draw(path: Path, plot: dict[str, Any], rows: list[Any]) -> Figure:
    return scaling.draw(FigureFolder.open(write_folder(path / "f", "scaling", plot, rows)))


def test_means_bars_and_what_is_expected(scaling_folder: FigureFolder) -> None:
    figure = scaling.draw(scaling_folder)
    width, depth, control = figure.axes
    assert [ax.get_xscale() for ax in figure.axes] == ["log"] * 3
    assert [ax.get_yscale() for ax in figure.axes] == ["log"] * 3
    assert (width.get_xlabel(), depth.get_xlabel()) == ("width $N$", "depth $L$")
    assert width.get_ylabel() == "$s - 1$"
    assert [tick.get_text() for tick in width.get_xticklabels()] == ["16", "64", "256"]
    shallow, deep = lines(width, "excess")
    assert shallow.get_xdata().tolist() == list(WIDTHS)
    assert shallow.get_ydata() == pytest.approx(1.1 * 2 / np.array(WIDTHS))
    assert shallow.get_linestyle() == "None"
    (bar, *_) = width.collections[0].get_segments()
    assert bar[:, 1] == pytest.approx([2 / 16, 1.2 * 2 / 16])
    expected = lines(width, "expected")[1]
    assert expected.get_ydata() == pytest.approx(8 / np.array(WIDTHS))
    assert expected.get_color() == deep.get_color()
    assert (expected.get_linestyle(), expected.get_marker()) == ("--", "none")
    assert lines(control, "excess")[0].get_ydata()[0] == pytest.approx(1.1 * 2 / 4)


def test_one_legend_has_the_sizes_of_both_columns(scaling_folder: FigureFolder) -> None:
    figure = scaling.draw(scaling_folder)
    handles = legend(figure)
    assert list(handles) == [
        "$L$ = 2",
        "$L$ = 8",
        "$N$ = 16",
        "$N$ = 64",
        "$N$ = 256",
        "$L/N$",
        "range over seeds",
        "diverged (at least one seed)",
    ]
    assert handles["$L$ = 2"].get_marker() != handles["$N$ = 16"].get_marker()
    assert handles["$L$ = 8"].get_color() == lines(figure.axes[2], "excess")[1].get_color()


def test_bars_reach_no_further_than_the_seeds(tmp_path: Path) -> None:
    """The standard deviation of 0.1 and 3.9 exceeds their mean, 2."""
    rows = scaling_rows("main", (16, 64), (2,))
    rows[0][1][0], rows[1][1][0] = ("excess", 0, 0.1), ("excess", 0, 3.9)
    figure = draw(tmp_path, FIRST, rows)
    bar = figure.axes[0].collections[0].get_segments()[0]
    assert bar[:, 1] == pytest.approx([0.1, 3.9])


def test_a_range_across_zero_leaves_the_log_axis_alone(tmp_path: Path) -> None:
    rows = scaling_rows("main", (16, 64), (2,))
    rows[0][1][0] = ("excess", 0, -0.01)
    ax = draw(tmp_path, FIRST, rows).axes[0]
    assert 1e-3 < ax.get_ylim()[0] < ax.get_ylim()[1] < 10


def test_sizes_where_a_seed_diverged_are_marked_and_not_averaged(
    scaling_folder: FigureFolder,
) -> None:
    ax = scaling.draw(scaling_folder).axes[0]
    deep = lines(ax, "excess")[1]
    assert deep.get_xdata().tolist() == [64, 256]
    (cross,) = [line for line in lines(ax, "diverged") if len(line.get_xdata())]
    assert cross.get_xdata() == [16]
    assert to_rgba(cross.get_color()) == to_rgba(deep.get_color())


def test_guide_lines_have_their_slope_and_lie_below_the_points(
    scaling_folder: FigureFolder,
) -> None:
    ax = scaling.draw(scaling_folder).axes[0]
    (guide,) = lines(ax, "$1/N$")
    x, y = guide.get_xdata(), guide.get_ydata()
    assert np.log(y[1] / y[0]) / np.log(x[1] / x[0]) == pytest.approx(-1)
    shallow = lines(ax, "excess")[0]
    assert (np.interp(shallow.get_xdata(), x, y)[[0, -1]] < shallow.get_ydata()[[0, -1]]).all()
    assert "$1/N$" in [text.get_text() for text in ax.texts]


def test_guides_are_named_where_they_do_not_meet(tmp_path: Path) -> None:
    slopes = [{"exponent": power, "label": f"$N^{power}$"} for power in (1, 2)]
    panel = SCALING_PLOT["panels"][0] | {"slopes": slopes}
    figure = draw(tmp_path, {"panels": [panel]}, scaling_rows("main", WIDTHS, (2,), exponent=1.5))
    ax = figure.axes[0]
    guides = [lines(ax, slope["label"])[0] for slope in slopes]
    for guide, label in zip(guides, ax.texts, strict=True):
        assert label.get_text() == guide.get_label()
        assert label.xy == (guide.get_xdata()[-1], guide.get_ydata()[-1])
    figure.canvas.draw()
    one, other = (label.get_window_extent() for label in ax.texts)
    assert not one.overlaps(other)


def test_a_steep_guide_stays_close_to_the_points(tmp_path: Path) -> None:
    panel = SCALING_PLOT["panels"][0] | {"slopes": [{"exponent": 3, "label": "$N^3$"}]}
    figure = draw(tmp_path, {"panels": [panel]}, scaling_rows("main", WIDTHS, (2,), seeds=1))
    (guide,) = lines(figure.axes[0], "$N^3$")
    x, y = guide.get_xdata(), guide.get_ydata()
    assert np.log(y[1] / y[0]) / np.log(x[1] / x[0]) == pytest.approx(3)
    assert y.min() == pytest.approx(0.5 * 2 / 256)
    assert x.max() == 256


def test_a_semi_logarithmic_plot_of_solid_lines(tmp_path: Path) -> None:
    panel = SCALING_PLOT["panels"][0] | {"scale": "linear", "slopes": []}
    line = {"grid": "main", "quantity": panel["lines"][0]["quantity"]}
    rows = scaling_rows("main", (16, 64), (2, 8), seeds=1)
    figure = draw(tmp_path, {"panels": [panel | {"lines": [line]}]}, rows)
    (ax,) = figure.axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert {drawn.get_linestyle() for drawn in lines(ax, "excess")} == {"-"}
    assert "range over seeds" not in legend(figure)


def test_values_without_a_logarithm_have_no_point(tmp_path: Path) -> None:
    rows = scaling_rows("main", (16, 64), (2,), seeds=1)
    rows[1][1][0] = ("excess", 0, 0.0)
    figure = draw(tmp_path, FIRST, rows)
    assert not any(len(line.get_xdata()) for line in lines(figure.axes[0], "excess"))


def test_an_axis_of_the_records_colours_lines_and_a_limit_goes_across(along: Path) -> None:
    figure = scaling.draw(FigureFolder.open(along))
    ax = figure.axes[0]
    networks, limits = lines(ax, "rms")[:3], lines(ax, "rms")[3:]
    for k, (network, limit) in enumerate(zip(networks, limits, strict=True)):
        assert network.get_xdata().tolist() == list(WIDTHS)
        assert network.get_ydata() == pytest.approx([k + 1] * 3)
        assert limit.get_xdata().tolist() == [16, 256]
        assert list(limit.get_ydata()) == [k + 1, k + 1]
        assert limit.get_linestyle() == "--"
        assert to_rgba(limit.get_color()) == to_rgba(network.get_color())
    assert luminance(networks[0]) < luminance(networks[1]) < luminance(networks[2])
    names = list(legend(figure))
    assert names[:3] == ["input", "$l$ = 1", "output"]
    assert names[5:8] == ["networks", "infinite width", "limit"]


def test_lines_along_the_depth_relative_to_the_first(along: Path) -> None:
    ax = scaling.draw(FigureFolder.open(along)).axes[1]
    assert (ax.get_xscale(), ax.get_xlabel()) == ("linear", "$k/L$")
    *networks, limit = lines(ax, "rms")
    assert len(networks) == 2  # 1024 was not run, 256 is not shown
    for line in (*networks, limit):
        assert line.get_xdata() == pytest.approx([0, 0.25, 0.5])
        assert line.get_ydata() == pytest.approx([1, 2, 3])
    assert to_rgba(limit.get_color()) == (0, 0, 0, 1)
    assert limit.is_dashed()
    bar = ax.collections[0].get_segments()[1]
    assert bar[:, 1] == pytest.approx([2 - 2 / 16, 2 + 2 / 16])


def test_colours_follow_the_order_of_any_numbers() -> None:
    colours = size_colours([0, -1, -0.5])
    assert list(colours) == [-1, -0.5, 0]
    assert len(set(colours.values())) == 3


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    rows = scaling_rows("main", (16, 64), (2, 4))
    for index, (cell, _) in enumerate(rows):
        cell["output_scale"] = 1.0 + index % 2
        cell["seed"] = 0
    with pytest.raises(ScalingLimitsError, match=r"varies not only .*: output_scale"):
        draw(tmp_path / "a", FIRST, rows)
    across = TOWARDS["lines"][1] | {"grid": "networks"}
    panel = TOWARDS | {"lines": [TOWARDS["lines"][0], across]}
    rows = along_rows(WIDTHS)
    with pytest.raises(ScalingLimitsError, match="several values of 'width': it cannot go across"):
        draw(tmp_path / "b", {"panels": [panel]}, rows)
    with pytest.raises(ScalingLimitsError, match=r"varies not only over .*: index, relative_index"):
        draw(tmp_path / "c", {"panels": [TOWARDS | {"hue": "depth"}]}, rows)
    with pytest.raises(ScalingLimitsError, match="unknown column of the cells 'layer'"):
        draw(tmp_path / "d", {"panels": [TOWARDS | {"hue": "layer"}]}, rows)
    with pytest.raises(ScalingLimitsError, match="0 has no place on a log axis"):
        draw(tmp_path / "e", {"panels": [ALONG | {"x_scale": "log"}]}, rows)


def test_the_best_over_a_column(tmp_path: Path) -> None:
    """One colour for each label, and at every width the rate whose mean over seeds is best."""
    rows = []
    for grid, shift in (("first", 0), ("control", 1)):
        for width in (16, 64):
            for rate, value in ((0.1, 3.0 + shift), (0.2, width / 16 + shift), (0.4, np.inf)):
                for seed in (0, 1):
                    cell = {"grid": grid, "width": width, "learning_rate": rate, "seed": seed}
                    rows.append((cell, [("loss", 0, value)]))
    quantity = {"metric": "loss"}
    panel = {
        "title": "best",
        "x": "width",
        "over": ["learning_rate"],
        "label": "loss",
        "lines": [{"grid": g, "quantity": quantity, "label": g} for g in ("first", "control")],
    }
    (ax,) = (figure := draw(tmp_path / "min", {"panels": [panel]}, rows)).axes
    first, second = lines(ax, "loss")
    assert first.get_ydata().tolist() == [1.0, 3.0]
    assert second.get_ydata().tolist() == [2.0, 4.0]
    assert first.get_color() != second.get_color()
    handles = legend(figure)
    assert handles["control"].get_color() == second.get_color()
    (ax,) = draw(tmp_path / "max", {"panels": [panel | {"best": "max"}]}, rows).axes
    assert lines(ax, "loss")[0].get_ydata().tolist() == [3.0, 4.0]


def test_without_hue_every_line_has_a_label() -> None:
    panel = {"title": "a", "x": "width", "label": "y"}
    line = {"grid": "g", "quantity": {"metric": "m"}}
    with pytest.raises(ValueError, match="has a `label` and a colour of its own"):
        ScalingPlot.model_validate({"panels": [panel | {"lines": [line]}]})


@pytest.mark.parametrize(("ring", "octaves"), [("min", [-4, -5]), ("max", [-2, -3])])
def test_rings(tmp_path: Path, ring: str, octaves: list[int]) -> None:
    """Around the best of what is drawn: points that diverged are none."""
    panel = {"title": "", "x": "learning_rate", "hue": "width", "label": "loss", "ring": ring}
    panel["lines"] = [{"grid": "main", "quantity": {"metric": "train_loss"}}]
    figure = draw(tmp_path, {"panels": [panel]}, rate_rows("main", (32, 64), drift=1.0))
    (ax,) = figure.axes
    found = [np.log2(line.get_xdata()[0]) for line in lines(ax, "best")]
    assert found == octaves
    assert "best" in legend(figure)
    crosses = lines(ax, "diverged")
    assert [len(cross.get_xdata()) for cross in crosses] == [2, 3]
    heights = [cross.get_ydata()[0] for cross in crosses]
    # the worse edge, each size at its own height
    assert heights == pytest.approx([0.915, 0.96] if ring == "min" else [0.085, 0.04])


def test_a_quantity_over_the_training_steps(tmp_path: Path) -> None:
    panel = {"title": "", "x": "step", "hue": "width", "label": "s - 1"}
    panel["lines"] = [{"grid": "main", "quantity": {"metric": "train_loss", "per": "step"}}]
    rows = [
        (
            {"grid": "main", "width": width, "depth": 3, "num_hidden_layers": 2, "seed": 0},
            [("train_loss", step, width / step) for step in (1, 2, 5)],
        )
        for width in (8, 32)
    ]
    (ax,) = draw(tmp_path, {"panels": [panel]}, rows).axes
    for line, width in zip(lines(ax, "train_loss"), (8, 32), strict=True):
        assert line.get_xdata().tolist() == [1, 2, 5]
        assert line.get_ydata() == pytest.approx([width, width / 2, width / 5])


def test_steps_are_kept_or_reduced() -> None:
    with pytest.raises(ValueError, match="nothing to reduce"):
        Quantity(metric="train_loss", per="step", window=5)

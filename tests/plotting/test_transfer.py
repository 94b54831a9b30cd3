"""What transfer plots show, read from the artists of the figures."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from figure_reading import legend, lines
from matplotlib.colors import to_rgba
from plotting_records import RATE_PLOT, rate_rows, write_folder

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.plotting.kinds import transfer

FACTORS = (1.0, 2.0**-0.1, 4.0**-0.1)


def test_means_over_seeds_and_the_best_of_each_line(rates: Path) -> None:
    figure = transfer.draw(FigureFolder.open(rates))
    loss, control, accuracy, _ = figure.axes
    drawn = lines(loss, "train_loss")
    octaves = np.arange(-8, -2)
    for line, factor in zip(drawn, FACTORS, strict=True):
        assert np.log2(line.get_xdata())[:6] == pytest.approx(octaves)
        assert line.get_ydata()[:6] == pytest.approx(0.105 * (1 + (octaves + 4) ** 2) * factor)
    for ax, best in ((loss, [-4, -4, -4]), (control, [-4, -5, -6]), (accuracy, [-4, -4, -4])):
        rings = lines(ax, "best")
        assert [np.log2(ring.get_xdata()[0]) for ring in rings] == best
        assert [to_rgba(r.get_markeredgecolor()) for r in rings] == [
            to_rgba(line.get_color()) for line in drawn
        ]
        assert all(r.get_markersize() > line.get_markersize() for r in rings for line in drawn)
    assert lines(loss, "best")[0].get_ydata() == pytest.approx([0.105])
    assert lines(accuracy, "best")[0].get_ydata() == pytest.approx([1 - 0.105 / 2])
    names = list(legend(figure))
    assert names[:4] == ["$N$ = 32", "$N$ = 64", "$N$ = 128", "best"]


def test_rows_share_y_and_columns_are_titled_once(rates: Path) -> None:
    figure = transfer.draw(FigureFolder.open(rates))
    loss, control, accuracy, last = figure.axes
    assert loss.get_ylim() == control.get_ylim()
    assert accuracy.get_ylim() == last.get_ylim()
    assert (loss.get_yscale(), accuracy.get_yscale()) == ("log", "linear")
    assert [ax.get_ylabel() for ax in figure.axes] == ["training loss", "", "test accuracy", ""]
    assert loss.get_title().startswith("A parameterisation")
    assert [ax.get_title() for ax in (accuracy, last)] == ["", ""]
    assert (loss.get_xscale(), accuracy.get_xscale()) == ("log", "log")
    assert accuracy.get_xticklabels()[0].get_text() == "$2^{-8}$"
    (label,) = [text for text in figure.texts if text.get_gid() == "x label"]
    assert label.get_text() == r"weight learning rate $\eta$"


def test_near_divergence_does_not_set_the_axis(rates: Path) -> None:
    """A loss of a million leaves the panel; the medians are of order one."""
    loss = transfer.draw(FigureFolder.open(rates)).axes[0]
    assert max(line.get_ydata().max() for line in lines(loss, "train_loss")) > 1e5
    assert 1 < loss.get_ylim()[1] < 100


def test_divergence_is_marked_at_the_worse_end(rates: Path) -> None:
    figure = transfer.draw(FigureFolder.open(rates))
    loss, control, accuracy, _ = figure.axes
    assert "diverged (at least one seed)" in legend(figure)
    for ax, end in ((loss, 1.0), (accuracy, 0.0)):
        crosses = lines(ax, "diverged")
        assert [np.log2(cross.get_xdata()).tolist() for cross in crosses] == [[-1, 0]] * 3
        heights = [cross.get_ydata()[0] for cross in crosses]
        assert len(set(heights)) == 3
        assert all(abs(height - end) < 0.2 for height in heights)
    assert [len(cross.get_xdata()) for cross in lines(control, "diverged")] == [2, 3, 4]


def test_one_seed_one_panel_and_given_limits(tmp_path: Path) -> None:
    row = RATE_PLOT["rows"][0] | {"limits": [0.01, 10], "best": None}
    plot = {"rows": [row], "panels": RATE_PLOT["panels"][:1]}
    rows = rate_rows("main", (32,), seeds=1)
    for cell, _ in rows:
        cell["learning_rate"] *= 0.001 * 2**5
    figure = transfer.draw(FigureFolder.open(write_folder(tmp_path / "f", "transfer", plot, rows)))
    (ax,) = figure.axes
    assert ax.get_ylim() == (0.01, 10)
    assert not lines(ax, "best")
    assert not ax.collections
    assert list(legend(figure)) == ["$N$ = 32", "diverged (at least one seed)"]
    ticks = [tick.get_text() for tick in ax.get_xticklabels()]
    assert "$10^{-3}$" in ticks or "0.01" in ticks


def test_a_grid_that_varies_over_something_else_is_refused(tmp_path: Path) -> None:
    rows = rate_rows("main", (32, 64))
    folder = write_folder(
        tmp_path / "f", "transfer", RATE_PLOT | {"hue": "depth", "panels": [{"grid": "main"}]}, rows
    )
    with pytest.raises(ScalingLimitsError, match=r"varies not only .*: width"):
        transfer.draw(FigureFolder.open(folder))


def test_panels_in_bands(tmp_path: Path) -> None:
    """With `columns` the next grids stand below, under titles of their own, on the same axis of x."""
    plot = RATE_PLOT | {"columns": 1}
    rows = rate_rows("main", (32, 64)) + rate_rows("control", (32, 64), drift=1.0)
    figure = transfer.draw(FigureFolder.open(write_folder(tmp_path / "f", "transfer", plot, rows)))
    boxes = [ax.get_position() for ax in figure.axes]
    assert [ax.get_title() != "" for ax in figure.axes] == [True, False, True, False]
    assert len({round(box.x0, 6) for box in boxes}) == 1
    assert all(above.y0 > below.y1 for above, below in pairwise(boxes))
    assert [ax.get_ylabel() for ax in figure.axes] == ["training loss", "test accuracy"] * 2
    assert [np.log2(ring.get_xdata()[0]) for ring in lines(figure.axes[2], "best")] == [-4, -5]

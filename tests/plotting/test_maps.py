"""What maps show, read from the artists of the figures."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from plotting_records import (
    BETAS,
    COSINE_PLOT,
    ETAS,
    TRANSFER_PLOT,
    cosine_rows,
    transfer_rows,
    write_folder,
)

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.plotting import text
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.plotting.kinds import maps


def titled(figure: Figure) -> list[Axes]:
    return [ax for ax in figure.axes if ax.get_title()]


def mark(ax: Axes, name: str) -> tuple[float, float]:
    (line,) = [line for line in ax.lines if line.get_label() == name]
    return float(line.get_xdata()[0]), float(line.get_ydata()[0])


def norm(ax: Axes) -> Any:
    (mesh,) = [c for c in ax.collections if isinstance(c, QuadMesh)]
    return mesh.norm


def hatched(ax: Axes) -> list[Rectangle]:
    return [p for p in ax.patches if isinstance(p, Rectangle) and p.get_hatch()]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for box in figure.legends for text in box.get_texts()]


def test_optima_and_the_reference_are_marked_in_each_panel(transfer: Path) -> None:
    figure = maps.draw(FigureFolder.open(transfer))
    small, large, control_small, control_large = titled(figure)
    assert [ax.get_title() for ax in (small, large)] == ["$N$ = 64", "$N$ = 128"]
    best = (BETAS.index(50.0), ETAS.index(0.1))
    for ax in (small, large, control_small):
        assert mark(ax, "optimum") == best
    for ax in titled(figure):
        assert mark(ax, "reference optimum") == best
    assert mark(control_large, "optimum") == (BETAS.index(5.0), ETAS.index(0.1))
    assert small.get_ylabel() == r"weight learning rate $\eta$"
    words = [text.get_text() for text in figure.texts]
    assert {"Width transfer ($H$ = 8)", "Control: wrong exponent"} <= set(words)
    assert r"activity learning rate $\beta$" in words


def test_colours_are_shared_within_a_panel_and_logarithmic(transfer: Path) -> None:
    figure = maps.draw(FigureFolder.open(transfer))
    small, large, control, _ = titled(figure)
    assert norm(small) is norm(large)
    assert norm(small) is not norm(control)
    # Half way in colour between 0.01 and 1 is 0.1 on a logarithmic scale.
    low, high = norm(small).vmin, norm(small).vmax
    assert norm(small)(np.sqrt(low * high)) == pytest.approx(0.5)


def test_every_cell_is_labelled_upright_where_labels_would_touch(
    transfer: Path, cosine: Path
) -> None:
    figure = maps.draw(FigureFolder.open(transfer))
    figure.canvas.draw()
    ticks = titled(figure)[0].get_xticklabels()
    assert [tick.get_text() for tick in ticks] == [text.short(beta) for beta in BETAS]
    assert {tick.get_rotation() for tick in ticks} == {90}
    boxes = [tick.get_window_extent() for tick in ticks]
    assert not any(left.overlaps(right) for left, right in pairwise(boxes))
    ticks = titled(maps.draw(FigureFolder.open(cosine)))[0].get_xticklabels()
    assert {tick.get_rotation() for tick in ticks} == {0}


def test_nearly_diverged_cells_do_not_take_the_colours(tmp_path: Path) -> None:
    rows = transfer_rows("width", [(64, 8)]) + transfer_rows("control", [(64, 8)])
    rows[0][1][:] = [("train_loss", 0, 1e12)]
    folder = write_folder(tmp_path / "f", "maps", TRANSFER_PLOT, rows)
    figure = maps.draw(FigureFolder.open(folder))
    assert norm(titled(figure)[0]).vmax < 10


def test_cells_where_a_seed_diverged_are_hatched_and_explained(transfer: Path) -> None:
    figure = maps.draw(FigureFolder.open(transfer))
    for ax in titled(figure):
        places = [(BETAS.index(beta) - 0.5, ETAS.index(0.5) - 0.5) for beta in (500.0, 1000.0)]
        assert [tuple(patch.get_xy()) for patch in hatched(ax)] == places
    assert "diverged (at least one seed)" in legend(figure)


def test_a_named_reference(transfer: Path) -> None:
    description = json.loads((transfer / "figure.json").read_text())
    description["plot"]["panels"][1]["reference"] = 128
    (transfer / "figure.json").write_text(json.dumps(description))
    figure = maps.draw(FigureFolder.open(transfer))
    assert mark(titled(figure)[2], "reference optimum") == (BETAS.index(5.0), ETAS.index(0.1))
    assert "optimum at $N$ = 64; $N$ = 128" in legend(figure)

    description["plot"]["panels"][1]["reference"] = 100
    (transfer / "figure.json").write_text(json.dumps(description))
    with pytest.raises(ScalingLimitsError, match=r"unknown reference '100\.0'"):
        maps.draw(FigureFolder.open(transfer))


def test_a_grid_that_varies_over_something_else_is_refused(tmp_path: Path) -> None:
    rows = transfer_rows("width", [(64, 8), (64, 16)]) + transfer_rows("control", [(64, 8)])
    folder = write_folder(tmp_path / "f", "maps", TRANSFER_PLOT, rows)
    with pytest.raises(ScalingLimitsError, match=r"varies not only .*: depth, num_hidden_layers"):
        maps.draw(FigureFolder.open(folder))


def test_there_is_a_map_for_each_step(cosine: Path) -> None:
    figure = maps.draw(FigureFolder.open(cosine))
    main_0, main_10, control_0, _ = titled(figure)
    assert [main_0.get_title(), main_10.get_title()] == ["$t$ = 0", "$t$ = 10"]
    assert [tick.get_text() for tick in main_0.get_xticklabels()] == ["4", "16", "64"]
    assert [tick.get_text() for tick in main_0.get_yticklabels()] == ["2", "4"]
    assert main_0.get_ylabel() == "depth $L$"
    assert "width $N$" in [text.get_text() for text in figure.texts]
    assert (norm(main_0).vmin, norm(main_0).vmax) == (0, 1)
    # 1/(1 + (2/4)^1.3) = 0.7112 and 0.3 of it, less 0.0005: depth 2, width 4, mean of two seeds.
    assert next(text for text in main_0.texts if text.get_position() == (0, 0)).get_text() == ".711"
    assert next(t for t in control_0.texts if t.get_position() == (0, 0)).get_text() == ".213"
    assert legend(figure) == ["$N = L$", r"$N = 16\,L$"]


def test_ratio_lines_pass_through_their_cells(cosine: Path) -> None:
    ax = titled(maps.draw(FigureFolder.open(cosine)))[0]
    line = next(line for line in ax.lines if line.get_linestyle() == ":")
    # N = 16 L at L = 4 is N = 64: the third column of the second row.
    assert np.interp(1.0, line.get_ydata(), line.get_xdata()) == pytest.approx(2.0)


def test_all_recorded_steps_are_shown_if_none_are_named(tmp_path: Path) -> None:
    plot = COSINE_PLOT | {"panels": [{"grid": "main", "along": "step"}]}
    rows = cosine_rows("main", (4, 8), (2, 3), (0, 5, 10, 20, 40))
    folder = write_folder(tmp_path / "f", "maps", plot, rows)
    figure = maps.draw(FigureFolder.open(folder))
    assert [ax.get_title() for ax in titled(figure)] == [f"$t$ = {t}" for t in (0, 5, 10, 20, 40)]


def test_a_panel_none_of_whose_values_is_there_is_refused(tmp_path: Path) -> None:
    plot = COSINE_PLOT | {"panels": [{"grid": "main", "along": "step", "values": [7]}]}
    rows = cosine_rows("main", (4, 8), (2, 3), (0, 5))
    folder = write_folder(tmp_path / "f", "maps", plot, rows)
    with pytest.raises(ScalingLimitsError, match="none of the values of 'step' to be shown: 7"):
        maps.draw(FigureFolder.open(folder))


def test_what_is_best_may_be_the_largest(transfer: Path) -> None:
    description = json.loads((transfer / "figure.json").read_text())
    description["plot"]["best"] = "max"
    (transfer / "figure.json").write_text(json.dumps(description))
    figure = maps.draw(FigureFolder.open(transfer))
    # the farthest corner of the bowl that has not diverged
    assert mark(titled(figure)[0], "optimum") == (BETAS.index(0.01), ETAS.index(0.01))

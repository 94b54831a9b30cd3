"""What maps show, read from their artists."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.text import Text
from plotting_records import (
    TRAIN,
    Drawn,
    Located,
    Rows,
    blocks,
    cells,
    drawn,
    judged,
    write_folder,
)

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.plots.maps import drawing
from scaling_limits.plotting import page, text

PLOT: dict[str, Any] = {
    "kind": "maps",
    "quantity": {"metric": "gradient_cosine", "per": "step"},
    "x": "width",
    "y": "depth",
    "scale": "linear",
    "best": None,
    "limits": [0, 1],
    "panels": [{"grid": "main", "along": "step", "values": [0, 10]}],
    "ratio_lines": [1, 16],
}


def mark(ax: Axes, shape: str) -> tuple[float, float]:
    """Where the optimum (*) or that of the reference (o) stands."""
    (line,) = [line for line in ax.lines if line.get_marker() == shape]
    return float(line.get_xdata()[0]), float(line.get_ydata()[0])


def mesh(ax: Axes) -> QuadMesh:
    (found,) = [c for c in ax.collections if isinstance(c, QuadMesh)]
    return found


def names(labels: Iterable[Text]) -> list[str]:
    return [label.get_text() for label in labels]


def hatched(ax: Axes) -> Any:
    """The cells that are hatched, [y, x]."""
    return [c for c in ax.collections if c.get_hatch()]


@pytest.fixture(scope="module")
def cosines(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """Values over sizes at two steps; one pair of sizes is not there."""

    def value(width: int, depth: int) -> dict[str, Any]:
        return {"gradient_cosine": dict.fromkeys((0, 5, 10), 0.9 / (1 + depth / width))}

    rows = cells("main", value, width=(4, 16, 64), depth=(2, 4))[:-1]
    return drawn(write_folder(tmp_path_factory.mktemp("maps") / "f", PLOT, rows))


def test_cells_are_of_equal_size_whatever_their_values(tmp_path: Path) -> None:
    """Cell k of an axis reaches from k to k + 1 and has the k-th value as its tick."""

    def value(seed: int, input_damping_exponent: float, output_damping_exponent: float) -> Any:
        apart = (input_damping_exponent + 1) ** 2 + (output_damping_exponent - 1) ** 2
        return {"train_loss": 1 + apart}

    axes = {"input_damping_exponent": (-2.0, -1.0, 0.0), "output_damping_exponent": (0.5, 1.0, 2.0)}
    plot = {"kind": "maps", "quantity": TRAIN, "panels": [{"grid": "main", "along": "seed"}]}
    plot |= dict(zip("xy", axes, strict=True))
    (ax,) = drawn(write_folder(tmp_path / "f", plot, cells("main", value, seed=(0,), **axes))).axes
    assert mark(ax, "*") == (1.5, 1.5)
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "linear")
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 3), (0, 3))
    corners = mesh(ax).get_coordinates()
    for axis in (0, 1):
        assert np.unique(np.diff(corners, axis=axis)[..., 1 - axis]).tolist() == [1.0]
    assert ax.get_xticks().tolist() == ax.get_yticks().tolist() == [0.5, 1.5, 2.5]
    assert names(ax.get_xticklabels()) == ["\N{MINUS SIGN}2", "\N{MINUS SIGN}1", "0"]
    assert names(ax.get_yticklabels()) == ["0.5", "1", "2"]


def test_a_level_set_is_drawn_where_the_claim_fits_it(tmp_path: Path) -> None:
    """A quantity of depth^p learning_rate: the line has the slope -1/p, and ends where the grid does."""

    def value(width: int, depth: int, learning_rate: float) -> dict[str, Any]:
        power = 1.0 if width == 8 else 0.5
        return {"train_loss": (4 * depth**power * learning_rate) ** -0.3 * (width < 32) + 0.1}

    axes = {"width": (8, 16, 32), "depth": (1, 2, 4), "learning_rate": (2.0**-4, 0.125, 0.25, 0.5)}
    panels = [{"grid": "main", "along": "width"}]
    plot = {"kind": "maps", "quantity": TRAIN, "x": "learning_rate", "y": "depth", "panels": panels}
    found = drawn(
        write_folder(tmp_path / "f", plot | {"level_set": 1.1}, cells("main", value, **axes))
    )
    lines = [[line for line in ax.lines if len(line.get_xdata()) > 2] for ax in found.axes]
    for (line,), power in zip(lines[:2], (1.0, 0.5), strict=True):
        x, y = (np.asarray(data, float) for data in line.get_data())
        # the middle of cell k is 2^k times the smallest value
        rates, depths = 2.0 ** (x - 0.5 - 4), 2.0 ** (y - 0.5)
        assert 4 * depths**power * rates == pytest.approx(np.ones(len(x)), rel=0.02)
        assert (y[-1] - y[0]) / (x[-1] - x[0]) == pytest.approx(-1 / power, rel=0.02)
    assert [text.get_text()[:2] for text in found.axes[0].texts] == ["−1"]
    assert [text.get_text() for text in found.axes[1].texts] == ["−2.00"]
    # all values lie below the level
    assert (lines[2], list(found.axes[2].texts)) == ([], [])
    assert "level set: training loss = 1.1, with fitted slope" in found.legend


def test_optima_and_those_of_the_reference(bowls: Drawn) -> None:
    small, large, control_small, control_large = bowls.axes
    assert [mark(ax, "*") for ax in (small, large, control_small)] == [(1.5, 0.5)] * 3
    assert mark(control_large, "*") == (0.5, 0.5)
    # the first is the reference unless another one is named
    assert [mark(ax, "o") for ax in (small, large)] == [(1.5, 0.5)] * 2
    assert [mark(ax, "o") for ax in (control_small, control_large)] == [(0.5, 0.5)] * 2
    assert list(bowls.legend)[:2] == ["optimum", "optimum at $N$ = 16; $N$ = 8"]


def test_a_reference_that_is_not_there_is_refused(bowls: Drawn, tmp_path: Path) -> None:
    rows = cells("main", lambda **_: {"train_loss": 1.0}, depth=(2, 4), learning_rate=(0.1, 0.2))
    panel = {"grid": "main", "along": "width", "reference": 100}
    plot = {"kind": "maps", "quantity": TRAIN, "x": "depth", "y": "learning_rate"}
    with pytest.raises(ScalingLimitsError, match=r"unknown reference '100\.0'"):
        drawn(write_folder(tmp_path / "f", plot | {"panels": [panel]}, rows))


def test_all_maps_have_the_same_colours(bowls: Drawn, cosines: Drawn) -> None:
    norms = [mesh(ax).norm for ax in bowls.axes]
    assert len({(norm.vmin, norm.vmax) for norm in norms}) == 1
    # of the means over seeds: twice the median is less than the worst
    assert (norms[0].vmin, norms[0].vmax) == pytest.approx((1.005, 6.03))
    assert norms[0](np.sqrt(norms[0].vmin * norms[0].vmax)) == pytest.approx(0.5)
    assert (mesh(cosines.axes[0]).norm.vmin, mesh(cosines.axes[0]).norm.vmax) == (0, 1)
    assert mesh(cosines.axes[0]).norm(0.25) == 0.25


def test_nearly_diverged_cells_do_not_take_the_colours(bowls: Drawn) -> None:
    table = bowls.page.table.copy()
    table.loc[table.index[0], "value"] = 1e12
    page = type(bowls.page)(bowls.page.figure, table)
    kept = table[~table["diverged"]]
    means = kept.groupby(["panel", "width", page.plot.y, page.plot.x])["value"].mean()
    assert (page.norm.vmin, page.norm.vmax) == pytest.approx((means.min(), 2 * means.median()))
    best = dataclasses.replace(page.figure, plot=page.plot.model_copy(update={"best": None}))
    # the other seed's value is below 10
    assert type(page)(best, table).norm.vmax == pytest.approx(1e12 / 2)


def test_ends_of_a_bar_that_cells_exceed_are_marked(bowls: Drawn) -> None:
    values = bowls.page._shown
    for limits, marked in (
        (None, [False, False]),
        ((1.01 * values.min(), values.max()), [True, False]),
        ((values.min(), 0.99 * values.max()), [False, True]),
    ):
        plot = bowls.page.plot.model_copy(update={"limits": limits, "best": None})
        figure = dataclasses.replace(bowls.page.figure, plot=plot)
        page = type(bowls.page)(figure, bowls.page.table)
        page.complete()
        labels = [label.get_text() for label in page.beyond[0].get_yticklabels()]
        assert [labels[0][0] == "≤", labels[-1][0] == "≥"] == marked


def test_cells_where_a_seed_diverged_are_hatched_and_explained(bowls: Drawn) -> None:
    assert "diverged (any seed)" in bowls.legend
    for ax in bowls.axes:
        (lost,) = hatched(ax)
        boxes = [path.get_extents() for path in lost.get_paths()]
        assert [(box.x0, box.y0) for box in boxes] == [(2, 2)]
        assert np.ma.getmaskarray(mesh(ax).get_array()).reshape(3, 3).tolist() == [
            [False] * 3,
            [False] * 3,
            [False, False, True],
        ]


def test_a_map_of_a_grid_in_which_everything_diverged(tmp_path: Path) -> None:
    rows = cells("main", lambda **_: {"train_loss": np.nan}, depth=(2, 4), learning_rate=(0.1, 0.2))
    plot = {"kind": "maps", "quantity": TRAIN, "x": "depth", "y": "learning_rate"}
    panels = {"panels": [{"grid": "main", "along": "width"}]}
    found = drawn(write_folder(tmp_path / "f", plot | panels, rows))
    (ax,) = found.axes
    assert not ax.lines
    assert len(hatched(ax)) == 1


def test_where_all_are_equal_none_is_best(tmp_path: Path) -> None:
    rows = cells("main", lambda **_: {"train_loss": 0.5}, depth=(2, 4), learning_rate=(0.1, 0.2))
    plot = {"kind": "maps", "quantity": TRAIN, "x": "depth", "y": "learning_rate"}
    panels = {"panels": [{"grid": "main", "along": "width"}]}
    found = drawn(write_folder(tmp_path / "f", plot | panels, rows))
    assert not found.axes[0].lines
    assert set(found.legend) == {"optimum"}


def test_there_is_a_map_for_each_step_with_its_values(cosines: Drawn) -> None:
    first, last = cosines.axes
    assert [ax.get_title() for ax in (first, last)] == ["$t$ = 0", "$t$ = 10"]
    assert (first.get_xlabel(), first.get_ylabel()) == ("width $N$", "depth $L$")
    assert [tick.get_text() for tick in first.get_xticklabels()] == ["4", "16", "64"]
    assert [tick.get_text() for tick in first.get_yticklabels()] == ["2", "4"]
    written = {text.get_position(): text.get_text() for text in first.texts}
    assert written[0.5, 0.5] == ".60"
    assert written[1.5, 1.5] == ".72"
    assert len(written) == 5
    # the pair of sizes that is not there is neither written nor hatched
    assert (2.5, 1.5) not in written
    assert not hatched(first)
    assert np.ma.getmaskarray(mesh(first).get_array()).sum() == 1


def test_numbers_on_maps_are_short_and_have_a_minus_sign() -> None:
    numbers = (0.97, 3e-4, 0.0099, 1, 2.54, 25, 640, 3e4, -0.009, -0.5)
    assert [drawing._compact(each) for each in numbers] == [
        *(".97", "3e−4", ".01", "1", "2.5", "25", "640", "3e4", "−9e−3", "−.50")
    ]


@pytest.mark.parametrize(
    ("centre", "shown", "name"), [("mean", ".25", "mean"), ("min", "−.50", "minimum")]
)
def test_maps_show_the_mean_or_the_minimum_over_seeds(
    tmp_path: Path, centre: str, shown: str, name: str
) -> None:
    def value(seed: int, **_: int) -> dict[str, Any]:
        return {"gradient_cosine": {0: 1.0 if seed else -0.5, 10: 0.5}}

    rows = cells("main", value, width=(4, 16), depth=(2, 4), seed=(0, 1))
    found = drawn(write_folder(tmp_path / "f", PLOT | {"centre": centre}, rows))
    assert {each.get_text() for each in found.axes[0].texts} == {shown}
    assert found.page.plot.centres == {name}


def test_a_ratio_line_separates_the_cells_whose_x_is_at_least_k_times_y(tmp_path: Path) -> None:
    widths, depths, ratios = (2, 4, 6, 16, 64), (2, 3, 8, 16), (1, 2, 0.1)
    rows = cells("main", lambda **_: {"gradient_cosine": 0.5}, width=widths, depth=depths)
    plot = PLOT | {"quantity": {"metric": "gradient_cosine"}, "ratio_lines": list(ratios)}
    panels = {"panels": [{"grid": "main", "along": "dataset"}]}
    found = drawn(write_folder(tmp_path / "f", plot | panels, rows))
    assert list(found.legend) == ["$N = L$", r"$N = 2\,L$", r"$N = 0.1\,L$"]
    for (name, entry), ratio in zip(found.legend.items(), ratios, strict=True):
        (line,) = (
            line
            for line in found.axes[0].lines
            if line.get_linestyle() == entry.get_linestyle() and line.get_color() == "black"
        )
        xs, ys = (np.asarray(data, float) for data in line.get_data())
        # no dashes along the border
        for left, right, low, high in zip(xs, xs[1:], ys, ys[1:], strict=False):
            assert not (low != high and left == right and left in (0, len(widths))), name
        xs, ys = xs[np.isfinite(xs)], ys[np.isfinite(xs)]
        # along edges only, from the bottom to the top
        assert np.array_equal(xs, xs.round()), name
        assert np.array_equal(ys, ys.round()), name
        assert ((np.diff(xs) == 0) | (np.diff(ys) == 0)).all()
        assert (ys[0], ys[-1]) == (0, len(depths))
        for row, depth in enumerate(depths):
            (edge,) = {x for x, y in zip(xs, ys, strict=True) if y == row} & {
                x for x, y in zip(xs, ys, strict=True) if y == row + 1
            }
            right = [width for place, width in enumerate(widths) if place >= edge]
            assert right == [width for width in widths if width >= ratio * depth], (name, depth)


def test_each_row_has_a_colour_bar_with_ticks_at_both_ends(bowls: Drawn, cosines: Drawn) -> None:
    for found, rows, label in ((bowls, 2, "training loss"), (cosines, 1, "cosine")):
        bars = [ax for ax in found.figure.axes if ax not in found.axes]
        assert len(bars) == rows
        assert all(label in bar.get_ylabel() for bar in bars)
        for bar, first in zip(bars, found.axes[:: len(found.axes) // rows], strict=True):
            assert bar.get_yticks()[[0, -1]] == pytest.approx(bar.get_ylim())
            assert all(names(bar.get_yticklabels()))
            # it is as high as its row of maps
            ends = [box.get_window_extent().intervaly for box in (bar, first)]
            assert ends[0] == pytest.approx(ends[1], abs=0.1 * np.ptp(ends[1]))


# the optima against the size, and controls

ETA, BETA = "learning_rate", "activity_learning_rate"
MAIN: Located = [[8, 0.5, 0.25, 1], [16, 0.5, 0.25, 1]]
MOVED: Located = [[8, 0.5, 0.25, 1], [16, 0.125, None, 0.25]]


def transfer(path: Path, *claims: dict[str, Any], **panel: Any) -> Drawn:
    """Maps of a grid and of its control over both rates, for two widths."""

    def value(learning_rate: float, activity_learning_rate: float, **_: Any) -> dict[str, float]:
        return {"train_loss": 1 + np.log2(2 * learning_rate * activity_learning_rate) ** 2}

    rates = (0.25, 0.5, 1.0)
    over = {"width": (8, 16), ETA: rates, BETA: rates}
    rows = cells("main", value, **over) + cells("control", value, **over, depth=(9,))
    panels = [{"grid": "main", "along": "width"}, {"grid": "control", "along": "width", **panel}]
    plot = {"kind": "maps", "quantity": TRAIN, "x": BETA, "y": ETA, "panels": panels}
    return drawn(write_folder(path / "f", plot, rows, judged=list(claims)))


def claim_on(over: str, profile: str, **said: Any) -> dict[str, Any]:
    located = {"main": MAIN, "control": MOVED}
    claim = judged(TRAIN, "main", "control", optima=located, over=over, profile=[profile])
    return claim | said


def tracks(ax: Axes) -> list[list[float]]:
    return [line.get_ydata().tolist() for line in ax.lines if line.get_marker() in ("o", "s")]


def test_judged_optima_of_both_rates_are_below_the_maps_against_the_size(tmp_path: Path) -> None:
    found = transfer(tmp_path, claim_on(BETA, ETA), claim_on(ETA, BETA))
    weights, activities = found.page.lowest
    for ax, symbol in ((weights, "eta"), (activities, "beta")):
        # the control's optima as well
        assert tracks(ax) == [[0.5, 0.5], [0.5, 0.125]]
        assert ax.get_ylabel() == f"optimal\n$\\{symbol}$"
        assert ax.get_xlabel() == "width $N$"
        below = ax.get_window_extent().y1
        assert all(below < shown.get_window_extent().y0 for shown in found.axes)
    names_ = ["judged", "control", "power of the width", "interval open: end of the grid"]
    title = "interpolated optimum (95 % CI)"
    assert [f"{title} = {name}" for name in names_] == list(blocks(found.figure)[-1])


@pytest.mark.parametrize(
    "claim",
    [
        claim_on(ETA, "depth"),
        claim_on("depth", BETA),
        claim_on(ETA, BETA, along="depth"),
        claim_on(ETA, BETA, quantity={"metric": "test_accuracy"}),
    ],
)
def test_claims_on_other_optima_have_no_panel(tmp_path: Path, claim: dict[str, Any]) -> None:
    assert transfer(tmp_path, claim).page.lowest == []


def test_one_judged_rate_has_one_panel(tmp_path: Path) -> None:
    (ax,) = transfer(tmp_path, claim_on(BETA, ETA)).page.lowest
    assert ax.get_ylabel() == "optimal\n$\\beta$"


def test_the_row_of_a_control_is_lower_with_a_grey_title(tmp_path: Path) -> None:
    found = transfer(tmp_path, title="control: wrong rates", control=True)
    first, last = found.axes[0], found.axes[2]
    heights = [ax.get_window_extent().height for ax in (first, last)]
    assert heights[1] < 0.8 * heights[0]
    title = last._left_title  # type: ignore[attr-defined]
    assert (title.get_text(), title.get_color()) == ("control: wrong rates\n", "0.45")


def test_neighbouring_controls_share_a_row_with_a_colour_bar_next_to_its_last_map(
    tmp_path: Path,
) -> None:
    rows = cells("main", lambda **_: {"train_loss": 1.0}, width=(8, 16, 32, 64), depth=(2, 4))
    for name in ("first", "second", "third"):
        rows += cells(name, lambda **_: {"train_loss": 1.0}, width=(8, 16), depth=(2, 4, 6))
    panels = [
        {"grid": name, "along": "width", "title": name, "control": name != "main"}
        for name in ("main", "first", "second", "third")
    ]
    plot = {"kind": "maps", "quantity": TRAIN, "x": "depth", "y": "seed", "panels": panels}
    found = drawn(write_folder(tmp_path / "f", plot, rows))
    assert found.page.lengths == [4, 4, 2]
    titles = [
        [ax._left_title.get_text().strip() for ax in row if ax.figure is not None]
        for row in found.page.axes
    ]
    expected = [["main", "", "", ""], ["first", "", "second", ""], ["third", ""]]
    assert titles == expected
    found.figure.draw_without_rendering()
    last = found.page.axes[2, 1]
    (bar,) = last.child_axes
    assert 0 < bar.get_window_extent().x0 - last.get_window_extent().x1 < 40


def test_x_is_named_below_the_last_map_of_each_column(tmp_path: Path) -> None:
    rows = cells("main", lambda **_: {"train_loss": 1.0}, width=(8, 16), depth=(2, 4))
    rows += cells("other", lambda **_: {"train_loss": 1.0}, width=(8,), depth=(2, 4))
    panels = [{"grid": grid, "along": "width"} for grid in ("main", "other")]
    plot = {"kind": "maps", "quantity": TRAIN, "x": "depth", "y": "seed", "panels": panels}
    found = drawn(write_folder(tmp_path / "f", plot, rows))
    shown = [ax.get_xlabel() for ax in found.axes if ax.figure is not None]
    assert shown == ["", "depth $L$", "depth $L$"]


@pytest.mark.parametrize(
    ("scale", "ends", "ticks"),
    [
        ("linear", (0.0, 1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ("log", (1.0, 100.0), None),
        ("log", (0.0137, 0.0149), None),
        ("linear", (-0.52, 0.031), None),
    ],
)
def test_ticks_of_a_colour_bar_keep_away_from_its_ends(
    scale: str, ends: tuple[float, float], ticks: list[str] | None
) -> None:
    ax = Figure().subplots()
    ax.set(yscale=scale, ylim=ends)
    page.bar_ticks(ax.yaxis, scale, *ends)
    at = ax.yaxis.get_transform().transform(ax.get_yticks())
    assert ax.get_yticks()[[0, -1]].tolist() == list(ends)
    assert np.diff(at).min() > 0.1 * np.ptp(at)
    shown = names(ax.get_yticklabels())
    assert shown == ticks or ticks is None
    # two digits, or as many as tell an end from the next tick
    two = text.short(float(f"{ends[0]:.2g}"))
    assert shown[0] == (two if ends != (0.0137, 0.0149) else "0.0137")
    assert len(set(shown)) == len(shown)


@pytest.mark.parametrize(
    ("values", "names_"),
    [
        ([2.0**-10, 2.0**-9, 2.0**-8], ["$2^{-10}$", "$2^{-9}$", "$2^{-8}$"]),
        ([0.001, 0.01, 0.1], ["0.001", "0.01", "0.1"]),
        ([0.5, 1.0, 2.0], ["0.5", "1", "2"]),
        ([0.0, 1.0], ["0", "1"]),
        ([float(k) for k in range(1, 16)], ["1", "4", "7", "10", "13"]),
    ],
)
def test_cells_of_a_map_have_the_names_of_their_values(
    values: list[float], names_: list[str]
) -> None:
    ax = Figure().subplots()
    ax.set_xlim(0, len(values))
    page.cell_ticks(ax.xaxis, np.array(values))
    assert names(ax.get_xticklabels()) == names_


def test_rows_and_columns_are_titled(bowls: Drawn) -> None:
    assert [ax.get_title(loc="left") for ax in bowls.axes][::2] == ["Transfer\n", ""]
    assert [ax.get_title() for ax in bowls.axes] == ["$N$ = 8", "$N$ = 16"] * 2
    assert [ax.get_ylabel() != "" for ax in bowls.axes] == [True, False, True, False]
    assert [ax.get_xlabel() != "" for ax in bowls.axes] == [False, False, True, True]


def test_two_panels_of_one_title_are_two(tmp_path: Path) -> None:
    def rows(grid: str, width: int) -> Rows:
        over = {"width": (width,), "depth": (2, 4), "learning_rate": (0.1, 0.2)}
        return cells(grid, lambda width, **_: {"train_loss": width}, **over)

    panels = [{"grid": grid, "along": "seed", "title": "One"} for grid in ("a", "b")]
    plot = {"kind": "maps", "quantity": TRAIN, "x": "depth", "y": "learning_rate"}
    folder = write_folder(tmp_path / "f", plot | {"panels": panels}, rows("a", 8) + rows("b", 16))
    assert [mesh(ax).get_array().mean() for ax in drawn(folder).axes] == [8, 16]

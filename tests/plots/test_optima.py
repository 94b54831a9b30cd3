"""Panels over a hyperparameter: strips below the axes, the row of optima against the size, and headers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.markers import CARETDOWN, CARETUP
from plotting_records import (
    ACCURACY,
    TRAIN,
    Drawn,
    Located,
    Rows,
    blocks,
    cells,
    drawn,
    judged,
    lines,
    rate_panel,
    rate_rows,
    write_folder,
)

from scaling_limits.plots import optima
from scaling_limits.plots.lines import Panel, marks, tracks
from scaling_limits.plots.lines.headers import headers_of, wrapped

BAR, STABLE = "within 10 % of the lowest", "edge of stability"
LOST = "diverged (any seed)"
STAYS: Located = [[8, 2**-4, 2**-5, 2**-3], [32, 2**-4, 2**-4.5, 2**-3.5]]
MOVES: Located = [[8, 2**-4, 2**-5, 2**-3], [32, 2**-6, None, 2**-5]]
SP = rate_rows("control", drift=1.0)


def of_panels(path: Path, rows: Rows, *panels: dict[str, Any], **figure: Any) -> Drawn:
    plot = {"kind": "lines", "panels": list(panels), "wrap": figure.pop("wrap", 3)}
    return drawn(write_folder(path / "f", plot, rows, **figure))


@pytest.mark.parametrize(("over", "is_judged"), [(["depth"], True), ([], False)])
def test_optima_that_are_best_over_a_column_are_judged_where_lines_are(
    over: list[str], is_judged: bool
) -> None:
    panel = Panel.model_validate(rate_panel("main", over=over))
    claim = {"quantity": TRAIN, "over": "learning_rate", "along": "width", "profile": ["depth"]}
    claim |= {"arms": [{"grids": ["main"], "optima": STAYS}]}
    found = tracks.judging([claim], panel, panel.lines[0])
    assert found == (claim if is_judged else None)


def strip(ax: Axes) -> Axes:
    (below,) = ax.child_axes
    return below


def octaves(ax: Axes, name: str) -> list[tuple[int, list[int]]]:
    """The rows and places of the marks of a name."""
    found = []
    for line in lines(ax, name):
        (row,) = set(np.asarray(line.get_ydata(), float))
        found.append((int(row), np.log2(line.get_xdata()).tolist()))
    return found


def dots(ax: Axes) -> list[tuple[int, float]]:
    """The rows and places of the optima of a strip."""
    marked = [line for line in ax.lines if line.get_marker() == "o"]
    return [(int(line.get_ydata()[0]), float(np.log2(line.get_xdata()[0]))) for line in marked]


def edges(path: Path, *lost: int) -> Axes:
    """The strip of one line over 2^0 to 2^5, of which some powers diverged for one of two seeds."""

    def value(learning_rate: float, seed: int, **_: Any) -> dict[str, float]:
        bowl = 1 + np.log2(learning_rate / 4) ** 2
        return {"train_loss": np.nan if seed and np.log2(learning_rate) in lost else bowl}

    rates = tuple(2.0**k for k in range(6))
    rows = cells("main", value, width=(8,), learning_rate=rates, seed=(0, 1))
    return strip(of_panels(path, rows, rate_panel("main")).axes[0])


def test_a_strip_has_a_row_for_each_line_with_the_first_one_on_top(rates: Drawn) -> None:
    loss, control, accuracy, last = map(strip, rates.axes)
    # a bowl of 5 % an octave: one on each side
    assert octaves(loss, BAR) == [(0, [-5, -3]), (1, [-5, -3])]
    assert octaves(control, BAR) == [(0, [-5, -3]), (1, [-7, -5])]
    assert dots(loss) == [(0, -4), (1, -4)]
    assert dots(control) == dots(last) == [(0, -4), (1, -6)]
    # a claim about what is `within` a share of the best: the largest such rate
    assert dots(accuracy) == [(0, -3), (1, -3)]
    low, high = loss.get_ylim()
    assert low > 1 > 0 > high
    for panel, options in zip(rates.axes, rates.page.plot.panels, strict=True):
        colours = [to_rgb(line.get_color()) for line in panel.lines if len(line.get_xdata()) > 1]
        bar = f"error (1 − accuracy) {BAR}" if options.best == "max" else BAR
        for name in (bar, STABLE):
            shown = [to_rgb(line.get_color()) for line in lines(strip(panel), name)]
            assert shown == colours[:2]


def test_a_strip_is_below_the_axis_and_carries_its_ticks(rates: Drawn) -> None:
    rates.figure.draw_without_rendering()
    for ax in rates.axes:
        below = strip(ax)
        panel, box = ax.get_window_extent(), below.get_window_extent()
        assert box.y1 == pytest.approx(panel.y0, abs=0.5)
        assert box.intervalx == pytest.approx(panel.intervalx, abs=0.5)
        assert below.get_xlim() == ax.get_xlim()
        assert not below.get_yticks().size
        # nothing of the strip is in the data area
        assert not any(lines(ax, name) for name in (BAR, STABLE, LOST))
        assert not any(label.get_visible() for label in ax.get_xticklabels())
    assert any(label.get_visible() for label in strip(rates.axes[2]).get_xticklabels())


def test_strips_take_the_same_height_for_each_row_of_them(rates: Drawn, tmp_path: Path) -> None:
    rows = rate_rows("main", widths=(8, 16, 32, 64, 128))
    found = of_panels(tmp_path, rows, rate_panel("main"))
    for each in (found, rates):
        each.figure.draw_without_rendering()
    five = strip(found.axes[0])
    per_row = [
        ax.get_window_extent().height / ax.figure.dpi / count
        for ax, count in ((five, 5), (strip(rates.axes[0]), 2))
    ]
    assert per_row == pytest.approx([0.07, 0.07], rel=0.35)


@pytest.mark.parametrize(
    ("lost", "stable", "crosses"),
    [
        ((), [], []),
        ((5,), [4], []),
        ((4, 5), [3], []),
        ((0,), [1], []),
        ((0, 1, 5), [4, 2], []),
        ((3,), [], [3]),
        ((0, 3, 5), [4, 1], [3]),
        (tuple(range(6)), [], [0]),
    ],
)
def test_a_strip_marks_where_training_diverges(
    tmp_path: Path, lost: tuple[int, ...], stable: list[int], crosses: list[int]
) -> None:
    """The last rate before divergence at either end, a cross between them, and one cross if all diverge."""
    found = edges(tmp_path, *lost)
    assert [places for _, places in octaves(found, STABLE)] == [stable] * bool(stable)
    assert [places for _, places in octaves(found, LOST)] == [crosses] * bool(crosses)
    left = sorted(set(range(6)) - {*lost}, key=lambda k: abs(k - 2))
    assert dots(found) == [(0, k) for k in left[:1]]


@pytest.mark.parametrize(("lost", "last"), [((), 5), ((5,), 4), ((3, 4, 5), 2), (range(6), 5)])
def test_the_axis_ends_at_the_last_stable_value(
    tmp_path: Path, lost: Sequence[int], last: int
) -> None:
    """Where all runs diverge there is nothing to see."""

    def value(learning_rate: float, **_: Any) -> dict[str, float]:
        power = int(np.log2(learning_rate))
        return {"train_loss": np.nan if power in lost else 1.0 + power}

    rates = tuple(2.0**k for k in range(6))
    rows = cells("main", value, width=(8, 32), learning_rate=rates)
    (ax,) = of_panels(tmp_path, rows, rate_panel("main")).axes
    low, high = np.log2(ax.get_xlim())
    assert -1 < low < 0
    assert last < high < last + 1


def test_a_line_that_leaves_the_frame_has_an_arrowhead_there(tmp_path: Path) -> None:
    """The line through (1, 1) and (2, 1000) crosses the upper end of the logarithmic axis in between."""

    def value(learning_rate: float, **_: Any) -> dict[str, float]:
        return {"train_loss": 1000.0 if learning_rate == 2.0 else 1.0}

    rows = cells("main", value, width=(8,), learning_rate=(0.25, 0.5, 1.0, 2.0))
    found = of_panels(tmp_path, rows, rate_panel("main"))
    (ax,) = found.axes
    _, top = ax.get_ylim()
    assert top < 1000
    ((x, y),) = (line.get_xydata()[0] for line in lines(ax, "leaves the frame"))
    assert (np.log2(x), y) == pytest.approx((np.log(top) / np.log(1000), top))
    assert "leaves the frame" in found.legend


def test_marks_of_strips_are_explained_if_there_are_any(tmp_path: Path) -> None:
    rows = rate_rows("main", widths=(8,))
    stays = of_panels(tmp_path / "a", [row for row in rows if row[0]["seed"]], rate_panel("main"))
    assert {STABLE, LOST}.isdisjoint(stays.legend)
    assert STABLE in of_panels(tmp_path / "b", rows, rate_panel("main")).legend


def test_a_line_across_has_no_optimum(tmp_path: Path) -> None:
    rows = rate_rows("main", widths=(8,))
    rows += cells("limit", lambda **_: {"train_loss": 0.2}, width=(8,), learning_rate=(0.1,))
    panel = rate_panel("main")
    across = {"grid": "limit", "quantity": TRAIN, "label": "limit", "across": True}
    panel["lines"].append({**across, "style": "dashed"})
    found = of_panels(tmp_path, rows, panel)
    assert dots(strip(found.axes[0])) == [(0, -4)]
    assert "limit" in found.legend


# the row of optima against the size


def lowest(found: Drawn) -> list[Axes]:
    return [ax for ax in found.page._lowest if ax.figure is not None]


def points(ax: Axes) -> np.ndarray:
    """Size and optimum of the one track of an axes."""
    (line,) = (line for line in ax.lines if line.get_marker() in ("o", "s", "^"))
    return np.asarray(line.get_xydata(), float)


def guides(ax: Axes) -> list[np.ndarray]:
    return [
        np.asarray(line.get_xydata(), float)
        for line in ax.lines
        if to_rgb(line.get_color()) == (0.75,) * 3
    ]


def test_optima_are_below_their_columns_against_the_size(rates: Drawn) -> None:
    main, control = lowest(rates)
    assert points(main).tolist() == [[8, 2**-4], [32, 2**-4]]
    assert points(control).tolist() == [[8, 2**-4], [32, 2**-6]]
    for ax, panel in ((main, rates.axes[2]), (control, rates.axes[3])):
        rates.figure.draw_without_rendering()
        assert ax.get_window_extent().y1 < strip(panel).get_window_extent().y0
        assert ax.get_window_extent().x0 == pytest.approx(panel.get_window_extent().x0, abs=1)
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        assert ax.get_xlabel() == "width $N$"
    assert [ax.get_ylabel() for ax in (main, control)] == [
        "optimal $\\eta$\n(training loss)",
        "",
    ]
    # each column has one track: they need no names
    assert "training loss" not in rates.legend
    assert "interpolated optimum (95 % CI)" in rates.legend


def test_guides_pass_through_the_first_optimum_with_slopes_of_half_a_power(rates: Drawn) -> None:
    for ax in lowest(rates):
        (first, *_), low_high = points(ax), ax.get_ylim()
        found = guides(ax)
        slopes = []
        for start, end in found:
            assert start == pytest.approx(first)
            slopes.append(np.log(end[1] / start[1]) / np.log(end[0] / start[0]))
            assert low_high[0] * 0.999 <= end[1] <= low_high[1] * 1.001
            assert end[0] <= ax.get_xlim()[1]
        # the control's optimum falls as 1/N
        steep = [-1] if points(ax)[1, 1] < points(ax)[0, 1] else []
        assert slopes == pytest.approx([0, 0.5, -0.5, *steep])
        names = {text.get_text(): text.xy for text in ax.texts}
        halves = ["0", r"$\frac{1}{2}$", r"$-\frac{1}{2}$"]
        assert list(names) == [*halves, *["\N{MINUS SIGN}1"] * len(steep)]
        assert [tuple(end) for _, end in found] == [tuple(xy) for xy in names.values()]


def test_columns_of_equal_scale_have_equal_limits_around_all_optima(rates: Drawn) -> None:
    main, control = lowest(rates)
    assert main.get_ylim() == control.get_ylim()
    # optima at 2^-4 and 2^-6, and guide lines that end an octave from the first, with a margin
    assert np.log2(main.get_ylim()) == pytest.approx([-6 - 0.4, -3 + 0.4])
    powers = [2.0**k for k in (-6, -5, -4, -3)]
    assert [tick for tick in main.get_yticks() if tick in powers]
    assert [ax.yaxis.get_tick_params()["labelleft"] for ax in (main, control)] == [True, False]


@pytest.mark.parametrize("rows", [1, 2])
def test_columns_of_different_scales_have_the_same_number_of_octaves(
    tmp_path: Path, rows: int
) -> None:
    far = 2.0**20
    larger = [(cell | {"learning_rate": cell["learning_rate"] * far}, said) for cell, said in SP]
    located = {"main": STAYS, "control": [[size, at * far, None, None] for size, at, *_ in MOVES]}
    claim = judged(TRAIN, "main", "control", optima=located)
    # in a second row, the scales are those of its panels, not of the first row's
    above = [rate_panel("main", ACCURACY, label="accuracy", best="max")] * 2 * (rows - 1)
    panels = [*above, rate_panel("main"), rate_panel("control")]
    cells_of = [*rate_rows("main"), *larger]
    found = of_panels(tmp_path, cells_of, *panels, judged=[claim], wrap=2)
    spans = []
    for ax in lowest(found):
        low, high = np.log2(ax.get_ylim())
        at = np.log2(points(ax)[:, 1])
        shown = [*at, at[0] - 1, at[0] + 1]
        assert (low + high) / 2 == pytest.approx((min(shown) + max(shown)) / 2)
        assert ax.yaxis.get_tick_params()["labelleft"]
        spans.append(high - low)
    assert spans == pytest.approx([3 + 2 * 0.4] * 2)


@pytest.mark.parametrize(
    ("claimed", "ends"),
    [((-0.5, 0.5), (-4.5, -3.5)), ((None, -2.0), (None, -6)), ((2.0, None), (-2, None))],
)
def test_the_claimed_range_of_the_optimum_is_shaded(
    tmp_path: Path, claimed: tuple[float | None, ...], ends: tuple[float | None, ...]
) -> None:
    claim = judged(TRAIN, "main", optima={"main": STAYS}, claimed=claimed)
    found = of_panels(tmp_path, rate_rows("main"), rate_panel("main"), judged=[claim])
    (ax,) = lowest(found)
    (band,) = ax.patches
    limits = np.log2(ax.get_ylim())
    shown = [limit if end is None else end for end, limit in zip(ends, limits, strict=True)]
    low, height = band.get_y(), band.get_height()
    assert np.log2([low, low + height]) == pytest.approx(shown)
    assert limits[0] < min(s for s in ends if s is not None)
    assert limits[1] > max(s for s in ends if s is not None)
    assert "claimed range" in found.legend


def test_shifts_in_either_direction_are_shaded_on_both_sides(tmp_path: Path) -> None:
    claim = judged(TRAIN, "main", optima={"main": STAYS}, claimed=(1.0, -1.0))
    found = of_panels(tmp_path, rate_rows("main"), rate_panel("main"), judged=[claim])
    (ax,) = lowest(found)
    ends = [np.log2([band.get_y(), band.get_y() + band.get_height()]) for band in ax.patches]
    low, high = np.log2(ax.get_ylim())
    assert [*map(list, ends)] == [pytest.approx([low, -5]), pytest.approx([-3, high])]


def test_a_claim_about_a_part_of_a_grid_judges_the_optima_of_this_part(tmp_path: Path) -> None:
    """The grid has a further size, whose optimum on the grid continues the track in grey."""
    rows = [*rate_rows("main", widths=(8, 32, 128)), *rate_rows("deep", widths=(32, 128))]
    located: Located = [[32, 2**-4, 2**-5, 2**-3], [128, 2**-4, 2**-5, 2**-3]]
    claim = judged(TRAIN, "deep", optima={"deep": located}, claimed=(-1.0, 1.0))
    found = of_panels(tmp_path, rows, rate_panel("main"), judged=[claim])
    assert [len(lines(found.axes[0], name)) for name in ("optimum (judged)", "optimum")] == [2, 1]
    (ax,) = lowest(found)
    track, hollow = (line for line in ax.lines if line.get_marker() == "o")
    assert track.get_xdata().tolist() == [8, 32, 128]
    assert hollow.get_xdata().tolist() == [8]
    (band,) = ax.patches
    assert 8 < band.get_x() < 32
    assert "optimum on the grid" in found.legend


def test_a_claim_about_a_grid_with_further_cells_judges_none_of_the_shared_ones(
    tmp_path: Path,
) -> None:
    rows = [*rate_rows("main"), *rate_rows("other", widths=(8, 128))]
    claim = judged(TRAIN, "other", optima={"other": [[8, 2**-4, 2**-5, 2**-3], [128, 1, 1, 1]]})
    found = of_panels(tmp_path, rows, rate_panel("main"), judged=[claim])
    assert not lines(found.axes[0], "optimum (judged)")
    assert not found.page.tracks


def test_a_column_shows_optima_of_one_hyperparameter(tmp_path: Path) -> None:
    def value(learning_rate: float, momentum: float, **_: Any) -> dict[str, Any]:
        return {"train_loss": 1 + np.log2(learning_rate) ** 2 + momentum}

    axes = {"width": (8, 32), "learning_rate": (0.5, 1, 2), "momentum": (0.1, 0.2)}
    panels = [
        rate_panel("main", over=["momentum"]),
        rate_panel("main", x="momentum", over=["learning_rate"]),
    ]
    claim = judged(TRAIN, "main", optima={"main": STAYS}, profile=["momentum"])
    rows = cells("main", value, **axes)
    found = of_panels(tmp_path, rows, *panels, judged=[claim], wrap=1)
    assert [track.over for track in found.page.tracks] == ["learning_rate"]


def test_an_optimum_at_an_end_of_the_sweep_is_an_arrowhead(tmp_path: Path) -> None:
    def falls(learning_rate: float, width: int, **_: Any) -> dict[str, Any]:
        return {"train_loss": learning_rate if width == 8 else 1 / learning_rate}

    rows = cells("main", falls, width=(8, 32), learning_rate=(1, 2, 4), seed=(0,))
    found = of_panels(tmp_path, rows, rate_panel("main"))
    ends = lines(strip(found.axes[0]), "best at the end of the sweep")
    assert [(line.get_xdata()[0], line.get_marker()) for line in ends] == [(1, "<"), (4, ">")]
    assert "best at the end of the sweep" in found.legend


def test_the_range_of_nearly_optimal_values_may_be_narrower(tmp_path: Path) -> None:
    found = of_panels(tmp_path, rate_rows("main"), rate_panel("main", nearly=0.01))
    assert not lines(strip(found.axes[0]), BAR)
    found = of_panels(tmp_path / "wide", rate_rows("main"), rate_panel("main", nearly=0.25))
    assert octaves(strip(found.axes[0]), "within 25 % of the lowest") == [
        (0, [-6, -3]),
        (1, [-6, -3]),
    ]


def test_the_largest_nearly_optimal_value_of_a_further_claim_is_only_below_the_panel(
    tmp_path: Path,
) -> None:
    ends: Located = [[8, 2**-2.5, None, None], [32, 2**-2.2, None, None]]
    claims = [
        judged(TRAIN, "main", optima={"main": STAYS}),
        judged(TRAIN, "main", optima={"main": ends}, within=0.1),
    ]
    found = of_panels(tmp_path, rate_rows("main"), rate_panel("main"), judged=claims)
    marks = [line for line in strip(found.axes[0]).lines if line.get_marker() == "o"]
    assert [np.log2(line.get_xdata()[0]) for line in marks] == [-4, -4]
    assert [track.points for track in found.page.tracks] == [
        tuple(map(list, STAYS)),
        tuple(map(list, ends)),
    ]


def test_no_range_is_shaded_where_claims_about_a_column_differ(tmp_path: Path) -> None:
    panels = [
        rate_panel("main"),
        rate_panel("main", ACCURACY, label="test accuracy", scale="linear", best="max"),
    ]
    claims = [
        judged(quantity, "main", optima={"main": STAYS}, claimed=(-half, half))
        for quantity, half in ((TRAIN, 1.0), (ACCURACY, 0.5))
    ]
    found = of_panels(tmp_path, rate_rows("main"), *panels, judged=claims, wrap=1)
    (ax,) = lowest(found)
    assert not ax.patches
    assert "claimed range" not in found.legend


def test_claimed_ranges_up_to_different_sizes_are_shaded_up_to_them(tmp_path: Path) -> None:
    rows = [*rate_rows("main", widths=(8, 32, 128)), *rate_rows("control")]
    wide: Located = [*STAYS, [128, 2**-4, 2**-5, 2**-3]]
    claims = [
        judged(TRAIN, "main", optima={"main": wide}, claimed=(-1.0, 1.0)),
        judged(TRAIN, "control", optima={"control": STAYS}, claimed=(-0.5, 0.5)),
    ]
    panels = [rate_panel("main"), rate_panel("control")]
    (ax,) = lowest(of_panels(tmp_path, rows, *panels, judged=claims, wrap=1))
    spans = {}
    for band in ax.patches:
        right = band.get_x() + band.get_width()
        spans[right] = np.log2([band.get_y(), band.get_y() + band.get_height()]).tolist()
    first, last = sorted(spans)
    assert 32 < first < 128 < last == pytest.approx(ax.get_xlim()[1])
    assert (spans[last], spans[first]) == ([-5, -3], [-4.5, -3.5])


def test_the_claimed_range_starts_at_the_optimum_that_it_concerns(tmp_path: Path) -> None:
    rows = [*rate_rows("main"), *rate_rows("control", drift=1.0)]
    panels = [rate_panel("control"), rate_panel("main")]
    higher = [[size, *(2 * at for at in found)] for size, *found in STAYS]
    located = {"main": STAYS, "control": higher}
    claim = judged(TRAIN, "main", "control", optima=located, claimed=(-0.5, 0.5))
    (ax,) = lowest(of_panels(tmp_path, rows, *panels, judged=[claim], wrap=1))
    (band,) = ax.patches
    assert np.log2([band.get_y(), band.get_y() + band.get_height()]) == pytest.approx([-4.5, -3.5])


def test_a_panel_without_a_claim_shows_its_optima_in_a_column_with_one(tmp_path: Path) -> None:
    rows = [*rate_rows("main"), *rate_rows("control", drift=1.0)]
    claim = judged(TRAIN, "main", optima={"main": STAYS})
    panels = [rate_panel("main"), rate_panel("control")]
    found = of_panels(tmp_path, rows, *panels, judged=[claim], wrap=1)
    (ax,) = lowest(found)
    fills = [line.get_markerfacecolor() for line in ax.lines if line.get_marker() != "None"]
    assert [to_rgb(fill) == (1, 1, 1) for fill in fills] == [False, True]
    assert "optimum on the grid" in " ".join(found.legend)


def test_an_end_of_an_interval_that_is_not_known_leaves_the_axes(rates: Drawn) -> None:
    main, control = lowest(rates)
    known = [bars.get_segments() for bars in main.collections]
    assert np.log2([segment[:, 1] for segment in known[0]]) == pytest.approx(
        np.array([[-5, -3], [-4.5, -3.5]])
    )
    (bars,) = control.collections
    stays, open_ = bars.get_segments()
    assert stays[:, 1] == pytest.approx([2**-5, 2**-3])
    low, _ = control.get_ylim()
    assert open_[0, 1] < low < open_[1, 1] == pytest.approx(2**-5)
    arrows = [line for line in control.lines if line.get_marker() in (CARETDOWN, CARETUP)]
    (arrow,) = arrows
    assert arrow.get_marker() == CARETDOWN
    assert arrow.get_xydata().tolist() == [[32, low]]


def test_a_column_whose_optima_no_claim_locates_shows_them_in_grey(tmp_path: Path) -> None:
    rows = [*rate_rows("main"), *rate_rows("control", drift=1.0)]
    rows += [(cell | {"depth": 9}, said) for cell, said in rate_rows("third", drift=1.0)]
    panels = [rate_panel(grid) for grid in ("main", "control", "third")]
    located = {"main": STAYS, "third": STAYS}
    found = of_panels(
        tmp_path, rows, *panels, judged=[judged(TRAIN, "main", "third", optima=located)]
    )
    first, middle, last = lowest(found)
    for ax, panel in zip((first, middle, last), found.axes, strict=True):
        assert ax.get_window_extent().x0 == pytest.approx(panel.get_window_extent().x0, abs=1)
    # the grid's best rates, which the rings show as well
    assert points(middle).tolist() == [[8, 2**-4], [32, 2**-6]]
    (grey,) = (line for line in middle.lines if line.get_marker() == "o")
    assert to_rgb(grey.get_color()) == (0.5,) * 3
    assert to_rgb(grey.get_markerfacecolor()) == (1, 1, 1)
    assert "optimum on the grid" in found.legend
    assert middle.get_ylim() == first.get_ylim()
    assert first.get_ylim()[0] < 2**-6


@pytest.mark.parametrize("wrap", [1, 2])
def test_a_row_shows_the_optima_of_all_quantities(tmp_path: Path, wrap: int) -> None:
    rows = [*rate_rows("main"), *rate_rows("control", drift=1.0)]
    accuracy = {"label": "test accuracy", "scale": "linear", "best": "max"}
    panels = [rate_panel("main"), rate_panel("control", ACCURACY, **accuracy)]
    claim = judged(TRAIN, "main", optima={"main": STAYS})
    found = of_panels(tmp_path, rows, *panels, judged=[claim], wrap=wrap)
    assert len(lowest(found)) == wrap
    assert ("optimum on the grid" in found.legend) is (wrap == 2)


def test_claims_about_a_grid_precede_those_of_which_it_is_a_control() -> None:
    panel = Panel.model_validate(rate_panel("control"))
    stays = judged(TRAIN, "main", "control", optima={"main": STAYS, "control": MOVES})
    moves = judged(TRAIN, "control", "main", optima={"main": STAYS, "control": MOVES})
    assert tracks.judging([stays], panel, panel.lines[0]) is stays
    assert tracks.judging([stays, moves], panel, panel.lines[0]) is moves


@pytest.mark.parametrize(
    "located",
    [
        [],
        STAYS[:1],
        [[8, 2**-4, 2**-5, 2**-3], [32, None, None, None]],
    ],
)
def test_there_is_no_row_without_optima_at_two_sizes(tmp_path: Path, located: Located) -> None:
    claim = judged(TRAIN, "main", optima={"main": located})
    found = of_panels(tmp_path, rate_rows("main"), rate_panel("main"), judged=[claim])
    assert found.page._lowest == []
    assert "optimum (judged)" in found.legend


def test_several_optima_of_a_column_are_told_apart(tmp_path: Path) -> None:
    rows = [*rate_rows("main"), *rate_rows("control", drift=1.0)]
    accuracy = {"label": "test accuracy", "scale": "linear", "best": "max"}
    panels = [rate_panel("main", title="MLP, µP"), rate_panel("control", title="MLP, SP")]
    panels += [
        rate_panel("main", ACCURACY, title="CNN, µP", **accuracy),
        rate_panel("control", ACCURACY, title="CNN, SP", **accuracy),
    ]
    claims = [
        judged(quantity, "main", "control", optima={"main": STAYS, "control": MOVES})
        for quantity in (TRAIN, ACCURACY)
    ]
    found = of_panels(tmp_path, rows, *panels, judged=claims, wrap=2)
    assert [len(ax.containers) for ax in lowest(found)] == [2, 2]
    names = blocks(found.figure)[-1]
    entries = ["MLP", "CNN", "power of the width", "interval open: end of the grid"]
    assert list(names) == [f"interpolated optimum (95 % CI) = {name}" for name in entries]
    looks = [(line.get_color(), line.get_marker()) for line in list(names.values())[:2]]
    for ax in lowest(found):
        tracks = [line for line in ax.lines if line.get_marker() in ("o", "s")]
        assert [(line.get_color(), line.get_marker()) for line in tracks] == looks
    arrows = [line for line in lowest(found)[1].lines if line.get_marker() == CARETDOWN]
    assert [arrow.get_color() for arrow in arrows] == [colour for colour, _ in looks]


def test_tracks_that_start_at_different_sizes_are_relative_to_their_start(tmp_path: Path) -> None:
    rows = [*rate_rows("main"), *rate_rows("control", drift=1.0, widths=(2, 4))]
    panels = [rate_panel("main", title="MLP"), rate_panel("control", title="CNN")]
    located = {"main": STAYS, "control": [[2, 2**2, None, 2**3], [4, 2**1, 2**0, 2**2]]}
    claim = judged(TRAIN, "main", "control", optima=located)
    found = of_panels(tmp_path, rows, *panels, judged=[claim], wrap=1)
    (ax,) = lowest(found)
    tracks = [line for line in ax.lines if line.get_marker() in ("o", "s")]
    # the tracks are side by side
    shift = 1.05**0.5
    sizes = [line.get_xdata().tolist() for line in tracks]
    assert sizes == [
        pytest.approx([1 / shift, 4 / shift]),
        pytest.approx([1 * shift, 2 * shift]),
    ]
    assert [line.get_ydata().tolist() for line in tracks] == [[1, 1], [1, 0.5]]
    # optima and guide lines within one octave of the start
    assert np.log2(ax.get_ylim()) == pytest.approx([-1 - 0.4, 1 + 0.4])
    assert ax.get_ylabel() == "optimal $\\eta$, relative\n(training loss)"
    assert ax.get_xlabel() == "width $N$, relative"
    assert [line.get_marker() for line in ax.lines].count(CARETDOWN) == 1
    assert [tuple(start) for start, _ in guides(ax)] == [(1, 1)] * 3


@pytest.mark.parametrize(("octaves", "relative"), [(2.0, False), (2.1, True)])
def test_tracks_that_start_far_apart_are_relative_to_their_start(
    tmp_path: Path, octaves: float, relative: bool
) -> None:
    rows = [*rate_rows("main"), *rate_rows("control", drift=1.0)]
    panels = [rate_panel("main", title="tanh"), rate_panel("control", title="ReLU")]
    located = {"main": STAYS, "control": [[8, 2 ** (-4 - octaves), None, None], *MOVES[1:]]}
    claim = judged(TRAIN, "main", "control", optima=located)
    (ax,) = lowest(of_panels(tmp_path, rows, *panels, judged=[claim], wrap=1))
    assert (", relative" in ax.get_ylabel()) is relative


def test_what_a_line_is_compared_with_has_a_ring_and_no_track(tmp_path: Path) -> None:
    rows = [*rate_rows("main"), *rate_rows("control", drift=1.0)]
    panel = rate_panel("main")
    panel["lines"].append(
        {"grid": "control", "quantity": TRAIN, "style": "dotted", "label": "control"}
    )
    claim = judged(TRAIN, "main", "control", optima={"main": STAYS, "control": MOVES})
    found = of_panels(tmp_path, rows, panel, judged=[claim])
    (ax,) = lowest(found)
    assert points(ax).tolist() == [[8, 2**-4], [32, 2**-4]]
    assert len(dots(strip(found.axes[0]))) == 4
    assert "control" in found.legend


def test_optima_against_what_is_no_size_have_no_guides(tmp_path: Path) -> None:
    rows = [(cell | {"batch_size": cell["width"]}, said) for cell, said in rate_rows("main")]
    claim = judged(TRAIN, "main", optima={"main": STAYS}, along="batch_size")
    found = of_panels(tmp_path, rows, rate_panel("main", hue="batch_size"), judged=[claim])
    (ax,) = lowest(found)
    assert guides(ax) == []
    assert not any(name.startswith("power of") for name in found.legend)


def test_a_track_is_that_of_the_arm_with_the_grid() -> None:
    claim = judged(TRAIN, "main", "control", optima={"main": STAYS, "control": MOVES})
    main, control = (optima.track_of(claim, grid, 0, 0, "") for grid in ("main", "control"))
    assert main is not None
    assert control is not None
    assert (main.points, control.points) == (tuple(STAYS), tuple(MOVES))
    assert optima.track_of(claim, "other", 0, 0, "") is None


# headers


def test_titles_that_are_made_of_rows_and_columns_are_headers(tmp_path: Path) -> None:
    grids = {"a": ("mlp", "SP"), "b": ("mlp", "µP"), "c": ("cnn", "SP"), "d": ("cnn", "µP")}
    rows: Rows = []
    for grid, (network, scheme) in grids.items():
        axes = {"width": (8, 32), "learning_rate": (0.1, 0.2), "network": (network,)}
        rows += cells(grid, lambda **_: {"train_loss": 1.0}, **axes, parameterisation=(scheme,))
    panels = [
        rate_panel(grid, title=f"{network.upper()}, {scheme}")
        for grid, (network, scheme) in grids.items()
    ]
    found = of_panels(tmp_path / "both", rows, *panels, wrap=2)
    assert [ax.get_title() for ax in found.axes] == ["SP", "µP", "", ""]
    words = [ax.get_ylabel() for ax in found.axes]
    assert words == ["MLP\ntraining loss", "", "CNN\ntraining loss", ""]
    # titles of other orders or with words of their own stay over their panels
    panels[3]["title"] = "another one"
    found = of_panels(tmp_path / "one", rows, *panels, wrap=2)
    assert [ax.get_title() for ax in found.axes] == ["MLP, SP", "MLP, µP", "CNN, SP", "another one"]
    assert found.axes[0].get_ylabel() == "training loss"


@pytest.mark.parametrize(
    ("titles", "columns", "headers"),
    [
        (["SP, MLP", "MLP, µP", "CNN, SP", "CNN, µP"], 2, (["MLP", "CNN"], ["SP", "µP"])),
        (["a", "b", "a", "b"], 2, (["", ""], ["a", "b"])),
        (["a", "a", "b", "b"], 2, (["a", "b"], ["", ""])),
        (["a, x", "b, x", "a, y"], 2, None),
        (["a", "b"], 2, None),
        (["a", "b"], 1, None),
        (["a, x", "b, x", "a, y", "c, y"], 2, None),
    ],
)
def test_headers_split_the_titles_of_full_grids_only(
    titles: list[str], columns: int, headers: tuple[list[str], list[str]] | None
) -> None:
    assert headers_of(titles, columns) == headers


def test_headers_of_two_phrases_have_two_lines_if_one_is_too_long() -> None:
    headers = ["1 sweep, SP", "100 sweeps, µP"]
    assert wrapped(headers, 14) == headers
    assert wrapped(headers, 13) == ["1 sweep,\nSP", "100 sweeps,\nµP"]
    assert wrapped([*headers, "linear"], 13) == ["1 sweep, SP", "100\nsweeps, µP", "linear"]


@pytest.mark.parametrize("wrap", [1, 2])
def test_the_largest_nearly_optimal_rate_has_optima_of_its_own(tmp_path: Path, wrap: int) -> None:
    rows = [*rate_rows("main"), *rate_rows("control", drift=1.0)]
    largest: Located = [[8, 2**-2.5, 2**-3, 2**-2], [32, 2**-2.5, 2**-3, 2**-2]]
    claims = [
        judged(TRAIN, "main", "control", optima={"main": STAYS, "control": MOVES}),
        judged(TRAIN, "main", optima={"main": largest}, within=0.1),
    ]
    panels = [rate_panel("main"), rate_panel("control")]
    found = of_panels(tmp_path, rows, *panels, judged=claims, wrap=wrap)
    shown = [(track.name, track.judged, track.points) for track in found.page.tracks]
    name = "largest within 10 % of the lowest"
    own = [(points, judged) for named, judged, points in shown if named == name]
    # a column with the optima of two panels has no room for those that no claim located
    located = tuple(map(list, largest))
    on_grid = tuple((size, rate, rate, rate) for size, rate in ((8, 2**-3), (32, 2**-5)))
    assert own == [(located, True), *([(on_grid, False)] if wrap == 2 else [])]
    assert f"interpolated optimum (95 % CI) = {name}" in found.legend


@pytest.mark.parametrize(("last", "expected"), [(2.0**-2, 2.0**-3), (2.0**-3, None)])
def test_the_largest_nearly_optimal_rate_is_not_the_end_of_the_grid(
    last: float, expected: float | None
) -> None:
    panel = Panel.model_validate(rate_panel("main"))
    rates = 2.0 ** np.arange(-5, np.log2(last) + 1)
    values = 1 + 0.05 * (np.log2(rates) + 4) ** 2
    rows = pd.DataFrame({"learning_rate": rates, "value": values, "diverged": False})
    assert marks.best_x(panel, rows, panel.lines[0].quantity) == 2.0**-4
    assert marks.best_x(panel, rows, panel.lines[0].quantity, 0.1) == expected


def test_the_legend_names_claimed_ranges_of_optima_that_are_relative() -> None:
    def track(name: str, size: float, claimed: optima.Shifts) -> optima.Track:
        points = tuple((size * k, 0.1 * size, 0.1 * size, 0.1 * size) for k in (1, size))
        return optima.Track(0, 0, name, "width", "learning_rate", points, claimed=claimed)

    different = [track("MLP", 8, (-0.75, 0.75)), track("CNN", 4, (-0.5, 0.5))]
    assert "claimed range" in optima.legend(different)

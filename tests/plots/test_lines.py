"""What figures of lines show, read from their artists."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from plotting_records import (
    TRAIN,
    Drawn,
    Rows,
    cells,
    drawn,
    judged,
    lines,
    rate_panel,
    rate_rows,
    write_folder,
)

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.plotting import page

BEST, BAR, LOST = (
    "best, where a claim judges it",
    "within 10 % of the best",
    "diverged (at least one seed)",
)
FACTOR = 4**-0.1


def octaves(ax: Axes, name: str) -> list[list[int]]:
    return [np.log2(line.get_xdata()).tolist() for line in lines(ax, name)]


def of_panels(path: Path, rows: Rows, *panels: dict[str, Any], **figure: Any) -> Drawn:
    plot = {"kind": "lines", "panels": list(panels), "wrap": figure.pop("wrap", 3)}
    return drawn(write_folder(path / "f", plot, rows, **figure))


def test_means_over_seeds_in_bands_of_their_range(rates: Drawn) -> None:
    small, large = lines(rates.axes[0], "training loss")
    bowl = 0.1 * (1 + 0.05 * np.arange(-3, 2) ** 2)
    assert np.log2(small.get_xdata()).tolist() == [*range(-7, -1)]
    assert small.get_ydata()[:5] == pytest.approx(1.1 * bowl)
    assert large.get_ydata()[:5] == pytest.approx(1.1 * bowl * FACTOR)
    band = rates.axes[0].collections[0].get_paths()[0].vertices
    assert {round(y, 9) for x, y in band if x == 2.0**-4} == {0.1, 0.12}


def test_of_many_seeds_the_band_is_the_middle_half(tmp_path: Path) -> None:
    def rows(seed: int, **_: Any) -> dict[str, float]:
        return {"train_loss": 1.0 + seed}

    for count, (low, high), words in (
        (4, (1, 4), "range over seeds"),
        (5, (2, 4), "middle half of the seeds"),
    ):
        records = cells(
            "main", rows, width=(8,), learning_rate=(0.1, 0.2), seed=tuple(range(count))
        )
        found = of_panels(tmp_path / words, records, rate_panel("main"))
        band = found.axes[0].collections[0].get_paths()[0].vertices
        assert {y for x, y in band if x == 0.1} == {low, high}
        assert words in found.legend


def test_bars_span_the_range_as_a_mean_may_lie_outside_of_half_the_seeds(tmp_path: Path) -> None:
    def rows(seed: int, **_: Any) -> dict[str, float]:
        return {"train_loss": 1.0 + 99.0 * (seed == 0)}

    records = cells("main", rows, width=(8,), learning_rate=(0.1, 0.2), seed=tuple(range(9)))
    panel = rate_panel("main")
    panel["lines"] = [{**panel["lines"][0], "style": "markers"}]
    found = of_panels(tmp_path, records, panel)
    (bars,) = found.axes[0].collections
    assert {y for path in bars.get_paths() for _, y in path.vertices} == {1.0, 100.0}
    assert "range over seeds" in found.legend


def test_rings_stand_only_where_a_claim_judges(rates: Drawn) -> None:
    loss, control, accuracy, not_judged = rates.axes
    assert octaves(loss, BEST) == [[-4], [-4]]
    assert octaves(control, BEST) == [[-4], [-6]]
    assert [line.get_ydata()[0] for line in lines(loss, BEST)] == pytest.approx(
        [0.11, 0.11 * FACTOR]
    )
    # a claim about what is `within` a share of the best: the largest such rate
    assert octaves(accuracy, BEST) == [[-3], [-3]]
    assert not lines(not_judged, BEST)
    assert not lines(not_judged, BAR)
    drawn_in = [to_rgb(line.get_color()) for line in lines(loss, "training loss")]
    assert [to_rgb(ring.get_markeredgecolor()) for ring in lines(loss, BEST)] == drawn_in


@pytest.mark.parametrize(
    "claim",
    [
        judged(TRAIN, "other"),
        judged(TRAIN, "main", over="width"),
        judged(TRAIN, "main", along="depth"),
        judged(TRAIN | {"reduce": "min"}, "main"),
        judged({"metric": "test_accuracy"}, "main"),
    ],
)
def test_a_claim_about_something_else_gives_no_ring(tmp_path: Path, claim: dict[str, Any]) -> None:
    found = of_panels(tmp_path, rate_rows("main", widths=(8,)), rate_panel("main"), judged=[claim])
    assert not {BEST, BAR} & set(found.legend)


def test_a_bar_spans_what_is_within_ten_percent(rates: Drawn) -> None:
    """A bowl of 5 % an octave: one on each side; at the end of the axis that is better."""
    loss, control, accuracy, _ = rates.axes
    assert octaves(loss, BAR) == [[-5, -3]] * 2
    assert octaves(control, BAR) == [[-5, -3], [-7, -5]]
    heights = [line.get_ydata()[0] for line in lines(loss, BAR)]
    assert max(heights) < 0.2
    assert heights[0] > heights[1]
    assert min(line.get_ydata()[0] for line in lines(accuracy, BAR)) > 0.8


def test_crosses_stand_at_the_worse_end(rates: Drawn) -> None:
    for ax, worse in zip(rates.axes, (1.0, 1.0, 0.0, 0.0), strict=True):
        heights = [line.get_ydata()[0] for line in lines(ax, LOST)]
        assert len(set(heights)) == 2
        assert all(abs(height - worse) < 0.2 for height in heights)
    assert octaves(rates.axes[0], LOST) == [[-1, 0]] * 2
    assert octaves(rates.axes[1], LOST) == [[-1, 0], [-3, -2, -1, 0]]


def test_what_blows_up_does_not_move_the_limits_but_every_ring_is_inside(rates: Drawn) -> None:
    loss, _, accuracy, _ = rates.axes
    assert max(line.get_ydata().max() for line in lines(loss, "training loss")) > 1e5
    assert loss.get_ylim()[1] < 1
    assert accuracy.get_ylim()[0] > 0.8
    for ax in rates.axes:
        low, high = ax.get_ylim()
        assert all(low < line.get_ydata()[0] < high for line in lines(ax, BEST))


def test_over_sizes_nothing_is_out_of_the_picture(tmp_path: Path) -> None:
    """What grows with a size is not what blows up at a rate."""
    rows = cells("main", lambda width, **_: {"energy": width**3.0}, width=(1, 2, 4, 8, 64))
    lines_ = [{"grid": "main", "quantity": {"metric": "energy"}, "label": "energy"}]
    (ax,) = of_panels(
        tmp_path, rows, {"title": "", "x": "width", "label": "", "lines": lines_}
    ).axes
    assert ax.get_ylim()[1] > 64**3


def test_a_line_that_is_far_worse_than_the_others_is_inside(tmp_path: Path) -> None:
    """A line that is left out says nothing of itself."""
    rows = cells("main", lambda width, **_: {"energy": 0.1 * width}, width=(8, 16, 32))
    rows += cells("control", lambda width, **_: {"energy": 9.0 * width}, width=(8, 16), depth=(4,))
    quantity = {"metric": "energy"}
    grids = [{"grid": g, "quantity": quantity, "label": g} for g in ("main", "control")]
    found = of_panels(tmp_path, rows, {"title": "", "x": "width", "label": "loss", "lines": grids})
    (ax,) = found.axes
    assert ax.get_ylim()[0] < 0.8 < 9.0 * 8 < ax.get_ylim()[1]


def test_no_decades_stand_empty(rates: Drawn) -> None:
    """All but what blows up is within a factor of two, above bars and below crosses."""
    for ax in rates.axes[:2]:
        low, high = ax.get_ylim()
        assert high / low < 10


@pytest.mark.parametrize(
    "ends", [(2e-6, 1e-5), (2e-6, 1.2e-5), (0.83, 1.29), (0.4, 0.57), (0.05, 0.5), (1e-3, 1e3)]
)
def test_a_logarithmic_axis_has_two_numbers_at_least(ends: tuple[float, float]) -> None:
    ax = Figure().subplots()
    ax.set_yscale("log")
    ax.set_ylim(*ends)
    page.scale_ticks(ax.yaxis, "log", *ends)
    numbers = [label for label in ax.get_yticklabels() if label.get_text()]
    assert sum(ends[0] <= label.get_position()[1] <= ends[1] for label in numbers) >= 2


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([64.0], [64.0]),
        ([0.25, 0.5, 1.0], [0.25, 0.5, 1.0]),
        ([0.0625, 0.0884, 0.125, 0.1768], [0.0625, 0.125]),
    ],
)
def test_ticks_are_powers_of_two_with_half_octaves_between_them(
    values: list[float], ticks: list[float]
) -> None:
    ax = Figure().subplots()
    page.size_ticks(ax.xaxis, np.array(values))
    assert ax.xaxis.get_majorticklocs().tolist() == ticks


def test_given_limits_give_way_to_rings_only(tmp_path: Path) -> None:
    rows = rate_rows("main", widths=(8,)) + rate_rows("control", drift=1.0, widths=(8,))
    panels = [rate_panel(grid, limits=[0.2, 0.5]) for grid in ("main", "control")]
    found = of_panels(tmp_path, rows, *panels, judged=[judged(TRAIN, "main")])
    (low, high), other = (ax.get_ylim() for ax in found.axes)
    assert (low, high) == other
    assert low < 0.11 < 0.5 < high < 1


def test_axes_of_rates_of_another_order_are_not_shared(tmp_path: Path) -> None:
    rows = []
    for grid, rates_ in (("a", (0.1, 0.2)), ("b", (0.2, 0.4)), ("far", (20.0, 40.0))):
        rows += cells(grid, lambda **_: {"train_loss": 1.0}, width=(8,), learning_rate=rates_)
    first, second, far = of_panels(tmp_path, rows, *map(rate_panel, ("a", "b", "far"))).axes
    assert first.get_xlim() == second.get_xlim()
    assert far.get_xlim()[0] > 10 > first.get_xlim()[1]


def test_panels_that_are_compared_share_their_axes(rates: Drawn, sizes: Drawn) -> None:
    loss, control, accuracy, last = rates.axes
    assert loss.get_ylim() == control.get_ylim() != accuracy.get_ylim() == last.get_ylim()
    assert len({ax.get_xlim() for ax in rates.axes}) == 1
    scales = [(ax.get_xscale(), ax.get_yscale()) for ax in (loss, accuracy)]
    assert scales == [("log", "log"), ("log", "linear")]
    assert [ax.get_ylabel() for ax in rates.axes] == ["training loss", "", "test accuracy", ""]
    shared = r"weight learning rate $\eta$"
    assert [ax.get_xlabel() for ax in rates.axes] == ["", "", shared, shared]
    # of other data what is drawn alike is not compared
    width, other, *_ = sizes.axes
    assert other.get_ylim() != width.get_ylim()
    assert other.get_ylabel() == width.get_ylabel() == "$s - 1$"


def test_titles_stand_where_they_change_from_above(rates: Drawn, sizes: Drawn) -> None:
    assert [ax.get_title() for ax in rates.axes] == ["main", "control", "", ""]
    titles = [
        "Against the width",
        "Other data",
        "Over the depth",
        "",
        "The same",
        "Against the width",
    ]
    assert [ax.get_title() for ax in sizes.axes] == titles


def test_the_same_cells_are_drawn_once(sizes: Drawn) -> None:
    twin = sizes.axes[4]
    assert [text.get_text() for text in twin.texts] == ["the same cells as\nAgainst the width"]
    assert not twin.lines
    assert not twin.axison
    assert [panel.title for panel, _ in sizes.page.panels].count("The same") == 0


def test_the_axis_above_words_has_its_name(tmp_path: Path) -> None:
    rows = rate_rows("main", widths=(8,))
    again = rate_rows("again", widths=(8,))
    found = of_panels(tmp_path, rows + again, rate_panel("main"), rate_panel("again"), wrap=1)
    assert found.axes[0].get_xlabel() == r"weight learning rate $\eta$"


def test_colours_and_styles_are_explained(rates: Drawn, sizes: Drawn) -> None:
    assert list(rates.legend) == ["$N$ = 8", "$N$ = 32", BEST, BAR, LOST, "range over seeds"]
    small, large = lines(rates.axes[0], "training loss")
    assert rates.legend["$N$ = 8"].get_color() == small.get_color() != large.get_color()
    entries = ["shallow", "$L$ = 8", "$M$ = 8", "$M$ = 32", "$M$ = 128", "PC", "BP"]
    entries += ["$L/N$", "limit", "limit across", LOST, "range over seeds"]
    assert list(sizes.legend) == entries
    assert to_rgb(sizes.legend["limit"].get_color()) == (0, 0, 0)
    of_sizes = [to_rgb(sizes.legend[name].get_color()) for name in entries[:7]]
    assert all(one != other for one, other in combinations(of_sizes, 2))


def test_styles_of_lines(sizes: Drawn) -> None:
    width, _, depth, *_ = sizes.axes
    drawn = [*lines(width, "excess"), *lines(width, "expected")]
    shallow, deep, *expected = [line for line in drawn if len(line.get_xdata())]
    assert (shallow.get_linestyle(), shallow.get_marker()) == ("None", "o")
    assert shallow.get_ydata() == pytest.approx(1.1 * 2 / np.array([8, 32, 128]))
    assert deep.get_xdata().tolist() == [32, 128]
    assert [line.get_linestyle() for line in expected] == ["--"] * 2
    assert [line.get_color() for line in expected] == [shallow.get_color(), deep.get_color()]
    bars = width.collections[0].get_segments()
    assert bars[0][:, 1] == pytest.approx([2 / 8, 1.2 * 2 / 8])
    black = lines(depth, "excess")[-1]
    assert to_rgb(black.get_color()) == (0, 0, 0)
    assert black.get_ydata().tolist() == [0.01, 0.01]
    assert depth.get_xscale() == "linear"


def test_a_limit_goes_across(sizes: Drawn) -> None:
    drawn = [*lines(sizes.axes[5], "expected"), *lines(sizes.axes[5], "excess")]
    *each, shallow, deep = (line for line in drawn if len(line.get_xdata()))
    for across, line in zip((shallow, deep), each, strict=True):
        assert across.get_xdata().tolist() == [8, 128]
        assert across.get_ydata().tolist() == [0.01, 0.01]
        assert across.get_color() == line.get_color()


def test_guides_have_their_slope_and_name_and_lie_below_the_points(sizes: Drawn) -> None:
    ax = sizes.axes[0]
    (guide,) = lines(ax, "$1/N$")
    x, y = guide.get_xdata(), guide.get_ydata()
    assert np.log(y[1] / y[0]) / np.log(x[1] / x[0]) == pytest.approx(-1)
    points = next(line for line in lines(ax, "excess") if len(line.get_xdata()))
    assert (np.array([y[0], y[1]]) < points.get_ydata()[[0, -1]]).all()
    (label,) = ax.texts
    assert (label.get_text(), label.xy) == ("$1/N$", (x[1], y[1]))
    low, high = ax.get_ylim()
    assert low < label.xy[1] < high  # matplotlib leaves out what is named elsewhere


@pytest.mark.parametrize("relative", [False, True])
def test_lines_and_guides_divided_by_a_power_of_x(tmp_path: Path, relative: bool) -> None:
    """Values x are divided by their root: a guide of one half is horizontal, one of one is their root."""
    rows = cells("main", lambda width, **_: {"energy": float(width)}, width=(4, 16, 64))
    lines_ = [{"grid": "main", "quantity": {"metric": "energy"}, "label": "energy"}]
    slopes = [{"exponent": 0.5, "label": "root"}, {"exponent": 1, "label": "linear"}]
    panel = {"title": "", "x": "width", "hue": None, "label": "$E / N^{1/2}$", "best": None}
    panel |= {"divided_by": {"power": 0.5}, "relative": relative, "slopes": slopes}
    (ax,) = of_panels(tmp_path, rows, {**panel, "lines": lines_}).axes
    (line,) = (line for line in lines(ax, "energy") if len(line.get_xdata()))
    assert line.get_ydata().tolist() == pytest.approx([1, 2, 4] if relative else [2, 4, 8])
    assert ax.get_ylabel() == "$E / N^{1/2}$"
    (flat,), (steep,) = lines(ax, "root"), lines(ax, "linear")
    assert flat.get_ydata()[0] == flat.get_ydata()[1] == pytest.approx(1 if relative else 1.2)
    rise = np.log(steep.get_ydata()[1] / steep.get_ydata()[0])
    assert rise / np.log(steep.get_xdata()[1] / steep.get_xdata()[0]) == pytest.approx(0.5)


def test_names_of_guides_that_end_together_stand_apart(tmp_path: Path) -> None:
    rows = cells("main", lambda width, **_: {"energy": width**-3.0}, width=(8, 32, 128))
    lines_ = [{"grid": "main", "quantity": {"metric": "energy"}, "label": "energy"}]
    slopes = [{"exponent": -1, "label": "flat"}, {"exponent": -3.1, "label": "steep"}]
    panel = {"title": "", "x": "width", "hue": None, "label": "energy", "lines": lines_}
    found = of_panels(tmp_path, rows, {**panel, "slopes": slopes})
    flat, steep = (name.get_window_extent() for name in found.axes[0].texts)
    assert not flat.overlaps(steep)


def test_without_hue_each_line_has_a_colour_and_a_mark_of_its_own(sizes: Drawn) -> None:
    one, other = (line for line in lines(sizes.axes[3], "energy") if len(line.get_xdata()))
    assert to_rgb(one.get_color()) != to_rgb(other.get_color())
    assert one.get_marker() != other.get_marker()
    legend = sizes.legend
    assert [legend[name].get_marker() for name in ("PC", "BP")] == [
        one.get_marker(),
        other.get_marker(),
    ]
    assert to_rgb(legend["BP"].get_color()) == to_rgb(other.get_color())


def test_sizes_of_several_networks_are_told_apart_by_what_their_titles_share(
    tmp_path: Path,
) -> None:
    panels, rows = [], []
    for grid, network, title in (
        ("main", "mlp", "SP"),
        ("other", "mlp", "muP"),
        ("control", "cnn", "CNN, SP"),
        ("reference", "cnn", "CNN, muP"),
    ):
        axes = {"width": (8, 32), "learning_rate": (0.1, 0.2), "network": (network,)}
        rows += cells(grid, lambda **_: {"train_loss": 1.0}, **axes, parameterisation=(title,))
        panels.append(rate_panel(grid, title=title))
    names = ["$N$ = 8 (MLP)", "$N$ = 32 (MLP)", "$N$ = 8 (CNN)", "$N$ = 32 (CNN)"]
    assert list(of_panels(tmp_path, rows, *panels).legend) == names
    one_each = [panels[0], panels[2]]
    names = ["$N$ = 8 (SP)", "$N$ = 32 (SP)", "$N$ = 8 (CNN, SP)", "$N$ = 32 (CNN, SP)"]
    assert list(of_panels(tmp_path / "alone", rows, *one_each).legend) == names


def test_one_seed_has_no_range(tmp_path: Path) -> None:
    rows = [row for row in rate_rows("main", widths=(8,)) if row[0]["seed"]]
    found = of_panels(tmp_path, rows, rate_panel("main"))
    assert list(found.legend) == ["$N$ = 8"]


def test_a_figure_is_drawn_where_everything_diverged(tmp_path: Path) -> None:
    rows = cells("main", lambda **_: {"train_loss": np.nan}, learning_rate=(0.1, 0.2))
    rows += cells("control", lambda **_: {"train_loss": 2.0}, learning_rate=(0.1, 0.2), depth=(4,))
    panels = [rate_panel("main"), rate_panel("control"), rate_panel("main", label="alone")]
    found = of_panels(tmp_path, rows, *panels, judged=[judged(TRAIN, "main")], wrap=2)
    lost, control, alone = found.axes[:3]
    assert not lines(lost, BEST)
    assert len(lines(lost, LOST)) == len(lines(alone, LOST)) == 1
    assert lost.get_ylim() == control.get_ylim()
    assert np.isfinite(alone.get_ylim()).all()


@pytest.mark.parametrize("hue", ["width", None])
def test_a_quantity_without_the_axis_goes_across(tmp_path: Path, hue: str | None) -> None:
    """As what steps tend to, along the steps; the axis has room for it."""

    def along(width: int, **_: Any) -> dict[str, Any]:
        return {"energy": {t: width / t for t in (1, 2, 4)}, "energy_at_last": {1: width / 40}}

    steps = {"grid": "main", "quantity": {"metric": "energy", "per": "step"}, "label": "energy"}
    last = {"grid": "main", "quantity": {"metric": "energy_at_last"}, "label": "at last"}
    last |= {"style": "dashed", "across": True}
    panel = {"title": "", "x": "step", "x_scale": "linear", "hue": hue, "label": "energy"}
    widths = (8, 16) if hue else (8,)
    found = of_panels(
        tmp_path, cells("main", along, width=widths, seed=(0, 1)), {**panel, "lines": [steps, last]}
    )
    (ax,) = found.axes
    across = [line for line in ax.lines if list(line.get_xdata()) == [1, 4]]
    assert [list(line.get_ydata()) for line in across] == [[w / 40, w / 40] for w in widths]
    assert ax.get_ylim()[0] < widths[0] / 40


def test_a_logarithmic_axis_has_no_place_for_zero(tmp_path: Path) -> None:
    rows = cells("main", lambda **_: {"train_loss": 1.0}, learning_rate=(0.0, 0.1))
    with pytest.raises(ScalingLimitsError, match="learning_rate: 0 has no place on a logarithmic"):
        of_panels(tmp_path, rows, rate_panel("main"))


def test_nothing_overlaps_and_nothing_is_cut_off(rates: Drawn, sizes: Drawn, bowls: Drawn) -> None:
    for found in (rates, sizes, bowls):
        figure = found.figure
        boxes = [ax.get_tightbbox() for ax in found.axes if ax.axison]
        for part in figure.subfigs:
            boxes += [text.get_window_extent() for text in part.texts]
            boxes += [box.get_window_extent() for box in part.legends]
        for one, other in combinations(boxes, 2):
            width = min(one.x1, other.x1) - max(one.x0, other.x0)
            height = min(one.y1, other.y1) - max(one.y0, other.y0)
            # labels of ticks at corners may reach into each other's box
            assert min(width, height) < 12
        assert min(min(box.x0, box.y0) for box in boxes) >= -1
        assert max(box.x1 for box in boxes) <= figure.bbox.x1 + 1
        assert max(box.y1 for box in boxes) <= figure.bbox.y1 + 1

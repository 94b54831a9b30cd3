"""What figures of lines show, read from their artists."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from plotting_records import (
    ACCURACY,
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
from scaling_limits.plots.lines import Panel
from scaling_limits.plotting import page

JUDGED, OPTIMUM = "optimum (judged)", "optimum"
BAR, STABLE = "within 10 % of the lowest", "edge of stability"
LOST = "diverged (any seed)"
RANGE = "min\N{EN DASH}max over seeds"
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
        (4, (1, 4), RANGE),
        (5, (2, 4), "interquartile range over seeds"),
    ):
        records = cells(
            "main", rows, width=(8,), learning_rate=(0.1, 0.2), seed=tuple(range(count))
        )
        found = of_panels(tmp_path / words, records, rate_panel("main"))
        band = found.axes[0].collections[0].get_paths()[0].vertices
        assert {y for x, y in band if x == 0.1} == {low, high}
        assert words in found.legend


def test_lines_may_show_the_median(tmp_path: Path) -> None:
    """Line, limits and ring follow it: the largest of five seeds is far away."""

    def rows(learning_rate: float, seed: int, **_: Any) -> dict[str, float]:
        return {"train_loss": (1.0, 2.0, 3.0, 4.0, 1000.0)[seed] / learning_rate}

    records = cells("main", rows, width=(8,), learning_rate=(0.5, 1.0), seed=tuple(range(5)))
    found = of_panels(tmp_path, records, rate_panel("main", centre="median"))
    (ax,) = found.axes
    (line,) = lines(ax, "training loss")
    assert line.get_ydata().tolist() == [6, 3]
    assert lines(ax, OPTIMUM)[0].get_ydata().tolist() == [3]
    band = ax.collections[0].get_paths()[0].vertices
    assert {y for x, y in band if x == 1.0} == {2, 4}
    assert ax.get_ylim()[1] < 10
    assert "median and interquartile range over seeds" in found.legend


@pytest.mark.parametrize("centre", ["mean", "median"])
def test_single_seeds_may_be_drawn_instead_of_a_band(tmp_path: Path, centre: str) -> None:
    """Each seed is a thin line that the axis contains, also far from the centre, and the legend says so."""
    seeds = [1.0, 2.0, 3.0, 4.0, 1000.0]

    def rows(width: int, seed: int, **_: Any) -> dict[str, float]:
        return {"train_loss": seeds[seed] / width}

    records = cells("main", rows, width=(8, 16), seed=tuple(range(5)))
    line = {"grid": "main", "quantity": TRAIN, "label": "loss"}
    panel = {"title": "", "x": "width", "label": "loss", "best": None, "lines": [line]}
    found = of_panels(tmp_path, records, {**panel, "spread": "seeds", "centre": centre})
    (ax,) = found.axes
    single = [line for line in ax.lines if line.get_linewidth() < 0.6]
    assert sorted(line.get_ydata().tolist() for line in single) == [[v / 8, v / 16] for v in seeds]
    (middle,) = lines(ax, "training loss")
    assert middle.get_ydata() == pytest.approx(getattr(np, centre)(seeds) / np.array([8, 16]))
    assert not ax.collections
    assert ax.get_ylim()[1] > 1000 / 8
    assert {f"{centre} over seeds", "single seed"} <= found.legend.keys()
    assert not any("range" in name or "min" in name for name in found.legend)
    assert "_seed" not in found.legend


def test_lines_may_be_drawn_without_their_seeds(tmp_path: Path) -> None:
    """Seeds far from the mean extend neither the axis nor the legend."""
    rows = cells("main", lambda seed, **_: {"train_loss": 10.0**seed}, width=(8, 16), seed=(-3, 1))
    line = {"grid": "main", "quantity": TRAIN, "label": "loss"}
    panel = {"title": "", "x": "width", "label": "loss", "best": None, "lines": [line]}
    found = of_panels(tmp_path, rows, {**panel, "spread": "none"})
    (ax,) = found.axes
    assert not ax.collections
    assert len(ax.lines) == 1
    assert ax.get_ylim()[0] > 1.0
    assert not any("seed" in name for name in found.legend)


def test_a_line_of_one_seed_is_drawn_once(tmp_path: Path) -> None:
    rows = cells("main", lambda **_: {"train_loss": 1.0}, width=(8, 16))
    line = {"grid": "main", "quantity": TRAIN, "label": "loss"}
    panel = {"title": "", "x": "width", "label": "loss", "best": None, "lines": [line]}
    found = of_panels(tmp_path, rows, {**panel, "spread": "seeds"})
    assert len(found.axes[0].lines) == 1
    assert "single seed" not in found.legend


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_lines_may_end_with_an_arrow_where_they_leave_the_limits(
    tmp_path: Path, scale: str
) -> None:
    """By width: one line leaves upwards and would return, one downwards, one stays, one starts outside."""
    curves = {8: [1, 3, 9, 1, 1], 16: [2, 1, 0.25, 9, 1], 32: [1, 2, 3, 2, 1], 64: [9, 1, 1, 1, 1]}

    def rows(width: int, **_: Any) -> dict[str, dict[int, float]]:
        return {"train_loss": dict(enumerate(map(float, curves[width])))}

    quantity = {"metric": "train_loss", "per": "step"}
    panel = rate_panel("main", quantity, x="step", x_scale="linear", scale=scale)
    panel |= {"limits": [0.5, 5], "stops_at_limits": True}
    found = of_panels(tmp_path, cells("main", rows, width=tuple(curves)), panel)
    (ax,) = found.axes
    up, down, inside = lines(ax, "training loss")
    share = {"linear": 2 / 6, "log": np.log(5 / 3) / np.log(3)}[scale]
    assert up.get_xdata() == pytest.approx([0, 1, 1 + share])
    assert up.get_ydata() == pytest.approx([1, 3, 5])
    share = {"linear": 2 / 3, "log": 0.5}[scale]
    assert down.get_xdata() == pytest.approx([0, 1, 1 + share])
    assert inside.get_ydata().tolist() == curves[32]
    arrows = lines(ax, "leaves the frame")
    assert [arrow.get_marker() for arrow in arrows] == ["^", "v"]
    assert [arrow.get_xydata()[0].tolist() for arrow in arrows] == [
        line.get_xydata()[-1].tolist() for line in (up, down)
    ]
    assert [to_rgb(arrow.get_color()) for arrow in arrows] == [
        to_rgb(line.get_color()) for line in (up, down)
    ]
    assert "leaves the frame" in found.legend


def test_bars_span_the_range_as_a_mean_may_lie_outside_of_half_the_seeds(tmp_path: Path) -> None:
    def rows(seed: int, **_: Any) -> dict[str, float]:
        return {"train_loss": 1.0 + 99.0 * (seed == 0)}

    records = cells("main", rows, width=(8,), learning_rate=(0.1, 0.2), seed=tuple(range(9)))
    panel = rate_panel("main")
    panel["lines"] = [{**panel["lines"][0], "style": "markers"}]
    found = of_panels(tmp_path, records, panel)
    (bars,) = found.axes[0].collections
    assert {y for path in bars.get_paths() for _, y in path.vertices} == {1.0, 100.0}
    assert RANGE in found.legend


def test_seeds_of_both_numbers_have_one_entry(tmp_path: Path) -> None:
    rows = [
        *cells("few", lambda **_: {"train_loss": 1.0}, learning_rate=(0.1, 0.2), seed=(0, 1)),
        *cells("many", lambda **_: {"train_loss": 2.0}, learning_rate=(0.1, 0.2), seed=range(5)),
    ]
    found = of_panels(tmp_path, rows, rate_panel("few"), rate_panel("many"))
    assert "min\N{EN DASH}max (IQR from 5 seeds on)" in found.legend


def test_every_optimum_is_ringed_and_grey_where_no_claim_judges_it(rates: Drawn) -> None:
    loss, control, accuracy, not_judged = rates.axes
    assert octaves(loss, JUDGED) == [[-4], [-4]]
    assert octaves(control, JUDGED) == [[-4], [-6]]
    assert [line.get_ydata()[0] for line in lines(loss, JUDGED)] == pytest.approx(
        [0.11, 0.11 * FACTOR]
    )
    # a claim about what is `within` a share of the best: the largest such rate
    assert octaves(accuracy, JUDGED) == [[-3], [-3]]
    drawn_in = [to_rgb(line.get_color()) for line in lines(loss, "training loss")]
    assert [to_rgb(ring.get_markeredgecolor()) for ring in lines(loss, JUDGED)] == drawn_in
    assert octaves(not_judged, OPTIMUM) == [[-4], [-6]]
    assert {to_rgb(ring.get_markeredgecolor()) for ring in lines(not_judged, OPTIMUM)} == {
        (0.55,) * 3
    }
    assert not lines(not_judged, JUDGED)
    assert not any(lines(ax, OPTIMUM) for ax in (loss, control, accuracy))


def test_a_line_that_is_nowhere_better_than_chance_has_no_ring(tmp_path: Path) -> None:
    """Its row in the strip is dotted, and it does not keep the axis from ending at the limits."""

    def loss(width: int, learning_rate: float, **_: Any) -> dict[str, float]:
        return {"train_loss": (1000.0 if width == 32 else 1.0) + learning_rate}

    rows = cells("main", loss, width=(8, 32), learning_rate=(0.1, 0.2, 0.4))
    panel = rate_panel("main", TRAIN | {"chance": 2.3}, limits=[1, 3])
    (ax,) = of_panels(tmp_path, rows, panel).axes
    assert [line.get_ydata()[0] for line in lines(ax, OPTIMUM)] == pytest.approx([1.1])
    (dotted,) = lines(ax.child_axes[0], "nowhere better than chance")
    assert (list(dotted.get_xdata()), list(dotted.get_ydata())) == ([0.1, 0.4], [1, 1])
    assert ax.get_ylim()[1] < 4


def test_nothing_is_best_over_sizes_or_steps(sizes: Drawn) -> None:
    for ax in sizes.axes:
        assert not lines(ax, OPTIMUM)
        assert not ax.child_axes


@pytest.mark.parametrize(("level", "rings"), [(None, [-4]), (0.5, [])])
def test_without_a_hue_the_best_point_of_a_line_is_ringed_unless_several_are_best(
    tmp_path: Path, level: float | None, rings: list[int]
) -> None:
    (own,) = rate_panel("main")["lines"]
    panel = rate_panel("main", hue=None, lines=[{**own, "label": "loss"}])
    rows = rate_rows("main", widths=(8,))
    if level is not None:
        rates = tuple(2.0**k for k in range(-7, 1))
        rows = cells("main", lambda **_: {"train_loss": level}, width=(8,), learning_rate=rates)
    (ax,) = of_panels(tmp_path, rows, panel).axes
    assert [np.log2(ring.get_xdata()[0]) for ring in lines(ax, OPTIMUM)] == rings
    # a strip would have a row for each size
    assert not ax.child_axes


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
def test_a_claim_about_something_else_judges_no_ring(tmp_path: Path, claim: dict[str, Any]) -> None:
    found = of_panels(tmp_path, rate_rows("main", widths=(8,)), rate_panel("main"), judged=[claim])
    assert JUDGED not in found.legend
    assert {OPTIMUM, BAR} < set(found.legend)


@pytest.mark.parametrize(("best", "worse"), [("min", 1.0), (None, 1.0), ("max", 0.0)])
def test_crosses_over_sizes_stand_at_the_worse_end(
    tmp_path: Path, best: str | None, worse: float
) -> None:
    def value(width: int, seed: int, **said: Any) -> dict[str, float]:
        return {"train_loss": np.inf if width >= 16 * said["depth"] and seed else 1.0}

    rows = cells("main", value, width=(8, 16, 32), depth=(1, 2), seed=(0, 1))
    scale = {"scale": "linear"} if best == "max" else {}
    panel = rate_panel("main", x="width", hue="depth", best=best, **scale)
    (ax,) = of_panels(tmp_path, rows, panel).axes
    assert octaves(ax, LOST) == [[4, 5], [5]]
    heights = [line.get_ydata()[0] for line in lines(ax, LOST)]
    assert len(set(heights)) == 2
    assert all(abs(height - worse) < 0.2 for height in heights)


def test_what_blows_up_does_not_move_the_limits_but_every_ring_is_inside(rates: Drawn) -> None:
    loss, _, accuracy, _ = rates.axes
    assert max(line.get_ydata().max() for line in lines(loss, "training loss")) > 1e5
    assert loss.get_ylim()[1] < 1
    assert accuracy.get_ylim()[0] > 0.8
    for ax in rates.axes:
        low, high = ax.get_ylim()
        assert all(
            low < line.get_ydata()[0] < high
            for name in (JUDGED, OPTIMUM)
            for line in lines(ax, name)
        )


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
    """All but what blows up is within a factor of two."""
    for ax in rates.axes[:2]:
        low, high = ax.get_ylim()
        assert high / low < 7


@pytest.mark.parametrize(
    "ends",
    [
        *[(2e-6, 1e-5), (2e-6, 1.2e-5), (0.83, 1.29), (0.4, 0.57)],
        *[(0.05, 0.5), (0.02, 0.9), (1e-3, 1e3)],
    ],
)
@pytest.mark.parametrize("few", [False, True])
def test_a_logarithmic_axis_has_two_numbers_at_least(ends: tuple[float, float], few: bool) -> None:
    ax = Figure().subplots()
    ax.set_yscale("log")
    ax.set_ylim(*ends)
    page.scale_ticks(ax.yaxis, "log", *ends, few=few)
    numbers = [label for label in ax.get_yticklabels() if label.get_text()]
    assert sum(ends[0] <= label.get_position()[1] <= ends[1] for label in numbers) >= 2


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([64.0], [64.0]),
        ([0.25, 0.5, 1.0], [0.25, 0.5, 1.0]),
        ([0.0625, 0.0884, 0.125, 0.1768], [0.0625, 0.125]),
        # at most six of them have numbers
        ([2.0**k for k in range(3, 9)], [8.0, 16.0, 32.0, 64.0, 128.0, 256.0]),
        ([2.0**k for k in range(3, 11)], [8.0, 32.0, 128.0, 512.0]),
        # at the values, which are at every other power
        ([2.0**k for k in range(-14, 1, 2)], [2.0**k for k in range(-14, 1, 4)]),
    ],
)
def test_ticks_are_powers_of_two_with_half_octaves_between_them(
    values: list[float], ticks: list[float]
) -> None:
    ax = Figure().subplots()
    ax.set(xscale="log", xlim=(values[0] / 1.1, values[-1] * 1.1))
    page.size_ticks(ax.xaxis, np.array(values))
    low, high = ax.get_xlim()
    assert [tick for tick in ax.get_xticks().tolist() if low < tick < high] == ticks


def test_values_at_equal_distances_have_a_tick_each(tmp_path: Path) -> None:
    rows = cells(
        "main",
        lambda learning_rate, **_: {"train_loss": learning_rate},
        width=(8,),
        learning_rate=(0.5, 0.75, 1.0, 64.0),
    )
    panel = rate_panel("main", x_scale="even", best=None)
    (ax,) = of_panels(tmp_path, rows, panel).axes
    assert ax.get_xticks().tolist() == [0.5, 0.75, 1.0, 64.0]
    places = ax.transData.transform([(x, 1.0) for x in ax.get_xticks()])[:, 0]
    distances = np.diff(places)
    assert distances == pytest.approx(distances[0])
    with pytest.raises(Exception, match="slopes are straight lines on logarithmic axes only"):
        of_panels(tmp_path / "again", rows, panel | {"slopes": [{"exponent": 1, "label": "x"}]})


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
    shared = r"learning rate $\eta$"
    # below the strips
    assert [ax.get_xlabel() for ax in rates.axes] == [""] * 4
    assert [ax.child_axes[0].get_xlabel() for ax in rates.axes] == ["", "", shared, shared]
    # of other data what is drawn alike is not compared
    width, other, *_ = sizes.axes
    assert other.get_ylim() != width.get_ylim()
    assert other.get_ylabel() == width.get_ylabel() == "$s - 1$"


def test_panels_with_different_labels_of_x_have_their_own_axes(tmp_path: Path) -> None:
    rows = [*rate_rows("a"), *rate_rows("b")]
    rows = [row for row in rows if row[0]["grid"] == "a" or row[0]["learning_rate"] > 2**-5]
    for label, shared in ((None, True), ("other rate", False)):
        panels = [rate_panel("a"), rate_panel("b", x_label=label)]
        one, other = of_panels(tmp_path / str(label), rows, *panels).axes
        assert (one.get_xlim() == other.get_xlim()) is shared


def test_rates_of_different_optimisers_have_their_own_axes(tmp_path: Path) -> None:
    rows = []
    for grid, optimiser in (("sgd", "sgd"), ("other", "sgd"), ("adam", "adam")):
        rates_ = (0.1, 0.2) if grid == "sgd" else (0.2, 0.4)
        axes = {"width": (8,), "learning_rate": rates_, "optimiser": (optimiser,)}
        rows += cells(grid, lambda **_: {"train_loss": 1.0}, **axes)
    sgd, other, adam = of_panels(tmp_path, rows, *map(rate_panel, ("sgd", "other", "adam"))).axes
    assert sgd.get_xlim() == other.get_xlim() != adam.get_xlim()


def test_panels_of_a_column_share_their_axis_if_quantities_are_in_columns(tmp_path: Path) -> None:
    rows = [*rate_rows("main"), *rate_rows("control", drift=1.0)]
    accuracy = {"label": "test accuracy", "scale": "linear", "best": "max"}
    panels = [
        panel
        for grid in ("main", "control")
        for panel in (
            rate_panel(grid, title=f"{grid}, early"),
            rate_panel(grid, ACCURACY, title=f"{grid}, late", **accuracy),
        )
    ]
    plot = {"kind": "lines", "wrap": 2, "transposed": True, "panels": panels}
    axes = drawn(write_folder(tmp_path / "f", plot, rows)).axes
    limits = [ax.get_ylim() for ax in axes[:4]]
    assert limits[:2] == limits[2:]
    assert limits[0] != limits[1]
    assert [ax.get_title() for ax in axes[:4]] == ["early", "late", "", ""]
    assert [ax.get_ylabel() for ax in axes[:4]] == [
        "main\ntraining loss",
        "test accuracy",
        "control\ntraining loss",
        "test accuracy",
    ]


@pytest.mark.parametrize(("columns", "label"), [(5, "learning rate $\\eta$"), (6, "$\\eta$")])
def test_narrow_panels_have_symbols_for_labels(tmp_path: Path, columns: int, label: str) -> None:
    plot = {"kind": "lines", "wrap": columns, "panels": [rate_panel("main")] * columns}
    found = drawn(write_folder(tmp_path / "f", plot, rate_rows("main")))
    (strip,) = found.axes[0].child_axes
    assert strip.get_xlabel() == label


def test_networks_share_a_palette_if_one_has_all_sizes_of_the_other(tmp_path: Path) -> None:
    def of(network: str, *widths: int) -> Rows:
        rows = rate_rows(network, widths=widths)
        return [(cell | {"network": network}, said) for cell, said in rows]

    panels = [rate_panel("mlp"), rate_panel("cnn")]
    nested = of_panels(tmp_path / "a", of("mlp", 8, 32) + of("cnn", 8, 16, 32), *panels)
    assert [name for name in nested.legend if "=" in name] == [
        "width $N$ = 8",
        "width $N$ = 16",
        "width $N$ = 32",
    ]
    colours = [
        {to_rgb(line.get_color()) for line in lines(ax, "training loss")} for ax in nested.axes
    ]
    assert colours[0] < colours[1]
    apart = of_panels(tmp_path / "b", of("mlp", 8, 32) + of("cnn", 16, 32), *panels)
    assert len([name for name in apart.legend if "=" in name]) == 4


def test_titles_stand_where_they_change_from_above(rates: Drawn, sizes: Drawn) -> None:
    assert [ax.get_title() for ax in rates.axes] == ["main", "control", "", ""]
    titles = [
        "Against the width",
        "Other data",
        "Over the depth",
        "",
        "Against the width",
    ]
    assert [ax.get_title() for ax in sizes.axes] == titles


def test_a_panel_that_repeats_the_cells_of_another_is_dropped(sizes: Drawn) -> None:
    assert len(sizes.axes) == 5
    assert "The same" not in [panel.title for panel, _ in sizes.page.panels]
    # rows have three and two panels left, so they keep the columns of before
    places = [ax.get_subplotspec() for ax in sizes.axes]
    assert [(place.rowspan.start, place.colspan.start) for place in places] == [
        *((0, 0), (0, 1), (0, 2)),
        *((1, 0), (1, 1)),
    ]


def test_a_dropped_column_leaves_rows_of_the_others(tmp_path: Path) -> None:
    rows = [*rate_rows("main", widths=(8,)), *rate_rows("again", widths=(8,))]
    grids = ("main", "again")
    panels = [*map(rate_panel, grids), *(rate_panel(grid, ACCURACY) for grid in grids)]
    found = of_panels(tmp_path, rows, *panels, wrap=2)
    assert [panel.title for panel, _ in found.page.panels] == ["main", "main"]
    places = [ax.get_subplotspec() for ax in found.axes]
    assert [(place.rowspan.start, place.colspan.start) for place in places] == [(0, 0), (1, 0)]


def test_the_axis_above_a_dropped_panel_has_its_name(tmp_path: Path) -> None:
    rows = rate_rows("main", widths=(8,))
    again = rate_rows("again", widths=(8,))
    found = of_panels(tmp_path, rows + again, rate_panel("main"), rate_panel("again"), wrap=1)
    (ax,) = found.axes
    assert ax.child_axes[0].get_xlabel() == r"learning rate $\eta$"


def test_panels_of_the_same_cells_and_grids_are_both_drawn(tmp_path: Path) -> None:
    """A panel is dropped only where a dataset stands in for its own, which gives grids of other names."""
    panels = [rate_panel("main"), rate_panel("main", limits=[0.1, 0.2])]
    assert len(of_panels(tmp_path, rate_rows("main", widths=(8,)), *panels).axes) == 2


def test_colours_and_styles_are_explained(rates: Drawn, sizes: Drawn) -> None:
    names = ["width $N$ = 8", "width $N$ = 32"]
    optima = [
        "interpolated optimum (95 % CI)",
        "power of the width",
        "interval open: end of the grid",
    ]
    bars = f"loss or error (1 − accuracy) {BAR}"
    entries = [*names, JUDGED, OPTIMUM, bars, STABLE, "leaves the frame", RANGE, *optima]
    assert list(rates.legend) == entries
    small, large = lines(rates.axes[0], "training loss")
    assert rates.legend["width $N$ = 8"].get_color() == small.get_color() != large.get_color()
    # a hue of which not every value has a name keeps its symbol
    entries = [
        "depth $L$ = shallow",
        "depth $L$ = 8",
        "width $M$ = 8",
        "width $M$ = 32",
        "width $M$ = 128",
    ]
    entries += ["PC", "BP", "$L/N$", "limit", "limit across", LOST, RANGE]
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
    ax = sizes.axes[4]
    drawn = [*lines(ax, "expected"), *lines(ax, "excess")]
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


def test_an_axis_that_is_neither_x_nor_the_hue_repeats_the_line(tmp_path: Path) -> None:
    """One line for each step, as means over seeds; they are named, visible, and without a band."""

    def value(width: int, seed: int) -> dict[str, Any]:
        return {"energy": {step: (step + 1) * width + 2.0 * seed - 1 for step in (0, 4, 9)}}

    rows = cells("main", value, width=(8, 16), seed=(0, 1))
    energy = {"metric": "energy", "per": "step"}
    lines_ = [{"grid": "main", "quantity": energy, "style": "thin", "label": "each step"}]
    panel = {"title": "", "x": "width", "hue": None, "label": "energy", "best": None}
    drawing = of_panels(tmp_path, rows, {**panel, "lines": lines_})
    (ax,) = drawing.axes
    thin = [line for line in ax.lines if line.get_linewidth() == 0.5 and len(line.get_xdata())]
    shown = [line.get_ydata().tolist() for line in thin]
    assert sorted(shown) == [[8, 16], [40, 80], [80, 160]]
    assert ax.get_ylim()[0] < 8
    assert ax.get_ylim()[1] > 160
    assert [len(ax.collections), "each step" in drawing.legend] == [0, True]
    assert not any("seeds" in name for name in drawing.legend)


@pytest.mark.parametrize(("spread", "extends"), [(0.2, True), (5.0, False)])
def test_the_axis_contains_bands_over_seeds_up_to_half_of_the_range(
    tmp_path: Path, spread: float, extends: bool
) -> None:
    """Means 1 to 3 with a range of `spread` on both sides."""

    def value(width: int, seed: int) -> dict[str, float]:
        return {"energy": {8: 1.0, 16: 2.0, 32: 3.0}[width] + spread * (2 * seed - 1)}

    rows = cells("main", value, width=(8, 16, 32), seed=(0, 1))
    line = {"grid": "main", "quantity": {"metric": "energy"}, "label": "energy"}
    panel = {"title": "", "x": "width", "hue": None, "label": "energy", "best": None}
    (ax,) = of_panels(tmp_path, rows, {**panel, "scale": "linear", "lines": [line]}).axes
    low, high = ax.get_ylim()
    margin = 0.08 / (1 - 2 * 0.08)
    bottom, top = (1 - spread, 3 + spread) if extends else (0.0, 4.0)
    assert (low, high) == pytest.approx(
        (bottom - margin * (top - bottom), top + margin * (top - bottom))
    )


@pytest.mark.parametrize(
    ("samples", "low"), [(100, 0.8), (10000, 0.99)], ids=["few samples", "many samples"]
)
def test_the_axis_does_not_magnify_single_samples(tmp_path: Path, samples: int, low: float) -> None:
    """Accuracies from 0.99 to 1: of 100 samples, the axis spans 20."""
    rows = cells(
        "main",
        lambda width, **_: {"train_accuracy": 0.99 if width == 8 else 1.0},
        width=(8, 16, 32),
        num_train=(samples,),
    )
    line = {"grid": "main", "quantity": {"metric": "train_accuracy"}, "label": "a"}
    panel = {"title": "", "x": "width", "hue": None, "label": "a", "scale": "linear", "best": None}
    (ax,) = of_panels(tmp_path, rows, {**panel, "lines": [line]}).axes
    margin = 0.08 / (1 - 2 * 0.08) * (1 - low)
    assert ax.get_ylim() == pytest.approx((low - margin, 1 + margin))


def test_a_guide_lies_below_the_line_with_the_closest_slope(tmp_path: Path) -> None:
    """Lines 5 / N and N^-3: neither guide lies near the other line, whose slope it does not have."""

    def value(width: int, depth: int, **_: Any) -> dict[str, float]:
        return {"energy": 5.0 / width if depth == 1 else width**-3.0}

    rows = cells("main", value, width=(8, 32, 128), depth=(1, 3))
    slopes = [{"exponent": -1, "label": "one"}, {"exponent": -2.9, "label": "three"}]
    panel = {"title": "", "x": "width", "hue": "depth", "label": "energy", "best": None}
    lines_ = [{"grid": "main", "quantity": {"metric": "energy"}}]
    (ax,) = of_panels(tmp_path, rows, {**panel, "lines": lines_, "slopes": slopes}).axes
    (one,), (three,) = lines(ax, "one"), lines(ax, "three")
    assert one.get_ydata() == pytest.approx([0.6 * 5 / 8, 0.6 * 5 / 128])
    assert three.get_ydata()[-1] == pytest.approx(0.6 * 128**-3.0, rel=0.2)


def test_a_guide_lies_below_lines_that_are_not_drawn_for_comparison(tmp_path: Path) -> None:
    """The control has the exponent of the guide and lies far above the constant line."""
    rows = cells("main", lambda **_: {"energy": 1.0}, width=(8, 32, 128))
    rows += cells("other", lambda width, **_: {"energy": 1e6 / width}, width=(8, 32, 128))
    energy = {"quantity": {"metric": "energy"}}
    lines_ = [
        {"grid": "main", "label": "main", **energy},
        {"grid": "other", "label": "other", "style": "dotted", **energy},
    ]
    panel = {"title": "", "x": "width", "hue": None, "label": "energy", "best": None}
    slopes = [{"exponent": -1, "label": "one"}]
    (ax,) = of_panels(tmp_path, rows, {**panel, "lines": lines_, "slopes": slopes}).axes
    (one,) = lines(ax, "one")
    assert one.get_ydata()[0] == pytest.approx(0.6)


def test_a_guide_ends_at_the_limits_with_its_name_inside(tmp_path: Path) -> None:
    """Constant data at 1: without limits, the guide would end at 1/2."""
    rows = cells("main", lambda **_: {"energy": 1.0}, width=(8, 32, 2048))
    lines_ = [{"grid": "main", "quantity": {"metric": "energy"}, "label": "energy"}]
    panel = {"title": "", "x": "width", "hue": None, "label": "energy", "lines": lines_}
    panel |= {"slopes": [{"exponent": -1, "label": "one"}], "limits": [0.01, 2]}
    (ax,) = of_panels(tmp_path, rows, panel).axes
    (one,) = lines(ax, "one")
    assert one.get_xdata() == pytest.approx([8, 0.6 * 8 / 0.01])
    assert one.get_ydata() == pytest.approx([0.6, 0.01])
    (name,) = ax.texts
    assert ax.get_window_extent().y0 < name.get_window_extent().y0


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


def test_without_hue_the_legend_shows_lines_as_they_are_drawn(tmp_path: Path) -> None:
    rows = cells("main", lambda width, **_: {"energy": 1.0 / width}, width=(8, 16, 32))
    own = {"grid": "main", "quantity": {"metric": "energy"}}
    styles = {"points": "markers", "limit": "dotted"}
    lines_ = [{**own, "label": label, "style": look} for label, look in styles.items()]
    panel = {"title": "", "x": "width", "hue": None, "label": "energy", "lines": lines_}
    legend = of_panels(tmp_path, rows, panel).legend
    assert (legend["points"].get_linestyle(), legend["points"].get_marker()) == ("None", "o")
    assert legend["limit"].get_linestyle() != "-"
    assert legend["limit"].get_marker() in (None, "None")


def test_a_style_that_a_line_without_hue_shows_has_one_entry(tmp_path: Path) -> None:
    rows = cells("main", lambda width, **_: {"energy": 1.0 / width}, width=(8, 16, 32))
    own = {"grid": "main", "quantity": {"metric": "energy"}}
    both = [{**own, "label": "PC"}, {**own, "label": "BP", "style": "dashed"}]
    panel = {"title": "", "x": "width", "label": "energy"}
    panels = ({**panel, "hue": "depth", "lines": both}, {**panel, "hue": None, "lines": both[1:]})
    legend = of_panels(tmp_path, rows, *panels).legend
    assert [name for name in legend if name in ("PC", "BP")] == ["BP", "PC"]
    assert to_rgb(legend["PC"].get_color()) == (0.35,) * 3 != to_rgb(legend["BP"].get_color())


def test_the_legend_shows_the_marks_of_optima_in_the_strip(tmp_path: Path) -> None:
    rows = rate_rows("main")
    both = [
        {"grid": "main", "quantity": TRAIN, "label": label, "style": look}
        for label, look in {"PC": "solid", "BP": "dashed"}.items()
    ]
    legend = of_panels(tmp_path, rows, rate_panel("main", lines=both)).legend
    faces = [to_rgb(legend[name].get_markerfacecolor()) for name in ("PC", "BP")]
    assert faces == [(0.35,) * 3, (1.0,) * 3]
    assert {legend[name].get_marker() for name in ("PC", "BP")} == {"o"}


def test_a_dashed_line_of_a_single_point_has_a_mark(tmp_path: Path) -> None:
    rows = cells("main", lambda width, **_: {"energy": 1.0 / width}, width=(8,))
    rows += cells("other", lambda width, **_: {"energy": 1.0 / width}, width=(8, 16))
    energy = {"quantity": {"metric": "energy"}, "style": "dashed"}
    both = [{"grid": grid, "label": grid, **energy} for grid in ("main", "other")]
    panel = {"title": "", "x": "width", "hue": None, "label": "energy", "lines": both}
    shown = [
        line for line in of_panels(tmp_path, rows, panel).axes[0].lines if len(line.get_xdata())
    ]
    assert [line.get_marker() for line in shown] == ["o", "None"]


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
        # neither network has all sizes of the other
        widths = (8, 32) if network == "mlp" else (16, 32)
        axes = {"width": widths, "learning_rate": (0.1, 0.2), "network": (network,)}
        rows += cells(grid, lambda **_: {"train_loss": 1.0}, **axes, parameterisation=(title,))
        panels.append(rate_panel(grid, title=title))
    marks = [OPTIMUM, BAR]
    names = [
        f"width $N$ ({net}) = {n}" for net, ns in (("MLP", (8, 32)), ("CNN", (16, 32))) for n in ns
    ]
    assert list(of_panels(tmp_path, rows, *panels).legend) == names + marks
    one_each = [panels[0], panels[2]]
    names = [
        "width $N$ (SP) = 8",
        "width $N$ (SP) = 32",
        "width $N$ (CNN, SP) = 16",
        "width $N$ (CNN, SP) = 32",
    ]
    assert list(of_panels(tmp_path / "alone", rows, *one_each).legend) == names + marks


def test_one_seed_has_no_range(tmp_path: Path) -> None:
    rows = [row for row in rate_rows("main", widths=(8,)) if row[0]["seed"]]
    found = of_panels(tmp_path, rows, rate_panel("main"))
    assert list(found.legend) == ["width $N$ = 8", OPTIMUM, BAR]


def test_a_figure_is_drawn_where_everything_diverged(tmp_path: Path) -> None:
    rows = cells("main", lambda **_: {"train_loss": np.nan}, learning_rate=(0.1, 0.2))
    rows += cells("control", lambda **_: {"train_loss": 2.0}, learning_rate=(0.1, 0.2), depth=(4,))
    panels = [rate_panel("main"), rate_panel("control"), rate_panel("main", label="alone")]
    found = of_panels(tmp_path, rows, *panels, judged=[judged(TRAIN, "main")], wrap=2)
    lost, control, alone = found.axes[:3]
    for ax in (lost, alone):
        assert not lines(ax, JUDGED)
        assert not lines(ax, OPTIMUM)
        # one cross at the first rate
        assert [line.get_xdata().tolist() for line in lines(ax.child_axes[0], LOST)] == [[0.1]]
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
        boxes = [ax.get_tightbbox() for ax in figure.axes]
        boxes += [box.get_window_extent() for box in figure.findobj(Legend)]
        for part in figure.subfigs:
            boxes += [text.get_window_extent() for text in part.texts]
        for one, other in combinations(boxes, 2):
            width = min(one.x1, other.x1) - max(one.x0, other.x0)
            height = min(one.y1, other.y1) - max(one.y0, other.y0)
            # labels of ticks at corners may reach into each other's box
            assert min(width, height) < 12
        assert min(min(box.x0, box.y0) for box in boxes) >= -1
        assert max(box.x1 for box in boxes) <= figure.bbox.x1 + 1
        assert max(box.y1 for box in boxes) <= figure.bbox.y1 + 1


def test_values_may_be_ratios_of_best_values_to_those_of_another_grid(tmp_path: Path) -> None:
    """With a point tuned at the smallest size, the ratio to the own grid is the cost of its transfer."""

    def value(factor: float) -> Any:
        # the best rate falls with the depth
        return lambda depth, learning_rate, seed, **_: {
            "train_loss": factor * (1 + seed) * (1 + abs(np.log2(learning_rate * depth)))
        }

    axes = {"depth": (2, 4), "learning_rate": (0.25, 0.5), "seed": (0, 1)}
    others = cells("other", value(2.0), **axes, parameterisation=("sp",))
    rows = [*cells("main", value(3.0), **axes), *others]
    panel = {"title": "ratio", "x": "depth", "label": "ratio", "over": ["learning_rate"]}

    def shown(name: str, grid: str, **said: Any) -> list[float]:
        line = {"grid": "main", "quantity": TRAIN, "ratio_to": grid, "label": "main"}
        found = of_panels(tmp_path / name, rows, {**panel, "lines": [line], **said})
        (drawn_line,) = lines(found.axes[0], "training loss")
        return list(drawn_line.get_ydata())

    assert shown("other", "other") == pytest.approx([1.5, 1.5])
    assert shown("cost", "main", tuned_at="smallest") == pytest.approx([1, 2])


def test_a_ratio_needs_all_points_of_the_other_grid(tmp_path: Path) -> None:
    rows = cells("main", lambda **_: {"train_loss": 1.0}, depth=(2, 4))
    rows += cells("other", lambda **_: {"train_loss": 1.0}, depth=(2,))
    line = {"grid": "main", "quantity": TRAIN, "ratio_to": "other", "label": "main"}
    panel = {"title": "", "x": "depth", "label": "ratio", "lines": [line], "best": None}
    with pytest.raises(ScalingLimitsError, match="'other' lacks values of depth and seed"):
        of_panels(tmp_path, rows, panel)


def test_values_may_be_slopes_along_an_axis(tmp_path: Path) -> None:
    def value(depth: int, seed: int) -> dict[str, Any]:
        # not a power below index 2
        return {
            "feature_increment": {
                (0, i): i ** (depth / 4 + seed / 4) if i > 1 else 9.0 for i in (1, 2, 4, 8)
            }
        }

    rows = cells("main", value, depth=(2, 4), seed=(0, 1))
    line = {"grid": "main", "quantity": {"metric": "feature_increment", "per": "index"}}
    panel = {"title": "", "x": "depth", "label": "slope", "best": None, "scale": "linear"}
    panel |= {"lines": [{**line, "label": "main"}], "slope_along": {"axis": "index", "at_least": 2}}
    found = of_panels(tmp_path, rows, panel)
    (drawn_line,) = (line for line in found.axes[0].lines if len(line.get_xdata()) == 2)
    assert drawn_line.get_ydata() == pytest.approx([0.625, 1.125])


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"tuned_at": "smallest"}, "smallest size x"),
        ({"slope_along": {"axis": "index"}}, "no slope is best"),
        ({"x": "learning_rate", "ratio": True}, "x should be a size"),
    ],
)
def test_ratios_and_slopes_that_mean_nothing_are_rejected(
    said: dict[str, Any], message: str
) -> None:
    line: dict[str, Any] = {"grid": "main", "quantity": TRAIN, "label": "main"}
    line |= {"ratio_to": "main"} if said.pop("ratio", None) else {}
    panel = {"title": "", "x": "depth", "label": "ratio", "lines": [line], **said}
    with pytest.raises(ValueError, match=message):
        Panel.model_validate(panel)

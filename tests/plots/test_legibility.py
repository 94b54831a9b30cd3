"""Figures can be read: no texts over each other or off the page, no large legends, no empty axes, no colour twice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import legibility
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from plotting_records import (
    ACCURACY,
    TRAIN,
    VERDICT,
    Drawn,
    Rows,
    cells,
    drawn,
    judged,
    rate_panel,
    rate_rows,
    write_folder,
)

LONG = {
    "identity": "Ishikawa, Yokota & Karakida 2024 \N{MIDDLE DOT} Figure S.5",
    "title": "Learning-rate transfer across width and depth under SP, NTP and µP for K-FAC and Shampoo",
    "see": "Under µP the optimal rate (rings) is the same at every width; under SP it moves left, "
    "and beyond a rate of $2^{-2}$ training of the widest networks diverges.",
    "notes": [
        "Scale (laptop): $N$ = 8\N{EN DASH}2048 (paper: 64\N{EN DASH}16,384), $H$ = 8\N{EN DASH}32 "
        "(8\N{EN DASH}128), 150 updates (58,600), batch size 64 (256), 1024 training samples, "
        "CIFAR-10 (paper: ImageNet), mean of 2 seeds.",
        "The runs are those of second-order Fig. S.4.",
    ],
    "verdicts": [
        VERDICT | {"verdict": verdict, "reason": "interval"}
        for verdict in ("holds", "fails", "inconclusive")
    ],
}


def located(drift: float, *widths: int) -> list[list[float | None]]:
    at = [2.0 ** (-4 - drift * np.log2(width / 8)) for width in widths]
    return [[w, x, x / 2, x * 2] for w, x in zip(widths, at, strict=True)]


def many_sizes(folder: Path) -> Path:
    """Two networks under two schemes, eight widths, two quantities, and optima against the width."""
    widths = tuple(2**k for k in range(3, 11))
    rows: Rows = []
    panels, claims, grids = [], [], {}
    for network in ("mlp", "cnn"):
        for scheme, drift in (("SP", 1.0), ("µP", 0.0)):
            grid = f"{network}-{scheme}"
            grids[grid] = located(drift, *widths)
            rows += [
                (cell | {"grid": grid, "network": network}, said)
                for cell, said in rate_rows(grid, drift=drift / 4, widths=widths)
            ]
            panels.append(rate_panel(grid, title=f"{network.upper()}, {scheme}"))
    accuracy = {"label": "test accuracy", "scale": "linear", "best": "max"}
    for grid in grids:
        panels.append(rate_panel(grid, ACCURACY, title=grid.replace("-", ", "), **accuracy))
    claims = [judged(TRAIN, *grids, optima=grids)]
    plot = {"kind": "lines", "panels": panels, "wrap": 4}
    return write_folder(folder, plot, rows, judged=claims, **LONG)


def many_lines(folder: Path) -> Path:
    """Six methods by name over the width, with a slope and a limit, beside layers over the depth."""
    names = ("backpropagation", "predictive coding", "target propagation", "K-FAC", "Shampoo", "PC")
    rows: Rows = []
    lines = []
    for place, name in enumerate(names, start=1):
        axes = {"width": (8, 32, 128, 512), "seed": (0, 1), "algorithm": (name,)}

        def value(width: int, seed: int, place: int = place, **_: Any) -> dict[str, float]:
            return {"energy": place * (1 + seed / 10) / width}

        rows += cells(name, value, **axes)
        lines.append({"grid": name, "quantity": {"metric": "energy"}, "label": name})
    panel = {"title": "Energy after training against the width of the network", "x": "width"}
    panel |= {"label": "energy per sample and output, after training", "best": None}
    panel |= {"slopes": [{"exponent": -1, "label": "$N^{-1}$"}], "lines": lines}
    return write_folder(folder, {"kind": "lines", "panels": [panel] * 3}, rows, **LONG)


def many_maps(folder: Path) -> Path:
    """Maps over fine grids of rates, four to a row, with a line of equal rates."""

    def value(width: int, learning_rate: float, activity_learning_rate: float, **_: Any) -> Any:
        bowl = np.log2(learning_rate * width) ** 2 + np.log2(activity_learning_rate) ** 2
        return {"train_loss": 1 + bowl}

    rates = tuple(2.0**k for k in range(-10, 4))
    axes = {"width": (8, 16, 32, 64), "learning_rate": rates, "activity_learning_rate": rates}
    plot = {
        "kind": "maps",
        "quantity": TRAIN,
        "x": "activity_learning_rate",
        "y": "learning_rate",
        "panels": [
            {"grid": "main", "along": "width", "title": "Transfer across the width"},
            {"grid": "again", "along": "width", "title": "Control: rates without powers of width"},
        ],
        "ratio_lines": [1, 16],
    }
    rows = [*cells("main", value, **axes), *cells("again", value, **axes, depth=(9,))]
    return write_folder(folder, plot, rows, **LONG)


MADE = (many_sizes, many_lines, many_maps)


@pytest.fixture(scope="module", params=MADE, ids=[make.__name__ for make in MADE])
def figure(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Figure:
    return drawn(request.param(tmp_path_factory.mktemp("legible") / "f")).figure


@pytest.mark.parametrize("check", legibility.CHECKS, ids=lambda check: check.__name__)
def test_full_figures_can_be_read(figure: Figure, check: Callable[[Figure], list[str]]) -> None:
    assert check(figure) == []


def test_small_figures_can_be_read(rates: Drawn, sizes: Drawn, bowls: Drawn) -> None:
    assert {
        name: found
        for name, each in (("rates", rates), ("sizes", sizes), ("bowls", bowls))
        if (found := legibility.faults(each.figure))
    } == {}


# what the checks find


def page(**look: Any) -> Figure:
    figure = Figure(figsize=(4, 4))
    figure.subplots().set(**look)
    return figure


def test_texts_over_each_other_are_found() -> None:
    figure = page()
    for height, words in ((0.5, "one"), (0.52, "other"), (0.8, "third")):
        figure.axes[0].text(0.5, height, words)
    assert legibility.overlapping_texts(figure) == ["'one' and 'other' overlap"]
    figure.axes[0].texts[1].set_visible(False)
    assert legibility.overlapping_texts(figure) == []


def test_labels_of_ticks_over_each_other_are_found_and_hidden_ones_are_not() -> None:
    figure = page(xticks=[0.5, 0.51, 2, 2.01])
    figure.axes[0].set_xlim(0, 1)
    assert legibility.overlapping_texts(figure) == ["'0.50' and '0.51' overlap"]
    figure.axes[0].tick_params(labelbottom=False)
    assert legibility.overlapping_texts(figure) == []


def test_texts_off_the_page_are_found() -> None:
    figure = page()
    figure.text(0.9, 0.5, "much too long for the page")
    assert legibility.texts_off_the_page(figure) == ["'much too long for the page' leaves the page"]


def test_large_legends_are_found() -> None:
    figure = page()
    handles = [Line2D([], [], label=f"a line of many more words {k}") for k in range(30)]
    figure.axes[0].legend(handles=handles)
    (fault,) = legibility.large_legends(figure)
    assert fault.startswith("legends take ")


@pytest.mark.parametrize(
    ("low", "high", "count"), [(0.0, 1.0, 0), (0.5, 0.9, 0), (0.8, 0.9, 1), (0.9, 0.9, 0)]
)
def test_empty_axes_are_found(low: float, high: float, count: int) -> None:
    figure = page(xlim=(0, 1), ylim=(0, 1))
    figure.axes[0].plot([0, 1], [low, high])
    assert len(legibility.empty_axes(figure)) == count


def test_axes_that_are_shared_are_used_together() -> None:
    figure = Figure()
    for ax, height in zip(figure.subplots(1, 2), (0.1, 0.9), strict=True):
        ax.set(xlim=(0, 1), ylim=(0, 1))
        ax.plot([0, 1], [height, height + 0.05])
    assert legibility.empty_axes(figure) == []


def test_one_colour_of_two_things_is_found() -> None:
    figure = page()
    looks: list[dict[str, Any]] = [
        {"color": "C0"},
        {"color": "C0", "marker": "s"},
        {"color": "0.5"},
    ]
    looks += [{"color": "0.5", "linestyle": "--"}, {"color": "C1"}]
    looks += [{"color": "red", "marker": m, "linestyle": "none"} for m in ("*", "o")]
    handles = [Line2D([], [], label=str(k), **look) for k, look in enumerate(looks)]
    figure.axes[0].legend(handles=handles)
    assert legibility.shared_colours(figure) == ["'0' and '1' have one colour"]

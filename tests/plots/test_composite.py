"""Several plots in one figure: each is what it is alone, in a place of its own."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.legend import Legend
from matplotlib.text import Text
from plotting_records import (
    IDENTITY,
    NOTES,
    SEE,
    TRAIN,
    Drawn,
    Rows,
    blocks,
    cells,
    code,
    drawn,
    judged,
    rate_panel,
    rate_rows,
    write_folder,
)

from scaling_limits.plots import registry
from scaling_limits.plots.composite import Options
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.options import PlotOptions
from scaling_limits.plots.tables import FIRST, table_of
from scaling_limits.plotting import style

LINES = {
    "kind": "lines",
    "panels": [rate_panel("main"), rate_panel("control")],
    "hue_labels": {"8": "narrow"},
}


def bowl(learning_rate: float, activity_learning_rate: float, **_: Any) -> dict[str, Any]:
    return {"train_loss": 1 + np.log2(learning_rate) ** 2 + np.log2(activity_learning_rate) ** 2}


RATES = (0.5, 1.0, 2.0)
BOWLS = cells("bowl", bowl, width=(4, 16), learning_rate=RATES, activity_learning_rate=RATES)
MAPS = {
    "kind": "maps",
    "quantity": TRAIN,
    "x": "activity_learning_rate",
    "y": "learning_rate",
    "panels": [{"grid": "bowl", "along": "width"}],
}
BOTH = {"kind": "composite", "plots": [MAPS, LINES]}


def figure(path: Path, plot: dict[str, Any]) -> Path:
    rows: Rows = BOWLS + rate_rows("main") + rate_rows("control", drift=1.0)
    return write_folder(path, plot, rows, judged=[judged(TRAIN, "main")])


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return figure(tmp_path_factory.mktemp("both") / "f", BOTH)


@pytest.fixture(scope="module")
def beside(both: Path) -> Drawn:
    return drawn(both)


def content(found: Any) -> list[Any]:
    """What the axes of a plot show."""
    return [
        [
            (ax.get_title("left") + ax.get_title(), ax.get_xlabel(), ax.get_ylabel()),
            (ax.get_xlim(), ax.get_ylim()),
            [np.asarray(line.get_xydata()).tolist() for line in ax.lines],
            [np.asarray(shown.get_array()).tolist() for shown in ax.collections],
        ]
        for ax in np.ravel(found.axes)
    ]


def test_each_plot_is_what_it_is_alone(beside: Drawn, tmp_path: Path) -> None:
    assert [type(plot).__name__ for plot in beside.plots] == ["Maps", "Lines"]
    for number, plot in enumerate((MAPS, LINES)):
        alone = drawn(figure(tmp_path / plot["kind"], plot))
        found = beside.plots[number]
        assert content(found) == content(alone.page)
        labels = [label for block in blocks(alone.figure) for label in block]
        shown = [label for block in blocks(found.body._foot) for label in block]
        assert shown == [label for label in labels if label in shown]
        # what the first plot explains may be left out below the second
        known = [label for block in blocks(beside.plots[0].body._foot) for label in block] * number
        assert set(labels) - set(shown) <= set(known)


def test_a_later_legend_leaves_out_what_an_earlier_one_explains(tmp_path: Path) -> None:
    other = LINES | {"hue_labels": {"8": "slim", "32": "broad"}}
    found = drawn(figure(tmp_path / "f", {"kind": "composite", "plots": [LINES, LINES, other]}))
    first, same, different = (
        [label for block in blocks(plot.body._foot) for label in block] for plot in found.plots
    )
    assert {"width $N$ = narrow", "optimum"} <= set(first), first
    assert same == []
    # sizes of its own, but no marks that are known
    assert different == ["slim", "broad"]


def test_heading_badge_and_notes_stand_once_around_all(beside: Drawn) -> None:
    assert beside.words == {
        "identity": IDENTITY,
        "title": "Transfer of the rate over the width",
        "see": SEE,
        "badge": "reproduced \N{MIDDLE DOT} 1 of 1 claim",
        "notes": "\n".join(
            [
                *NOTES,
                "found [95 % interval]\nclaimed",
                "Reproduced: The best rates do not depend on the width.",
                "0.123 [0, 0.5]\nat most 1 octave",
            ]
        ),
    }


def test_nothing_overlaps_whether_side_by_side_or_below_each_other(
    beside: Drawn, tmp_path: Path
) -> None:
    stacked = drawn(figure(tmp_path / "f", BOTH | {"wrap": 1}))
    for found in (beside, stacked):
        boxes = [
            [
                *(ax.get_tightbbox() for ax in plot.body.area.axes),
                *(box.get_window_extent() for box in plot.body._foot.findobj(Legend)),
            ]
            for plot in found.plots
        ]
        for one, other in combinations(range(len(boxes)), 2):
            assert not any(a.overlaps(b) for a in boxes[one] for b in boxes[other])
        inside = found.figure.bbox
        assert all(box.x0 >= -1 and box.x1 <= inside.x1 + 1 for own in boxes for box in own)
    widths = [found.figure.get_size_inches()[0] for found in (beside, stacked)]
    assert widths[0] == pytest.approx(7.2 + 2 * 0.1)  # the margins
    assert stacked.figure.get_size_inches()[1] > 1.5 * beside.figure.get_size_inches()[1]
    # below each other plots are as wide as they are alone
    axes = [np.ravel(found.plots[0].axes)[0] for found in (beside, stacked)]
    assert axes[1].get_window_extent().width > axes[0].get_window_extent().width


def test_the_table_tells_the_plots_apart(both: Path) -> None:
    folder = FigureFolder.open(both)
    assert isinstance(folder.plot, Options)
    table = folder.table()
    assert tuple(table.columns[: len(FIRST) + 1]) == ("plot", *FIRST)
    for number, plot in enumerate(folder.plot.plots):
        own = table[table["plot"] == number].drop(columns="plot").reset_index(drop=True)
        alone = table_of(plot, folder.results)
        assert own[alone.columns].equals(alone)


def test_the_notebook_draws_every_plot_as_its_own_notebook_does(both: Path, tmp_path: Path) -> None:
    sources = list(code(both))
    for number, plot in enumerate((MAPS, LINES)):
        (alone,) = (
            source for source in code(figure(tmp_path / plot["kind"], plot)) if "page = " in source
        )
        assert f"figure, table = plots[{number}]\n{alone}" in sources


def test_it_draws_without_its_notebook_what_the_notebook_draws(both: Path, beside: Drawn) -> None:
    folder = FigureFolder.open(both)
    with style.applied():
        figure = folder.draw(folder.table())
    one, other = (
        [text.get_text() for text in each.findobj(Text)] for each in (figure, beside.figure)
    )
    assert one == other
    assert figure.get_size_inches().tolist() == beside.figure.get_size_inches().tolist()


def test_every_kind_with_a_size_can_be_one_of_several() -> None:
    shared = {kind for kind in registry.own if hasattr(registry.part(kind), "size")}
    assert shared == {"exponent_plane", "histograms", "landscapes", "lines", "maps"}


def test_its_grids_are_those_of_its_plots() -> None:
    assert PlotOptions.model_validate(BOTH).grids == ["bowl", "main", "control"]

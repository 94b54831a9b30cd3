"""Tables of results, their numbers by hand."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plotting_records import ACCURACY, TRAIN, Drawn, Rows, cells, drawn, results, write_folder

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.options import PlotOptions
from scaling_limits.plots.results_table.drawing import colours, entries, legend
from scaling_limits.plots.tables import FIRST, table_of
from scaling_limits.plots.typeset import is_bold, is_underlined, plain, underlined

ARROWS = "\N{LEFTWARDS ARROW}", "\N{RIGHTWARDS ARROW}"
# of two seeds, at width 8 and 16
VALUES = {
    "sp": {8: (0.5, 0.7), 16: (0.6, 0.6)},
    "mup": {8: (0.5, 0.7), 16: (0.7, 0.65)},
    # better than the others at width 8, by the same for both seeds
    "best": {8: (0.8, 1.0), 16: (0.7, 0.65)},
}


def arm(grid: str, rate: float = 0.1, **axes: Any) -> Rows:
    """At any other rate it is worse on average, though the first seed is better."""

    def value(width: int, seed: int, learning_rate: float, **_: Any) -> dict[str, Any]:
        found = VALUES[grid][width][seed]
        moved = (0.1, -0.2)[seed] if learning_rate != rate else 0
        return {"test_accuracy": {5: found - 0.25, 9: found + moved}}

    # as cells of the same settings are the same cells
    axes = {"width": (8, 16), "learning_rate": (0.1,), **axes, "parameterisation": (grid,)}
    return cells(grid, value, **{"seed": (0, 1), **axes})


BOTH = arm("sp") + arm("mup")
SP: dict[str, Any] = {"grid": "sp", "title": "K-FAC, SP"}
GAP: dict[str, Any] = {"grid": "mup", "minus": "sp", "title": "K-FAC, muP - SP"}


def said(*shown: dict[str, Any], **options: Any) -> dict[str, Any]:
    usual = {"quantity": ACCURACY, "rows": ["width"], "columns": ["entry"], "best": "max"}
    return {"kind": "results_table", "entries": list(shown or (SP, GAP)), **usual, **options}


def written(
    tmp_path: Path, records: Rows, /, *shown: dict[str, Any], **options: Any
) -> dict[Any, Any]:
    """The text of a table by its headings, those of lines first."""
    folder = FigureFolder.open(write_folder(tmp_path / "figure", said(*shown, **options), records))
    table = entries(folder, folder.table())
    return {
        (*line, *column): table.loc[line, column]
        for line, column in itertools.product(table.index, table.columns)
    }


def test_means_and_deviations_over_seeds_and_differences_seed_by_seed(tmp_path: Path) -> None:
    assert written(tmp_path, BOTH) == {
        # the standard deviation of 0.5 and 0.7 is 0.1 times the root of two
        ("8", "K-FAC", "SP"): "60.0 (14.1)",
        ("16", "K-FAC", "SP"): "60.0 (0.0)",
        # the seeds differ, their differences do not
        ("8", "K-FAC", "muP - SP"): "+0.0 (0.0)",
        # of 0.1 and 0.05
        ("16", "K-FAC", "muP - SP"): "+7.5 (3.5)",
    }


COLUMNS: dict[str, Any] = {"compared": "columns"}
THREE = [{"grid": grid, "title": f"K-FAC, {grid}"} for grid in ("sp", "mup", "best")]


@pytest.mark.parametrize(
    ("places", "options"),
    [
        ([("8", "K-FAC", "best"), ("16", "K-FAC", "mup"), ("16", "K-FAC", "best")], COLUMNS),
        # the lower two are equal at width 8
        (
            [("8", "K-FAC", "sp"), ("8", "K-FAC", "mup"), ("16", "K-FAC", "sp")],
            COLUMNS | {"best": "min"},
        ),
        # with the other widths: those of the first are equal
        (
            [("8", "K-FAC", "best"), ("16", "K-FAC", "mup")],
            {"compared": "rows"},
        ),
        ([], {}),
    ],
)
def test_the_best_of_what_is_compared_is_underlined(
    tmp_path: Path, places: list[tuple[str, ...]], options: dict[str, Any]
) -> None:
    found = written(tmp_path, BOTH + arm("best"), *THREE, **options)
    marked = [place for place, words in found.items() if is_underlined(words)]
    assert sorted(marked) == sorted(places)


@pytest.mark.parametrize(
    ("places", "options"),
    [
        ([("8", "K-FAC", "best")], {"compared": "columns"}),
        # with the other widths: the best one's difference is not the same for both seeds
        ([], {"compared": "rows"}),
        # the lower two are equal at width 8, and differ by seed at 16
        ([], {"compared": "columns", "best": "min"}),
        ([], {}),
    ],
)
def test_the_best_of_what_is_compared_is_bold_if_seeds_agree(
    tmp_path: Path, places: list[tuple[str, ...]], options: dict[str, Any]
) -> None:
    found = written(tmp_path, BOTH + arm("best"), *THREE, **options)
    assert [place for place, words in found.items() if is_bold(words)] == places


def test_a_difference_is_bold_if_seeds_agree_on_the_better_side(tmp_path: Path) -> None:
    differences = [
        {"grid": "best", "minus": "mup", "title": "K-FAC, up"},
        {"grid": "mup", "minus": "best", "title": "K-FAC, down"},
    ]
    found = written(tmp_path / "a", BOTH + arm("best"), *differences)
    assert [place for place, words in found.items() if is_bold(words)] == [("8", "K-FAC", "up")]
    assert plain(found["8", "K-FAC", "up"]) == "+30.0 (0.0)"
    found = written(tmp_path / "b", BOTH + arm("best"), *differences, best="min")
    assert [place for place, words in found.items() if is_bold(words)] == [("8", "K-FAC", "down")]
    one = [row for row in BOTH + arm("best") if row[0]["seed"] == 0]
    assert not any(map(is_bold, written(tmp_path / "c", one, *differences).values()))


def test_an_arrow_marks_a_best_value_at_an_end_of_its_grid(tmp_path: Path) -> None:
    found = written(tmp_path / "a", BOTH + arm("best"), *THREE, compared="rows")
    assert plain(found["8", "K-FAC", "best"]).startswith("\N{LEFTWARDS ARROW} 90.0")
    assert plain(found["16", "K-FAC", "mup"]).endswith("\N{RIGHTWARDS ARROW}")
    # entries are no grid
    found = written(tmp_path / "b", BOTH + arm("best"), *THREE, **COLUMNS)
    assert plain(found["8", "K-FAC", "best"]) == "90.0 (14.1)"


def test_the_paper_s_best_values_are_underlined_unless_they_are_bold(tmp_path: Path) -> None:
    columns = ["K-FAC, sp", "K-FAC, mup", "K-FAC, best"]
    paper = {"columns": columns, "rows": {"8": ["1 (0.5)", "3", "2"], "32": ["1", "2", "**3**"]}}
    found = written(tmp_path, BOTH + arm("best"), *THREE, paper=paper, **COLUMNS)
    printed = {place[0]: place[-1] for place, words in found.items() if is_underlined(words)}
    assert found["8", "paper", "K-FAC", "mup"] == underlined("3")
    assert [is_bold(found["32", "paper", "K-FAC", "best"]), "32" in printed] == [True, False]


def test_the_background_of_differences_is_darker_the_larger_they_are(tmp_path: Path) -> None:
    """Ours and the paper's have one scale."""
    columns = ["K-FAC, SP", "K-FAC, muP - SP"]
    paper = {"columns": columns, "rows": {"8": ["1", "-0.2"], "32": ["1", "+15.0"]}}
    plot = said(SP, GAP, paper=paper)
    folder = FigureFolder.open(write_folder(tmp_path / "figure", plot, BOTH))
    table = entries(folder, folder.table())
    shown = colours(table, folder.plot)
    assert shown is not None
    # neither the accuracies nor a difference of zero
    coloured = [bool(colour) for colour in shown.to_numpy().ravel()]
    assert coloured == [False, False, False, True, False, True, False, True]
    rows = ("16", "here"), ("8", "paper"), ("32", "paper")
    gain, loss, twice = (shown.loc[row].iloc[1] for row in rows)
    assert len({gain, loss, twice}) == 3
    handles = legend(table, folder.plot)
    assert {"positive difference", "negative difference (darker: larger)"} <= set(handles)
    assert colours(table, PlotOptions.model_validate(said(SP))) is None


def test_a_batch_of_all_training_samples_is_full(tmp_path: Path) -> None:
    """It is compared with the paper's full batch, which may be larger."""
    rows = arm("sp", width=(8,), batch_size=(4, 16), num_train=(16,))
    paper = {"columns": ["4", "16", "full"], "rows": {"SGD": ["1", "2", "3"]}}
    entry = {"grid": "sp", "title": "SGD"}
    options = {"rows": ["entry"], "columns": ["batch_size"], "paper": paper}
    found = written(tmp_path, rows, entry, **options)
    assert [key[2] for key in found if key[1] == "here"] == ["4", "16", "full"]
    assert found["SGD", "here", "16"] == ""
    assert found["SGD", "here", "full"] == found["SGD", "here", "4"]
    assert found["SGD", "paper", "full"] == "3"


PAPER = {"columns": ["K-FAC, SP", "other"], "rows": {"16": ["71.20", "1"], "32": ["80", "2"]}}


def test_the_paper_s_values_stand_below_those_of_the_same_headings(tmp_path: Path) -> None:
    found = written(tmp_path, BOTH, paper=PAPER)
    assert found["16", "paper", "K-FAC", "SP"] == "71.20"
    assert found["16", "paper", "K-FAC", "muP - SP"] == ""
    assert found["16", "here", "K-FAC", "SP"] == "60.0 (0.0)"
    shown = {("8", "here"), ("16", "here"), ("16", "paper"), ("32", "paper")}
    assert {place[:2] for place in found} == shown
    # nothing of it is shown
    other = PAPER | {"columns": ["a", "b"]}
    assert {place[0] for place in written(tmp_path / "b", BOTH, paper=other)} == {"8", "16"}


def test_the_paper_s_other_rows_are_added_and_its_columns_if_it_has_all_of_these(
    tmp_path: Path,
) -> None:
    columns = ["K-FAC, SP", "K-FAC, muP - SP", "SGD, SP"]
    paper = {"columns": columns, "rows": {w: ["1", "**2**", "3"] for w in ("8", "16", "128", "32")}}
    found = written(tmp_path / "a", BOTH, paper=paper)
    # widths in order, although JSON sorts the paper's as texts
    assert list(dict.fromkeys(place[0] for place in found)) == ["8", "16", "32", "128"]
    # rows that only the paper has are one line
    assert [key[1] for key in found if key[0] == "128"] == ["paper"] * 3
    assert found["8", "here", "SGD", "SP"] == ""
    assert found["128", "paper", "SGD", "SP"] == "3"
    assert found["8", "here", "K-FAC", "SP"] == "60.0 (14.1)"
    assert is_bold(found["8", "paper", "K-FAC", "muP - SP"])
    # without a column of this table, only those that it has
    found = written(tmp_path / "b", BOTH, paper=paper | {"columns": ["a", "K-FAC, SP", "SGD, SP"]})
    assert {place[2:] for place in found} == {("K-FAC", "SP"), ("K-FAC", "muP - SP")}


def test_marks_are_explained_if_they_occur() -> None:
    index = pd.MultiIndex.from_tuples([("8", "here"), ("8", "paper")])
    own, printed = "paper: with its own data and sizes", "bold in rows of the paper: as printed"
    spread, best = "( ): standard deviation over seeds", "underlined: best of those compared"

    def explained(here: str, there: str, *entries: dict[str, str], **options: Any) -> list[str]:
        table = pd.DataFrame([[here], [there]], index=index)
        return list(legend(table, PlotOptions.model_validate(said(*entries, **options))))

    assert explained("1", "**2 (1)**", SP) == [own, printed]
    assert explained("1 (1)", "2", SP) == [own, spread]
    assert explained("1", underlined("2"), SP) == [best, own]
    edge = f"{' '.join(ARROWS)}: best at the end of the grid"
    assert explained(underlined(f"{ARROWS[0]} 1"), "2", SP) == [best, edge, own]
    better = "bold: better, by the 95 % interval of paired seeds"
    assert explained("**1**", "2") == [better, own]
    assert explained(underlined("**1**"), "2") == [better, best, own]


def test_rows_of_the_paper_are_whole() -> None:
    short = {**PAPER, "rows": {"16": ["71.20"]}}
    with pytest.raises(ValueError, match="`16` has 1 entries, and there are 2 `columns`"):
        PlotOptions.model_validate(said(paper=short))
    with pytest.raises(ValueError, match="`compared` marks the best"):
        PlotOptions.model_validate(said(compared="rows", best=None))


def test_one_seed_has_no_deviation_and_a_loss_is_no_share(tmp_path: Path) -> None:
    rows = [row for row in BOTH if row[0]["seed"] == 0]
    found = written(tmp_path / "a", rows, GAP | {"grid": "sp", "minus": "mup"})
    assert list(found.values()) == ["+0.0", "\N{MINUS SIGN}10.0"]
    for settings, records in rows:
        records.append(("train_loss", 9, None, settings["width"] / 1000))
    found = written(tmp_path / "b", rows, SP, quantity=TRAIN)
    assert list(found.values()) == ["0.008", "0.016"]


def test_seeds_that_only_one_of_two_grids_has_are_in_no_difference(tmp_path: Path) -> None:
    rows = arm("sp", seed=(1,)) + arm("mup", width=(16,))
    assert written(tmp_path, rows) == {
        ("8", "K-FAC", "SP"): "70.0",
        ("16", "K-FAC", "SP"): "60.0",
        ("8", "K-FAC", "muP - SP"): "",  # not there
        ("16", "K-FAC", "muP - SP"): "+5.0",
    }
    with pytest.raises(ScalingLimitsError, match="'mup' and 'sp' share no width, seed"):
        written(tmp_path / "none", arm("sp", seed=(1,)) + arm("mup", seed=(0,)))


def test_over_takes_the_best_of_the_mean_over_seeds_in_each_grid(tmp_path: Path) -> None:
    """The rates of the two grids may differ, and that of the single best seed is another."""
    rates = {"learning_rate": (0.1, 0.2)}
    rows = arm("sp", **rates) + arm("mup", rate=0.2, **rates)
    assert written(tmp_path / "a", rows, over=["learning_rate"]) == written(tmp_path / "b", BOTH)
    assert (
        "55.0"
        in written(tmp_path / "c", rows, over=["learning_rate"], best="min")["8", "K-FAC", "SP"]
    )


def test_rows_and_columns_are_settings_entries_and_steps(tmp_path: Path) -> None:
    quantity = ACCURACY | {"per": "step"}
    rows = [row for row in BOTH if row[0]["seed"] == 0]
    found = written(tmp_path / "a", rows, quantity=quantity, columns=["step", "entry"])
    assert {key: words for key, words in found.items() if key[0] == "16"} == {
        ("16", "5", "K-FAC", "SP"): "35.0",
        ("16", "9", "K-FAC", "SP"): "60.0",
        ("16", "5", "K-FAC", "muP - SP"): "+10.0",
        ("16", "9", "K-FAC", "muP - SP"): "+10.0",
    }
    # as fractions of the training if it is of the same length everywhere
    for settings, _ in rows:
        settings["num_steps"] = 10
    found = written(tmp_path / "d", rows, quantity=quantity, columns=["step", "entry"])
    assert {key[1] for key in found} == {"1/2", "9/10"}
    optimisers = [{"grid": "mup", "title": "B"}, {"grid": "sp", "title": "A"}]
    usual = {"rows": ["entry", "width"], "columns": ["learning_rate"]}
    found = written(tmp_path / "b", rows, *optimisers, **usual)
    # entries in their own order, values in increasing order
    assert found == {
        ("B", "8", "0.1"): "50.0",
        ("B", "16", "0.1"): "70.0",
        ("A", "8", "0.1"): "50.0",
        ("A", "16", "0.1"): "60.0",
    }
    # a single entry need not be named, and a table may be a single number
    one = written(tmp_path / "c", rows[:1], SP, rows=["width"], columns=["learning_rate"])
    assert one == {("8", "0.1"): "50.0"}


def test_what_diverged_is_a_cross_and_takes_its_differences_along(tmp_path: Path) -> None:
    rows = arm("sp") + arm("mup")
    rows[2][1].append(("test_accuracy", 10, None, np.nan))  # width 8, the second seed
    found = written(tmp_path, rows)
    assert [words for key, words in found.items() if key[0] == "8"] == ["×", "×"]
    assert "×" not in "".join(words for key, words in found.items() if key[0] == "16")


def test_the_table_behind_is_tidy() -> None:
    found = table_of(PlotOptions.model_validate(said()), results(BOTH))
    assert tuple(found.columns[: len(FIRST)]) == FIRST
    assert found[["panel", "title", "grid"]].drop_duplicates().to_numpy().tolist() == [
        [0, "K-FAC, SP", "sp"],
        [1, "K-FAC, muP - SP", "mup"],
    ]
    assert len(found) == 8
    # the cell of a difference is that from which is taken
    assert set(found.loc[found["panel"] == 1, "parameterisation"]) == {"mup"}


def test_a_column_that_is_nowhere_in_the_table_is_refused(tmp_path: Path) -> None:
    rows = arm("sp", learning_rate=(0.1, 0.2))
    with pytest.raises(ScalingLimitsError, match="varies not only over width and seed: learning"):
        written(tmp_path, rows, SP)


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """Two groups of columns, one of them with a long heading over narrow columns; one number diverged."""
    rows = arm("sp") + arm("mup")
    rows[2][1].append(("test_accuracy", 10, None, np.nan))
    other = {"grid": "mup", "title": "Shampoo with a very long name of its own, muP"}
    plot = said(SP, GAP, other, symbols={"width": "M"})
    return drawn(write_folder(tmp_path_factory.mktemp("table") / "f", plot, rows))


def test_a_picture_has_every_heading_once_and_no_overlaps(picture: Drawn) -> None:
    (ax,) = picture.figure.axes
    words = [text.get_text() for text in ax.texts]
    assert words.count("K-FAC") == 1
    assert {"width $M$", "SP", "muP", "muP - SP", "8", "16", "×"} <= set(words)
    boxes = [text.get_window_extent() for text in ax.texts]
    for one, other in itertools.combinations(boxes, 2):
        width = min(one.x1, other.x1) - max(one.x0, other.x0)
        assert min(width, min(one.y1, other.y1) - max(one.y0, other.y0)) <= 0
    assert max(box.x1 for box in boxes) <= ax.bbox.x1 + 1
    # the group's heading stands in the middle of its columns, over a rule as wide as they are
    at = {text.get_text(): text.get_position()[0] for text in ax.texts}
    assert at["K-FAC"] == pytest.approx((at["SP"] + at["muP - SP"]) / 2, abs=5)
    rules = [line for line in ax.lines if line.get_ydata()[0] == 1]
    assert [len(rules), rules[0].get_xdata()[0] < at["SP"]] == [2, True]
    spread = "( ): standard deviation over seeds"
    assert {"diverged (any seed)", spread, "positive difference"} == set(picture.legend)
    # its background
    (shaded,) = ax.collections
    (edges,) = {tuple(ax.get_xlim())}
    assert edges[0] < shaded.get_paths()[0].get_extents().x0 < at["muP - SP"]


def test_underlined_entries_have_a_rule_as_wide_as_they_are(tmp_path: Path) -> None:
    plot = said(*THREE, **COLUMNS)
    figure = drawn(write_folder(tmp_path / "f", plot, BOTH + arm("best"))).figure
    (ax,) = figure.axes
    (x,) = [words.get_position()[0] for words in ax.texts if words.get_text() == "90.0 (14.1)"]
    rules = [line.get_xdata() for line in ax.lines if line.get_ydata()[0] % 1]
    assert len(rules) == 3
    assert any(sum(ends) / 2 == pytest.approx(x) for ends in rules)

"""Plots of lines: rows of quantities and columns of grids, or panels one by one."""

from pathlib import Path
from typing import Any

import pytest

from scaling_limits.configuration import load
from scaling_limits.errors import ConfigurationError
from toys import FIGURE, PAPER, merged, write_project

LINE = {"grid": "main", "quantity": "loss"}


def plot(path: Path, bounded: Any = None, **said: Any) -> Any:
    figure = {**FIGURE, "plot": {"kind": "lines", **said}}
    accuracy = {"metric": "test_accuracy", "window": 3}
    words = {
        "paper": {"quantities": {"accuracy": accuracy, "bounded": bounded or accuracy}},
        "transfer": {
            "measurements": {"performance": "end"},
            "grids": {
                "pair": {
                    "title": "of",
                    "width": 8,
                    "grids": {"a": {"title": "A"}, "b": {"title": "B"}},
                }
            },
        },
    }
    paper = merged(PAPER, words)
    paper["transfer"]["figures"] = {"fig1": figure}
    return load(write_project(path, paper=paper)).figure("toy", "fig1").plot


def shown(found: Any) -> list[tuple[str, list[str], str]]:
    return [
        (p.title, [line.grid for line in p.lines], p.lines[0].quantity.metric) for p in found.panels
    ]


def test_lines_that_are_compared_have_labels_with_and_without_hue(tmp_path: Path) -> None:
    own = {"quantity": "loss", "solid": "ours", "against": {"one": "One"}}
    row = own | {"x": "width", "hue": None, "over": "learning_rate"}
    found = plot(tmp_path, rows=[own, row], columns={"main": "Main"})
    labels = [[line.label for line in panel.lines] for panel in found.panels]
    assert labels == [["ours", "One"]] * 2


def test_rows_are_quantities_and_columns_grids(tmp_path: Path) -> None:
    columns = {"main": "Main", "one": "One"}
    found = plot(
        tmp_path, rows=["loss", {"quantity": "accuracy", "limits": [0, 1]}], columns=columns
    )
    assert shown(found) == [
        ("Main", ["main"], "train_loss"),
        ("One", ["one"], "train_loss"),
        ("Main", ["main"], "test_accuracy"),
        ("One", ["one"], "test_accuracy"),
    ]
    assert found.wrap == 2
    # a row is that of its metric: how it is drawn need not be said
    drawn = [(p.label, p.scale, p.best, p.limits) for p in found.panels[::2]]
    assert drawn == [
        ("training loss", "log", "min", None),
        ("test accuracy", "linear", "max", (0, 1)),
    ]
    assert {(p.x, p.hue) for p in found.panels} == {("learning_rate", "width")}
    assert found.panels[2].lines[0].quantity.window == 3


def test_transposed_quantities_are_in_columns(tmp_path: Path) -> None:
    columns = {"main": "Main", "one": "One", "pair_a": "Pair"}
    rows = [{"quantity": "loss", "title": "late"}, "accuracy"]
    found = plot(tmp_path, rows=rows, columns=columns, transposed=True)
    assert shown(found) == [
        ("Main, late", ["main"], "train_loss"),
        ("Main", ["main"], "test_accuracy"),
        ("One, late", ["one"], "train_loss"),
        ("One", ["one"], "test_accuracy"),
        ("Pair, late", ["pair_a"], "train_loss"),
        ("Pair", ["pair_a"], "test_accuracy"),
    ]
    assert (found.wrap, found.transposed) == (2, True)


def test_a_quantity_states_limits_and_levels_of_panels_that_show_it(tmp_path: Path) -> None:
    axis = {"limits": [0, 1], "levels": [{"value": 0.1, "label": "chance"}]}
    line = {"grid": "main", "quantity": {"quantity": "bounded", "reduce": "max"}}
    panels = [
        {"title": "a", "of": "one", "quantity": "bounded"},
        {"title": "b", "lines": [line], "levels": []},
        # of its metric, without what the paper states of the quantity
        {"title": "c", "of": "one", "quantity": {"metric": "test_accuracy"}},
    ]
    found = plot(
        tmp_path,
        bounded={"metric": "test_accuracy", "axis": axis},
        hue="width",
        x="learning_rate",
        panels=panels,
    )
    assert [panel.limits for panel in found.panels] == [(0, 1), (0, 1), None]
    assert [len(panel.levels) for panel in found.panels] == [1, 0, 0]
    assert {panel.scale for panel in found.panels} == {"linear"}


def test_columns_are_every_grid_unless_named(tmp_path: Path) -> None:
    found = plot(tmp_path / "a", rows=["loss"])
    assert [p.lines[0].grid for p in found.panels] == ["main", "one", "pair_a", "pair_b"]
    by = {"hue": "seed", "x": "width", "over": "learning_rate"}
    found = plot(tmp_path / "b", rows=["loss"], columns="pair", wrap=1, **by)
    assert [p.title for p in found.panels] == ["A", "B"]
    assert (found.wrap, {(p.x, p.hue) for p in found.panels}) == (1, {("width", "seed")})


def test_a_panel_is_of_grids(tmp_path: Path) -> None:
    panel = {
        "title": "All",
        "x": "width",
        "over": "learning_rate",
        "quantity": "loss",
        "of": "pair",
    }
    (found,) = plot(tmp_path / "a", panels=[panel]).panels
    assert [(line.grid, line.label) for line in found.lines] == [("pair_a", "A"), ("pair_b", "B")]
    assert (found.label, found.hue, found.over) == ("training loss", None, ("learning_rate",))
    # with a hue its colours name the lines
    (found,) = plot(tmp_path / "b", panels=[{**panel, "hue": "seed"}]).panels
    assert [line.label for line in found.lines] == [None, None]


def test_a_panel_for_each_grid_and_for_each_step(tmp_path: Path) -> None:
    each = {"each": "pair", "quantity": "accuracy"}
    shared = {"x": "width", "hue": "seed", "over": "learning_rate"}
    found = plot(tmp_path / "a", panels=[each], **shared)
    assert shown(found) == [("A", ["pair_a"], "test_accuracy"), ("B", ["pair_b"], "test_accuracy")]
    assert {p.scale for p in found.panels} == {"linear"}
    found = plot(tmp_path / "c", panels=[{**each, "title": "MLP, {}"}], **shared)
    assert [p.title for p in found.panels] == ["MLP, A", "MLP, B"]
    steps = {"title": "At step {}", "steps": [1, 5], "lines": [LINE, {**LINE, "grid": "one"}]}
    found = plot(tmp_path / "b", panels=[steps], **shared)
    assert [p.title for p in found.panels] == ["At step 1", "At step 5"]
    quantities = [[line.quantity for line in p.lines] for p in found.panels]
    assert [[(q.reduce, q.step) for q in row] for row in quantities] == [
        [("at", 1)] * 2,
        [("at", 5)] * 2,
    ]
    assert {q.metric for row in quantities for q in row} == {"train_loss"}


def test_a_table_of_results_is_of_nodes_and_differences(tmp_path: Path) -> None:
    less = {"grid": "pair_b", "minus": "pair_a", "title": "of, B less A"}
    said = {"kind": "results_table", "quantity": "accuracy", "rows": "width", "columns": "entry"}
    found = plot(tmp_path, **said, entries=["pair", less], over="learning_rate")
    assert [(entry.grid, entry.minus, entry.headings) for entry in found.entries] == [
        ("pair_a", None, ("of", "A")),
        ("pair_b", None, ("of", "B")),
        ("pair_b", "pair_a", ("of", "B less A")),
    ]
    assert (found.rows, found.columns, found.over) == (("width",), ("entry",), ("learning_rate",))
    assert (found.quantity.metric, found.quantity.window, found.best) == ("test_accuracy", 3, "max")


def test_lines_of_other_quantities_stand_beside_those_of_each_grid(tmp_path: Path) -> None:
    beside = [{"quantity": "accuracy", "style": "dashed", "label": "accuracy"}]
    each = {"each": "pair", "quantity": "loss", "beside": beside}
    by = {"x": "seed", "hue": "width", "over": "learning_rate"}
    found = plot(tmp_path, panels=[each], label="loss, accuracy", **by)
    assert shown(found) == [
        ("A", ["pair_a", "pair_a"], "train_loss"),
        ("B", ["pair_b", "pair_b"], "train_loss"),
    ]
    for panel in found.panels:
        assert panel.lines[1].quantity.model_dump() == {
            **panel.lines[0].quantity.model_dump(),
            "metric": "test_accuracy",
            "window": 3,
        }
        assert (panel.lines[1].style, panel.lines[1].label) == ("dashed", "accuracy")


def test_several_plots_are_each_written_out(tmp_path: Path) -> None:
    maps = {"kind": "maps", "quantity": "accuracy", "x": "width", "y": "learning_rate"}
    maps["panels"] = {"main": {"along": "seed", "title": "At {depth}"}}
    found = plot(tmp_path, kind="composite", plots=[maps, {"kind": "lines", "rows": ["loss"]}])
    first, second = found.plots
    assert (first.quantity.metric, first.best, first.panels[0].grid) == (
        "test_accuracy",
        "max",
        "main",
    )
    assert [p.lines[0].grid for p in second.panels] == ["main", "one", "pair_a", "pair_b"]


COMPOSITE = {"kind": "composite"}
MAP = {"kind": "maps", "x": "width", "y": "learning_rate", "quantity": "loss"}
TABLE = {"kind": "results_table", "quantity": "loss", "rows": "width", "columns": "entry"}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({**TABLE, "quantity": "los"}, "unknown quantity 'los'; did you mean 'loss'"),
        ({**TABLE, "entries": ["mian"]}, r"plot\.entries\.0.*unknown grid 'mian'"),
        (
            {**TABLE, "entries": [{"grid": "main", "minus": "oen", "title": "a"}]},
            r"plot\.entries\.0.*unknown grid 'oen'; did you mean 'one'",
        ),
        ({**TABLE, "entries": []}, r"plot.*entries"),
        ({"rows": ["loss"], "panels": []}, r"plot\.rows: replaces `panels`; give one"),
        ({"columns": "pair", "panels": []}, r"plot\.columns: replaces `panels`; give one"),
        ({"transposed": True, "panels": []}, r"plot\.transposed: replaces `panels`; give one"),
        ({}, "give `rows`, a list of quantities, or `panels`"),
        ({"rows": "loss"}, r"plot\.rows: should be a list, not 'loss'"),
        ({"rows": ["los"]}, "unknown quantity 'los'; did you mean 'loss'"),
        ({"rows": ["loss"], "columns": "mian"}, "unknown grid 'mian'; did you mean 'main'"),
        (
            {"panels": [{"each": "piar", "quantity": "loss"}]},
            r"plot\.panels\.0.*unknown grid 'piar'; did you mean 'pair'",
        ),
        (
            {"panels": [{"lines": [{**LINE, "quantity": "los"}]}]},
            r"plot\.panels\.0.*unknown quantity 'los'",
        ),
        ({"panels": ["loss"]}, r"plot\.panels\.0: should be a mapping, not 'loss'"),
        ({"rows": ["loss"], "colour": "red"}, "colour"),
        (
            {"rows": ["loss"], "columns": "main", "over": "momentum"},
            r"plot\.over: the grid 'main' has no 'momentum'",
        ),
        (
            {**TABLE, "entries": ["pair"], "over": "momentum"},
            r"plot\.over: the grid 'pair_a' has no 'momentum'",
        ),
        (
            {**MAP, "panels": [{"grid": "pair", "along": "seed"}]},
            "unknown grid 'pair'; did you mean 'pair_b'",
        ),
        ({**COMPOSITE, "plots": [MAP, "maps"]}, r"plot\.plots\.1: should be a mapping, not 'maps'"),
        (
            {**COMPOSITE, "plots": [MAP, {"kind": "lines", "panels": [{"each": "piar"}]}]},
            r"plot\.plots\.1\.panels\.0.*unknown grid 'piar'; did you mean 'pair'",
        ),
        (
            {**COMPOSITE, "plots": [{**MAP, "panels": {"mian": {"along": "seed"}}}] * 2},
            "unknown grid 'mian'; did you mean 'main'",
        ),
        (
            {
                **COMPOSITE,
                "plots": [{**MAP, "panels": {"main": {"along": "seed", "title": "{wdith}"}}}] * 2,
            },
            "unknown setting 'wdith'; did you mean 'width'",
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, said: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        plot(tmp_path, **said)


def test_divided_values_need_a_label_of_their_own(tmp_path: Path) -> None:
    divided = {"rows": ["loss"], "divided_by": {"power": 0.5}}
    found = plot(tmp_path / "labelled", **divided, label="loss over root of rate")
    assert [p.divided_by.power for p in found.panels] == [0.5] * len(found.panels)
    assert (found.panels[0].label, found.panels[0].best) == ("loss over root of rate", None)
    with pytest.raises(
        ConfigurationError, match=r"plot\.rows\.0\.divided_by: .* give the panel a `label`"
    ):
        plot(tmp_path / "plain", **divided)
    with pytest.raises(ConfigurationError, match="no value is best: leave `best` out"):
        plot(tmp_path / "best", **divided, label="loss over root of rate", best="min")

"""Figures without cells: tables of definitions, and sets within sets."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from matplotlib.patches import FancyBboxPatch
from plotting_records import drawn, write_folder
from pydantic import ValidationError

from scaling_limits.plots import definitions, nested_sets
from scaling_limits.plots.nested_sets.drawing import boxes

NONE: list[Any] = [({"grid": "none"}, [])]
TABLE: dict[str, Any] = {
    "kind": "definitions",
    "columns": ["Exponent", "Meaning"],
    "rows": [["$a$", "of what is computed"], ["$b$", "of the variance"]],
}
INNER: dict[str, Any] = {"label": "stable with both", "contains": []}
SETS: dict[str, Any] = {
    "kind": "nested_sets",
    "outermost": {
        "label": "all",
        "contains": [
            {"label": "considered", "contains": [INNER]},
            {"label": "not known to be", "dashed": True},
        ],
    },
}


def test_definitions_are_typeset_as_written(tmp_path: Path) -> None:
    figure = drawn(write_folder(tmp_path / "table", TABLE, NONE)).figure
    (ax,) = figure.axes
    written = [text.get_text() for text in ax.texts]
    assert sorted(written) == sorted([*TABLE["columns"], *itertools.chain(*TABLE["rows"])])


def test_a_row_has_an_entry_for_each_column() -> None:
    with pytest.raises(ValidationError, match=r"row of '\$a\$' has 1 entries, there are 2 columns"):
        definitions.Options.model_validate(TABLE | {"rows": [["$a$"]]})


def test_sets_lie_within_what_contains_them_and_beside_each_other(tmp_path: Path) -> None:
    table = boxes(nested_sets.Options.model_validate(SETS))
    assert table["label"].tolist() == ["all", "considered", "stable with both", "not known to be"]
    assert table["level"].tolist() == [0, 1, 2, 1]
    ends = table.assign(
        right=table["left"] + table["width"], top=table["bottom"] + table["height"]
    ).to_dict("records")
    whole, one, inner, other = ends
    for outside, inside in ((whole, one), (one, inner), (whole, other)):
        assert outside["left"] < inside["left"]
        assert inside["right"] < outside["right"]
        assert outside["bottom"] < inside["bottom"]
        assert inside["top"] < outside["top"]
    assert one["right"] < other["left"]

    figure = drawn(write_folder(tmp_path / "sets", SETS, NONE)).figure
    (ax,) = figure.axes
    patches = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    assert [patch.get_linestyle() for patch in patches] == ["solid"] * 3 + ["dashed"]
    # each label has room in its own box, above what is inside
    for text, box in zip(ax.texts, ends, strict=True):
        place = text.get_window_extent().transformed(ax.transData.inverted())
        assert box["left"] < place.x0
        assert place.x1 < box["right"]
        assert box["bottom"] < place.y0
        assert place.y1 < box["top"]
    label = ax.texts[1].get_window_extent().transformed(ax.transData.inverted())
    assert label.y0 > inner["top"]


@pytest.mark.parametrize("change", [{"label": ""}, {"within": "all"}])
def test_a_set_has_a_label_and_what_it_contains(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        nested_sets.Options.model_validate(SETS | {"outermost": SETS["outermost"] | change})

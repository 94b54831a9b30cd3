"""Fitted slopes on panels of lines, and what selects and compares cells there."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from plotting_records import Drawn, cells, drawn, lines, write_folder

from scaling_limits.errors import ConfigurationError
from scaling_limits.figures.written import MisplacedError
from scaling_limits.plots.lines.written import expand
from scaling_limits.plots.options import PlotOptions

LOSS = {"metric": "train_loss"}
SAID = {"layer": None, "index": None, "per": (), "reduce": "last", "step": None, "window": 1}


def loss(width: int, depth: int = 1, rate: float = 0.1, **_: Any) -> dict[str, float]:
    return {"train_loss": depth / width * (2 if rate == 0.2 else 1)}


def panel(**said: Any) -> dict[str, Any]:
    usual = {"title": "", "x": "width", "hue": "depth", "label": "loss", "best": None}
    return {**usual, "lines": [{"grid": "main", "quantity": LOSS}], **said}


def fitted(*fits: dict[str, Any], grids: tuple[str, ...] = ("main",)) -> dict[str, Any]:
    quantity = {**SAID, **LOSS, "complement": False}
    return {
        "along": "width",
        "quantity": quantity,
        "arms": [{"grids": list(grids), "fits": list(fits)}],
    }


def fit(slope: float, sizes: tuple[int, int] | None = None, **group: Any) -> dict[str, Any]:
    ends = [slope - 0.1, slope + 0.1]
    return {"group": group, "slope": slope, "interval": ends, "sizes": sizes}


def picture(path: Path, *claims: dict[str, Any], **said: Any) -> Drawn:
    rows = cells("main", loss, width=(8, 32, 128), depth=(2, 8), seed=(0, 1))
    plot = {"kind": "lines", "panels": [panel(**said)]}
    return drawn(write_folder(path / "f", plot, rows, fitted=list(claims)))


def written(found: Drawn) -> list[tuple[str, Any]]:
    return [(text.get_text(), to_rgb(text.get_color())) for text in found.axes[0].texts]


def test_each_line_has_its_slope_in_its_colour(tmp_path: Path) -> None:
    found = picture(tmp_path, fitted(fit(-1.0, depth=2), fit(-0.5, depth=8)))
    small, large = (to_rgb(line.get_color()) for line in lines(found.axes[0], "training loss"))
    assert written(found) == [
        ("\N{MINUS SIGN}1.00 ± 0.10", small),
        ("\N{MINUS SIGN}0.50 ± 0.10", large),
    ]
    assert "number: slope ± half of its 95 % interval" in found.legend


def test_the_fitted_part_of_a_line_is_said(tmp_path: Path) -> None:
    minus = "\N{MINUS SIGN}"
    whole, wide = (8, 128), (32, 128)
    one = picture(tmp_path / "1", fitted(fit(-1.0, whole, depth=2), fit(-0.5, wide, depth=8)))
    assert [words for words, _ in written(one)] == [
        f"{minus}1.00 ± 0.10",
        f"{minus}0.50 ± 0.10, 32–128",
    ]
    assert "number: slope ± half of its 95 % interval, fitted sizes" in one.legend
    both = picture(tmp_path / "2", fitted(fit(-1.0, wide, depth=2), fit(-0.5, wide, depth=8)))
    assert [words for words, _ in written(both)] == [
        "slopes, 32–128",
        f"{minus}1.00 ± 0.10",
        f"{minus}0.50 ± 0.10",
    ]


def test_a_slope_of_errors_at_steps_is_common_to_the_lines_of_all_values(tmp_path: Path) -> None:
    def at_steps(**size: int) -> dict[str, Any]:
        return {"train_loss": dict.fromkeys((1, 5), loss(**size)["train_loss"])}

    rows = cells("main", at_steps, width=(8, 32, 128), depth=(2, 8))
    rows += cells("limit", at_steps, width=(256,), depth=(2, 8))
    at = {**LOSS, "reduce": "at", "step": 1}
    line = {"grid": "main", "quantity": at, "reference": "limit"}
    claim = {**fitted(fit(-0.8)), "reference": ["limit"]}

    def slopes(name: str, at: list[int] | str | None) -> list[tuple[str, Any]]:
        plot = {"kind": "lines", "panels": [panel(lines=[line])]}
        claims = [{**claim, "at": at}]
        return written(drawn(write_folder(tmp_path / name, plot, rows, fitted=claims)))

    assert [text for text, _ in slopes("at", [1, 5])] == [
        "coloured, r.m.s. \N{MINUS SIGN}0.80 ± 0.10"
    ]
    assert slopes("elsewhere", [5]) == []
    assert slopes("every", "all") == []
    assert slopes("last", None) == []


def test_slopes_hide_no_line_and_those_of_comparisons_are_marked(tmp_path: Path) -> None:
    depths = (1, 4, 16, 64)

    def steep(width: int, depth: int, **_: Any) -> dict[str, float]:
        return {"train_loss": depth / width}

    rows = cells("main", steep, width=(8, 512), depth=depths)
    rows += cells("control", steep, width=(8, 512), depth=(256,))
    control = {"grid": "control", "quantity": LOSS, "style": "dotted", "label": "control"}
    both = panel(lines=[{"grid": "main", "quantity": LOSS}, control])
    plot = {"kind": "lines", "panels": [both]}
    claims = [
        fitted(*(fit(-1.0, depth=depth) for depth in depths[:3])),
        fitted(fit(-1.0, depth=256), grids=("control",)),
    ]
    plain, found = (
        drawn(write_folder(tmp_path / name, plot, rows, fitted=some))
        for name, some in (("plain", []), ("fitted", claims))
    )
    assert written(found)[-1][0] == "\N{MIDLINE HORIZONTAL ELLIPSIS} \N{MINUS SIGN}1.00 ± 0.10"
    # there is no free place, so that the axis is longer
    (ax,), (before,) = found.axes, plain.axes
    assert ax.get_ylim()[0] < before.get_ylim()[0]
    assert ax.get_ylim()[1] == before.get_ylim()[1]
    # above each text, all lines are higher
    boxes = [text.get_window_extent() for text in ax.texts]
    for line in lines(ax, "training loss"):
        first, last = line.get_transform().transform(line.get_xydata())
        points = np.linspace(first, last, 100)
        assert all(y > box.y1 for box in boxes for x, y in points if box.x0 <= x <= box.x1)


def test_without_room_for_all_slopes_those_of_solid_lines_are_written(tmp_path: Path) -> None:
    depths = (1, 2, 3)
    rows = [
        row
        for grid in ("main", "control")
        for row in cells(grid, loss, width=(8, 32), depth=depths)
    ]
    control = {"grid": "control", "quantity": LOSS, "style": "dotted", "label": "control"}
    both = panel(lines=[{"grid": "main", "quantity": LOSS}, control])
    claims = [
        fitted(*(fit(-0.1 * depth, depth=depth) for depth in depths), grids=(grid,))
        for grid in ("main", "control")
    ]
    plot = {"kind": "lines", "panels": [both]}
    found = drawn(write_folder(tmp_path / "f", plot, rows, fitted=claims))
    assert [words.split(" ")[0] for words, _ in written(found)] == [
        f"\N{MINUS SIGN}0.{depth}0" for depth in depths
    ]


def test_of_many_slopes_the_range_is_written_and_few_comparisons_below_it(tmp_path: Path) -> None:
    depths = (1, 2, 3, 4, 5)
    rows = cells("main", loss, width=(8, 32, 128), depth=depths)
    rows += cells("control", loss, width=(8, 32, 128), depth=(2,))
    lines_of = [
        {"grid": "main", "quantity": LOSS, "style": "markers"},
        {"grid": "control", "quantity": LOSS, "style": "dotted", "label": "control"},
    ]
    plot = {"kind": "lines", "panels": [panel(lines=lines_of)]}
    minus, control = "\N{MINUS SIGN}", fitted(fit(-0.5, depth=2), grids=("control",))
    for name, sizes, expected in (
        ("whole", [(8, 128)] * 5, ["slope at each depth:", f"{minus}0.50 to {minus}0.10"]),
        ("part", [(32, 128)] * 5, ["slope at each depth, 32–128:", f"{minus}0.50 to {minus}0.10"]),
        (
            "parts",
            [(8, 128)] * 3 + [(32, 128)] * 2,
            ["slope at each depth:", f"{minus}0.50 to {minus}0.10,", "8–128 to 32–128"],
        ),
    ):
        of_main = fitted(
            *(fit(-0.1 * d, ends, depth=d) for d, ends in zip(depths, sizes, strict=True))
        )
        found = drawn(write_folder(tmp_path / name, plot, rows, fitted=[of_main, control]))
        dotted = f"\N{MIDLINE HORIZONTAL ELLIPSIS} {minus}0.50 ± 0.10"
        assert [words for words, _ in written(found)] == [*expected, dotted]


def test_slopes_do_not_extend_limits_of_the_plot(tmp_path: Path) -> None:
    claim = fitted(fit(-1.0, depth=2), fit(-0.5, depth=8))
    limits = [0.01, 2.0]
    plain = picture(tmp_path / "plain", limits=limits)
    found = picture(tmp_path / "fitted", claim, limits=limits)
    assert found.axes[0].get_ylim() == plain.axes[0].get_ylim()


def test_a_judged_error_is_drawn_with_its_interval_and_the_slope(tmp_path: Path) -> None:
    rows = cells("main", loss, width=(8, 32), seed=(0, 1))
    rows += cells("limit", loss, width=(64,), seed=(0,))
    line = {"grid": "main", "quantity": LOSS, "reference": "limit", "label": "main"}
    plot = {"kind": "lines", "panels": [panel(hue=None, lines=[line])]}
    claim = fitted(fit(-0.8))
    claim["arms"][0]["error"] = [32.0, 0.5, [0.0, 3.0]]
    label = "error of the mean over seeds (judged), with 95 % interval"
    found = drawn(
        write_folder(tmp_path / "f", plot, rows, fitted=[{**claim, "reference": ["limit"]}])
    )
    (ax,) = found.axes
    (mark,) = lines(ax, label)
    assert (mark.get_xdata().tolist(), mark.get_ydata().tolist()) == ([32.0], [0.5])
    assert label in found.legend
    assert [words for words, _ in written(found)] == ["r.m.s. \N{MINUS SIGN}0.80 ± 0.10"]
    assert ax.get_ylim()[1] > 3.0
    # a claim without this reference judges something else
    other = drawn(write_folder(tmp_path / "o", plot, rows, fitted=[claim]))
    assert not lines(other.axes[0], label)
    assert not written(other)


@pytest.mark.parametrize(
    ("to", "line", "said"),
    [
        ("reference", {"ratio_to": "other"}, {}),
        ("best", {"ratio_to": "main"}, {"over": ["depth"], "tuned_at": "smallest"}),
        ("smallest", {}, {"relative": True}),
    ],
)
def test_a_judged_ratio_is_drawn_with_its_interval(
    tmp_path: Path, to: str, line: dict[str, str], said: dict[str, Any]
) -> None:
    rows = [row for g in ("main", "other") for row in cells(g, loss, width=(8, 32), seed=(0, 1))]
    drawn_line = {"grid": "main", "quantity": LOSS, "label": "main", **line}
    best = {"best": "min"} if said.get("over") else {}
    plot = {"kind": "lines", "panels": [panel(hue=None, lines=[drawn_line], **best, **said)]}
    claim = fitted() | {"over": said.get("over", [])}
    if to == "reference":
        claim["reference"] = ["other"]
    value = {"to": to, "size": 32.0, "value": 1.2, "interval": [0.9, None]}
    claim["arms"][0]["ratio"] = value

    def marks(name: str, *claims: dict[str, Any]) -> list[list[float]]:
        (ax,) = drawn(write_folder(tmp_path / name, plot, rows, fitted=list(claims))).axes
        return [
            [*mark.get_xdata(), *mark.get_ydata()]
            for mark in lines(ax, "judged ratio, with 95 % interval")
        ]

    assert marks("f", claim) == [[32.0, 1.2]]
    others: list[dict[str, Any]] = [
        {"over": ["learning_rate"]},
        {"only": {"learning_rate": 0.1}},
        {"along": "depth"},
        {"reference": ["third"]},
    ]
    assert not any(marks(f"o{k}", claim | other) for k, other in enumerate(others))
    claim["arms"][0]["ratio"] = value | {"to": "best" if to != "best" else "smallest"}
    assert not marks("to", claim)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, False),
        ({"relative": True}, True),
        ({"lines": [{"grid": "main", "quantity": LOSS, "ratio_to": "other"}]}, True),
    ],
)
def test_a_plot_says_whether_it_shows_ratios(said: dict[str, Any], expected: bool) -> None:
    """Also as a part of another plot."""
    plain, plot = ({"kind": "lines", "panels": [panel(**some)]} for some in ({}, said))
    for written_plot in (plot, {"kind": "composite", "plots": [plain, plot]}):
        assert PlotOptions.model_validate(written_plot).shows_ratios is expected


def test_a_slope_common_to_the_panels_of_several_steps_is_written_once(tmp_path: Path) -> None:
    rows = cells("main", loss, width=(8, 32), depth=(2, 8))
    rows += cells("limit", loss, width=(64,), depth=(2, 8))
    line = {"grid": "main", "quantity": LOSS, "reference": "limit"}
    plot = {"kind": "lines", "panels": [panel(title=t, lines=[line]) for t in ("first", "second")]}
    exact = {**fit(-0.8), "interval": None}
    claim = fitted(exact) | {"reference": ["limit"]}
    found = drawn(write_folder(tmp_path / "f", plot, rows, fitted=[claim]))
    texts = [[text.get_text() for text in ax.texts] for ax in found.axes]
    assert texts == [["coloured, r.m.s. \N{MINUS SIGN}0.80"], []]
    # an exact slope has no interval
    assert "number: slope" in found.legend


def test_judged_values_at_one_size_stand_side_by_side(tmp_path: Path) -> None:
    rows = [row for g in ("main", "other") for row in cells(g, loss, width=(8, 32), seed=(0, 1))]
    lines_of = [
        {"grid": grid, "quantity": LOSS, "label": grid, "ratio_to": other}
        for grid, other in (("main", "other"), ("other", "main"))
    ]
    plot = {"kind": "lines", "panels": [panel(hue=None, lines=lines_of)]}
    claims = [
        fitted(grids=(grid,)) | {"reference": [other]}
        for grid, other in (("main", "other"), ("other", "main"))
    ]
    for claim in claims:
        ratio = {"to": "reference", "size": 32.0, "value": 1.2, "interval": [1.0, 1.4]}
        claim["arms"][0]["ratio"] = ratio
    (ax,) = drawn(write_folder(tmp_path / "f", plot, rows, fitted=claims)).axes
    first, second = (
        mark.get_transform().transform(mark.get_xydata())[0, 0]
        for mark in lines(ax, "judged ratio, with 95 % interval")
    )
    assert second > first


def test_errors_may_be_root_mean_squares_over_the_steps_to_which_claims_fit(tmp_path: Path) -> None:
    """Errors of 1 and 7 at two steps have a root mean square of 5; an error far above the lines is visible."""

    def of(factors: tuple[float, float]) -> Any:
        return lambda **_: {"train_loss": {step: factors[step] for step in (0, 1)}}

    rows = cells("main", of((2.0, 8.0)), width=(8, 32), seed=(0, 1))
    rows += cells("limit", of((1.0, 1.0)), width=(8, 32), depth=(2,), seed=(0, 1))
    quantity = {**LOSS, "per": "step"}
    line = {"grid": "main", "quantity": quantity, "reference": "limit", "rms": True}
    plot = {"kind": "lines", "panels": [panel(hue=None, lines=[{**line, "label": "main"}])]}
    claim = fitted(fit(-0.8)) | {"reference": ["limit"]}
    claim["arms"][0]["error"] = [32.0, 1000.0, None]
    found = drawn(write_folder(tmp_path / "f", plot, rows, fitted=[claim]))
    (ax,) = found.axes
    (drawn_line,) = lines(ax, "training loss")
    assert drawn_line.get_ydata() == pytest.approx([5.0, 5.0])
    # the slope is the drawn line's, so that its name is not repeated
    assert [words for words, _ in written(found)] == ["\N{MINUS SIGN}0.80 ± 0.10"]
    assert ax.get_ylim()[1] > 1000.0


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (fitted(fit(-1.0, depth=4)), {}),
        (fitted(fit(-1.0, activation="relu")), {}),
        (fitted(fit(-1.0, depth=2), grids=("other",)), {}),
        ({**fitted(fit(-1.0, depth=2)), "along": "depth"}, {}),
        (fitted(fit(-1.0, depth=2)), {"divided_by": {"power": -1}}),
    ],
)
def test_a_slope_of_other_cells_is_not_written(
    tmp_path: Path, claim: dict[str, Any], said: dict[str, Any]
) -> None:
    assert written(picture(tmp_path, claim, **said)) == []


def test_of_a_single_hue_a_claim_about_one_value_is_at_its_line_only(tmp_path: Path) -> None:
    ((slope, colour),) = written(picture(tmp_path, fitted(fit(-0.9, depth=8))))
    assert slope == "\N{MINUS SIGN}0.90 ± 0.10"
    found = picture(tmp_path / "again", fitted(fit(-0.9, depth=8)))
    assert colour == to_rgb(lines(found.axes[0], "training loss")[1].get_color())


def test_only_selects_cells(tmp_path: Path) -> None:
    rows = cells(
        "main",
        lambda width, depth, learning_rate, **_: loss(width, depth, learning_rate),
        width=(8, 32),
        depth=(2,),
        learning_rate=(0.1, 0.2),
        seed=(0,),
    )
    plot = {"kind": "lines", "panels": [panel(only={"learning_rate": 0.2})]}
    found = drawn(write_folder(tmp_path / "f", plot, rows))
    (line,) = lines(found.axes[0], "training loss")
    assert line.get_ydata().tolist() == pytest.approx([4 / 8, 4 / 32])


def test_a_level_is_a_line_across_with_its_name_and_within_the_limits(tmp_path: Path) -> None:
    found = picture(tmp_path, levels=[{"value": 10.0, "label": "ten"}])
    (ax,) = found.axes
    assert [text.get_text() for text in ax.texts] == ["ten"]
    assert ax.get_ylim()[0] < 10.0 < ax.get_ylim()[1]


NODES = {"own": ["own_a", "own_b"], "other": ["other_a", "other_b"], "one": ["one"]}


class Names:
    """Grids of some nodes."""

    def titled(self, said: Any, path: Any) -> list[tuple[str, str | None]]:
        if isinstance(said, dict):
            return list(said.items())
        return [(grid, grid.upper()) for grid in NODES[said]]

    def quantity(self, said: Any, path: Any) -> Any:
        return {"metric": said} if isinstance(said, str) else said

    def axis(self, said: Any) -> dict[str, Any]:
        return {}


def expanded(**said: Any) -> list[dict[str, Any]]:
    plot = {"kind": "lines", "columns": "own", "x": "width", "hue": "depth", **said}
    return expand(plot, Names(), ("plot",))["panels"]  # type: ignore[return-value, arg-type]


def test_against_adds_the_grids_of_another_node_column_by_column() -> None:
    rows = [{"quantity": "train_loss", "against": {"other": "compared"}}, "test_accuracy"]
    panels = expanded(rows=rows)
    assert [[line["grid"] for line in panel["lines"]] for panel in panels] == [
        ["own_a", "other_a"],
        ["own_b", "other_b"],
        ["own_a"],
        ["own_b"],
    ]
    dashed = panels[0]["lines"][1]
    assert (dashed["style"], dashed["label"]) == ("dashed", "compared")
    assert dashed["quantity"] == panels[0]["lines"][0]["quantity"]
    of_all = expanded(rows=["train_loss", "test_accuracy"], against={"other": "compared"})
    assert all(len(panel["lines"]) == 2 for panel in of_all)


def test_against_repeats_a_single_grid_in_every_column() -> None:
    panels = expanded(rows=["train_loss"], against={"one": "compared"})
    assert [panel["lines"][1]["grid"] for panel in panels] == NODES["one"] * 2


def test_against_needs_as_many_grids_as_there_are_columns() -> None:
    columns = {"own_a": "A", "own_b": "B", "other_a": "C"}
    with pytest.raises(MisplacedError, match="'other' has 2 grids, but there are 3 columns"):
        expanded(rows=["train_loss"], columns=columns, against={"other": "compared"})


def test_levels_on_a_logarithmic_axis_are_positive(tmp_path: Path) -> None:
    with pytest.raises((ConfigurationError, Exception), match="levels: 0 and less have no place"):
        picture(tmp_path, levels=[{"value": 0.0}])

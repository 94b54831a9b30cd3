"""The table behind a figure, by hand."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from plotting_records import Rows, cells, results

from scaling_limits.claims.agrees_with import Claim, relative_errors
from scaling_limits.errors import ScalingLimitsError
from scaling_limits.figures.quantities import Quantity
from scaling_limits.plots.lines import Panel
from scaling_limits.plots.options import PlotOptions
from scaling_limits.plots.tables import FIRST, best_rows, table_of, visible

LOSS = {"metric": "loss"}
VALUES = {
    # width, rate: of three seeds
    (8, 0.1): (1.0, 2.0, 6.0),
    (8, 0.2): (2.0, 2.0, 2.0),
    (16, 0.1): (5.0, np.nan, 1.0),
    (16, 0.2): (np.inf, 4.0, 4.0),
}
MAIN = cells(
    "main",
    lambda width, learning_rate, seed: {"loss": VALUES[width, learning_rate][seed]},
    width=(8, 16),
    learning_rate=(0.1, 0.2),
    seed=(0, 1, 2),
)


def table(rows: Rows, *lines: dict[str, Any], **panel: Any) -> pd.DataFrame:
    said = [{"grid": "main", "quantity": LOSS, **line} for line in lines or ({},)]
    panel = {
        "title": "A",
        "x": "learning_rate",
        "hue": "width",
        "label": "y",
        "lines": said,
    } | panel
    plot = PlotOptions.model_validate({"kind": "lines", "panels": [panel]})
    return table_of(plot, results(rows))


def means(found: pd.DataFrame, *by: str) -> list[float]:
    return found.groupby(list(by))["value"].mean().tolist()


def powers(grid: str, *, exponent: float = 1.0, widths: tuple[int, ...] = (8, 16, 32)) -> Rows:
    """The loss is (width / 8)^exponent times depth, twice that for the second seed."""
    return cells(
        grid,
        lambda width, depth, seed: {"loss": (1 + seed) * depth * (width / 8) ** exponent},
        width=widths,
        depth=(2, 4),
        seed=(0, 1),
    )


def test_what_was_tuned_at_one_size_is_shown_at_all() -> None:
    """The rate 0.2 is best at the width 8, at every step; wider networks would be better with another."""
    losses = {(8, 0.1): 2.0, (8, 0.2): 1.0, (16, 0.1): 3.0, (16, 0.2): 4.0}
    rows = cells(
        "main",
        lambda width, learning_rate, **_: {"loss": {0: 5.0, 9: losses[width, learning_rate]}},
        width=(8, 16),
        learning_rate=(0.1, 0.2),
    )
    curves = {"quantity": {**LOSS, "per": "step"}}
    panel = {"x": "step", "x_scale": "linear", "over": ["learning_rate"]}
    best, tuned = (table(rows, curves, **panel, **said) for said in ({}, {"tuned_at": 8}))
    for found, rates, ends in ((best, [0.2, 0.1], [1.0, 3.0]), (tuned, [0.2, 0.2], [1.0, 4.0])):
        assert found.groupby("width")["learning_rate"].unique().map(list).tolist() == [
            [rate] for rate in rates
        ]
        assert found[found["step"] == 9].sort_values("width")["value"].tolist() == ends
    # of single points it is that of each x
    over = {"x": "seed", "over": ["learning_rate"], "tuned_at": 8}
    assert table(rows, {}, **over)["value"].tolist() == [1.0, 4.0]
    with pytest.raises(ScalingLimitsError, match="none of the values of 'width' to be shown: 9"):
        table(rows, curves, **panel, tuned_at=9)


def test_what_was_tuned_by_one_quantity_is_shown_of_another() -> None:
    """The rate 0.1 gives the larger loss, and the better accuracy."""
    found = {0.1: {"loss": {0: 5.0, 9: 2.0}, "test_accuracy": {9: 0.9}}}
    found[0.2] = {"loss": {0: 5.0, 9: 1.0}, "test_accuracy": {9: 0.1}}
    rows = cells("main", lambda learning_rate, **_: found[learning_rate], learning_rate=(0.1, 0.2))
    curves = {"quantity": {**LOSS, "per": "step"}}
    panel = {"x": "step", "x_scale": "linear", "hue": "seed", "over": ["learning_rate"]}
    by = {"metric": "test_accuracy"}
    for said, ends in (({}, [1.0]), ({"tuned_by": by, "best": None}, [2.0])):
        shown = table(rows, curves, **panel, **said)
        assert shown[shown["step"] == 9]["value"].tolist() == ends


OVER_WIDTH = {"x": "width", "hue": "depth"}


def test_one_row_for_each_panel_line_point_and_seed() -> None:
    found = table(MAIN)
    assert tuple(found.columns[: len(FIRST)]) == FIRST
    assert {"width", "learning_rate", "parameterisation"} <= set(found.columns)
    assert len(found) == 12
    first = found.iloc[0]
    said = [first[name] for name in ("panel", "title", "line", "quantity", "grid", "value")]
    assert said == [0, "A", "main", "loss", "main", 1.0]
    # of a point where one seed diverged all rows say so; what is no number is infinite
    lost = found[found["diverged"]]
    assert set(zip(lost["width"], lost["learning_rate"], strict=True)) == {(16, 0.1), (16, 0.2)}
    assert len(lost) == 6
    assert sorted(lost["value"]) == [1.0, 4.0, 4.0, 5.0, np.inf, np.inf]


def test_a_table_of_parameterisations_has_no_rows() -> None:
    plot = {"kind": "parameterisation_table", "form": "premultipliers"}
    entry = {"title": "SP", "scheme": "sp_gaussian"}
    empty = table_of(PlotOptions.model_validate(plot | {"entries": [entry]}), results(MAIN))
    assert (tuple(empty.columns), len(empty)) == (FIRST, 0)


def test_only_what_has_a_logarithm_has_a_place_on_a_logarithmic_axis() -> None:
    rows = pd.DataFrame({"value": [1.0, 0.0, -1.0, 2.0], "diverged": [False] * 3 + [True]})
    assert visible(rows, log=True)["value"].tolist() == [1.0]
    assert visible(rows, log=False)["value"].tolist() == [1.0, 0.0, -1.0]


@pytest.mark.parametrize(
    ("best", "rate", "values"), [("min", 0.2, [2, 2, 2]), ("max", 0.1, [1, 2, 6])]
)
def test_over_shows_the_combination_whose_mean_is_best(best: str, rate: float, values: Any) -> None:
    """The least of all values is one of the rate whose mean is worse."""
    found = table(
        MAIN[:6],
        x="width",
        hue=None,
        over=["learning_rate"],
        best=best,
        lines=[{"grid": "main", "quantity": LOSS, "label": "a"}],
    )
    assert found["learning_rate"].unique().tolist() == [rate]
    assert found["value"].tolist() == values


def test_a_curve_at_the_best_rate_is_one_curve() -> None:
    """Of the rate that ends best, though another one is better before, and of one seed."""

    def loss(width: int, learning_rate: float, seed: int) -> dict[str, Any]:
        fast = {0: 4.0, 1: 1.0, 2: 3.0 - 2.5 * (1 - seed)}
        slow = {0: 4.0, 1: 2.0, 2: 1.0}
        # in wide networks the fast rate is best throughout, and the slow one diverges
        wide = {0: 8.0, 1: 0.5, 2: 0.5} if learning_rate == 0.2 else {0: 8.0, 1: 0.1, 2: np.nan}
        return {"loss": (fast if learning_rate == 0.2 else slow) if width == 8 else wide}

    rates = {"width": (8, 16), "learning_rate": (0.1, 0.2), "seed": (0, 1)}
    rows = cells("main", loss, **rates)
    line = {"quantity": LOSS | {"per": "step"}}
    found = table(rows, line, x="step", over=["learning_rate"])
    assert found.groupby(["width", "step"])["value"].first().tolist() == [4, 2, 1, 8, 0.5, 0.5]
    assert found.groupby("width")["learning_rate"].unique().map(list).to_dict() == {
        8: [0.1],
        16: [0.2],
    }
    # without a hue it is one curve; over a size each point still has its own
    alone = [{**line, "grid": "main", "label": "a"}]
    found = table(
        [r for r in rows if r[0]["width"] == 8],
        x="step",
        hue=None,
        over=["learning_rate"],
        lines=alone,
    )
    assert found["value"].tolist() == [4, 2, 1, 4, 2, 1]
    found = table(rows, line, x="width", hue="step", over=["learning_rate"])
    rates_of = found[found["width"] == 8].groupby("step")["learning_rate"].unique()
    assert rates_of.map(list).to_dict() == {0: [0.1], 1: [0.2], 2: [0.1]}


@pytest.mark.parametrize("best", ["min", "max"])
def test_what_diverged_is_never_best(best: str) -> None:
    rows = table(MAIN)
    found = best_rows(rows, ["depth"], ["width", "learning_rate"], best)
    assert found["width"].unique().tolist() == [8]
    lost = best_rows(rows[rows["width"] == 16], ["width"], ["learning_rate"], best)
    assert lost["learning_rate"].unique().tolist() == [0.1]  # the first stays
    assert lost["diverged"].all()


def test_values_of_the_hue_that_a_preset_leaves_out_are_not_shown() -> None:
    found = table(MAIN, values=[16, 1024])
    assert found["width"].unique().tolist() == [16]
    with pytest.raises(ScalingLimitsError, match=r"none of the values of 'width' .*: 1024, 2048"):
        table(MAIN, values=[1024, 2048])


def test_relative_lines_are_one_at_the_smallest_x_that_all_have() -> None:
    rows = [row for row in powers("main") if (row[0]["width"], row[0]["depth"]) != (8, 4)]
    found = table(rows, relative=True, **OVER_WIDTH)
    assert means(found, "depth", "width") == pytest.approx([0.5, 1, 2, 1, 2])
    assert found[found["width"] == 16]["value"].unique() == pytest.approx([2 / 3, 4 / 3])
    # and so is one line of a hue of its own
    alone = [{"grid": "main", "quantity": LOSS, "label": "a"}]
    rows = [row for row in powers("main") if row[0]["depth"] == 2]
    found = table(rows, relative=True, x="width", hue=None, lines=alone)
    assert means(found, "width") == pytest.approx([1, 2, 4])


def test_relative_medians_are_one_at_the_smallest_x() -> None:
    def of_seed(width: int, seed: int, **_: Any) -> dict[str, float]:
        return {"loss": width * (1.0, 2.0, 9.0)[seed]}

    rows = cells("main", of_seed, width=(8, 16), depth=(2, 4), seed=(0, 1, 2))
    found = table(rows, relative=True, centre="median", **OVER_WIDTH)
    assert found[found["width"] == 16]["value"].tolist() == pytest.approx([1, 2, 9] * 2)


def test_lines_are_divided_by_a_power_of_x_before_they_are_relative() -> None:
    root = {"divided_by": {"power": 0.5}, "best": None, **OVER_WIDTH}
    found, whole = table(powers("main"), **root), table(powers("main"), best=None, **OVER_WIDTH)
    assert found["value"].tolist() == pytest.approx(whole["value"] / whole["width"] ** 0.5)
    relative = table(powers("main"), relative=True, **root)
    growth = [1, 2**0.5, 2]
    assert means(relative, "depth", "width") == pytest.approx([*growth, *growth])
    # what diverged has no value, whatever it is divided by
    rows = powers("main")
    rows[0][1][0] = ("loss", 9, pd.NA, np.nan)
    lost = table(rows, **root)
    assert lost["diverged"].sum() == 2
    assert np.isinf(lost["value"]).sum() == 1


def test_relative_to_what_diverged_everything_diverged() -> None:
    rows = powers("main")
    rows[0][1][0] = ("loss", 9, pd.NA, np.nan)
    found = table(rows, relative=True, **OVER_WIDTH)
    assert found["diverged"].tolist() == np.isinf(found["value"]).tolist()
    assert found["diverged"].tolist() == (found["depth"] == 2).tolist()
    # so does what is compared with it
    rows = powers("main") + powers("limit", exponent=0.0, widths=(1,))
    rows[-1][1][0] = ("loss", 9, pd.NA, np.inf)
    found = table(rows, {"reference": "limit"}, **OVER_WIDTH)
    assert found["diverged"].tolist() == (found["depth"] == 4).tolist()


def test_errors_are_relative_to_the_reference_of_the_same_seed() -> None:
    rows = powers("main") + powers("limit", exponent=0.0, widths=(1,))
    found = table(rows, {"reference": "limit"}, **OVER_WIDTH)
    # 8 (width / 8) over 8: were seeds not paired, those of the second would differ
    assert found["value"].tolist() == pytest.approx([0] * 4 + [1] * 4 + [3] * 4)
    missing = [row for row in rows if (row[0]["grid"], row[0]["depth"]) != ("limit", 4)]
    with pytest.raises(ScalingLimitsError, match="'limit' lacks values of depth and seed that 'm"):
        table(missing, {"reference": "limit"}, **OVER_WIDTH)


def test_a_reference_that_lacks_a_seed_is_replaced_by_its_mean() -> None:
    rows = powers("main") + powers("limit", exponent=0.0, widths=(1,))
    lacking = [row for row in rows if (row[0]["grid"], row[0]["seed"]) != ("limit", 1)]
    found = table(lacking, {"reference": "limit"}, **OVER_WIDTH)
    first, second = (found[found["seed"] == seed]["value"].tolist() for seed in (0, 1))
    assert first == pytest.approx([0, 0, 1, 1, 3, 3])
    assert second == pytest.approx([1, 1, 3, 3, 7, 7])


def curves(grid: str, **settings: tuple[Any, ...]) -> Rows:
    """The loss is 1 + seed + step, plus 1 / width in the grid `main`."""

    def losses(width: int, seed: int, **_: Any) -> dict[str, Any]:
        excess = 1 / width if grid == "main" else 0.0
        return {"loss": {step: 1 + seed + step + excess for step in (0, 1)}}

    algorithm = "predictive_coding" if grid == "main" else "backpropagation"
    return cells(grid, losses, algorithm=(algorithm,), **settings)


OVER_STEPS = {"x": "step", "x_scale": "linear"}
CURVE = {"quantity": {**LOSS, "per": "step"}, "reference": "limit"}


def test_errors_of_curves_are_relative_to_the_reference_at_the_same_step() -> None:
    sizes = {"width": (2, 4), "seed": (0, 1)}
    rows = curves("main", **sizes) + curves("limit", **sizes)
    found = table(rows, CURVE, **OVER_STEPS)
    expected = 1 / (found["width"] * (1 + found["seed"] + found["step"]))
    assert len(found) == 8
    assert found["value"].tolist() == pytest.approx(expected.tolist())
    # without the second seed of the reference, all seeds are compared with the first
    lacking = curves("main", **sizes) + curves("limit", width=(2, 4), seed=(0,))
    found = table(lacking, CURVE, **OVER_STEPS)
    expected = (found["seed"] + 1 / found["width"]) / (1 + found["step"])
    assert found["value"].tolist() == pytest.approx(expected.tolist())
    # a width of the line that the reference lacks
    narrow = curves("main", **sizes) + curves("limit", width=(2,), seed=(0, 1))
    with pytest.raises(ScalingLimitsError, match="lacks values of width and step and seed that"):
        table(narrow, CURVE, **OVER_STEPS)
    found = table(narrow, CURVE, **OVER_STEPS, values=[2, 4])
    assert found["width"].unique().tolist() == [2]
    with pytest.raises(ScalingLimitsError, match="'limit' has none of the values of 'width'"):
        table(narrow, CURVE, **OVER_STEPS, values=[4])


def test_a_limit_without_sizes_is_the_reference_of_all_sizes() -> None:
    limit = curves("limit", width=(64,), seed=(0,), limit=("linear_dmft",))
    rows = curves("main", width=(2, 4), seed=(0, 1)) + limit
    found = table(rows, CURVE, **OVER_STEPS, values=[2, 4])
    expected = (found["seed"] + 1 / found["width"]) / (1 + found["step"])
    assert len(found) == 8
    assert found["value"].tolist() == pytest.approx(expected.tolist())


@pytest.mark.parametrize(
    "reference",
    [
        curves("limit", width=(2, 4, 8), seed=(0, 1, 2)),
        curves("limit", width=(2, 8), seed=(0, 1)),
        curves("limit", width=(64,), seed=(0,), limit=("linear_dmft",)),
    ],
)
def test_errors_are_those_that_claims_judge(reference: Rows) -> None:
    rows = curves("main", width=(2, 4, 8), seed=(0, 1, 2)) + reference
    claim = Claim(
        id="agrees",
        kind="agrees_with",
        statement="It is so.",
        source="Fig 5",
        grids=("main",),
        reference=("limit",),
        control=("other",),
        along="width",
        quantity=Quantity(**LOSS),
        at="all",
        tolerance=0.1,
    )
    main, limit = (results(rows).grids([name]) for name in ("main", "limit"))
    key = ["width", "step", "seed"]
    judged = relative_errors(claim, main, limit).rows.set_index(key)["value"].abs().to_dict()
    shown = table(rows, CURVE, **OVER_STEPS, values=[2, 4, 8]).set_index(key)["value"].to_dict()
    assert shown == pytest.approx(judged)


def test_errors_at_a_size_are_relative_to_the_reference_of_this_size() -> None:
    rows = curves("main", width=(2, 4, 8), seed=(0, 1)) + curves("limit", width=(2, 8), seed=(0, 1))
    found = table(rows, {"reference": "limit", "label": "a"}, x="width", hue=None)
    # a size that the reference lacks is left out
    assert sorted(found["width"].unique()) == [2, 8]
    expected = 1 / (found["width"] * (2 + found["seed"]))
    assert found["value"].tolist() == pytest.approx(expected.tolist())


def test_x_over_the_hue_and_a_part_of_x() -> None:
    whole = table(powers("main"), **OVER_WIDTH)
    ratio = table(powers("main"), over_hue=True, x_label="N / L", **OVER_WIDTH)
    assert ratio["width"].tolist() == pytest.approx(whole["width"] / whole["depth"])
    part = table(powers("main"), x_limits=[8, 16], **OVER_WIDTH)
    assert sorted(part["width"].unique()) == [8, 16]


def test_a_median_counts_seeds_that_never_reach_a_threshold_as_slowest() -> None:
    def losses(width: int, seed: int, **_: Any) -> dict[str, Any]:
        fast = seed < width  # one of three seeds at width 1, two at width 2
        return {"loss": {0: 1.0, 3 + seed: 0.1 if fast else 0.9, 9: 0.1 if fast else 0.9}}

    rows = cells("main", losses, width=(1, 2), seed=(0, 1, 2), num_steps=(10,))
    quantity = {**LOSS, "below": 0.5}
    found = table(rows, {"quantity": quantity, "label": "a"}, x="width", hue=None, centre="median")
    assert found["width"].unique().tolist() == [2]
    assert sorted(found["value"]) == [3, 4, 10]
    assert not found["diverged"].any()


def test_only_a_grid_of_one_x_goes_across() -> None:
    rows = powers("main") + powers("limit", widths=(1,))
    line = {"grid": "limit", "across": True, "label": "limit"}
    found = table(rows, {}, line, **OVER_WIDTH)
    assert found["line"].unique().tolist() == ["main", "limit"]
    with pytest.raises(ScalingLimitsError, match="'main' has several values of 'width'"):
        table(rows, {}, line | {"grid": "main"}, **OVER_WIDTH)


def test_a_line_without_runs_at_the_fixed_settings_is_left_out() -> None:
    rows = powers("main") + powers("other", widths=(8, 16))
    lines = {}, {"grid": "other", "label": "other"}
    over_depth = {"x": "depth", "hue": "width"}
    found = table(rows, *lines, **over_depth, only={"width": 16})
    assert found["line"].unique().tolist() == ["main", "other"]
    found = table(rows, *lines, **over_depth, only={"width": 32})
    assert found["line"].unique().tolist() == ["main"]
    with pytest.raises(ScalingLimitsError, match="none of main, other has runs at width 64"):
        table(rows, *lines, **over_depth, only={"width": 64})


@pytest.mark.parametrize(
    ("line", "panel", "words"),
    [
        ({"grid": "mian"}, {}, "unknown grid 'mian'; did you mean 'main'"),
        ({"quantity": {"metric": "los"}}, {}, "no records of the metric 'los' in 'main'"),
        ({}, {"hue": "widht"}, "unknown column of the cells 'widht'; did you mean 'width'"),
        ({"each": False}, {}, "'main' varies not only over learning_rate and seed: width"),
        ({}, {"x": "width", "hue": "depth"}, "not only over depth, width and seed: learning_rate"),
    ],
)
def test_what_cannot_be_drawn_is_refused(line: Any, panel: Any, words: str) -> None:
    with pytest.raises(ScalingLimitsError, match=words):
        table(MAIN, line, **panel)


def test_an_axis_of_the_records_may_be_drawn_over_or_coloured() -> None:
    def along(seed: int) -> dict[str, Any]:
        return {"rms": {(5, k): k + 1 + seed for k in range(3)}}

    quantity = {"metric": "rms", "per": "index", "label": "size"}
    found = table(
        cells("main", along, seed=(0, 1)),
        {"quantity": quantity},
        x="relative_index",
        hue="width",
        x_scale="linear",
    )
    assert means(found, "relative_index") == [1.5, 2.5, 3.5]
    assert found["relative_index"].unique() == pytest.approx([0, 1 / 3, 2 / 3])
    assert found["quantity"].unique() == ["size"]


def test_a_quantity_over_the_training_steps() -> None:
    rows = cells("main", lambda width: {"energy": {t: width / t for t in (1, 2)}}, width=(8, 16))
    found = table(rows, {"quantity": {"metric": "energy", "per": "step"}}, x="step")
    assert found["step"].tolist() == [1, 2, 1, 2]
    assert found["value"].tolist() == [8, 4, 16, 8]
    assert not found["diverged"].any()


def test_lines_of_one_panel_have_names_of_their_own() -> None:
    def names(*lines: dict[str, Any]) -> list[str]:
        said = [{"grid": "main", "quantity": LOSS} | line for line in lines]
        panel = {"title": "", "x": "step", "hue": "width", "label": "", "lines": said}
        return Panel.model_validate(panel).names

    assert names({}, {"grid": "limit"}, {"label": "a"}) == ["main", "limit", "a"]
    assert names({}, {"quantity": {"metric": "energy"}}) == ["main, loss", "main, energy"]
    # as of two layers of one metric
    layers = names(*({"quantity": LOSS | {"layer": layer}} for layer in (1, 2)))
    assert len(set(layers)) == 2


def test_maps() -> None:
    plot = {
        "kind": "maps",
        "quantity": LOSS,
        "x": "learning_rate",
        "y": "depth",
        "panels": [
            {"grid": "main", "along": "width", "values": [8, 99]},
            {"grid": "main", "along": "width", "title": "B"},
        ],
    }
    found = table_of(PlotOptions.model_validate(plot), results(MAIN))
    assert tuple(found.columns[: len(FIRST)]) == FIRST
    assert found.groupby(["panel", "title"])["width"].unique().map(list).to_dict() == {
        (0, "main"): [8],
        (1, "B"): [8, 16],
    }
    one = plot | {"panels": [{"grid": "main", "along": "width", "values": [99]}]}
    with pytest.raises(ScalingLimitsError, match="none of the values of 'width' to be shown: 99"):
        table_of(PlotOptions.model_validate(one), results(MAIN))
    with pytest.raises(ScalingLimitsError, match=r"varies not only .*: learning_rate"):
        table_of(PlotOptions.model_validate(plot | {"x": "depth", "y": "seed"}), results(MAIN))

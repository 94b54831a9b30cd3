"""Errors in claims and plots are reported when the configuration is read, with file, figure, claim and key."""

from pathlib import Path
from typing import Any

import pytest

from scaling_limits.configuration import load
from scaling_limits.errors import ConfigurationError
from toys import BACKPROPAGATION, FIGURE, PAPER, merged, write_project

GRIDS = {
    "main": {"width": [8, 16, 32]},
    "other": {"width": [8, 16, 32], "parameterisation": "sp_gaussian"},
    "small": {"width": [8, 16]},
    "one": {"width": 8},
    "far": {"width": [8, 16, 32], "seed": [5, 6]},
    "square": {"width": 8, "learning_rate": [0.25, 0.5, 1.0], "output_init_scale": [1.0, 4.0]},
    "oblong": {"width": 8, "learning_rate": [0.25, 0.5, 1.0], "output_init_scale": [1.0, 2.0]},
    "thin": {"width": 8, "learning_rate": [0.25, 0.5, 1.0], "output_init_scale": 1.0},
}
MEASURED = {"feature_changes": [0, 3], "gradient_alignment": [0, 3]}
LINES: dict[str, Any] = {
    "kind": "lines",
    "rows": ["loss"],
    "columns": "main",
    "quantity": None,
    "x": "learning_rate",
    "y": None,
    "panels": None,
}


def project(root: Path, **changes: Any) -> Path:
    experiment = {**PAPER["transfer"], "grids": GRIDS, "measurements": MEASURED}
    return write_project(root, paper=PAPER | {"transfer": merged(experiment, changes)})


def said_of(root: Path) -> str:
    with pytest.raises(ConfigurationError) as error:
        load(root).figure("toy", "fig1")
    return str(error.value)


def claim(kind: str, **rule: Any) -> dict[str, Any]:
    return {"statement": "It is so.", kind: {"grids": "main", "quantity": "loss", **rule}}


SLOPE = {"along": "width", "each": "learning_rate", "expected": 0.0, "control": "other"}
STAYS = {"along": "width", "over": "learning_rate", "max_shift": 1, "control": "other"}
BOUND = {"by": ["width", "learning_rate"], "at_most": 1.0}
GAP = {"along": "width", "over": "learning_rate", "reference": "other"}


DIFFERENCE = {"along": "width", "each": "learning_rate", "at_most": 0.0}
LEVEL_SET = {
    "over": ["learning_rate", "output_init_scale"],
    "level": 0.1,
    "at_most": -1,
    "control": "oblong",
}
FLATTER = {"grids": "square", "over": "output_init_scale", "than": "learning_rate"}


@pytest.mark.parametrize(
    ("kind", "rule", "key", "problem"),
    [
        (
            "no_gain",
            {"along": "width"},
            "",
            "give either tolerance (no gain) or margin (larger is worse)",
        ),
        ("no_gain", {"along": "width", "tolerance": 0.1}, "", "with tolerance, name a control"),
        (
            "no_gain",
            {"along": "width", "grids": "one", "over": "learning_rate", "margin": 0.1},
            "along",
            "one has a single width, 8; two are needed",
        ),
        (
            "flatter",
            {**FLATTER, "grids": "oblong"},
            "than",
            "in oblong, output_init_scale spans 1 octaves and learning_rate 2; spreads compare over equal spans",
        ),
        ("flatter", {**FLATTER, "than": "momentum"}, "than", "unknown column 'momentum'"),
        ("flatter", {**FLATTER, "over": "learning_rate"}, "grids", "learning_rate is named twice"),
        (
            "flatter",
            {**FLATTER, "over": "activation"},
            "over",
            "activation should be a positive number; square has tanh",
        ),
        (
            "slope_difference",
            {**DIFFERENCE, "reference": "other"},
            "",
            "with reference, name a control: a third grid",
        ),
        (
            "slope_difference",
            {**DIFFERENCE, "reference": "other", "control": ["other", "small"]},
            "control",
            "'other' is the reference, whose slopes differ by 0 from themselves; take a third grid",
        ),
        (
            "slope_difference",
            {**DIFFERENCE, "growing_along": "width", "at_least": 1},
            "",
            "give either at_least or at_most",
        ),
        (
            "slope_difference",
            DIFFERENCE,
            "",
            "give one of reference, reference_quantity and growing_along",
        ),
        (
            "slope_difference",
            {**DIFFERENCE, "reference": "far", "control": "other"},
            "reference",
            "far has the seeds 5, 6; differences need some of 0, 1",
        ),
        (
            "slope_difference",
            {**DIFFERENCE, "each": [], "growing_along": "depth"},
            "growing_along",
            "main has a single depth",
        ),
        (
            "slope_difference",
            {**DIFFERENCE, "growing_along": "width"},
            "grids",
            "width is named twice",
        ),
        (
            "slope_difference",
            {
                **DIFFERENCE,
                "reference_quantity": {"metric": "train_loss", "reduce": "at", "step": 9},
            },
            "reference_quantity.quantity",
            "train_loss is never recorded at step 9; valid: 0 to 5",
        ),
        (
            "slope_difference",
            {**DIFFERENCE, "reference_quantity": "lost"},
            "reference_quantity",
            "unknown quantity 'lost'",
        ),
        (
            "slope_difference",
            {**DIFFERENCE, "reference_quantity": {"metric": "train_lost"}},
            "reference_quantity",
            "unknown metric 'train_lost'",
        ),
        (
            "level_set",
            {**LEVEL_SET, "grids": "square", "each": "momentum"},
            "each",
            "unknown column 'momentum'",
        ),
        (
            "level_set",
            {**LEVEL_SET, "grids": "thin"},
            "over",
            "thin has a single output_init_scale, 1.0; two are needed",
        ),
        (
            "level_set",
            {**LEVEL_SET, "grids": "square", "growing_along": "width"},
            "",
            "growing_along: give at_least, by how much the slope grows",
        ),
        (
            "level_set",
            {**LEVEL_SET, "grids": "square", "at_least": -2},
            "",
            "give one of expected, at_most and at_least",
        ),
        (
            "slope",
            {**SLOPE, "each": []},
            "grids",
            "the grid main has several cells at one point of width, seed: they differ in learning_rate",
        ),
        (
            "bound",
            {**BOUND, "grids": ["main", "other"]},
            "grids",
            "they differ in parameterisation",
        ),
        ("bound", {**BOUND, "by": "width", "over": "width"}, "grids", "width is named twice"),
        (
            "bound",
            {**BOUND, "by": ["learning_rate", "width", "seed"]},
            "grids",
            "seed is named twice",
        ),
        ("slope", {**SLOPE, "each": ["width", "learning_rate"]}, "grids", "width is named twice"),
        ("slope", {**SLOPE, "control": "main"}, "control", "'main' is judged itself"),
        ("gap", {**GAP, "reference": "main"}, "reference", "'main' is judged itself"),
        (
            "slope",
            {**SLOPE, "decided_at": {"width": 64}},
            "decided_at.width",
            "64 is more than any width of main; at most 32",
        ),
        (
            "slope",
            {**SLOPE, "only": {"seed": 7}},
            "only.seed",
            "no cell of main has 7; valid: 0, 1",
        ),
        ("slope", {**SLOPE, "grids": "one"}, "along", "one has a single width, 8; two are needed"),
        (
            "slope",
            {**SLOPE, "along": "activation"},
            "along",
            "activation has values that are no numbers: tanh",
        ),
        ("gap", {**GAP, "reference": "small"}, "along", "the largest width of small is 16, not 32"),
        (
            "bound",
            {**BOUND, "where": {"ratio": ["depth", "width"], "at_most": 1}},
            "where",
            "unknown column of the claim's points 'depth'",
        ),
        (
            "rank_correlation",
            {"by": ["width", "learning_rate"], "ratio": ["width", "depth"], "above": 0.5},
            "ratio",
            "unknown column of the claim's points 'depth'",
        ),
        (
            "rank_correlation",
            {"by": ["width", "learning_rate"], "ratio": ["width", "width"], "above": 0.5},
            "ratio",
            "width over itself is 1 everywhere",
        ),
        ("optimum_stays", {**STAYS, "along": "momentum"}, "along", "unknown column 'momentum'"),
        (
            "slope",
            {**SLOPE, "each": "lerning_rate"},
            "each",
            "the grid main: unknown column 'lerning_rate'; did you mean 'learning_rate'?",
        ),
        (
            "slope",
            {**SLOPE, "decided_at": {"widht": 8}},
            "decided_at.widht",
            "unknown column 'widht'; did you mean 'width'?",
        ),
        (
            "slope",
            {**SLOPE, "only": {"sede": 0}},
            "only.sede",
            "unknown column 'sede'; did you mean 'seed'?",
        ),
        (
            "bound",
            {**BOUND, "by": ["width", "learning_rate", "layer"]},
            "by",
            "the quantity has no `per: layer`",
        ),
        (
            "bound",
            {**BOUND, "quantity": {"metric": "activity_change"}},
            "grids.quantity",
            "activity_change has one number for each layer: choose one by `layer`",
        ),
        (
            "bound",
            {**BOUND, "quantity": {"metric": "activity_change", "per": "layer"}},
            "grids",
            "the quantity is `per: layer`, which nothing here tells apart",
        ),
        (
            "bound",
            {**BOUND, "quantity": {"metric": "gradient_cosine", "layer": 1}},
            "grids.quantity",
            "layer: the metric gradient_cosine has none",
        ),
        (
            "bound",
            {**BOUND, "at": [9]},
            "grids.quantity",
            "train_loss is never recorded at step 9; valid: 0 to 5",
        ),
        (
            "bound",
            {**BOUND, "quantity": {"metric": "gradient_cosine", "reduce": "at", "step": 5}},
            "grids.quantity",
            "gradient_cosine is never recorded at step 5; valid: 0, 3",
        ),
        (
            "bound",
            {
                **BOUND,
                "quantity": {
                    "metric": "train_loss",
                    "relative_to": "gradient_cosine",
                    "reduce": "at",
                    "step": 4,
                },
            },
            "grids.quantity",
            "train_loss over gradient_cosine is never recorded at step 4; valid: 0, 3",
        ),
        (
            "bound",
            {
                **BOUND,
                "quantity": {"metric": "gradient_cosine", "relative_to": "activity_change"},
            },
            "grids.quantity",
            "activity_change has one number for each layer, but gradient_cosine has no layer",
        ),
        (
            "bound",
            {**BOUND, "quantity": {"metric": "train_loss", "relative_to": "test_loss"}},
            "grids.quantity",
            "relative_to: train_loss and test_loss are never recorded at the same step",
        ),
        (
            "bound",
            {**BOUND, "quantity": {"metric": "train_loss", "relative_to": "train_lost"}},
            "quantity",
            "unknown metric 'train_lost'; did you mean 'train_loss'?",
        ),
        (
            "bound",
            {**BOUND, "quantity": {"metric": "train_loss", "step": 3}},
            "quantity",
            "`reduce: at` takes the records of a `step`",
        ),
        (
            "slope",
            {**SLOPE, "expected": {"theory": "output_change"}},
            "",
            "theory predicts powers of depth, and the slope is along width; take along: depth",
        ),
        (
            "slope",
            {**SLOPE, "along": "depth", "expected": {"theory": "output_changes"}},
            "expected.theory: ",
            "unknown value 'output_changes'; did you mean 'output_change'?",
        ),
        (
            "slope",
            {**SLOPE, "along": "depth", "expected": {"theori": "update"}},
            "expected.theori: ",
            "unknown key 'theori'; did you mean 'theory'?",
        ),
        (
            "slope",
            {**SLOPE, "along": "depth", "expected": "much"},
            "expected: ",
            "should be a valid number",
        ),
    ],
)
def test_a_claim_that_cannot_be_judged(
    tmp_path: Path, kind: str, rule: Any, key: str, problem: str
) -> None:
    said = said_of(project(tmp_path, figures={"fig1": {"claims": {"c": claim(kind, **rule)}}}))
    lines = [line for line in said.splitlines() if problem in line]
    assert lines, said
    assert lines[0].startswith("config/papers/toy/transfer.yaml:")
    assert f"figures.fig1.claims.c.{'.'.join(filter(None, (kind, key)))}" in lines[0]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"skip": None, "parameterisation": "sp_gaussian"},
            "powers of depth are predicted for residual networks only",
        ),
        (
            {
                **BACKPROPAGATION,
                "optimiser": "shampoo",
                "parameterisation": "sp_gaussian",
                "damping": 0.1,
            },
            "optimiser: powers of depth are predicted for sgd and adam, not for 'shampoo'",
        ),
    ],
)
def test_a_slope_that_theory_does_not_predict(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    deep = {"width": 8, "depth": [2, 4]}
    grids = {"main": deep | changes, "other": deep}
    theory = {"along": "depth", "expected": {"theory": "activity"}}
    figure = {"claims": {"c": claim("slope", **SLOPE | theory)}}
    plot = {"y": "learning_rate", "panels": [{"grid": "main", "along": "depth"}]}
    said = said_of(project(tmp_path, grids=grids, figures={"fig1": figure | {"plot": plot}}))
    (line,) = [line for line in said.splitlines() if problem in line]
    assert line.startswith("config/papers/toy/transfer.yaml:")
    assert f"figures.fig1.claims.c.slope.expected: the grid 'main': {problem}" in line


@pytest.mark.parametrize(
    ("plot", "problem"),
    [
        ({"x": "seed", "panels": [{"grid": "main", "along": "width"}], "y": "seed"}, "named twice"),
        (
            {"x": "seed", "y": "depth", "panels": [{"grid": "main", "along": "width"}]},
            "the grid main has several cells at one point of width, depth, seed: they differ in lear",
        ),
        (
            {"panels": [{"grid": "main", "along": "width", "values": [64]}]},
            "has none of the values of width to be shown, 64; valid: 8, 16, 32",
        ),
        (
            {"y": "width", "panels": [{"grid": "one", "along": "depth"}], "level_set": 1},
            "one has a single width, 8; two are needed",
        ),
        ({"level_set": 0}, "level_set: Input should be greater than 0"),
        ({**LINES, "hue": "width", "values": [64]}, "none of the values of width to be shown, 64"),
        ({**LINES, "hue": "depth"}, "several cells at one point of depth, learning_rate, seed"),
        ({**LINES, "hue": "width", "over": "width"}, "width is named twice"),
        (
            {**LINES, "hue": "width", "over": "seed", "x": "learning_rate", "tuned_at": 64},
            "none of the values of width to be shown, 64",
        ),
        ({**LINES, "hue": "momentum"}, "the grid main: unknown column 'momentum'"),
        (
            {
                **LINES,
                "rows": None,
                "columns": None,
                "panels": [
                    {
                        "title": "x",
                        "hue": "width",
                        "label": "y",
                        "lines": [{"grid": "main", "quantity": "loss", "reference": "small"}],
                    }
                ],
            },
            "the grid 'small' lacks values of width that 'main' has",
        ),
        (
            {
                **LINES,
                "rows": None,
                "columns": None,
                "panels": [
                    {
                        "title": "x",
                        "hue": "width",
                        "values": [16, 32, 64],
                        "label": "y",
                        "lines": [{"grid": "main", "quantity": "loss", "reference": "one"}],
                    }
                ],
            },
            "the grid 'one' has none of the values of width to be shown, 16, 32; valid: 8",
        ),
        (
            {
                **LINES,
                "rows": None,
                "columns": None,
                "panels": [
                    {
                        "title": "x",
                        "hue": "width",
                        "label": "y",
                        "lines": [
                            {"grid": "main", "quantity": "loss"},
                            {"grid": "one", "quantity": "loss", "across": True, "each": False},
                        ],
                    }
                ],
            },
            "the grid 'one' has several values of learning_rate: it cannot go across",
        ),
    ],
)
def test_a_plot_that_cannot_be_drawn(tmp_path: Path, plot: Any, problem: str) -> None:
    said = said_of(project(tmp_path, figures={"fig1": {"plot": plot}}))
    lines = [line for line in said.splitlines() if problem in line]
    assert lines, said
    assert lines[0].startswith("config/papers/toy/transfer.yaml:")
    assert "figures.fig1.plot" in lines[0]


def test_sound_claims_are_accepted(tmp_path: Path) -> None:
    claims = {
        "slope": claim("slope", **SLOPE, decided_at={"width": 32}),
        "stays": claim("optimum_stays", **STAYS, only={"seed": 1}),
        "bound": claim("bound", **BOUND, at=[0, 5]),
        "gap": claim("gap", **GAP),
        "no_gain": claim("no_gain", along="width", over="learning_rate", margin=0.1),
        "flatter": claim("flatter", **FLATTER),
        "other": claim("slope_difference", **DIFFERENCE, reference="other", control="small"),
        "earlier": claim("slope_difference", **DIFFERENCE, reference_quantity=EARLIER),
        "level": claim("level_set", **LEVEL_SET | {"grids": "square"}),
        "layer": claim("bound", **BOUND) | {"bound": {"grids": "main", **BOUND, "quantity": LAST}},
    }
    project(tmp_path, figures={"fig1": {"claims": claims}})
    assert len(load(tmp_path).figure("toy", "fig1").claims) == len(claims)


EARLIER = {"metric": "train_loss", "reduce": "at", "step": 3}
LAST = {"metric": "activity_change", "layer": -1, "reduce": "at", "step": 3}


def test_a_preset_may_leave_a_claim_undecided(tmp_path: Path) -> None:
    claims = {"c": claim("slope", **SLOPE, decided_at={"width": 32}, only={"seed": 1})}
    experiment = {
        **PAPER["transfer"],
        "grids": GRIDS,
        "figures": {"fig1": {**FIGURE, "claims": claims}},
    }
    paper = PAPER | {"transfer": experiment}
    caps = {"caps": {"width": 8, "seeds": 1, "num_steps": 2}}
    write_project(tmp_path, main={"preset": "small"}, preset=caps, paper=paper)
    assert load(tmp_path).figure("toy", "fig1").claims[0].id == "c"


@pytest.mark.parametrize(
    ("written", "preset", "problem"),
    [
        ([1.0, 4.0], [1.0, 2.0], "output_init_scale spans 1 octaves and learning_rate 2"),
        ([1.0, 2.0], [1.0, 4.0], "output_init_scale spans 1 octaves and learning_rate 2"),
        ([1.0, 8.0], [1.0, 4.0], "output_init_scale spans 3 octaves and learning_rate 2"),
        ([1.0, 4.0], [2.0, 8.0], None),
        ([1.0, 4.0], {"octaves": [0, 2]}, None),
        ({"octaves": [0, 3]}, [1.0, 4.0], "output_init_scale spans 3 octaves and learning_rate 2"),
    ],
)
def test_spans_are_equal_in_the_file_and_in_the_preset(
    tmp_path: Path, written: Any, preset: Any, problem: str | None
) -> None:
    grids = {"square": {**GRIDS["square"], "output_init_scale": written}}
    smoke = {"small": {"grids": {"square": {"output_init_scale": preset}}}}
    claims = {"c": claim("flatter", **FLATTER)}
    plot = {"panels": [{"grid": "square", "along": "width"}], "x": "output_init_scale"}
    figures = {"fig1": {**FIGURE, "plot": merged(FIGURE["plot"], plot), "claims": claims}}
    experiment = {**PAPER["transfer"], "grids": grids, "presets": smoke, "figures": figures}
    del experiment["learning_rate"]
    paper = PAPER | {"transfer": experiment}
    write_project(tmp_path, main={"preset": "small"}, preset={"caps": {}}, paper=paper)
    if problem:
        assert problem in said_of(tmp_path)
    else:
        assert load(tmp_path).figure("toy", "fig1").claims[0].id == "c"


def test_errors_of_all_claims_and_plots_are_said_together(tmp_path: Path) -> None:
    claims = {
        "self": claim("slope", **SLOPE | {"control": "main"}),
        "far": claim("slope", **SLOPE, decided_at={"width": 64}),
        "open": claim("bound", at_most=1.0, by="width"),
    }
    plot = {"panels": [{"grid": "main", "along": "width", "values": [64]}]}
    said = said_of(project(tmp_path, figures={"fig1": {"claims": claims, "plot": plot}}))
    for place in ("self.slope.control", "far.slope.decided_at.width", "open.bound.grids"):
        assert f"figures.fig1.claims.{place}" in said
    assert "figures.fig1.plot.panels: the grid 'main' has none" in said


def test_warnings(tmp_path: Path) -> None:
    changes = {
        "batch_size": 100,
        "measurements": {**MEASURED, "performance": [0, 40]},
        "figures": {"fig1": {"plot": {"quantity": {"quantity": "loss", "window": 10}}}},
    }
    said = load(project(tmp_path, **changes)).warnings("toy", "fig1")
    for words in (
        "figures.fig1.plot: window: 10 is longer than the training of the grid 'main', 6 steps",
        "grids.main.performance: steps 40 never come, as training ends after 6",
        "grids.main.batch_size: 100 is more than the 64 training samples",
    ):
        assert [line for line in said if words in line and line.startswith("config/papers/toy")]
    assert load(project(tmp_path)).warnings("toy", "fig1") == []


def test_a_claim_about_a_value_that_the_preset_leaves_out_is_warned_of(tmp_path: Path) -> None:
    claims = {"c": claim("bound", only={"learning_rate": 0.1}, by="width", at_most=1.0)}
    folder = project(tmp_path, figures={"fig1": {"claims": claims}})
    assert load(folder).warnings("toy", "fig1") == []
    kept = {"papers": {"toy": {"experiments": {"transfer": {"learning_rate": [0.01]}}}}}
    (line,) = load(folder, kept).warnings("toy", "fig1")
    assert (
        "figures.fig1.claims.c.bound.grids: no cell of the grid 'main' has learning_rate 0.1: the claim"
        in line
    )


@pytest.mark.parametrize(
    ("quantity", "problem"),
    [
        (
            {"metric": "train_loss", "during": [0, 0.5]},
            "during: the grid 'main' records means over 3 equal parts of training",
        ),
        (
            {"metric": "gradient_cosine", "during": [0.6, 1]},
            "gradient_cosine has no record in steps 3.6 to 6 of the grid 'main'; recorded: 0, 3",
        ),
    ],
)
def test_a_part_of_training_that_is_not_recorded(
    tmp_path: Path, quantity: dict[str, Any], problem: str
) -> None:
    claims = {"c": claim("bound", **BOUND, quantity=quantity)}
    changes = {"averaged_records": 3, "figures": {"fig1": {"claims": claims}}}
    assert problem in said_of(project(tmp_path, **changes))


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ({"per": "steep"}, "quantity.per: unknown value 'steep'; did you mean 'step'?"),
        ({"reduec": "min"}, "quantity.reduec: unknown key 'reduec'; did you mean 'reduce'?"),
        ({"during": [0.5, 0.2]}, "`during` gives two rising fractions of training"),
        ({"reduce": "at", "step": 2, "window": 2}, "`reduce: at` takes the records of one step"),
    ],
)
def test_a_wrong_word_of_a_quantity_is_said_alone(
    tmp_path: Path, word: dict[str, Any], problem: str
) -> None:
    """And not what follows from it: that a label is missing, or that a list has no item."""
    rows = [{"quantity": {"metric": "train_loss", **word}}]
    said = said_of(project(tmp_path, figures={"fig1": {"plot": {**LINES, "rows": rows}}}))
    assert problem in said
    assert len(said.splitlines()) == 1, said


def test_measured_steps_that_training_does_not_reach(tmp_path: Path) -> None:
    """A preset with fewer updates leaves none of them: neither the metric nor the measurement is unknown."""
    change = {"metric": "activity_change", "layer": 1, "reduce": "last"}
    rule = claim("slope", **{**SLOPE, "quantity": change})
    root = project(
        tmp_path,
        measurements={"feature_changes": [50, 99]},
        num_steps=3,
        figures={"fig1": {"claims": {"one": rule}}},
    )
    said = said_of(root)
    assert "feature_changes: the grid 'main' measures at 50, 99, but training ends after 3" in said
    assert "name steps from 0 to 3, or end" in said


PLANE: dict[str, Any] = {
    "kind": "exponent_plane",
    "points": "main",
    "quantities": {
        "activity": "loss",
        "initial_change": {"metric": "train_loss"},
        "preactivation": "loss",
        "output_change": "loss",
    },
    "panels": None,
    "quantity": None,
    "x": None,
    "y": None,
}
EXPONENTS = {"depth_exponent": [0.5, 1], "depth_lr_exponent": [0, 0.5], "learning_rate": 0.1}
DEEP = {
    **BACKPROPAGATION,
    **EXPONENTS,
    "width": 8,
    "depth": [2, 4],
    "parameterisation": "depth_mup",
}


@pytest.mark.parametrize(
    ("grid", "plot", "key", "problem"),
    [
        ({}, {}, "", ""),
        ({"depth": 2}, {}, "points", "the grid 'main' has a single depth, 2; two are needed"),
        (
            {"optimiser": ["adam", "sgd"]},
            {},
            "points",
            "have several values of optimiser, sgd, adam; take one",
        ),
        (
            {
                "skip": None,
                "depth_exponent": None,
                "depth_lr_exponent": None,
                "parameterisation": "mup",
            },
            {},
            "points",
            "powers of depth are predicted for residual networks only",
        ),
        ({"width": [8, 16]}, {}, "quantities.activity", "they differ in width"),
        ({}, {"points": "mian"}, "points", "unknown grid 'mian'; did you mean 'main'?"),
        ({}, {"quantities": {"activity": "los"}}, "quantities.activity", "unknown quantity 'los'"),
        (
            {},
            {"quantities": {"activty": "loss"}},
            "quantities.activty",
            "unknown key 'activty'; did you mean 'activity'?",
        ),
        ({}, {"quantities": "loss"}, "quantities", "should be a mapping, not 'loss'"),
    ],
)
def test_planes_of_exponents(
    tmp_path: Path, grid: dict[str, Any], plot: dict[str, Any], key: str, problem: str
) -> None:
    figure = {"fig1": {"plot": merged(PLANE, plot)}}
    root = project(tmp_path, grids={"main": DEEP | grid}, figures=figure)
    if not problem:
        found = load(root).figure("toy", "fig1").plot
        assert found.grids == ["main"]
        assert found.quantities.initial_change.metric == "train_loss"
        return
    said = said_of(root)
    lines = [line for line in said.splitlines() if problem in line]
    assert lines, said
    assert lines[0].startswith("config/papers/toy/transfer.yaml:")
    assert f"figures.fig1.plot.{key}" in lines[0]

"""What a plot may say."""

import inspect
import subprocess
import sys

import pytest
from pydantic import ValidationError

from scaling_limits.errors import ConfigurationError
from scaling_limits.figures.quantities import Quantity
from scaling_limits.plots import registry
from scaling_limits.plots.options import PlotOptions

LOSS = {"metric": "train_loss"}
COSINE = {"metric": "gradient_cosine", "per": "step"}
MAPS = {
    "kind": "maps",
    "quantity": LOSS,
    "x": "activity_learning_rate",
    "y": "learning_rate",
    "panels": [{"grid": "main", "along": "width"}, {"grid": "control", "along": "width"}],
}
STEPS = MAPS | {"quantity": COSINE, "best": None, "panels": [{"grid": "main", "along": "step"}]}
SIZES = {"grid": "main", "quantity": LOSS}
LIMIT = {"grid": "limit", "quantity": LOSS, "style": "dashed", "label": "limit"}
ENTRIES = [
    {"grid": "sp", "title": "K-FAC, SP"},
    {"grid": "mup", "minus": "sp", "title": "K-FAC, difference"},
]
TABLE = {
    "kind": "results_table",
    "quantity": LOSS,
    "entries": ENTRIES,
    "rows": ["width"],
    "columns": ["entry"],
}
BOTH = {"kind": "composite", "plots": [MAPS, STEPS]}


def panels(*lines, **panel):
    said = {"title": "", "label": "", "x": "width", "hue": "depth", "lines": list(lines)}
    return {"kind": "lines", "panels": [said | panel]}


@pytest.mark.parametrize(
    ("plot", "grids"),
    [
        (MAPS, ["main", "control"]),
        (STEPS, ["main"]),
        (panels(SIZES, LIMIT), ["main", "limit"]),
        (panels(SIZES | {"reference": "limit"}), ["main", "limit"]),
        (TABLE, ["sp", "mup", "sp"]),
        (BOTH, ["main", "control", "main"]),
    ],
)
def test_a_plot_names_its_grids(plot, grids):
    assert PlotOptions.model_validate(plot).grids == grids


def test_a_plot_names_its_statistics_over_seeds():
    median = panels(SIZES, centre="median")
    assert PlotOptions.model_validate(MAPS).centres == {"mean"}
    assert PlotOptions.model_validate(median).centres == {"median"}
    both = {"kind": "composite", "plots": [MAPS, median]}
    assert PlotOptions.model_validate(both).centres == {"mean", "median"}


@pytest.mark.parametrize(
    ("plot", "words"),
    [
        (MAPS | {"panels": []}, "panels"),
        (MAPS | {"limits": [1, 0]}, "limits must increase"),
        (MAPS | {"quantity": COSINE}, "goes with a quantity `per: step`"),
        (STEPS | {"quantity": LOSS}, "goes with a quantity `per: step`"),
        (
            STEPS | {"panels": [{"grid": "main", "along": "step", "reference": 0}]},
            "it needs `best`",
        ),
        (panels(SIZES, limits=[1, 1]), "limits must increase"),
        (
            panels(SIZES, scale="linear", slopes=[{"exponent": 1, "label": "N"}]),
            "on logarithmic axes only",
        ),
        (panels(LIMIT, LIMIT | {"each": False}), "'limit' is used for lines of two styles"),
        (panels(SIZES, hue=None), "without `hue`"),
        (panels(LIMIT, hue=None, values=[1]), "`values` selects values of the `hue`"),
        (panels(LIMIT | {"across": True}), "one that is not `across`"),
        (panels(SIZES, LIMIT | {"across": True}, relative=True), "it has no first value"),
        (panels(SIZES, over_hue=True), "give both it and an `x_label`"),
        (
            panels(SIZES, LIMIT | {"across": True}, over_hue=True, x_label="N / L"),
            "needs a value of the hue and of x in every line",
        ),
        (panels(SIZES, best=None, divided_by={"power": 0}), "leave `divided_by` out"),
        (panels(SIZES, divided_by={"power": 0.5}), "no value is best: leave `best` out"),
        (
            panels(SIZES, best=None, x_scale="linear", divided_by={"power": 0.5}),
            "it needs `x_scale: log`",
        ),
        (
            panels(SIZES, LIMIT | {"across": True}, best=None, divided_by={"power": 1}),
            "has no x of its own for `divided_by`",
        ),
        (panels(SIZES, over=["learning_rate"], best=None), "the quantity needs `best`"),
        (panels(SIZES, over=["learning_rate"], centre="median"), "compares means over seeds"),
        (panels(SIZES, stops_at_limits=True), "`stops_at_limits` needs `limits`"),
        (
            panels(SIZES, stops_at_limits=True, limits=[1, 2], spread="seeds"),
            "leave `spread: seeds` out",
        ),
        (panels(SIZES | {"rms": True}), "`rms` is about errors"),
        (panels(SIZES, tuned_at=8), "at which `over` is best"),
        (panels(LIMIT, hue=None, over=["seed"], tuned_at=8), "a value of the `hue`"),
        (TABLE | {"columns": ["entry", "width"]}, "width occurs twice among `rows` and `columns`"),
        (TABLE | {"columns": ["depth"]}, "several entries need `entry`"),
        (TABLE | {"entries": [ENTRIES[0]] * 2}, "the same title"),
        (TABLE | {"entries": [ENTRIES[0], ENTRIES[1] | {"title": "A"}]}, "as many headings"),
        (TABLE | {"entries": []}, "entries"),
        (TABLE | {"over": ["depth"], "best": None}, "the quantity needs `best`"),
        (BOTH | {"plots": [MAPS]}, "plots"),
        (BOTH | {"wrap": 0}, "wrap"),
        (BOTH | {"plots": [MAPS, TABLE]}, "'results_table'.* does not match any of the expected"),
        (BOTH | {"plots": [MAPS, BOTH]}, "'composite'.* does not match any of the expected"),
        (panels(SIZES) | {"kind": "line"}, "does not match any of the expected tags"),
    ],
)
def test_what_does_not_fit_together_is_refused(plot, words):
    with pytest.raises(ValidationError, match=words):
        PlotOptions.model_validate(plot)


@pytest.mark.parametrize("kind", registry.own)
def test_each_kind_is_what_the_contract_says(kind):
    part = registry.part(kind)
    assert all(hasattr(part, member) for member in registry.needed)
    assert issubclass(part.Options, PlotOptions)
    assert part.Options.model_fields["kind"].default == kind
    # mypy compares it with the contract
    assert f"_: Kind[Options] = {kind}\n" in inspect.getsource(part)


@pytest.mark.parametrize("options", [None, Quantity])
def test_options_that_do_not_derive_from_the_base_are_refused(monkeypatch, options):
    monkeypatch.setattr(registry.part("maps"), "Options", options)
    with pytest.raises(
        ConfigurationError, match=r"maps\.Options should be a subclass of .*PlotOptions"
    ):
        PlotOptions.model_validate(MAPS)


def test_plots_are_read_without_matplotlib_and_pandas():
    code = """
import sys
from scaling_limits.plots import registry
for kind in registry.own:
    registry.part(kind)
sys.exit(bool({"matplotlib", "pandas"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_steps_are_kept_or_reduced():
    with pytest.raises(ValidationError, match="nothing to reduce"):
        Quantity(metric="train_loss", per="step", window=5)

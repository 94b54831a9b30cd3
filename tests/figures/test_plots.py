"""What a plot may say."""

import subprocess
import sys

import pytest
from pydantic import ValidationError

from scaling_limits.figures.plots import DRAWN_BY, PLOT

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
TRANSFER = {
    "kind": "transfer",
    "rows": [{"quantity": LOSS, "label": "training loss"}],
    "panels": [{"grid": "main"}, {"grid": "control"}],
}
CURVE = {"grid": "main", "metric": "energy"}
SIZES = {"grid": "main", "quantity": LOSS}
LIMIT = {"grid": "limit", "quantity": LOSS, "style": "dashed", "label": "limit"}


def curves(*lines, **panel):
    panels = [{"title": "", "label": "", "lines": list(lines)} | panel]
    return {"kind": "curves", "panels": panels}


def scaling(*lines, **panel):
    panels = [
        {"title": "", "label": "", "x": "width", "hue": "depth", "lines": list(lines)} | panel
    ]
    return {"kind": "scaling", "panels": panels}


@pytest.mark.parametrize(
    ("plot", "grids"),
    [
        (MAPS, ["main", "control"]),
        (STEPS, ["main"]),
        (TRANSFER, ["main", "control"]),
        (curves(CURVE, CURVE), ["main", "main"]),
        (scaling(SIZES, LIMIT), ["main", "limit"]),
    ],
)
def test_a_plot_names_its_grids(plot, grids):
    assert PLOT.validate_python(plot).grids == grids


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
        (curves(CURVE, limits=[1, 1]), "limits must increase"),
        (
            curves(CURVE | {"label": "a"}, CURVE | {"label": "a", "style": "dashed"}),
            "'a' stands for lines of two styles",
        ),
        (
            scaling(SIZES, scale="linear", slopes=[{"exponent": 1, "label": "N"}]),
            "on logarithmic axes only",
        ),
        (scaling(LIMIT, LIMIT | {"each": False}), "'limit' stands for lines of two styles"),
        (scaling(SIZES, hue=None), "without `hue`"),
        (scaling(LIMIT, hue=None, values=[1]), "`values` selects values of the `hue`"),
        (scaling(LIMIT | {"across": True}), "one that is not `across`"),
        (scaling(SIZES, LIMIT | {"across": True}, relative_to_first=True), "it has no first value"),
        (TRANSFER | {"rows": [TRANSFER["rows"][0] | {"limits": [2, 1]}]}, "limits must increase"),
        (TRANSFER | {"kind": "transfers"}, "does not match any of the expected tags"),
    ],
)
def test_what_does_not_fit_together_is_refused(plot, words):
    with pytest.raises(ValidationError, match=words):
        PLOT.validate_python(plot)


def test_each_kind_has_a_model_and_a_module_that_draws():
    assert set(PLOT.json_schema()["discriminator"]["mapping"]) == set(DRAWN_BY.modules)
    assert all(callable(DRAWN_BY.get(kind).draw) for kind in DRAWN_BY.modules)


def test_plots_are_read_without_matplotlib():
    code = "import sys, scaling_limits.figures.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Figures of made-up records, each drawn once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plotting_records import (
    ACCURACY,
    TRAIN,
    Drawn,
    Located,
    cells,
    drawn,
    judged,
    rate_panel,
    rate_rows,
    write_folder,
)

_ACCURACY = {"label": "test accuracy", "scale": "linear", "best": "max"}
RATES = {
    "kind": "lines",
    "wrap": 2,
    "panels": [
        *(rate_panel(grid) for grid in ("main", "control")),
        *(rate_panel(grid, ACCURACY, **_ACCURACY) for grid in ("main", "control")),
    ],
}

OPTIMA: dict[str, Located] = {
    "main": [[8, 2**-4, 2**-5, 2**-3], [32, 2**-4, 2**-4.5, 2**-3.5]],
    "control": [[8, 2**-4, 2**-5, 2**-3], [32, 2**-6, None, 2**-5]],
}


@pytest.fixture(scope="session")
def rates_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = rate_rows("main") + rate_rows("control", drift=1.0)
    claims = [
        judged(TRAIN, "main", "control", optima=OPTIMA),
        judged(ACCURACY, "main", within=0.3),
    ]
    folder = tmp_path_factory.mktemp("rates") / "results" / "smoke" / "mupc" / "fig5"
    return write_folder(folder, RATES, rows, judged=claims)


@pytest.fixture(scope="session")
def rates(rates_folder: Path) -> Drawn:
    """Loss and accuracy, of a grid and of its control."""
    return drawn(rates_folder)


@pytest.fixture(scope="session")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """An excess of depth / width over sizes, with limits, another data set, and the same cells again."""

    def value(width: int, depth: int, seed: int = 0, **_: Any) -> dict[str, Any]:
        lost = (width, depth, seed) == (8, 8, 0)
        excess = np.inf if lost else depth / width * (1 + 0.2 * seed)
        return {"excess": excess, "expected": depth / width, "energy": {1: 3.0, 2: 1.5}}

    over = {"width": (8, 32, 128), "depth": (2, 8), "seed": (0, 1)}
    rows = [
        *cells("main", value, **over),
        *cells("again", value, **over),
        *cells("other", value, **over, dataset=("mnist",)),
        *cells("limit", lambda **_: {"excess": 0.01}, width=(1,), depth=(2, 8)),
        *cells("BP", value, width=(8, 32), algorithm=("backpropagation",), depth=(2,)),
    ]
    excess, expected = {"metric": "excess"}, {"metric": "expected"}
    usual = {"title": "Against the width", "x": "width", "hue": "depth", "label": "$s - 1$"}
    usual["best"] = None
    markers = {"quantity": excess, "style": "markers"}
    dashed = {"quantity": expected, "style": "dashed", "label": "$L/N$"}
    limit = {"grid": "limit", "quantity": excess, "style": "dotted", "label": "limit"}
    guide = {"slopes": [{"exponent": -1, "label": "$1/N$"}]}
    over_depth = {"x": "depth", "hue": "width", "label": "excess", "x_scale": "linear"}
    named = [{"grid": g, "quantity": {"metric": "energy"}, "label": g} for g in ("PC", "BP")]
    named[0]["grid"] = "one"
    rows += cells("one", value, width=(8, 32), depth=(3,))
    panels = [
        {**usual, **guide, "lines": [{"grid": "main", **markers}, {"grid": "main", **dashed}]},
        {**usual, "title": "Other data", "lines": [{"grid": "other", **markers}]},
        {
            **over_depth,
            "title": "Over the depth",
            "lines": [{"grid": "main", "quantity": excess}, {**limit, "each": False}],
        },
        {
            **usual,
            "label": "energy",
            "hue": None,
            "lines": named,
        },
        {
            **usual,
            "title": "The same",
            "lines": [{"grid": "again", **markers}, {"grid": "again", **dashed}],
        },
        {
            **usual,
            "label": "towards",
            "lines": [
                {"grid": "main", "quantity": expected},
                {**limit, "label": "limit across", "across": True},
            ],
        },
    ]
    plot = {
        "kind": "lines",
        "panels": panels,
        "hue_labels": {"2": "shallow"},
        "symbols": {"width": "M"},
    }
    return drawn(write_folder(tmp_path_factory.mktemp("sizes") / "f", plot, rows))


@pytest.fixture(scope="session")
def bowls(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """Maps whose optimum moves in the control, with cells that diverged."""

    def value(
        width: int, learning_rate: float, activity_learning_rate: float, seed: int, **said: Any
    ) -> Any:
        moved = said["depth"] == 9 and width > 8
        best = np.log2(0.25 if moved else 0.5)
        bowl = np.log2(learning_rate / 0.5) ** 2 + (np.log2(activity_learning_rate) - best) ** 2
        lost = learning_rate == 2 and activity_learning_rate == 1 and seed == 0
        return {"train_loss": np.inf if lost else (1 + bowl) * (1 + 0.01 * seed)}

    over: dict[str, Any] = {
        "width": (8, 16),
        "learning_rate": (0.5, 1.0, 2.0),
        "activity_learning_rate": (0.25, 0.5, 1.0),
        "seed": (0, 1),
    }
    rows = cells("main", value, **over, depth=(3,)) + cells("control", value, **over, depth=(9,))
    plot = {
        "kind": "maps",
        "quantity": TRAIN,
        "x": "activity_learning_rate",
        "y": "learning_rate",
        "panels": [
            {"grid": "main", "along": "width", "title": "Transfer"},
            {"grid": "control", "along": "width", "reference": 16},
        ],
        "ratio_lines": [1],
    }
    return drawn(write_folder(tmp_path_factory.mktemp("bowls") / "f", plot, rows))

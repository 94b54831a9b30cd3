"""Folders of figures with made-up records: smooth bowls with known optima, diverged cells."""

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ETAS = (0.01, 0.05, 0.1, 0.5)
BETAS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1000.0)

Row = tuple[dict[str, Any], list[tuple[str, int, float]]]

VERDICT = {
    "paper": "mupc",
    "figure": "fig5",
    "claim": "width-transfer",
    "statement": "The best learning rates do not depend on the width.",
    "verdict": "holds",
    "value": 0.1234,
    "interval": [0.0, 0.5],
    "threshold": "at most 1 octave",
    "source": "Fig 5",
    "detail": "The optimum is resolved in 4 of 5 panels.",
    "registered": None,
}
NOTES = [
    "The bundled digits (8 by 8, resampled to 28 by 28) stand in for MNIST.",
    "Widths 16 to 64 instead of 64 to 1024, 40 training steps instead of one epoch, and so on: a "
    "note that takes more than a single line of the small print under a figure and is wrapped.",
    "3 seeds.",
]


def transfer_rows(
    grid: str, sizes: Iterable[tuple[int, int]], *, seeds: int = 2, shift: float = 0.0
) -> list[Row]:
    """Cells over eta and beta for each (width, num_hidden_layers).

    The loss is best at eta = 0.1, beta = 50, or `shift` decades lower in beta for each doubling of
    the width; with eta = 0.5 and beta >= 500 it is not finite for the first seed.
    """
    rows: list[Row] = []
    for (width, depth), eta, beta, seed in itertools.product(sizes, ETAS, BETAS, range(seeds)):
        best = np.log10(50) - shift * np.log2(width / 64)
        bowl = 0.3 * np.log10(eta / 0.1) ** 2 + 0.08 * (np.log10(beta) - best) ** 2
        loss = 0.03 * (1 + 8 * bowl) * (width / 64) ** -0.2 * (1 + 0.002 * seed)
        diverges = eta == 0.5 and beta >= 500 and seed == 0
        values = [np.inf, np.nan] if diverges else [0.5, loss]
        cell = {
            "width": width,
            "depth": depth,
            "num_hidden_layers": depth,
            "learning_rate": eta,
            "activity_learning_rate": beta,
            "seed": seed,
        }
        rows.append((cell | {"grid": grid}, [("train_loss", t, v) for t, v in enumerate(values)]))
    return rows


def cosine_rows(
    grid: str,
    widths: Iterable[int],
    depths: Iterable[int],
    steps: Iterable[int],
    *,
    bad: float = 1.0,
) -> list[Row]:
    """Cells over width and depth (weight layers); the cosine tends to `bad` as the width grows."""
    steps = tuple(steps)
    rows: list[Row] = []
    for width, depth, seed in itertools.product(widths, depths, range(2)):
        cell = {"width": width, "depth": depth, "num_hidden_layers": depth - 1, "seed": seed}
        values = [
            (
                "gradient_cosine",
                step,
                bad / (1 + (depth / width) ** 1.3 * (1 + step / 100)) - 0.001 * seed,
            )
            for step in steps
        ]
        rows.append((cell | {"grid": grid}, values))
    return rows


TRANSFER_PLOT: dict[str, Any] = {
    "quantity": {"metric": "train_loss", "reduce": "min", "label": "minimum training loss"},
    "x": "activity_learning_rate",
    "y": "learning_rate",
    "rows": [
        {"grid": "width", "panels": "width", "title": "Width transfer ($H$ = 8)"},
        {"grid": "control", "panels": "width", "title": "Control: wrong exponent"},
    ],
}
COSINE_PLOT: dict[str, Any] = {
    "quantity": {"metric": "gradient_cosine", "label": "cosine similarity of PC and BP gradients"},
    "steps": [0, 10],
    "rows": [{"grid": "main", "title": "Mean field"}, {"grid": "control", "title": "Control"}],
    "ratio_lines": [1, 16],
    "limits": [0, 1],
}
CURVES_PLOT: dict[str, Any] = {
    "panels": [
        {
            "title": "Rescaling",
            "label": "rescaling $s$",
            "limits": [0.9, 3],
            "lines": [{"grid": "main", "metric": "rescaling"}],
        },
        {
            "title": "Energy and loss",
            "label": "energy and training loss of networks of all widths",
            "scale": "log",
            "lines": [
                {"grid": "main", "metric": "energy", "label": "energy"},
                {"grid": "main", "metric": "train_loss", "style": "dashed", "label": "loss"},
                {
                    "grid": "limit",
                    "metric": "train_loss",
                    "style": "dotted",
                    "label": "loss, infinite width",
                    "each": False,
                },
            ],
        },
    ],
}
SCALING_PLOT: dict[str, Any] = {
    "quantity": {"metric": "excess", "reduce": "at", "step": 0, "label": "$s - 1$"},
    "expected": {"metric": "expected", "reduce": "at", "step": 0, "label": "$L/N$"},
    "rows": [
        {
            "grid": "main",
            "x": "width",
            "hue": "depth",
            "title": "Against the width",
            "slopes": [{"exponent": -1, "label": "$1/N$"}],
        },
        {"grid": "main", "x": "depth", "hue": "width", "title": "Against the depth"},
        {
            "grid": "control",
            "x": "width",
            "hue": "depth",
            "title": "Control: predictions scaled by $N^{-1/2}$, against the width",
        },
    ],
}


def curve_rows(widths: Iterable[int], steps: Iterable[int], *, seeds: int = 2) -> list[Row]:
    """Cells over width in the grid `main`, and one of their limit, of width 1, in the grid `limit`.

    With W the width and a bowl B = exp(-t/20), the rescaling is 1 + (4 + seed)/W, the loss B and
    the energy their ratio; that of the smallest width is not finite from step 10 on, for seed 0.
    """
    steps, widths = tuple(steps), tuple(widths)
    rows: list[Row] = []
    for width, seed in itertools.product(widths, range(seeds)):
        values = []
        for step in steps:
            loss, rescaling = float(np.exp(-step / 20)), 1 + (4 + seed) / width
            diverges = width == min(widths) and seed == 0 and step >= 10
            energy = np.inf if diverges else loss / rescaling
            values += [("rescaling", step, rescaling), ("train_loss", step, loss)]
            values += [("energy", step, energy)]
        cell = {"grid": "main", "width": width, "depth": 5, "num_hidden_layers": 4, "seed": seed}
        rows.append((cell, values))
    cell = {"grid": "limit", "width": 1, "depth": 5, "num_hidden_layers": 4, "seed": 0}
    rows.append((cell, [("train_loss", step, float(np.exp(-step / 25))) for step in steps]))
    return rows


def scaling_rows(
    grid: str,
    widths: Iterable[int],
    depths: Iterable[int],
    *,
    seeds: int = 2,
    exponent: float = -1.0,
) -> list[Row]:
    """Cells over width N and depth L; the excess is L N^exponent times 1 or 1.2 (second seed).

    It diverges for the first seed at the smallest width and largest depth.
    """
    widths, depths = tuple(widths), tuple(depths)
    rows: list[Row] = []
    for width, depth, seed in itertools.product(widths, depths, range(seeds)):
        cell = {"width": width, "depth": depth, "num_hidden_layers": depth - 1, "seed": seed}
        expected = depth * width**exponent
        diverges = (width, depth, seed) == (min(widths), max(depths), 0)
        excess = np.inf if diverges else expected * (1 + 0.2 * seed)
        rows.append((cell | {"grid": grid}, [("excess", 0, excess), ("expected", 0, expected)]))
    return rows


def write_folder(
    folder: Path, kind: str, plot: dict[str, Any], rows: list[Row], **figure: Any
) -> Path:
    """Write a figure's folder as the pipeline would."""
    folder.mkdir(parents=True)
    cells, records = [], []
    for cell, values in rows:
        settings = {name: value for name, value in cell.items() if name != "grid"}
        name = "-".join(f"{value}" for value in settings.values())
        name += cell["grid"] if "control" in cell["grid"] else ""
        cells.append(cell | {"cell_id": name})
        records += [(name, metric, step, value) for metric, step, value in values]
    pd.DataFrame(cells).to_parquet(folder / "cells.parquet")
    table = pd.DataFrame(records, columns=["cell_id", "metric", "step", "value"])
    table = table.drop_duplicates(["cell_id", "metric", "step"])
    for axis in ("step", "inference_step", "layer", "index"):
        values = table["step"] if axis == "step" else pd.Series(pd.NA, index=table.index)
        table[axis] = values.astype("Int32")
    table.to_parquet(folder / "records.parquet")
    description = {
        "paper": "mupc",
        "figure": "fig5",
        "preset": "smoke",
        "title": "Learning rates transfer over width and depth",
        "caption": "Minimum training loss of **tanh** residual networks.",
        "kind": kind,
        "plot": plot,
        "notes": NOTES,
    }
    (folder / "figure.json").write_text(json.dumps(description | figure))
    (folder / "verdicts.json").write_text(json.dumps([VERDICT]))
    return folder

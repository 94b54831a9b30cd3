"""Folders of figures with made-up records: smooth bowls with known optima, diverged cells."""

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scaling_limits.records import AXES

ETAS = (0.01, 0.05, 0.1, 0.5)
BETAS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1000.0)

Row = tuple[dict[str, Any], list[tuple[Any, ...]]]

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
    "panels": [
        {"grid": "width", "along": "width", "title": "Width transfer ($H$ = 8)"},
        {"grid": "control", "along": "width", "title": "Control: wrong exponent"},
    ],
}
COSINE_PLOT: dict[str, Any] = {
    "quantity": {"metric": "gradient_cosine", "per": "step"},
    "x": "width",
    "y": "depth",
    "scale": "linear",
    "best": None,
    "panels": [
        {"grid": "main", "along": "step", "values": [0, 10], "title": "Mean field"},
        {"grid": "control", "along": "step", "values": [0, 10], "title": "Control"},
    ],
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
_EXCESS = {"metric": "excess", "reduce": "at", "step": 0}
_EXPECTED = {"metric": "expected", "reduce": "at", "step": 0}


def _size_panel(title: str, grid: str, x: str, hue: str, **options: Any) -> dict[str, Any]:
    lines = [
        {"grid": grid, "quantity": _EXCESS, "style": "markers"},
        {"grid": grid, "quantity": _EXPECTED, "style": "dashed", "label": "$L/N$"},
    ]
    return {"title": title, "x": x, "hue": hue, "label": "$s - 1$", "lines": lines} | options


SCALING_PLOT: dict[str, Any] = {
    "panels": [
        _size_panel(
            "Against the width",
            "main",
            "width",
            "depth",
            slopes=[{"exponent": -1, "label": "$1/N$"}],
        ),
        _size_panel("Against the depth", "main", "depth", "width"),
        _size_panel(
            "Control: predictions scaled by $N^{-1/2}$, against the width",
            "control",
            "width",
            "depth",
        ),
    ],
}
_RMS = {"metric": "rms", "per": "index"}
ALONG_PLOT: dict[str, Any] = {
    "hue_labels": {"0": "input", "2": "output"},
    "symbols": {"index": "l"},
    "panels": [
        {
            "title": "Towards the limit",
            "x": "width",
            "hue": "index",
            "label": "root mean square",
            "lines": [
                {"grid": "networks", "quantity": _RMS, "label": "networks"},
                {
                    "grid": "limit",
                    "quantity": _RMS,
                    "style": "dashed",
                    "across": True,
                    "label": "infinite width",
                },
            ],
        },
        {
            "title": "Along the depth",
            "x": "relative_index",
            "x_label": "$k/L$",
            "x_scale": "linear",
            "hue": "width",
            "values": [16, 64, 1024],
            "label": "relative to the first",
            "scale": "linear",
            "relative_to_first": True,
            "lines": [
                {"grid": "networks", "quantity": _RMS},
                {
                    "grid": "limit",
                    "quantity": _RMS,
                    "style": "dotted",
                    "each": False,
                    "label": "limit",
                },
            ],
        },
    ],
}
RATE_PLOT: dict[str, Any] = {
    "rows": [
        {"quantity": {"metric": "train_loss"}, "label": "training loss"},
        {
            "quantity": {"metric": "test_accuracy"},
            "label": "test accuracy",
            "scale": "linear",
            "best": "max",
        },
    ],
    "panels": [
        {"grid": "main", "title": "A parameterisation under which the best rate stays"},
        {"grid": "control", "title": "Control"},
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


def along_rows(widths: Iterable[int], *, seeds: int = 2) -> list[Row]:
    """Cells over width in the grid `networks`, and one of width 1 in the grid `limit`; depth 4.

    The metric at index k = 0, 1, 2 is (k + 1) (1 + (-1)^seed / width), in the limit k + 1.
    """
    rows: list[Row] = []
    for width, seed in itertools.product(widths, range(seeds)):
        cell = {"grid": "networks", "width": width, "depth": 4, "num_hidden_layers": 3}
        values = [("rms", 5, (k + 1) * (1 + (-1) ** seed / width), k) for k in range(3)]
        rows.append((cell | {"seed": seed}, values))
    cell = {"grid": "limit", "width": 1, "depth": 4, "num_hidden_layers": 3, "seed": 0}
    rows.append((cell, [("rms", 5, float(k + 1), k) for k in range(3)]))
    return rows


def rate_rows(grid: str, widths: Iterable[int], *, seeds: int = 2, drift: float = 0.0) -> list[Row]:
    """Cells over width and rates 2^-8 ... 2^0; the loss is a bowl in the octave, the accuracy one
    less half of it.

    Both are best at 2^-4 for width 32, `drift` octaves lower for each doubling. Two octaves above
    that the loss is 10^6, and from three on both are not finite, for the first seed.
    """
    rows: list[Row] = []
    for width, octave, seed in itertools.product(widths, range(-8, 1), range(seeds)):
        above = octave + 4 + drift * np.log2(width / 32)
        loss = 0.1 * (1 + above**2) * (1 + 0.1 * seed) * (32 / width) ** 0.1
        accuracy = 1 - loss / 2
        if above >= 2 and seed == 0:
            loss, accuracy = (1e6, 0.1) if above < 3 else (np.inf, np.nan)
        cell = {"grid": grid, "width": width, "depth": 3, "num_hidden_layers": 2}
        values = [("train_loss", 9, loss), ("test_accuracy", 9, accuracy)]
        rows.append((cell | {"learning_rate": 2.0**octave, "seed": seed}, values))
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
        records += [(name, *value, *([pd.NA] if len(value) == 3 else [])) for value in values]
    pd.DataFrame(cells).to_parquet(folder / "cells.parquet")
    table = pd.DataFrame(records, columns=["cell_id", "metric", "step", "value", "index"])
    table = table.drop_duplicates(["cell_id", "metric", "step", "index"])
    for axis in AXES:
        values = table[axis] if axis in table else pd.Series(pd.NA, index=table.index)
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

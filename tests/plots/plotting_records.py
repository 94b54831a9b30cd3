"""Made-up records, folders of figures with them, and figures drawn by the cells of their notebooks."""

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib as mpl
import nbformat
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.notebook import filled
from scaling_limits.records import AXES, Results

NOTEBOOK = Path(__file__).parents[2] / "workflow" / "notebooks" / "figure.ipynb"
NETWORK: dict[str, Any] = {
    "width": 8,
    "depth": 3,
    "num_hidden_layers": 2,
    "learning_rate": 0.1,
    "seed": 0,
    "dataset": "digits",
    "network": "mlp",
    "optimiser": "sgd",
    "algorithm": "predictive_coding",
    "parameterisation": "mupc",
    "energy_weight_exponent": np.nan,
}
VERDICT: dict[str, Any] = {
    "statement": "The best rates do not depend on the width.",
    "claim": "it-is-so",
    "verdict": "holds",
    "reason": None,
    "value": 0.1234,
    "interval": [0.0, 0.5],
    "threshold": "at most 1 octave",
    "source": "Fig 5",
    "detail": "The optimum is resolved in 4 of 5 panels.",
    "registered": None,
    "clause": None,
    "place": "",
    "control": None,
    "changed": [],
    "kinds": [],
}
NOTES = ["Scale (smoke): $N$ = 8\N{EN DASH}32 (paper: 64\N{EN DASH}512), mean of 2 seeds."]
IDENTITY = "Innocenti, Achour & Buckley 2025 \N{MIDDLE DOT} Figure 5"
SEE = "The best rates (rings) are the same at every width."

Rows = list[tuple[dict[str, Any], list[tuple[Any, ...]]]]


def cells(grid: str, value: Callable[..., dict[str, Any]], **axes: Any) -> Rows:
    """A cell for each combination of `axes`; `value` gives its metrics, numbers or by step or by (step, index), or by
    (step, index, inference_step).
    """
    rows: Rows = []
    for point in itertools.product(*axes.values()):
        settings = dict(zip(axes, point, strict=True))
        records = []
        for metric, said in value(**settings).items():
            steps = said if isinstance(said, dict) else {9: said}
            at = {k if isinstance(k, tuple) else (k,): v for k, v in steps.items()}
            records += [(metric, *(*k, pd.NA, pd.NA)[:3], number) for k, number in at.items()]
        rows.append(({"grid": grid, **NETWORK, **settings}, records))
    return rows


TRAIN, ACCURACY = ({"metric": metric} for metric in ("train_loss", "test_accuracy"))
_OF_RATES = {"over": "learning_rate", "along": "width", "within": None}
# what a claim says of a quantity when the pipeline writes it
_SAID = {"layer": None, "index": None, "per": (), "reduce": "last", "step": None, "window": 1}


Located = list[list[float | None]]
"""Optima by size: size, value, and both ends of the interval."""


def judged(
    quantity: dict[str, Any],
    *grids: str,
    optima: dict[str, Located] | None = None,
    claimed: tuple[float | None, ...] | None = None,
    **said: Any,
) -> dict[str, Any]:
    """A claim as `figure.json` has it: an arm for each grid, the judged one first, with the optima located there."""
    whole = {**_SAID, "complement": False, **quantity}
    arms = [{"grids": [grid], "optima": (optima or {}).get(grid, [])} for grid in grids]
    if claimed is not None:
        arms[0]["claimed"] = list(claimed)
    return {**_OF_RATES, "quantity": whole, "arms": arms, **said}


def rate_rows(grid: str, *, drift: float = 0.0, widths: tuple[int, ...] = (8, 32)) -> Rows:
    """Over octaves of the rate a flat bowl around 2^-4, `drift` octaves lower for each doubling of the width.

    Two octaves above, the first seed's loss is 10^6; from three on it is not finite.
    """

    def value(width: int, learning_rate: float, seed: int, **_: Any) -> dict[str, Any]:
        above = np.log2(learning_rate) + 4 + drift * np.log2(width / 8)
        loss = 0.1 * (1 + 0.05 * above**2) * (1 + 0.2 * seed) * (8 / width) ** 0.1
        if above < 2 or seed:
            return {"train_loss": loss, "test_accuracy": 1 - loss / 2}
        return {"train_loss": 1e6 if above < 3 else np.inf, "test_accuracy": 0.1}

    scheme = ("sp",) if drift else ("mupc",)
    rates = tuple(2.0**k for k in range(-7, 1))
    return cells(
        grid, value, width=widths, learning_rate=rates, seed=(0, 1), parameterisation=scheme
    )


def rate_panel(grid: str, quantity: dict[str, Any] = TRAIN, **said: Any) -> dict[str, Any]:
    """A panel of a quantity over the rate."""
    lines = [{"grid": grid, "quantity": quantity}]
    usual = {"title": grid, "x": "learning_rate", "hue": "width", "label": "training loss"}
    return {**usual, "lines": lines, **said}


def results(rows: Rows) -> Results:
    """The tables of `rows`; cells of the same settings are the same, whatever their grid."""
    named = [(cell | {"cell_id": str([*cell.values()][1:])}, said) for cell, said in rows]
    # a step of inference stands before the value where there is one
    records = [
        (cell["cell_id"], *record[:3], *(record[3:] if len(record) > 4 else (pd.NA, record[3])))
        for cell, said in named
        for record in said
    ]
    table = pd.DataFrame(
        records, columns=["cell_id", "metric", "step", "index", "inference_step", "value"]
    )
    for axis in AXES:
        table[axis] = table.get(axis, pd.Series(pd.NA, index=table.index)).astype("Int32")
    table = table.drop_duplicates(["cell_id", "metric", "step", "index", "inference_step"])
    return Results(pd.DataFrame([cell for cell, _ in named]), table.astype({"value": float}))


def write_folder(folder: Path, plot: dict[str, Any], rows: Rows, **figure: Any) -> Path:
    """Write a figure's folder as the pipeline would."""
    folder.mkdir(parents=True)
    tables, verdicts = results(rows), figure.pop("verdicts", [VERDICT])
    tables.cells.to_parquet(folder / "cells.parquet")
    tables.records.to_parquet(folder / "records.parquet")
    said = {
        "paper": "mupc",
        "figure": "fig5",
        "preset": "smoke",
        "page": "full",
        "identity": IDENTITY,
        "in_paper": True,
        "arxiv": "2505.13124",
        "title": "Transfer of the rate over the width",
        "see": SEE,
        "caption": "Training loss of **tanh** networks.",
        "kind": plot["kind"],
        "plot": plot,
        "judged": [],
        "fitted": [],
        "notes": NOTES,
        "repeats": None,
    }
    (folder / "figure.json").write_text(json.dumps(said | figure))
    (folder / "verdicts.json").write_text(json.dumps(verdicts))
    return folder


def code(folder: Path) -> Iterator[str]:
    """The sources of the code cells in the notebook of a figure's folder."""
    notebook = filled(nbformat.read(NOTEBOOK, as_version=4), folder)
    return (cell.source for cell in notebook.cells if cell.cell_type == "code")


@dataclass
class Drawn:
    """A figure that a notebook drew: what it drew its plots with, and the axes of its panels."""

    plots: list[Any]
    figure: Figure

    @property
    def page(self) -> Any:
        (page,) = self.plots
        return page

    @property
    def axes(self) -> list[Axes]:
        return list(np.ravel(self.page.axes))

    @property
    def legend(self) -> dict[str, Any]:
        """Handles of all blocks by label, which follows the title of the block if that has one."""
        return {name: handle for block in blocks(self.figure) for name, handle in block.items()}

    @property
    def words(self) -> dict[str, str]:
        """Identity, title, what to see, badge, and all notes."""
        words: dict[str, list[str]] = {}
        for part in self.figure.subfigs:
            for text in part.texts:
                words.setdefault(str(text.get_gid()), []).append(text.get_text())
        return {name: "\n".join(texts) for name, texts in words.items()}


def drawn(folder: Path) -> Drawn:
    """Run the cells of a folder's notebook in this process, without its files."""
    sources, names, plots = list(code(folder)), dict[str, Any](), list[Any]()
    with (
        mpl.rc_context(),
        contextlib.chdir(folder),
        mock.patch.object(FigureFolder, "save", autospec=True) as save,
    ):
        for source in sources:
            exec(source, names)
            if "page = " in source:
                plots.append(names["page"])
    return Drawn(plots, save.call_args.args[1])


def blocks(figure: Figure | SubFigure) -> list[dict[str, Any]]:
    """The blocks of a figure's legends, from left to right: handles by title and label, `title = label`."""
    found = []
    for box in figure.findobj(Legend):
        title = box.get_title().get_text().strip()
        labels = [
            f"{title} = {text.get_text()}" if title else text.get_text() for text in box.texts
        ]
        found.append(dict(zip(labels, box.legend_handles, strict=True)))
    return found


def lines(ax: Axes, name: str) -> list[Line2D]:
    """The artists of a label."""
    return [line for line in ax.lines if line.get_label() == name]

"""Placeholders in the texts of figures."""

from collections.abc import Mapping

import pandas as pd

from scaling_limits.configuration import Configuration
from scaling_limits.figures import placeholders


def filled(text: str, cells: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Return a text with its placeholders replaced by the values in the cells.

    Args:
        text: the text.
        cells: the cells, one row each.
        names: the titles of datasets by name.
    """

    def value(column: str) -> str:
        values = sorted(cells[column].dropna().unique())
        texts = [
            names.get(str(v), f"{v:g}" if isinstance(v, int | float) else str(v)) for v in values
        ]
        if len(texts) > 2 and not isinstance(values[0], str):
            return f"{texts[0]} to {texts[-1]}"
        return " and ".join(texts) or "no"

    return placeholders.filled(text, value)


def grid_titles(configuration: Configuration, paper: str, name: str) -> dict[str, str]:
    """Return the titles of the grids of a figure's experiment, without those that contain placeholders."""
    experiment = configuration.figure(paper, name).experiment
    grids = configuration.experiment(paper, experiment).grids if experiment else {}
    titles = {grid: cells.title or "" for grid, cells in grids.items()}
    return {grid: title for grid, title in titles.items() if not placeholders.named(title)}

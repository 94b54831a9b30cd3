"""Layout of several plots on one page."""

from dataclasses import replace
from functools import partial

import pandas as pd

from scaling_limits.plots import registry
from scaling_limits.plots.composite import Options
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.options import PlotOptions
from scaling_limits.plotting import page


def parts(
    figure: FigureFolder[Options], table: pd.DataFrame
) -> list[tuple[FigureFolder[PlotOptions], pd.DataFrame]]:
    """Return each plot with its area of a new page and its part of the table.

    Each plot has the width that it would have alone. If a row is too wide for the page, all its plots are scaled down
    by the same factor.
    """
    plots = [
        (plot, table[table["plot"] == number].reset_index(drop=True))
        for number, plot in enumerate(figure.plot.plots)
    ]
    wrap = figure.plot.wrap
    rows = [plots[k : k + wrap] for k in range(0, len(plots), wrap)]
    page_of_all = figure.page(*map(_sizes, rows))
    folder: FigureFolder[PlotOptions] = figure
    return [
        (replace(folder, plot=plot, area=body), rows_of_plot)
        for (plot, rows_of_plot), body in zip(plots, page_of_all.bodies, strict=True)
    ]


def _sizes(row: list[tuple[PlotOptions, pd.DataFrame]]) -> list[page.Size]:
    """Return the width and height of each plot in a row, in inches."""
    sizes = [partial(registry.part(plot.kind).size, plot, rows) for plot, rows in row]
    alone = [size(page.WIDTH)[0] for size in sizes]
    scale = min(1.0, page.WIDTH / sum(alone))
    return [size(scale * width) for size, width in zip(sizes, alone, strict=True)]

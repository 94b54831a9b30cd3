"""Drawing of histograms."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from scaling_limits.figures.metrics import metric_info
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.histograms import HistogramPanel, Options, size
from scaling_limits.plotting import colours, page, style, text

_MARGIN = 1.3  # factor between the densities and the limits of their axis


class Histograms(page.Drawing):
    """A pair of axes for each panel; `look` holds seaborn's options for the densities."""

    look: ClassVar[style.Look] = {
        "stat": "density",
        "common_norm": False,
        "element": "step",
        "fill": False,
        "legend": False,
    }

    def __init__(self, figure: FigureFolder[Options], table: pd.DataFrame) -> None:
        """Lay out the panels."""
        plot = figure.plot
        self.figure, self.plot = figure, plot
        self.table = table[~table["diverged"]]
        self.body = figure.body(size(plot, table, page.WIDTH))
        self.columns = page.shape(len(plot.panels), plot.wrap)[1]
        self.axes = self.body.wrapped(len(plot.panels), plot.wrap)
        self.palette = colours.size_colours(self.table[plot.hue])

    @property
    def panels(self) -> Iterator[tuple[HistogramPanel, Axes]]:
        """Each panel with its axes."""
        return zip(self.plot.panels, self.axes, strict=True)

    def rows(self, panel: HistogramPanel) -> pd.DataFrame:
        """Return the rows of the table that a panel shows."""
        return self.table[self.table["panel"] == self.plot.panels.index(panel)]

    @property
    def bins(self) -> np.ndarray:
        """The edges of the bins, equal in all panels."""
        shown = [*self.table["value"], *(mark.at for mark in self.plot.marks)]
        margin = 0.03 * (max(shown) - min(shown))
        low, high = self.plot.limits or (min(shown) - margin, max(shown) + margin)
        return np.linspace(low, high, self.plot.bins + 1)

    @property
    def hue_order(self) -> list[float | str]:
        """The values of the hue from the largest, which seaborn draws on top of the others."""
        return list(reversed(self.palette))

    def complete(self) -> None:
        """Label and limit the axes, draw the marks, and write the legend."""
        lines = [line for ax in self.axes for line in ax.lines]
        densities = np.concatenate([np.asarray(line.get_ydata(), float) for line in lines])
        limits = densities[densities > 0].min() / _MARGIN, densities.max() * _MARGIN
        entries: dict[str, Artist] = {}
        for value, colour in self.palette.items():
            name = text.symbol(self.plot.hue, self.figure.results.cells, self.plot.symbols)
            entries[f"${name}$ = {text.short(float(value))}"] = Line2D([], [], color=colour)
        labels = list(dict.fromkeys(mark.label for mark in self.plot.marks))
        for number, (panel, ax) in enumerate(self.panels):
            for mark in self.plot.marks:
                dashes = style.DASHES[labels.index(mark.label) % len(style.DASHES)]
                look: style.Look = {"color": "0.35", "linestyle": dashes, "linewidth": 0.9}
                entries[mark.label] = ax.axvline(mark.at, zorder=1, **look)
            ax.set_title(panel.title or panel.grid)
            ax.set(xlim=self.bins[[0, -1]], yscale="log", ylim=limits, xlabel="", ylabel="")
            if number % self.columns == 0:
                ax.set_ylabel("density")
            ax.tick_params(labelleft=number % self.columns == 0)
            if number + self.columns >= len(self.axes):
                ax.set_xlabel(metric_info(self.plot.quantity).label)
        self.body.legend(page.Block("", entries))

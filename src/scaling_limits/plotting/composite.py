"""Several plots on a page: what the notebook `composite` draws its figure with."""

from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from scaling_limits.figures.plots.composite import CompositePlot, Single
from scaling_limits.plotting import page
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.plotting.histograms import Histograms
from scaling_limits.plotting.landscapes import Landscapes
from scaling_limits.plotting.lines import Lines
from scaling_limits.plotting.maps import Maps

_DRAWN_AS: dict[str, Any] = {
    "histograms": Histograms,
    "landscapes": Landscapes,
    "lines": Lines,
    "maps": Maps,
}


class Composite:
    """A page with a body for each plot, wide as it would be alone or less, in proportion, where a row has no room."""

    def __init__(self, folder: FigureFolder, table: pd.DataFrame) -> None:
        """Lay out the page; `table` is that of all plots.

        Raises:
            ScalingLimitsError: one of the plots cannot be drawn.
        """
        plot = folder.plot
        assert isinstance(plot, CompositePlot)
        self.folder, self.table = folder, table
        parts = [(single, self._rows(number)) for number, single in enumerate(plot.plots)]
        rows = [parts[k : k + plot.wrap] for k in range(0, len(parts), plot.wrap)]
        sheet = folder.page(*map(_sizes, rows))
        self.plots: list[page.Drawing] = [
            _DRAWN_AS[single.kind](replace(folder, plot=single), own, body)
            for (single, own), body in zip(parts, sheet.bodies, strict=True)
        ]

    def of(self, kind: str) -> list[Any]:
        """The plots of a kind, as `Lines` or `Maps` on bodies of this page."""
        return [plot for plot in self.plots if isinstance(plot, _DRAWN_AS[kind])]

    def finish(self) -> Figure:
        """The figure, all of its plots complete."""
        for plot in self.plots:
            plot.complete()
        return self.plots[0].body.page.settle()

    def _rows(self, number: int) -> pd.DataFrame:
        return self.table[self.table["plot"] == number].reset_index(drop=True)


def _sizes(row: list[tuple[Single, pd.DataFrame]]) -> list[page.Size]:
    """What the plots of a row take."""

    def size(plot: Single, own: pd.DataFrame, widest: float) -> page.Size:
        found: page.Size = _DRAWN_AS[plot.kind].size(plot, own, widest)
        return found

    alone = [size(*part, page.WIDTH)[0] for part in row]
    share = min(1.0, page.WIDTH / sum(alone))
    return [size(*part, share * width) for part, width in zip(row, alone, strict=True)]

"""Table rows of histograms."""

import pandas as pd

from scaling_limits.figures.metrics import metric_info
from scaling_limits.plots.histograms import HistogramPanel, Options
from scaling_limits.plots.tables import GridResults, values


def of_panel(grids: GridResults, plot: Options, panel: HistogramPanel) -> pd.DataFrame:
    """Return all values of a panel."""
    rows = values(grids, panel.grid, plot.quantity, [plot.hue, "index"])
    title, label = panel.title or panel.grid, metric_info(plot.quantity).label
    return rows.assign(title=title, line=panel.grid, quantity=label)

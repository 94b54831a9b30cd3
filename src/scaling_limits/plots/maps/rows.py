"""Table rows of maps."""

import pandas as pd

from scaling_limits.figures.metrics import metric_info
from scaling_limits.plots.maps import MapPanel, Options
from scaling_limits.plots.tables import GridResults, selected, values


def of_panel(grids: GridResults, plot: Options, panel: MapPanel) -> pd.DataFrame:
    """Return the quantity at each point of a panel's maps."""
    rows = values(grids, panel.grid, plot.quantity, [panel.along, plot.y, plot.x])
    if panel.values is not None:
        rows = selected(rows, panel.along, panel.values, panel.grid)
    title = panel.title or panel.grid
    return rows.assign(title=title, line=panel.grid, quantity=metric_info(plot.quantity).label)

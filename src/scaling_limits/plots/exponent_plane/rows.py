"""Table rows of the plane of depth exponents."""

import pandas as pd

from scaling_limits.figures.metrics import metric_info
from scaling_limits.plots.exponent_plane import ALONG, Options, X, Y
from scaling_limits.plots.tables import GridResults, values


def rows(plot: Options, grids: GridResults) -> pd.DataFrame:
    """Return each quantity at each point and depth, in one panel."""
    parts = [
        values(grids, grid, quantity, [X, Y, ALONG]).assign(
            panel=0, title="", line=name, quantity=metric_info(quantity).label
        )
        for grid in plot.points
        for name, quantity in plot.quantities
    ]
    return pd.concat(parts, ignore_index=True)

"""Table rows of a table of results."""

import numpy as np
import pandas as pd

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.figures.metrics import metric_info
from scaling_limits.plots.results_table import Options, ResultsEntry
from scaling_limits.plots.tables import GridResults, best_rows, values, with_divergence


def of_entry(grids: GridResults, plot: Options, entry: ResultsEntry) -> pd.DataFrame:
    """Return the quantity of an entry at each of its points."""
    key = [*plot.settings, "seed"]

    def best(grid: str) -> pd.DataFrame:
        rows = values(grids, grid, plot.quantity, [*plot.settings, *plot.over])
        if not plot.over:
            return rows
        assert plot.best is not None
        return best_rows(rows, plot.settings, plot.over, plot.best)

    rows = best(entry.grid)
    if entry.minus is not None:
        rows = rows.merge(best(entry.minus)[[*key, "value"]], on=key, suffixes=("", "_minus"))
        if rows.empty:
            raise ScalingLimitsError(
                f"the grids '{entry.grid}' and '{entry.minus}' share no {', '.join(key)}"
            )
        less = rows.pop("value_minus")
        known = np.isfinite(rows["value"]) & np.isfinite(less)
        rows = with_divergence(
            rows.assign(value=(rows["value"] - less).where(known, np.inf)), plot.settings
        )
    label = metric_info(plot.quantity).label
    return rows.assign(title=entry.title, line=entry.title, quantity=label)

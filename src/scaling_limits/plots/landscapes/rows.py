"""Table rows of landscapes."""

import pandas as pd

from scaling_limits.figures.metrics import metric_info
from scaling_limits.figures.quantities import Quantity
from scaling_limits.plots.landscapes import LandscapePanel
from scaling_limits.plots.tables import GridResults, selected, values


def of_panel(grids: GridResults, panel: LandscapePanel) -> pd.DataFrame:
    """Return the curvatures and the path of inference of each landscape of a panel, for the first seed."""
    parts = []
    for name, per in (("curvature", ("index",)), ("path", ("inference_step", "index"))):
        quantity = Quantity(metric=f"landscape_{name}", per=per)
        rows = values(grids, panel.grid, quantity, [panel.along, *per])
        if panel.values is not None:
            rows = selected(rows, panel.along, panel.values, panel.grid)
        rows = rows[rows["seed"] == rows["seed"].min()]
        parts.append(rows.assign(line=name, quantity=metric_info(quantity).label))
    rows_of_panel: pd.DataFrame = pd.concat(parts, ignore_index=True)
    return rows_of_panel.assign(title=panel.title or panel.grid)

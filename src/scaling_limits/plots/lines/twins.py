"""Removal of panels that repeat another panel because their dataset is replaced by a substitute."""

from collections import Counter
from collections.abc import Hashable

import pandas as pd

from scaling_limits.plots.lines import Options
from scaling_limits.plotting.page import shape


def without_twins(plot: Options, table: pd.DataFrame) -> tuple[Options, pd.DataFrame]:
    """Return a plot and its table without the panels that show the same cells as an earlier panel under other grids."""
    numbers = _distinct_panels(plot, table)
    if len(numbers) == len(plot.panels):
        return plot, table
    columns = shape(len(plot.panels), plot.wrap)[1]
    counts = set(Counter(number // columns for number in numbers).values())
    update = {
        "panels": tuple(plot.panels[number] for number in numbers),
        # as many columns as panels remain in each row
        "wrap": counts.pop() if len(counts) == 1 else plot.wrap,
    }
    rows = table[table["panel"].isin(numbers)]
    return plot.model_copy(update=update), rows.assign(panel=rows["panel"].map(numbers.index))


def _distinct_panels(plot: Options, table: pd.DataFrame) -> list[int]:
    numbers: list[int] = []
    seen: dict[Hashable, set[str]] = {}
    for number, panel in enumerate(plot.panels):
        rows = table[table["panel"] == number]
        quantities = [line.quantity.model_dump_json() for line in panel.lines]
        key = (panel.x, tuple(sorted(rows["cell_id"].unique())), *quantities)
        grids = set(rows["grid"])
        if seen.setdefault(key, grids) == grids:
            numbers.append(number)
    return numbers

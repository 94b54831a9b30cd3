"""Panels that repeat another one, because they use the same substitute dataset."""

from collections import Counter
from collections.abc import Hashable

import pandas as pd

from scaling_limits.plots.lines import Options
from scaling_limits.plotting.page import shape


def without_twins(plot: Options, table: pd.DataFrame) -> tuple[Options, pd.DataFrame]:
    """Return a plot and its table without the panels that show the same cells as an earlier one under other names."""
    kept = _kept(plot, table)
    if len(kept) == len(plot.panels):
        return plot, table
    columns = shape(len(plot.panels), plot.wrap)[1]
    each_row = set(Counter(number // columns for number in kept).values())
    update = {
        "panels": tuple(plot.panels[number] for number in kept),
        # as many columns as each row has panels left
        "wrap": each_row.pop() if len(each_row) == 1 else plot.wrap,
    }
    rows = table[table["panel"].isin(kept)]
    return plot.model_copy(update=update), rows.assign(panel=rows["panel"].map(kept.index))


def _kept(plot: Options, table: pd.DataFrame) -> list[int]:
    kept: list[int] = []
    seen: dict[Hashable, set[str]] = {}
    for number, panel in enumerate(plot.panels):
        rows = table[table["panel"] == number]
        quantities = [line.quantity.model_dump_json() for line in panel.lines]
        key = (panel.x, tuple(sorted(rows["cell_id"].unique())), *quantities)
        grids = set(rows["grid"])
        if seen.setdefault(key, grids) == grids:
            kept.append(number)
    return kept

"""A table of definitions: what the notebook `definitions` draws its figure with."""

import pandas as pd
from matplotlib.figure import Figure

from scaling_limits.figures.plots.definitions import DefinitionsPlot
from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.plotting.typeset import typeset


def entries(plot: DefinitionsPlot) -> pd.DataFrame:
    """The table as text; what is defined, its first column, is the index."""
    table = pd.DataFrame(plot.rows, columns=list(plot.columns))
    return table.set_index(plot.columns[0])


def drawn(folder: FigureFolder, table: pd.DataFrame) -> Figure:
    """The table, typeset."""
    return typeset(folder, table)

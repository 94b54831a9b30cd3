"""A schematic of nested sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from scaling_limits.plots.options import PlotOptions
from scaling_limits.strict import Strict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from scaling_limits.plots import nested_sets
    from scaling_limits.plots.contract import Kind
    from scaling_limits.plots.figure_folder import FigureFolder
    from scaling_limits.plots.tables import GridResults

    _: Kind[Options] = nested_sets


class NestedSet(Strict):
    """A set with the sets that it `contains`, drawn side by side; the outline is `dashed` if no member is known."""

    label: str = Field(min_length=1)
    dashed: bool = False
    contains: tuple[NestedSet, ...] = ()


class Options(PlotOptions):
    """Nested sets, drawn as rounded boxes with labels at the top."""

    kind: Literal["nested_sets"] = "nested_sets"
    outermost: NestedSet


def table(plot: Options, grids: GridResults) -> pd.DataFrame:
    """Return a table without rows, since the plot shows no cells."""
    from scaling_limits.plots.tables import no_rows

    return no_rows()


def draw(figure: FigureFolder[Options], table: pd.DataFrame) -> Figure:
    """Draw the sets."""
    from scaling_limits.plots.nested_sets.drawing import boxes, draw_box

    sets = boxes(figure.plot)
    body = figure.body((sets["width"][0], sets["height"][0]))
    ((ax,),) = body.axes(1, 1)
    ax.set_axis_off()
    ax.set(xlim=(0, sets["width"][0]), ylim=(0, sets["height"][0]))
    for _, box in sets.iterrows():
        draw_box(ax, box)
    return body.finish()

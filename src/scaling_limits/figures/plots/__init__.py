"""What a figure's `plot:` may say, one module for each kind; importing them does not import matplotlib."""

from typing import Annotated

from pydantic import Field, TypeAdapter

from scaling_limits.figures.plots.composite import CompositePlot
from scaling_limits.figures.plots.definitions import DefinitionsPlot
from scaling_limits.figures.plots.histograms import HistogramsPlot
from scaling_limits.figures.plots.landscapes import LandscapesPlot
from scaling_limits.figures.plots.lines import LinesPlot
from scaling_limits.figures.plots.maps import MapsPlot
from scaling_limits.figures.plots.nested_sets import NestedSetsPlot
from scaling_limits.figures.plots.parameterisation_table import ParameterisationTablePlot
from scaling_limits.figures.plots.results_table import ResultsTablePlot
from scaling_limits.registry import Registry

Plot = Annotated[
    CompositePlot
    | DefinitionsPlot
    | HistogramsPlot
    | LandscapesPlot
    | LinesPlot
    | MapsPlot
    | NestedSetsPlot
    | ParameterisationTablePlot
    | ResultsTablePlot,
    Field(discriminator="kind"),
]
PLOT: TypeAdapter[Plot] = TypeAdapter(Plot)

DRAWN_BY = Registry(
    "kind of plot",
    {
        kind: f"scaling_limits.plotting.{kind}"
        for kind in (
            "composite",
            "definitions",
            "histograms",
            "landscapes",
            "lines",
            "maps",
            "nested_sets",
            "parameterisation_table",
            "results_table",
        )
    },
)
"""The modules with which a notebook of that name draws a figure's folder."""

TABLES = frozenset({"definitions", "parameterisation_table", "results_table"})
"""The kinds that are tables of text, which `plotting.table_files` writes as files as well."""


def singles(plot: Plot) -> tuple[Plot, ...]:
    """The plots that a figure consists of."""
    return plot.plots if isinstance(plot, CompositePlot) else (plot,)

"""What a figure's `plot:` may say, one module for each kind; importing them does not import matplotlib."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    Field,
    SerializeAsAny,
    TypeAdapter,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError, PydanticKnownError

from scaling_limits.errors import unknown
from scaling_limits.figures.plots.composite import CompositePlot
from scaling_limits.figures.plots.definitions import DefinitionsPlot
from scaling_limits.figures.plots.exponent_plane import ExponentPlanePlot
from scaling_limits.figures.plots.histograms import HistogramsPlot
from scaling_limits.figures.plots.landscapes import LandscapesPlot
from scaling_limits.figures.plots.lines import LinesPlot
from scaling_limits.figures.plots.maps import MapsPlot
from scaling_limits.figures.plots.nested_sets import NestedSetsPlot
from scaling_limits.figures.plots.parameterisation_table import ParameterisationTablePlot
from scaling_limits.figures.plots.results_table import ResultsTablePlot
from scaling_limits.registry import Registry

DRAWN_BY = Registry(
    "kind of plot",
    {
        kind: f"scaling_limits.plotting.{kind}"
        for kind in (
            "composite",
            "definitions",
            "exponent_plane",
            "histograms",
            "landscapes",
            "lines",
            "maps",
            "nested_sets",
            "parameterisation_table",
            "results_table",
        )
    },
    "scaling_limits.plots",
    ("Options", "table", "draw"),
)
"""The modules with which a notebook of that name draws a figure's folder; those of installed packages declare `Options`
as well, `table(plot, grids)` and `draw(figure, table)`, and are drawn by the notebook `ADDED`.
"""

ADDED = "added"


def _of_its_kind(said: Any, own: ValidatorFunctionWrapHandler) -> Any:
    """A plot of one of the project's kinds, or of one that a package adds."""
    kind = said.get("kind") if isinstance(said, Mapping) else getattr(said, "kind", None)
    if not isinstance(kind, str) or kind in DRAWN_BY.own:
        return own(said)
    if kind not in DRAWN_BY.modules:
        tags = ", ".join(f"'{name}'" for name in DRAWN_BY.modules)
        context = {"discriminator": "'kind'", "tag": kind, "expected_tags": tags}
        raise PydanticKnownError("union_tag_invalid", context)
    options = DRAWN_BY.part(kind).Options
    for key in said if isinstance(said, Mapping) else ():
        if key not in options.model_fields:
            problem = unknown("key", key, options.model_fields)
            raise PydanticCustomError("unknown_option", "{problem}", {"problem": problem})
    return options.model_validate(said)


Plot = Annotated[
    SerializeAsAny[
        CompositePlot
        | DefinitionsPlot
        | ExponentPlanePlot
        | HistogramsPlot
        | LandscapesPlot
        | LinesPlot
        | MapsPlot
        | NestedSetsPlot
        | ParameterisationTablePlot
        | ResultsTablePlot
    ],
    Field(discriminator="kind"),
    WrapValidator(_of_its_kind),
]
PLOT: TypeAdapter[Plot] = TypeAdapter(Plot)

TABLES = frozenset({"definitions", "parameterisation_table", "results_table"})
"""The kinds that are tables of text, which `plotting.table_files` writes as files as well."""


def singles(plot: Plot) -> tuple[Plot, ...]:
    """The plots that a figure consists of."""
    return plot.plots if isinstance(plot, CompositePlot) else (plot,)


def notebook(kind: str) -> str:
    """The name of the notebook that draws a kind of plot."""
    return kind if kind in DRAWN_BY.own else ADDED

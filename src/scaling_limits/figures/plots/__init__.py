"""What a figure's `plot:` may say, one module for each kind; importing them does not import matplotlib."""

from typing import Annotated

from pydantic import Field, TypeAdapter

from scaling_limits.figures.plots.curves import CurvesPlot
from scaling_limits.figures.plots.maps import MapsPlot
from scaling_limits.figures.plots.parameterisation_table import ParameterisationTablePlot
from scaling_limits.figures.plots.scaling import ScalingPlot
from scaling_limits.figures.plots.transfer import TransferPlot
from scaling_limits.registry import Registry

Plot = Annotated[
    CurvesPlot | MapsPlot | ParameterisationTablePlot | ScalingPlot | TransferPlot,
    Field(discriminator="kind"),
]
PLOT: TypeAdapter[Plot] = TypeAdapter(Plot)

DRAWN_BY = Registry(
    "kind of plot",
    {
        kind: f"scaling_limits.plotting.kinds.{kind}"
        for kind in ("curves", "maps", "parameterisation_table", "scaling", "transfer")
    },
)
"""The modules whose `draw` makes a figure of a folder."""

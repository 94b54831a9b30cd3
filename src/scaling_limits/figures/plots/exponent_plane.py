"""The plane of depth exponents, with the regions that theory predicts and those that are measured."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from scaling_limits.figures.quantities import Quantity
from scaling_limits.strict import Strict

X, Y, ALONG = "depth_exponent", "depth_lr_exponent", "depth"
"""The columns of the axes, alpha and gamma of depth-mup, and the size that slopes are taken along."""


class RegionQuantities(Strict):
    """The quantities whose slopes decide a region; `parameterisations.theory.depth_region` describes them."""

    activity: Quantity
    initial_change: Quantity
    preactivation: Quantity
    output_change: Quantity

    def __iter__(self) -> Iterator[tuple[str, Quantity]]:  # type: ignore[override]
        """The names and the quantities."""
        return ((name, getattr(self, name)) for name in type(self).model_fields)


class ExponentPlanePlot(Strict):
    """The regions of depth-mup Fig. 1 over `depth_exponent` (x) and `depth_lr_exponent` (y).

    The background is what theory predicts for the cells' parameterisation and optimiser. Each mark is a point of the
    grids `points`, in the colour of the region in which its log-log slopes over the depth lie; slopes within
    `tolerance` are zero. `symbols` maps a column of the cells to the paper's symbol.
    """

    kind: Literal["exponent_plane"] = "exponent_plane"
    points: tuple[str, ...] = Field(min_length=1)
    quantities: RegionQuantities
    tolerance: float = Field(default=0.125, gt=0)
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return list(self.points)

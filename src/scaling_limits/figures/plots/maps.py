"""Maps of a quantity over two columns."""

from typing import Literal

from pydantic import Field, model_validator

from scaling_limits.figures.plots.parts import Best, GridPanel, Limits, Scale
from scaling_limits.figures.quantities import Quantity
from scaling_limits.strict import Strict


class MapPanel(GridPanel):
    """One row of maps, of a grid (so is a control): one for each value of the column `along`.

    `values` selects values of it; those that a preset leaves out are not shown (default: all there
    are). All maps show the optimum of that at `reference` (default: the first).
    """

    along: str
    values: tuple[float, ...] | None = Field(default=None, min_length=1)
    reference: float | None = None


class MapsPlot(Strict):
    """Colour over the columns `x` and `y`, one map for each size, or training step.

    With `best` the optimum of every map is marked, beside contours: does it move? Without it the
    values are written in the cells. Exponents, and columns with values of zero or less, have linear axes. All maps
    share their colours; `limits` are their ends (default: the values' own, up to four times the median).
    `ratio_lines` lists the k of lines x = k y. `level_set` draws the line that is fitted to the level set of this value
    (`figures/level_sets.py`), with its slope, on every map that it crosses. `symbols` maps a column of the cells to
    the paper's symbol (default: N for the width, H or L for the depth).
    """

    kind: Literal["maps"] = "maps"
    quantity: Quantity
    x: str
    y: str
    x_label: str | None = None
    y_label: str | None = None
    scale: Scale = "log"
    limits: Limits | None = None
    best: Best | None = "min"
    panels: tuple[MapPanel, ...] = Field(min_length=1)
    ratio_lines: tuple[float, ...] = ()
    level_set: float | None = Field(default=None, gt=0)
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return [panel.grid for panel in self.panels]

    @model_validator(mode="after")
    def _the_axis_kept_is_shown(self) -> "MapsPlot":
        for panel in self.panels:
            if (panel.along == "step") != ("step" in self.quantity.kept):
                raise ValueError(
                    "`along: step` goes with a quantity `per: step`, and other columns with one without"
                )
            if panel.reference is not None and self.best is None:
                raise ValueError("a `reference` is the place of an optimum: it needs `best`")
        return self

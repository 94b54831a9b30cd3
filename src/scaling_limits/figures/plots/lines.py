"""Quantities over one column, one line for each size."""

from typing import Literal

from pydantic import Field, model_validator

from scaling_limits.figures.plots.parts import Best, Limits, Scale
from scaling_limits.figures.quantities import Quantity
from scaling_limits.strict import Strict


class PowerOfX(Strict):
    """x to the power of `power`."""

    power: float

    @model_validator(mode="after")
    def _divides(self) -> "PowerOfX":
        if self.power == 0:
            raise ValueError("power: 0 divides by one; leave `divided_by` out")
        return self


class Slope(Strict):
    """A grey guide line: where the quantity would be proportional to x to the power of `exponent`."""

    exponent: float
    label: str


class Line(Strict):
    """A quantity of one grid: a line for each value of the panel's hue, in its colour.

    With `each: false` the grid has no such values, as that of a limit: one line, in black. `across` draws a
    grid that has a single x, or a quantity without the axis of records that is x, over the whole of the other
    lines. With `reference` the values are relative errors from those of that grid with the same hue and seed.
    `label` explains the style in the legend; in a panel without hue it names the line.
    """

    grid: str
    quantity: Quantity
    style: Literal["solid", "dashed", "dotted", "markers"] = "solid"
    label: str | None = None
    each: bool = True
    across: bool = False
    reference: str | None = None


class Panel(Strict):
    """Lines against `x`, in the colours of column `hue`, or without it each in that of what it shows.

    Both are columns of the cells, or an axis that the quantities keep (`layer`, `index`, `inference_step`, `step`), or
    one over the depth (`relative_layer`, `relative_index`). `values` selects values of the hue; those that a
    preset leaves out are not shown. With `divided_by` values are divided by a power of x, guide lines as well, so
    that one of this exponent is horizontal. With `relative` every line is divided by its value at the smallest x
    that all have. `over` names columns of which every point shows the best combination; with `tuned_at` that
    which is best at this value of the hue is shown at all, as what was tuned at one size and used at others, and
    with `tuned_by` that which is best by this quantity. `best` says which values are (none: of a size, or of how
    well two things agree).
    """

    title: str
    x: str
    hue: str | None = None
    over: tuple[str, ...] = ()
    tuned_at: float | None = None
    tuned_by: Quantity | None = None
    best: Best | None = "min"
    label: str
    x_label: str | None = None
    x_scale: Scale = "log"
    scale: Scale = "log"
    limits: Limits | None = None
    values: tuple[float, ...] | None = Field(default=None, min_length=1)
    divided_by: PowerOfX | None = None
    relative: bool = False
    lines: tuple[Line, ...] = Field(min_length=1)
    slopes: tuple[Slope, ...] = ()

    @property
    def grids(self) -> list[str]:
        """The grids whose values the panel shows."""
        return [line.grid for line in self.lines]

    @property
    def names(self) -> list[str]:
        """What each line is called: its label, else its grid; with its metric, or number, where two were alike."""
        names = [line.label or line.grid for line in self.lines]
        names = [
            f"{name}, {line.quantity.metric}" if names.count(name) > 1 else name
            for name, line in zip(names, self.lines, strict=True)
        ]
        return [
            f"{name}, {number}" if names.count(name) > 1 else name
            for number, name in enumerate(names)
        ]

    def shown_exponent(self, slope: Slope) -> float:
        """The exponent of a guide line as it is drawn."""
        return slope.exponent - (self.divided_by.power if self.divided_by else 0.0)

    @model_validator(mode="after")
    def _consistent(self) -> "Panel":
        if self.slopes and "linear" in (self.scale, self.x_scale):
            raise ValueError("slopes are straight lines on logarithmic axes only")
        if self.hue is None and any(line.label is None or not line.each for line in self.lines):
            raise ValueError("without `hue` every line has a `label` and a colour of its own")
        if self.hue is None and self.values is not None:
            raise ValueError("`values` selects values of the `hue`")
        if all(line.across for line in self.lines):
            raise ValueError("a panel needs a line with an x of its own, one that is not `across`")
        if self.relative and any(line.across for line in self.lines):
            raise ValueError("a line `across` is the same everywhere: it has no first value")
        if self.divided_by is not None and any(line.across for line in self.lines):
            raise ValueError("a line `across` has no x of its own for `divided_by`")
        if self.divided_by is not None and self.x_scale == "linear":
            raise ValueError(
                "`divided_by` takes powers of x, so x is positive: it needs `x_scale: log`"
            )
        if self.divided_by is not None and self.best is not None:
            raise ValueError("divided by a power of x, no value is best: leave `best` out")
        if self.over and self.best is None and self.tuned_by is None:
            raise ValueError("`over` shows the best: the quantity needs `best`, or `tuned_by` one")
        if self.tuned_by is not None and not self.over:
            raise ValueError("`tuned_by` says by what `over` is best")
        if self.tuned_at is not None and (self.hue is None or not self.over):
            raise ValueError("`tuned_at` is a value of the `hue` at which `over` is best")
        return self


class LinesPlot(Strict):
    """Panels of lines, `wrap` to a row. Panels that are compared share their axes.

    They are written as `rows` (quantities) and `columns` (grids), or one by one as `panels`. `hue_labels`
    names values of the hue, written as on an axis, in the legend (default: symbol = value). `symbols` maps a
    column of the cells to the paper's symbol (default: N for the width, H or L for the depth).
    """

    kind: Literal["lines"] = "lines"
    panels: tuple[Panel, ...] = Field(min_length=1)
    wrap: int = Field(default=3, ge=1)
    hue_labels: dict[str, str] = Field(default_factory=dict)
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        lines = [line for panel in self.panels for line in panel.lines]
        return [
            *(line.grid for line in lines),
            *(line.reference for line in lines if line.reference),
        ]

    @model_validator(mode="after")
    def _labels_are_unique(self) -> "LinesPlot":
        looks: dict[str, tuple[str, bool]] = {}
        for line in (line for panel in self.panels for line in panel.lines):
            look = (line.style, line.each)
            if line.label and looks.setdefault(line.label, look) != look:
                raise ValueError(f"the label '{line.label}' stands for lines of two styles")
        return self

"""What a figure's `plot:` may say, for each kind; importing this does not import matplotlib."""

from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

from scaling_limits.quantities import Quantity


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GridRow(_Spec):
    """A row of panels that shows one grid of cells, in colours of its own; so is a control."""

    grid: str
    title: str | None = None


class TransferRow(GridRow):
    """One panel for each value of the column `panels`; all show the optimum of `reference`."""

    panels: str
    reference: float | None = None


class _RowsPlot(_Spec):
    rows: tuple[GridRow, ...]

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return [row.grid for row in self.rows]


class _Map(_RowsPlot):
    quantity: Quantity
    x: str
    y: str
    x_label: str | None = None
    y_label: str | None = None
    symbols: dict[str, str] = Field(default_factory=dict)
    limits: tuple[float, float] | None = None

    @model_validator(mode="after")
    def _increasing(self) -> "_Map":
        _check_limits(self.limits)
        return self


class HyperparameterMapPlot(_Map):
    """Colour over two hyperparameters, one panel for each size: does the optimum move?

    `limits` fixes the colours of all rows (default: each row's own range). `symbols` maps a column
    of the cells to the paper's symbol (default: N for the width, H or L for the depth).
    """

    kind: Literal["hyperparameter_map"] = "hyperparameter_map"
    rows: tuple[TransferRow, ...] = Field(min_length=1)


class WidthDepthMapPlot(_Map):
    """Colour over width and depth, one panel for each of `steps` (default: all recorded).

    `quantity` says nothing of steps. `ratio_lines` lists the k of the lines width = k depth.
    """

    kind: Literal["width_depth_map"] = "width_depth_map"
    x: str = "width"
    y: str = "depth"
    rows: tuple[GridRow, ...] = Field(min_length=1)
    steps: tuple[int, ...] | None = Field(default=None, min_length=1)
    ratio_lines: tuple[float, ...] = ()

    @model_validator(mode="after")
    def _steps_are_panels(self) -> "WidthDepthMapPlot":
        if {"reduce", "step", "window"} & self.quantity.model_fields_set:
            raise ValueError("a width_depth_map shows single steps: give `steps`, no reduction")
        return self


class CurveLine(_Spec):
    """A metric of one grid over the training step: one line for each size, in its colour.

    With `each: false` the grid has no sizes, as that of a limit: one line, in black. `label`
    explains the line's style in the legend.
    """

    grid: str
    metric: str
    style: Literal["solid", "dashed", "dotted"] = "solid"
    label: str | None = None
    each: bool = True


class CurvesPanel(_Spec):
    """Lines with a common y axis, named by `label`; `limits` are its ends."""

    title: str
    label: str
    scale: Literal["linear", "log"] = "linear"
    limits: tuple[float, float] | None = None
    lines: tuple[CurveLine, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _increasing(self) -> "CurvesPanel":
        _check_limits(self.limits)
        return self


class CurvesPlot(_Spec):
    """Metrics over the training step, side by side, in the colours of the sizes in column `hue`.

    `values` selects sizes; those that a preset leaves out are not shown (default: all there are).
    """

    kind: Literal["curves"] = "curves"
    hue: str = "width"
    values: tuple[float, ...] | None = Field(default=None, min_length=1)
    panels: tuple[CurvesPanel, ...] = Field(min_length=1)
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return [line.grid for panel in self.panels for line in panel.lines]

    @model_validator(mode="after")
    def _labels_are_unique(self) -> "CurvesPlot":
        looks: dict[str, tuple[str, bool]] = {}
        for line in (line for panel in self.panels for line in panel.lines if line.label):
            look = (line.style, line.each)
            if looks.setdefault(str(line.label), look) != look:
                raise ValueError(f"the label '{line.label}' stands for lines of two styles")
        return self


class Slope(_Spec):
    """A grey guide line, proportional to x to the power of `exponent`."""

    exponent: float
    label: str


class ScalingRow(GridRow):
    """A panel: the quantity against the size `x`, one colour for each size in column `hue`."""

    x: Literal["width", "depth"]
    hue: str
    slopes: tuple[Slope, ...] = ()


class ScalingPlot(_RowsPlot):
    """A quantity against the size of the network, on a logarithmic axis, one panel for each row.

    `expected` is another quantity of the same cells, drawn as dashed lines.
    """

    kind: Literal["scaling"] = "scaling"
    quantity: Quantity
    expected: Quantity | None = None
    scale: Literal["linear", "log"] = "log"
    rows: tuple[ScalingRow, ...] = Field(min_length=1)
    symbols: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _powers_need_a_log_axis(self) -> "ScalingPlot":
        if self.scale == "linear" and any(row.slopes for row in self.rows):
            raise ValueError("slopes are straight lines on a log scale only")
        return self


def _check_limits(limits: tuple[float, float] | None) -> None:
    if limits and not limits[0] < limits[1]:
        raise ValueError(f"limits must increase, not {list(limits)}")


class Plot(NamedTuple):
    """A kind of plot: the module whose `draw` makes it, and the model of its options."""

    module: str
    model: type[BaseModel]


PLOTS: dict[str, Plot] = {
    "hyperparameter_map": Plot("scaling_limits.plotting.hyperparameter_map", HyperparameterMapPlot),
    "width_depth_map": Plot("scaling_limits.plotting.width_depth_map", WidthDepthMapPlot),
    "curves": Plot("scaling_limits.plotting.curves", CurvesPlot),
    "scaling": Plot("scaling_limits.plotting.scaling", ScalingPlot),
}


def parse(kind: str, plot: dict[str, Any]) -> BaseModel:
    """The validated options of a plot; raises KeyError (kind) or ValidationError (options)."""
    return PLOTS[kind].model.model_validate(plot)

"""What a figure's `plot:` may say, for each kind; importing this does not import matplotlib."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field, model_validator

from scaling_limits.quantities import Quantity
from scaling_limits.strict import Strict


class GridRow(Strict):
    """A row of panels that shows one grid of cells, in colours of its own; so is a control."""

    grid: str
    title: str | None = None


class TransferRow(GridRow):
    """One panel for each value of the column `panels`; all show the optimum of `reference`."""

    panels: str
    reference: float | None = None


class _RowsPlot(Strict):
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


class CurveLine(Strict):
    """A metric of one grid over the training step: one line for each size, in its colour.

    With `each: false` the grid has no sizes, as that of a limit: one line, in black. `label`
    explains the line's style in the legend.
    """

    grid: str
    metric: str
    style: Literal["solid", "dashed", "dotted"] = "solid"
    label: str | None = None
    each: bool = True


class CurvesPanel(Strict):
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


class CurvesPlot(Strict):
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
        _check_labels(line for panel in self.panels for line in panel.lines)
        return self


class Slope(Strict):
    """A grey guide line, proportional to x to the power of `exponent`."""

    exponent: float
    label: str


class SizeLine(Strict):
    """A quantity of one grid against x: one line for each value of the panel's hue, in its colour.

    With `each: false` the grid has one line, in black. `across` draws a grid that has a single x, as
    a limit has, over the whole of the other lines. `label` explains the line's style in the legend.
    """

    grid: str
    quantity: Quantity
    style: Literal["markers", "solid", "dashed", "dotted"] = "solid"
    label: str | None = None
    each: bool = True
    across: bool = False


class SizePanel(Strict):
    """Quantities against `x`, in the colours of column `hue`, or without it in one for each `label`.

    Both are columns of the cells, or an axis that the quantities keep (`layer`, `index`, `step`), or
    one over the depth (`relative_layer`, `relative_index`). `values` selects values of the hue, and
    `ring` marks the smallest or largest mean of each line.
    With `relative_to_first` every line is divided by its value at the smallest x. `over` names columns
    of which every point shows the best combination, that of the smallest or largest mean (`best`).
    """

    title: str
    x: str
    hue: str | None = None
    over: tuple[str, ...] = ()
    best: Literal["min", "max"] = "min"
    label: str
    x_label: str | None = None
    x_scale: Literal["linear", "log"] = "log"
    scale: Literal["linear", "log"] = "log"
    limits: tuple[float, float] | None = None
    values: tuple[float, ...] | None = Field(default=None, min_length=1)
    relative_to_first: bool = False
    ring: Literal["min", "max"] | None = None
    lines: tuple[SizeLine, ...] = Field(min_length=1)
    slopes: tuple[Slope, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> "SizePanel":
        _check_limits(self.limits)
        if self.slopes and "linear" in (self.scale, self.x_scale):
            raise ValueError("slopes are straight lines on logarithmic axes only")
        if self.hue is None and any(line.label is None or not line.each for line in self.lines):
            raise ValueError("without `hue` every line has a `label` and a colour of its own")
        if self.hue is None and self.values is not None:
            raise ValueError("`values` selects values of the `hue`")
        if all(line.across for line in self.lines):
            raise ValueError("a panel needs a line with an x of its own, one that is not `across`")
        if self.relative_to_first and any(line.across for line in self.lines):
            raise ValueError("a line `across` is the same everywhere: it has no first value")
        return self


class ScalingPlot(Strict):
    """Quantities against the size of the network, or along its depth, side by side.

    `hue_labels` names values of the hue, written as on an axis, in the legend (default: symbol =
    value).
    """

    kind: Literal["scaling"] = "scaling"
    panels: tuple[SizePanel, ...] = Field(min_length=1)
    hue_labels: dict[str, str] = Field(default_factory=dict)
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return [line.grid for panel in self.panels for line in panel.lines]

    @model_validator(mode="after")
    def _labels_are_unique(self) -> "ScalingPlot":
        _check_labels(line for panel in self.panels for line in panel.lines)
        return self


class TransferQuantity(Strict):
    """A row of panels: a quantity, and which of its values is best (none: no optimum is marked)."""

    quantity: Quantity
    label: str
    scale: Literal["linear", "log"] = "log"
    limits: tuple[float, float] | None = None
    best: Literal["min", "max"] | None = "min"

    @model_validator(mode="after")
    def _increasing(self) -> "TransferQuantity":
        _check_limits(self.limits)
        return self


class TransferPlot(Strict):
    """A quantity over one hyperparameter, one line for each size: does the optimum move?

    One column of panels for each grid of `panels`, one row for each of `rows`; panels of a row share
    their y axis. After `columns` of them the next ones stand below (default: all side by side).
    """

    kind: Literal["transfer"] = "transfer"
    x: str = "learning_rate"
    hue: str = "width"
    columns: int | None = Field(default=None, ge=1)
    rows: tuple[TransferQuantity, ...] = Field(min_length=1)
    panels: tuple[GridRow, ...] = Field(min_length=1)
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return [panel.grid for panel in self.panels]


class TableEntry(Strict):
    """A row of the table of parameterisations: a column, or a line, of the table that is shown.

    `gauge` (output_scaled) is the hidden layers' exponent a_l. The depth exponents (depth_scaling)
    belong to the row; constants of an entry that is not `transferable` are tuned at every depth.
    """

    title: str
    scheme: str
    update_rule: Literal["sgd", "adam"] = "sgd"
    gauge: float | None = None
    depth_exponent: float | None = None
    depth_lr_exponent: float | None = None
    transferable: bool = True


class ParameterisationTablePlot(Strict):
    """Rows of the table of parameterisations, in the form in which a paper prints them.

    - `init_and_rate` (pc-tp Table 1): exponents (b, c) of width of each layer, at a = 0;
    - `output_scaled` (pcn-limits Table 2): exponents (a, b, c, d) of width;
    - `depth_scaling` (depth-mup Table 1): branch multiplier and learning rate over depth;
    - `premultipliers` (mupc Table 1): multipliers of each layer and variance of the weights.
    """

    kind: Literal["parameterisation_table"] = "parameterisation_table"
    form: Literal["init_and_rate", "output_scaled", "depth_scaling", "premultipliers"]
    entries: tuple[TableEntry, ...] = Field(min_length=1)

    @property
    def grids(self) -> list[str]:
        """None: a table shows no cells."""
        return []

    @model_validator(mode="after")
    def _options_belong_to_the_form(self) -> "ParameterisationTablePlot":
        owners = {
            "gauge": "output_scaled",
            "depth_exponent": "depth_scaling",
            "depth_lr_exponent": "depth_scaling",
        }
        for entry in self.entries:
            for name, form in owners.items():
                if (getattr(entry, name) is None) == (form == self.form):
                    verb = "needs" if form == self.form else "has no"
                    raise ValueError(f"the form {self.form} {verb} {name} ('{entry.title}')")
        return self


def _check_limits(limits: tuple[float, float] | None) -> None:
    if limits and not limits[0] < limits[1]:
        raise ValueError(f"limits must increase, not {list(limits)}")


def _check_labels(lines: Iterable[CurveLine | SizeLine]) -> None:
    looks: dict[str, tuple[str, bool]] = {}
    for line in lines:
        look = (line.style, line.each)
        if line.label and looks.setdefault(line.label, look) != look:
            raise ValueError(f"the label '{line.label}' stands for lines of two styles")


class Plot(NamedTuple):
    """A kind of plot: the module whose `draw` makes it, and the model of its options."""

    module: str
    model: type[BaseModel]


PLOTS: dict[str, Plot] = {
    "hyperparameter_map": Plot("scaling_limits.plotting.hyperparameter_map", HyperparameterMapPlot),
    "width_depth_map": Plot("scaling_limits.plotting.width_depth_map", WidthDepthMapPlot),
    "curves": Plot("scaling_limits.plotting.curves", CurvesPlot),
    "scaling": Plot("scaling_limits.plotting.scaling", ScalingPlot),
    "transfer": Plot("scaling_limits.plotting.transfer", TransferPlot),
    "parameterisation_table": Plot(
        "scaling_limits.plotting.parameterisation_table", ParameterisationTablePlot
    ),
}


def parse(kind: str, plot: dict[str, Any]) -> BaseModel:
    """The validated options of a plot; raises KeyError (kind) or ValidationError (options)."""
    return PLOTS[kind].model.model_validate(plot)

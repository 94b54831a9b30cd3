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


class _Map(_Spec):
    quantity: Quantity
    x: str
    y: str
    x_label: str | None = None
    y_label: str | None = None
    symbols: dict[str, str] = Field(default_factory=dict)
    limits: tuple[float, float] | None = None

    @model_validator(mode="after")
    def _increasing(self) -> "_Map":
        if self.limits and not self.limits[0] < self.limits[1]:
            raise ValueError(f"limits must increase, not {list(self.limits)}")
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


class Plot(NamedTuple):
    """A kind of plot: the module whose `draw` makes it, and the model of its options."""

    module: str
    model: type[BaseModel]


PLOTS: dict[str, Plot] = {
    "hyperparameter_map": Plot("scaling_limits.plotting.hyperparameter_map", HyperparameterMapPlot),
    "width_depth_map": Plot("scaling_limits.plotting.width_depth_map", WidthDepthMapPlot),
}


def parse(kind: str, plot: dict[str, Any]) -> BaseModel:
    """The validated options of a plot; raises KeyError (kind) or ValidationError (options)."""
    return PLOTS[kind].model.model_validate(plot)

"""Quantities against a hyperparameter, a size or the training step, with one line for each network size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from scaling_limits.figures.metrics import Best, Centre, Scale
from scaling_limits.figures.needs import AXES, Grids, Use, none_selected, value_of
from scaling_limits.figures.quantities import Quantity
from scaling_limits.figures.shapes import GRIDS, QUANTITY, TEXTS, Shape
from scaling_limits.figures.written import MisplacedError, Names, Path, Written
from scaling_limits.plots import options
from scaling_limits.plots.options import Limits, PanelsOptions
from scaling_limits.strict import Strict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from scaling_limits.plots import lines
    from scaling_limits.plots.contract import Kind
    from scaling_limits.plots.figure_folder import FigureFolder
    from scaling_limits.plots.tables import GridResults
    from scaling_limits.plotting.page import Size

    _: Kind[Options] = lines

LINE: Shape = {"quantity": QUANTITY}
PANEL: dict[str, Shape] = {
    "title": str,
    "quantity": QUANTITY,
    "tuned_by": QUANTITY,
    "slope_along": {"at_least": float},
    "of": GRIDS,
    "each": GRIDS,
    "over": TEXTS,
    "against": {"*": str},
    "solid": str,
    "beside": [LINE],
    "lines": ([LINE], {"*": LINE}),
    "steps": [int],
}


class PowerOfX(Strict):
    """A power of x with the exponent `power`."""

    power: float

    @model_validator(mode="after")
    def _divides(self) -> PowerOfX:
        if self.power == 0:
            raise ValueError("power: 0 divides by one; leave `divided_by` out")
        return self


class Slope(Strict):
    """A grey guide line proportional to x to the power of `exponent`."""

    exponent: float
    label: str


class Level(Strict):
    """A grey horizontal guide line at a reference value."""

    value: float
    label: str = ""


class SlopeAlong(Strict):
    """The log-log slope of each seed along an axis that the quantity keeps, from `at_least` on."""

    axis: str
    at_least: float = Field(default=0.0, ge=0)


class Line(Strict):
    """A quantity of one grid, with one coloured line for each value of the panel's hue.

    With `each: false` the grid does not vary over the hue, as for a limit, and gives one black line. With `across`, a
    grid with a single x, or a quantity without the axis that is x, is drawn over the full range of the other lines.
    With `reference`, values are relative errors with respect to that grid at equal hue and seed, and at equal x if the
    quantity keeps this axis, as `step`, or the reference has several sizes x. As in claims `agrees_with`, a limit with
    a single value of the hue is compared with all of them, sizes x that the reference lacks are left out, and a
    reference that lacks some of the seeds is replaced by its mean over seeds. With `ratio_to`, values are ratios to
    those of that grid at equal hue, x and seed, each at its best point if the panel has `over`. If the quantity keeps
    an axis that is neither x nor the hue, as `step`, one line is drawn for each of its values, without a band. With
    `rms`, errors `per: step` are root mean squares over the steps, whose slope claims `agrees_with` bound. `label`
    names the line's style in the legend; in a panel without hue it names the line.
    """

    grid: str
    quantity: Quantity
    style: Literal["solid", "dashed", "dotted", "thin", "markers"] = "solid"
    label: str | None = None
    each: bool = True
    across: bool = False
    reference: str | None = None
    ratio_to: str | None = None
    rms: bool = False

    @property
    def compared_with(self) -> str | None:
        """The other grid with which values are compared, if there is one."""
        return self.reference or (self.ratio_to if self.ratio_to != self.grid else None)

    @model_validator(mode="after")
    def _squares_errors(self) -> Line:
        if self.rms and (self.reference is None or "step" not in self.quantity.kept_axes):
            raise ValueError(
                "`rms` is about errors: give a `reference`, and a quantity `per: step`"
            )
        return self


class Panel(options.Panel):
    """Lines against `x`, coloured by the column `hue`, or without `hue` by line.

    `x` and `hue` are columns of the cells, axes that the quantities keep (`layer`, `index`, `inference_step`, `step`),
    or relative axes (`relative_index`: divided by the depth; `relative_layer`: by the last layer). `values` selects
    values of the hue; values that a preset leaves out, of the line or of its reference, are not shown. With
    `divided_by`, values and guide lines are divided by a power of x, so that a line with this exponent is horizontal.
    With `over_hue`, x is divided by the value of the hue: lines coincide if only the ratio of both, as of width and
    depth, matters. With `relative`, every line is divided by its value at the smallest x that all lines have. `only`
    selects the cells with these values of other columns. `over` names columns that are optimised at every point. With
    `tuned_at`, the combination that is best at this value of the hue is shown everywhere, as for hyperparameters tuned
    at one size and transferred to others; `smallest` is the smallest x of each line. With `tuned_by`, the best
    combination is chosen by this quantity. `best` states whether small or large values are best (none for sizes or
    agreement). Lines show the `centre` of the seeds, mean or median, in a band over the seeds or, with `spread: seeds`,
    in front of a thin line for each seed, or alone with `spread: none`. The median of a quantity `below` a threshold
    counts seeds that never reach it as slowest; points with an infinite median are left out. With the `x_scale` `even`,
    the values of x are at equal distances. With `x_limits`, only this part of the lines is shown. With
    `stops_at_limits`, a line that leaves the `limits` ends there with an arrow. With `slope_along`, values are slopes
    of the quantity along an axis. `nearly` is the relative excess over the best value up to which the strip of optima
    marks x.
    """

    title: str
    x: str
    hue: str | None = None
    only: dict[str, float | str] = Field(default_factory=dict)
    over: tuple[str, ...] = ()
    tuned_at: float | Literal["smallest"] | None = None
    tuned_by: Quantity | None = None
    best: Best | None = "min"
    nearly: float = Field(default=0.1, gt=0)
    slope_along: SlopeAlong | None = None
    label: str
    x_label: str | None = None
    x_scale: Scale | Literal["even"] = "log"
    scale: Scale = "log"
    limits: Limits | None = None
    x_limits: Limits | None = None
    stops_at_limits: bool = False
    centre: Centre = "mean"
    spread: Literal["band", "seeds", "none"] = "band"
    values: tuple[float, ...] | None = Field(default=None, min_length=1)
    divided_by: PowerOfX | None = None
    over_hue: bool = False
    relative: bool = False
    lines: tuple[Line, ...] = Field(min_length=1)
    slopes: tuple[Slope, ...] = ()
    levels: tuple[Level, ...] = ()

    @property
    def grids(self) -> list[str]:
        """The grids whose values the panel shows."""
        return [line.grid for line in self.lines]

    @property
    def all_grids(self) -> list[str]:
        """The grids of the lines and of their references."""
        others = (name for line in self.lines for name in (line.reference, line.ratio_to))
        return [*self.grids, *(name for name in others if name)]

    @property
    def names(self) -> list[str]:
        """The unique name of each line: its label or grid, extended by its metric or number if names would coincide."""
        names = [line.label or line.grid for line in self.lines]
        names = [
            f"{name}, {line.quantity.metric}" if names.count(name) > 1 else name
            for name, line in zip(names, self.lines, strict=True)
        ]
        return [
            f"{name}, {number}" if names.count(name) > 1 else name
            for number, name in enumerate(names)
        ]

    def point_columns(self, line: Line) -> tuple[str, ...]:
        """Return the columns that identify a point: the hue, x if the quantity varies along it, and `further`."""
        hue = (self.hue,) if self.hue and line.each else ()
        has_x = not line.across or self.x not in AXES or self.x in line.quantity.kept_axes
        return (*hue, *([self.x] if has_x else []), *self.further(line))

    def repeated(self, line: Line) -> Sequence[str]:
        """Return the axis for each value of which one line is drawn, unless the line is a mean over it."""
        return () if line.rms else self.further(line)

    def further(self, line: Line) -> Sequence[str]:
        """Return the axis that a line's quantity keeps and that is neither x nor hue."""
        fitted = self.slope_along.axis if self.slope_along else None
        shown = [(name or "").removeprefix("relative_") for name in (self.x, self.hue, fitted)]
        return [axis for axis in line.quantity.kept_axes if axis not in shown][:1]

    def keeps_x(self, line: Line) -> bool:
        """Return whether x is an axis that the line's quantity keeps."""
        return self.x.removeprefix("relative_") in line.quantity.kept_axes

    def compared_at(self, line: Line) -> tuple[str, ...]:
        """Return the columns, besides the seed, at which a line is compared with its reference."""
        keeps_x = self.keeps_x(line)
        return tuple(c for c in self.point_columns(line) if c != self.x or keeps_x)

    def uses(self) -> Iterator[Use]:
        """Yield the quantities of the lines, of their references, and those by which the lines are tuned."""
        path = ("plot", "panels")
        for line in self.lines:
            by = self.point_columns(line)
            axis = (self.slope_along.axis,) if self.slope_along else ()
            for grid in (line.grid, line.ratio_to):
                if grid is not None:
                    columns = (*by, *axis, *self.over)
                    yield Use(path, (grid,), line.quantity, columns, self.only)
            if line.reference is not None:
                sizes = [self.x] if self.x in options.SIZES else []
                compared = tuple(dict.fromkeys([*self.compared_at(line), *sizes]))
                yield Use(path, (line.reference,), line.quantity, compared, self.only)
            if self.tuned_by is not None:
                points = by[:-1] if self.keeps_x(line) else by
                tuned = (*points, *self.over)
                yield Use((*path, "tuned_by"), (line.grid,), self.tuned_by, tuned, self.only)

    def problems(self, grids: Grids) -> Iterator[MisplacedError]:
        """Yield lines without the selected values, lines across with several x, and references that lack points."""
        path = ("plot", "panels")
        for line in self.lines:
            points = grids[line.grid].points
            if self.hue and line.each and self.hue not in AXES:
                selected = [] if self.values is None else [self.values]
                selected += [(self.tuned_at,)] if isinstance(self.tuned_at, float) else []
                for values in selected:
                    yield from none_selected(path, line.grid, self.hue, values, grids)
            if line.across and self.x not in AXES and self.x in grids[line.grid].columns:
                xs = {value_of(settings, self.x) for settings, _ in points}
                if len(xs) > 1:
                    problem = f"the grid '{line.grid}' has several values of {self.x}"
                    yield MisplacedError(path, f"{problem}: it cannot go across")
            if line.reference is not None:
                yield from self._reference_problems(line, line.reference, grids)

    def _reference_problems(
        self, line: Line, reference: str, grids: Grids
    ) -> Iterator[MisplacedError]:
        """Yield a problem if the reference of a line lacks points that the panel shows."""
        path = ("plot", "panels")
        columns = [c for c in self.compared_at(line) if c not in AXES]
        points, others = (
            [settings for settings, _ in grids[g].points] for g in (line.grid, reference)
        )
        if self.hue in columns:
            known = {value_of(settings, self.hue) for settings in others}
            if len(known) == 1 and all(value_of(settings, "limit") for settings in others):
                columns.remove(self.hue)
            elif self.values is not None:
                shown = [v for v in self.values if v in grids[line.grid].values(self.hue)]
                yield from none_selected(path, reference, self.hue, shown, grids)
                points = [p for p in points if value_of(p, self.hue) in known & set(shown)]
        line_points, reference_points = (
            {tuple(value_of(settings, c) for c in columns) for settings in cells}
            for cells in (points, others)
        )
        if line_points - reference_points:
            problem = f"the grid '{reference}' lacks values of {' and '.join(columns)}"
            yield MisplacedError(path, f"{problem} that '{line.grid}' has")

    def shown_exponent(self, slope: Slope) -> float:
        """Return the exponent of a guide line as drawn, that is, after division by the power of x."""
        return slope.exponent - (self.divided_by.power if self.divided_by else 0.0)

    @model_validator(mode="after")
    def _consistent(self) -> Panel:
        if self.slopes and (self.scale, self.x_scale) != ("log", "log"):
            raise ValueError("slopes are straight lines on logarithmic axes only")
        if self.scale == "log" and any(level.value <= 0 for level in self.levels):
            raise ValueError("levels: 0 and less have no place on a logarithmic axis")
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
        if self.divided_by is not None and self.x_scale != "log":
            raise ValueError(
                "`divided_by` takes powers of x, so x is positive: it needs `x_scale: log`"
            )
        if self.divided_by is not None and self.best is not None:
            raise ValueError("divided by a power of x, no value is best: leave `best` out")
        if self.over_hue and (self.hue is None or self.x_label is None):
            raise ValueError("`over_hue` divides x by the `hue`: give both it and an `x_label`")
        if self.over_hue and not all(line.each and not line.across for line in self.lines):
            raise ValueError("`over_hue` needs a value of the hue and of x in every line")
        if self.over and self.best is None and self.tuned_by is None:
            raise ValueError("`over` shows the best: the quantity needs `best`, or `tuned_by` one")
        if self.over and self.centre == "median":
            raise ValueError("`over` compares means over seeds: leave `centre: median` out")
        if self.stops_at_limits and self.limits is None:
            raise ValueError("`stops_at_limits` needs `limits`")
        if self.stops_at_limits and self.spread == "seeds":
            raise ValueError("`stops_at_limits` ends the centre: leave `spread: seeds` out")
        if self.tuned_by is not None and not self.over:
            raise ValueError("`tuned_by` says by what `over` is best")
        if self.tuned_at == "smallest" and not (self.over and self.x in options.SIZES):
            raise ValueError("`tuned_at: smallest` is the smallest size x at which `over` is best")
        if isinstance(self.tuned_at, float) and (self.hue is None or not self.over):
            raise ValueError("`tuned_at` is a value of the `hue` at which `over` is best")
        if self.slope_along is not None and (self.over or self.best is not None):
            raise ValueError(
                "no slope is best: with `slope_along` leave `over` out, and `best: null`"
            )
        if any(line.ratio_to for line in self.lines) and self.x not in options.SIZES:
            raise ValueError("`ratio_to` compares values at equal sizes: x should be a size")
        return self


class Options(PanelsOptions):
    """Panels of lines, with `wrap` panels in each row; comparable panels share their axes.

    They are written as `rows` (quantities) and `columns` (grids), or individually as `panels`. A row, or all rows, may
    be compared `against` the grids of another node, one for each column or one for all; these are drawn dashed with a
    label, and `solid` is then the label of the other lines. A row's `title` is added to the titles of its panels. With
    `transposed`, quantities are in columns, as for parts of training, and grids in rows; panels of different rows with
    equal labels and limits then share their y axis. Panels and their lines are written as a list, or as a
    mapping from names, by which a figure that extends another changes single ones.
    `hue_labels` names values of the hue, written as on an axis, in the legend (default: symbol = value). `symbols` maps
    a column of the cells to the paper's symbol (default: N for width, H or L for depth).
    """

    SHAPE: ClassVar[Shape] = {
        **PANEL,
        "panels": ([PANEL], {"*": PANEL}),
        "rows": [(str, PANEL)],
        "columns": GRIDS,
    }

    kind: Literal["lines"] = "lines"
    panels: tuple[Panel, ...] = Field(min_length=1)
    wrap: int = Field(default=3, ge=1)
    transposed: bool = False
    hue_labels: dict[str, str] = Field(default_factory=dict)
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return [grid for panel in self.panels for grid in panel.all_grids]

    @property
    def centres(self) -> set[str]:
        """The statistics over seeds that the panels show."""
        return {panel.centre for panel in self.panels}

    @property
    def shows_ratios(self) -> bool:
        """Whether a panel shows ratios to other grids or to the smallest x."""
        return any(
            panel.relative or any(line.ratio_to for line in panel.lines) for panel in self.panels
        )

    @model_validator(mode="after")
    def _labels_are_unique(self) -> Options:
        looks: dict[str, tuple[str, bool]] = {}
        for line in (line for panel in self.panels for line in panel.lines):
            look = (line.style, line.each)
            if line.label and looks.setdefault(line.label, look) != look:
                raise ValueError(f"the label '{line.label}' is used for lines of two styles")
        return self

    @classmethod
    def expand(cls, plot: Written, names: Names, path: Path) -> Written:
        """Expand `rows` of quantities and `columns` of grids to panels, or complete the panels given individually."""
        from scaling_limits.plots.lines.written import expand

        return expand(plot, names, path)

    def uses(self) -> Iterator[Use]:
        """Yield the quantities and columns that the panels use."""
        for panel in self.panels:
            yield from panel.uses()

    def tuned_columns(self) -> Iterator[tuple[str, str]]:
        """Yield each grid with the columns over which all its panels show the best value."""
        for grid in dict.fromkeys(self.grids):
            tuned = [set(panel.over) for panel in self.panels if grid in panel.grids]
            yield from (
                (grid, column) for column in sorted(set.intersection(*tuned) if tuned else ())
            )


def table(plot: Options, grids: GridResults) -> pd.DataFrame:
    """Return the quantity of each line at each point."""
    from scaling_limits.plots.lines.rows import of_panel
    from scaling_limits.plots.tables import panel_rows

    return panel_rows(of_panel(grids, panel) for panel in plot.panels)


def size(plot: Options, table: pd.DataFrame, widest: float) -> Size:
    """Return the size of the axes on a page that is `widest` inches wide."""
    from scaling_limits.plots.lines.drawing import strip_rows
    from scaling_limits.plots.lines.marks import STRIP_ROW
    from scaling_limits.plotting.page import shape

    rows, columns = shape(len(plot.panels), plot.wrap)
    width = min(widest / columns, 2.6)
    strips = STRIP_ROW * sum(strip_rows(plot, table))
    # a page with several rows of wide panels would be taller than a screen
    share = 0.62 if rows > 1 and columns < 3 else 0.75
    return columns * width, rows * (share * width + 0.35) + strips


def draw(figure: FigureFolder[Options], table: pd.DataFrame) -> Figure:
    """Draw the lines."""
    import seaborn as sns

    from scaling_limits.plots.lines.drawing import Lines

    page = Lines(figure, table)
    for panel, ax in page.panels:
        for points, look in page.lines(panel):
            # mean or median with a band over seeds, or single seeds
            sns.lineplot(points, x=panel.x, y="value", legend=False, ax=ax, **look)
        page.marks(panel, ax)  # guide lines, optima, divergence
    return page.finish()

"""Base classes for the options of plots, and functions that several kinds share."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, ClassVar, Self

from pydantic import (
    AfterValidator,
    Field,
    ModelWrapValidatorHandler,
    SerializeAsAny,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticKnownError

from scaling_limits.errors import ConfigurationError
from scaling_limits.figures.metrics import metric_info
from scaling_limits.figures.needs import Grids, Use, none_selected
from scaling_limits.figures.quantities import Quantity
from scaling_limits.figures.shapes import QUANTITY, SYMBOLS, Shape, misfits
from scaling_limits.figures.written import MisplacedError, Names, Path, Written
from scaling_limits.plots import registry
from scaling_limits.strict import Strict

SIZES = ("width", "depth", "target_dim")
"""Columns that are network sizes, over which no value is optimal."""
_COLUMNS = ("x", "y", "hue", "along")
"""Keys of plots and panels whose values are columns of the cells or axes of the records."""


def _increasing(limits: tuple[float, float]) -> tuple[float, float]:
    if not limits[0] < limits[1]:
        raise ValueError(f"limits must increase, not {list(limits)}")
    return limits


Limits = Annotated[tuple[float, float], AfterValidator(_increasing)]


class PlotOptions(Strict):
    """Base of the options of all kinds of plots; validating a plot with this class returns the options of its `kind`.

    A kind overrides the methods that state what it refers to. The configuration checks these references before any cell
    is computed.
    """

    SHAPE: ClassVar[Shape] = {"quantity": QUANTITY}
    """Types of the entries in a file, checked before `expand`."""

    kind: str

    @property
    def grids(self) -> list[str]:
        """The grids that the plot shows."""
        return []

    @property
    def kinds(self) -> set[str]:
        """The kinds of plots that draw it."""
        return {self.kind}

    @property
    def centres(self) -> set[str]:
        """The statistics over seeds, or the seed, that it shows."""
        return {"mean"}

    @property
    def shows_ratios(self) -> bool:
        """Whether it shows ratios, which claims about the best value judge."""
        return False

    @classmethod
    def misfits(cls, plot: Written, path: Path) -> Iterator[MisplacedError]:
        """Yield the entries of a written plot whose type is wrong."""
        yield from misfits(plot, {"kind": str, "symbols": SYMBOLS}, path)
        yield from misfits(plot, cls.SHAPE, path)

    @classmethod
    def expand(cls, plot: Written, names: Names, path: Path) -> Written:
        """Replace names and short forms in a written plot.

        By default a quantity may be given by name, and panels may be written by grid.

        Args:
            plot: the plot as written in the file.
            names: the paper's grids, quantities and symbols.
            path: the location of the plot in the file, for errors.

        Raises:
            MisplacedError: a grid or a quantity does not exist.
        """
        expanded = dict(plot)
        if "quantity" in plot:
            expanded["quantity"] = names.quantity(plot["quantity"], path)
        panels = by_grid(plot) if isinstance(plot.get("panels"), Mapping) else {}
        return {**expanded, **panels}

    def named_columns(self) -> Iterator[tuple[Path, str]]:
        """Yield the columns of cells and axes of records that the plot names, each with its path."""
        yield from _columns(self, ("plot",))

    def named_texts(self) -> Iterator[tuple[Path, str]]:
        """Yield the texts that may contain settings in braces, each with its path."""
        yield from ()

    def shown_quantities(self) -> Iterator[tuple[str, Quantity]]:
        """Yield the displayed quantities, each with its grid: by default those of `uses`, or else `quantity`."""
        uses = list(self.uses())
        yield from ((grid, use.quantity) for use in uses for grid in use.grids)
        quantity = getattr(self, "quantity", None)
        if not uses and isinstance(quantity, Quantity):
            yield from ((grid, quantity) for grid in self.grids)

    def tuned_columns(self) -> Iterator[tuple[str, str]]:
        """Yield each grid with the columns over which the best value is shown."""
        yield from ()

    def uses(self) -> Iterator[Use]:
        """Yield the quantities that the plot takes from the cells, with the columns that distinguish its points."""
        yield from ()

    def problems(self, grids: Grids) -> Iterator[MisplacedError]:
        """Yield problems of the plot with the cells of the grids that do not follow from `uses`."""
        yield from ()

    def fill(self, filled: Callable[[str, Iterable[str]], str]) -> Self:
        """Return the plot with its texts filled in.

        Args:
            filled: a function of a text and the grids that the text describes.
        """
        return self

    @classmethod
    def of_content(cls, content: object) -> "type[PlotOptions]":
        """Return the options class of a plot's kind, or this base class if the kind is unknown.

        Raises:
            ConfigurationError: a package's kind cannot be imported, or its options do not derive from this base.
        """
        kind = content.get("kind") if isinstance(content, Mapping) else None
        if not isinstance(kind, str) or kind not in registry.modules:
            return cls
        part = registry.part(kind)
        options: type[PlotOptions] = part.Options
        if not (isinstance(options, type) and issubclass(options, PlotOptions)):
            needed = f"{PlotOptions.__module__}.{PlotOptions.__name__}"
            raise ConfigurationError(
                None,
                f"{registry.kind} '{kind}': {part.__name__}.Options should be a subclass of {needed}",
            )
        return options

    @model_validator(mode="wrap")
    @classmethod
    def _as_its_kind(
        cls, content: object, handler: ModelWrapValidatorHandler[Self]
    ) -> "PlotOptions":
        """Validate a plot as the options of its kind."""
        if cls is not PlotOptions or not isinstance(content, Mapping):
            return handler(content)
        options = cls.of_content(content)
        if options is cls:
            raise no_kind(content, registry.modules)
        return options.model_validate(content)


Plot = SerializeAsAny[PlotOptions]
"""A plot of any kind, as the type of a model field."""


def no_kind(content: Mapping[str, object], valid: Iterable[str]) -> PydanticKnownError:
    """Return the validation error for a plot whose kind is missing or invalid."""
    if "kind" not in content:
        return PydanticKnownError("union_tag_not_found", {"discriminator": "'kind'"})
    tags = ", ".join(f"'{name}'" for name in valid)
    context = {"discriminator": "'kind'", "tag": str(content["kind"]), "expected_tags": tags}
    return PydanticKnownError("union_tag_invalid", context)


def expand(plot: Written, names: Names, path: Path) -> Written:
    """Expand a plot with its kind, and add the paper's symbols if the kind accepts symbols.

    A plot of unknown kind is returned unchanged.

    Raises:
        MisplacedError: a grid or a quantity does not exist.
    """
    options = PlotOptions.of_content(plot)
    if options is PlotOptions:
        return plot
    expanded = options.expand(plot, names, path)
    symbols = {**names.symbols, **(plot.get("symbols") or {})}
    return {**expanded, "symbols": symbols} if symbols and _has_symbols(options) else expanded


def _has_symbols(options: type[PlotOptions]) -> bool:
    return "symbols" in options.model_fields


def axis_keys(quantity: object) -> Written:
    """Return label, scale and direction of a quantity's metric, omitting default scales and directions."""
    try:
        known = metric_info(Quantity.model_validate(quantity))
    except ValidationError:
        return {"label": ""}  # an invalid quantity is the error to report, not its label
    keys = {"label": known.label, "scale": known.scale, "best": known.best}
    defaults = {"scale": "log", "best": "min"}
    return {key: value for key, value in keys.items() if value != defaults.get(key)}


def by_grid(plot: Written) -> Written:
    """Return panels written as `grid: {...}` as a list."""
    panels = plot.get("panels")
    if not isinstance(panels, Mapping):
        return {"panels": panels}
    return {"panels": [{"grid": grid, **(panel or {})} for grid, panel in panels.items()]}


class Panel(Strict):
    """Base of panels."""

    title: str | None = None

    @property
    def grids(self) -> list[str]:
        """The grids that the panel shows."""
        return []

    def problems(self, grids: Grids) -> Iterator[MisplacedError]:
        """Yield problems of the panel with the cells of the grids."""
        yield from ()


class GridPanel(Panel):
    """A panel of one grid."""

    grid: str

    @property
    def grids(self) -> list[str]:
        """The grids that the panel shows."""
        return [self.grid]


class AlongPanel(GridPanel):
    """A panel with a drawing for each value of the column `along`; `values` restricts the values.

    A `control` has a grey title. Neighbouring controls share a row if they fit side by side.
    """

    along: str
    values: tuple[float, ...] | None = Field(default=None, min_length=1)
    control: bool = False

    def problems(self, grids: Grids) -> Iterator[MisplacedError]:
        """Yield a problem if the grid has none of the selected values."""
        if self.values is not None:
            path = ("plot", "panels")
            yield from none_selected(path, self.grid, self.along, self.values, grids)


class PanelsOptions(PlotOptions):
    """Base of plots that consist of panels."""

    panels: tuple[Panel, ...]

    @property
    def grids(self) -> list[str]:
        """The grids that the panels show."""
        return [grid for panel in self.panels for grid in panel.grids]

    def named_columns(self) -> Iterator[tuple[Path, str]]:
        """Yield the columns that the plot and its panels name, each with its path."""
        yield from super().named_columns()
        for panel in self.panels:
            yield from _columns(panel, ("plot", "panels"))

    def named_texts(self) -> Iterator[tuple[Path, str]]:
        """Yield the titles of the panels."""
        yield from ((("plot",), panel.title) for panel in self.panels if panel.title)

    def problems(self, grids: Grids) -> Iterator[MisplacedError]:
        """Yield problems of the panels with the cells of the grids."""
        for panel in self.panels:
            yield from panel.problems(grids)

    def fill(self, filled: Callable[[str, Iterable[str]], str]) -> Self:
        """Return the plot with the titles of its panels filled in from the grids that they show."""
        panels = tuple(
            panel.model_copy(update={"title": filled(panel.title, panel.grids)})
            if panel.title
            else panel
            for panel in self.panels
        )
        return self.model_copy(update={"panels": panels})


class AlongOptions(PanelsOptions):
    """Base of plots whose panels have a drawing for each value of a column."""

    panels: tuple[AlongPanel, ...]
    symbols: dict[str, str] = Field(default_factory=dict)


def _columns(part: Strict, path: Path) -> Iterator[tuple[Path, str]]:
    for key in _COLUMNS:
        names = getattr(part, key, None)
        for name in (names,) if isinstance(names, str) else names or ():
            yield (*path, key), name

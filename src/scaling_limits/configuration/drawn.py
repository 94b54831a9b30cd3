"""From what is said of a figure to the typed model of it."""

import typing
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from scaling_limits import measurements
from scaling_limits.configuration import judging, plots
from scaling_limits.configuration.files import validate
from scaling_limits.configuration.models import Figure
from scaling_limits.configuration.paper import Composed, Paper
from scaling_limits.configuration.trees import Tree, origin_at, plain
from scaling_limits.configuration.words import MisplacedError, Words, label
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures import places
from scaling_limits.figures.metrics import METRICS
from scaling_limits.figures.plots import singles
from scaling_limits.figures.plots.lines import LinesPlot
from scaling_limits.figures.plots.results_table import ResultsTablePlot
from scaling_limits.figures.quantities import Axis, Quantity


def figure(paper: Paper, name: str, *, other_metrics: bool = False) -> Figure:
    """A figure as configured; with `other_metrics` there are algorithms that may record what the project does not know.

    Raises:
        ConfigurationError: there is none, or something of it is wrong: with file, line and what would be valid.
    """
    said, holder = paper.figure(name)
    composed = paper.experiment(holder) if holder is not None else None
    experiment = holder if composed is not None and composed.nodes else None
    words = _words(paper, name, holder, composed)
    try:
        content = {
            **plain(said.only(("title", "caption"))),
            "plot": plots.written_out(said.value("plot") or {}, words),
            "claims": judging.claims(plain(said.tree("claims"), nulls=True), words),
            "experiment": experiment,
        }
    except MisplacedError as error:
        where = ".".join(map(str, ("figures", name, *error.path)))
        raise ConfigurationError(f"{origin_at(said, error.path)}: {where}: {error}") from None
    found = validate(Figure, _by_number(said), content, f"figures.{name}.")
    for part, grids in (("plot.panels", found.plot.grids), ("claims", found.judged_grids)):
        for grid in grids:
            if grid not in words.nodes:
                where = f"{origin_at(said, tuple(part.split('.')))}: figures.{name}.{part}"
                raise ConfigurationError(f"{where}: {unknown('grid', grid, words.nodes)}")
    for path, grid, column in _best_over(found):
        if words.nodes[grid].settings.value(column) is None:
            where = f"{origin_at(said, path)}: figures.{name}.{'.'.join(path)}"
            raise ConfigurationError(f"{where}.over: the grid '{grid}' has no '{column}'")
    columns = {*paper.library.settings, *typing.get_args(Axis), "relative_layer", "relative_index"}
    for path, column in _columns(found):
        if column not in columns:
            where = f"{origin_at(said, path)}: figures.{name}.{'.'.join(path)}"
            raise ConfigurationError(f"{where}: {unknown('column', column, columns)}")
    for path, metric in () if other_metrics else _metrics(found):
        if metric not in _recorded():
            where = f"{origin_at(said, path)}: figures.{name}.{'.'.join(path)}"
            raise ConfigurationError(f"{where}: {unknown('metric', metric, _recorded())}")
    settings = {*paper.library.settings, *places.COUNTS}
    for path, text in _texts(found):
        for setting in places.named(text):
            if setting not in settings:
                where = f"{origin_at(said, path)}: figures.{name}.{'.'.join(path)}"
                raise ConfigurationError(f"{where}: {unknown('setting', setting, settings)}")
    return found


def _best_over(figure: Figure) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Where the best over a column is asked of a grid: path, grid, column."""
    for plot in singles(figure.plot):
        over: list[tuple[str, tuple[str, ...]]] = []
        if isinstance(plot, LinesPlot):
            over = [(line.grid, panel.over) for panel in plot.panels for line in panel.lines]
        elif isinstance(plot, ResultsTablePlot):
            over = [(grid, plot.over) for grid in plot.grids]
        yield from ((("plot",), grid, column) for grid, columns in over for column in columns)
    for claim in figure.claims:
        said = getattr(claim, "over", ())
        columns = (said,) if isinstance(said, str) else said
        yield from (
            (("claims", claim.id), g, column) for g in claim.all_grids for column in columns
        )


def _columns(figure: Figure) -> Iterator[tuple[tuple[str, ...], str]]:
    """The settings and axes of records that plots and claims go along or tell apart by, and where they are named."""
    for plot in singles(figure.plot):
        for key in ("x", "y", "hue", "along"):
            yield from ((("plot", key), name) for name in _names(getattr(plot, key, None)))
    for claim in figure.claims:
        for key in ("along", "by", "ratio", "where", "only", "decided_at"):
            said = getattr(claim, key, None)
            named = _names(getattr(said, "ratio", said))
            yield from ((("claims", claim.id, claim.kind, key), name) for name in named)


def _metrics(figure: Figure) -> Iterator[tuple[tuple[str, ...], str]]:
    """What plots and claims show or judge, and where."""
    for claim in figure.claims:
        yield ("claims", claim.id), claim.quantity.metric
    for plot in singles(figure.plot):
        for value in _within(plot):
            if isinstance(value, Quantity):
                yield ("plot",), value.metric


def _within(value: Any) -> Iterator[Any]:
    """A value, and all that it consists of."""
    yield value
    parts: Iterable[Any] = ()
    if isinstance(value, BaseModel):
        parts = (part for _, part in value)
    elif isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, list | tuple):
        parts = value
    for part in parts:
        yield from _within(part)


@cache
def _recorded() -> frozenset[str]:
    """The metrics of the project's algorithms and measurements."""
    modules = map(measurements.registry.part, measurements.registry.modules)
    return frozenset(METRICS).union(*(module.AXES for module in modules))


def _names(said: Any) -> tuple[str, ...]:
    """One name, several, or those that values are given for."""
    return (said,) if isinstance(said, str) else tuple(said or ())


def _texts(figure: Figure) -> Iterator[tuple[tuple[str, ...], str]]:
    """What is written on a figure with settings in it, and where that is said."""
    yield ("title",), figure.title
    yield ("caption",), figure.caption
    for plot in singles(figure.plot):
        for panel in getattr(plot, "panels", ()):
            yield ("plot",), panel.title or ""


def _words(paper: Paper, name: str, holder: str | None, composed: Composed | None) -> Words:
    shared = paper.shared(holder)
    said = composed.words.tree("judging") if composed else Tree(shared.origin)
    judging.refuse_unknown(shared.tree("judging"))
    judging.refuse_unknown(said)
    usual: dict[str, Any] = plain(shared.tree("judging"), nulls=True)
    return Words(
        label=label(paper.library.slug, name),
        symbols=plain(shared.tree("symbols")),
        quantities=plain(shared.tree("quantities")),
        judging=judging.combined(usual, plain(said, nulls=True)),
        nodes=composed.nodes if composed else {},
    )


def _by_number(said: Tree) -> Tree:
    """The figure with its claims by their number, as errors of the typed model call them."""
    named = said.tree("claims")
    claims = [claim for claim in named.values() if isinstance(claim, Tree)]
    numbered = Tree(named.origin, {str(number): claim for number, claim in enumerate(claims)})
    return Tree(said.origin, {**said, "claims": numbered})

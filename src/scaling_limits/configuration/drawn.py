"""From what is said of a figure to the typed model of it."""

from collections.abc import Iterator
from typing import Any

from scaling_limits.configuration import judging, plots
from scaling_limits.configuration.files import validate
from scaling_limits.configuration.models import Figure
from scaling_limits.configuration.paper import Composed, Paper
from scaling_limits.configuration.trees import Tree, origin_at, plain
from scaling_limits.configuration.words import MisplacedError, Words, label
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures import places
from scaling_limits.figures.plots import singles
from scaling_limits.figures.plots.lines import LinesPlot
from scaling_limits.figures.plots.results_table import ResultsTablePlot


def figure(paper: Paper, name: str) -> Figure:
    """A figure as configured.

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

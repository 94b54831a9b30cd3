"""Conversion of a figure as written to its typed model."""

import typing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial

from scaling_limits import measurements
from scaling_limits.configuration import judging
from scaling_limits.configuration.models import Figure
from scaling_limits.configuration.namespace import Namespace, label
from scaling_limits.configuration.paper import Composed, Paper
from scaling_limits.configuration.trees import Tree, origin_at, plain
from scaling_limits.configuration.validation import Location, combined, validate
from scaling_limits.errors import ConfigurationError, unknown
from scaling_limits.figures import placeholders
from scaling_limits.figures.metrics import METRICS
from scaling_limits.figures.quantities import Axis
from scaling_limits.figures.written import MisplacedError, Path
from scaling_limits.plots import options


def figure(paper: Paper, name: str, *, other_metrics: bool = False) -> Figure:
    """Return a figure as configured.

    Args:
        paper: the paper.
        name: the figure's name.
        other_metrics: whether user-defined algorithms may record metrics that the project does not know.

    Raises:
        ConfigurationError: the figure does not exist or is invalid; for each problem, the message names file, line, key
            and valid entries.
    """
    tree, holder = paper.figure(name)
    composed = paper.experiment(holder) if holder is not None else None
    experiment = holder if composed is not None and composed.nodes else None
    namespace = _namespace(paper, name, holder, composed, None if other_metrics else _recorded())
    written = _plot(tree.tree("plot"))
    plot, problems = _expanded(written, namespace)
    claims, claim_problems = judging.claims(plain(tree.tree("claims"), nulls=True), namespace)
    problems += claim_problems
    content = {
        **plain(tree.only(("title", "see", "caption"))),
        "plot": plot,
        "claims": claims,
        "experiment": experiment,
    }
    errors = [located(tree, name, problem) for problem in problems]
    resolved = None
    try:
        reported = {problem.path[:1] for problem in problems} - {("claims",)}
        in_file = partial(_with_names, written)
        resolved = validate(Figure, tree, content, f"figures.{name}.", in_file, reported)
    except ConfigurationError as error:
        errors.append(error)
    if resolved is not None:
        errors += [
            located(tree, name, problem) for problem in _misplaced(resolved, namespace, paper)
        ]
    if resolved is None or errors:
        raise combined(errors)
    return resolved


def _plot(written: Tree, *, nulls: bool = False) -> dict[str, object]:
    """Return a plot as plain values.

    `null` removes a key of the plot, or a panel or plot that has a name. Within a panel or plot that has a name it is
    kept, as in a list of them: it replaces a value that applies to all panels, or a default.
    """
    plot = plain(written, nulls=nulls)
    for parts in ("panels", "plots"):
        named = written.tree(parts)
        if named:
            entries = {
                name: _plot(entry, nulls=True) if isinstance(entry, Tree) else entry.value
                for name, entry in named.items()
            }
            plot[parts] = {name: entry for name, entry in entries.items() if entry is not None}
    return plot


def _with_names(plot: Mapping[str, object], location: Location) -> Location:
    """Return a location in a figure with the name of a plot, if it has one, instead of its number."""
    match location:
        case ("plot", "plots", int(number), *rest) if isinstance(plots := plot.get("plots"), dict):
            return ("plot", "plots", list(plots)[number], *rest)
    return location


def _expanded(plot: dict[str, object], namespace: Namespace) -> tuple[object, list[MisplacedError]]:
    """Return a plot with its names expanded, and the errors in its written form."""
    errors = list(options.PlotOptions.of_content(plot).misfits(plot, ("plot",)))
    try:
        return (plot if errors else options.expand(plot, namespace, ("plot",))), errors
    except MisplacedError as error:
        return plot, [error]


def located(tree: Tree, name: str, problem: MisplacedError) -> ConfigurationError:
    """Return the error about a problem of a figure, with file, line and key."""
    key = ".".join(map(str, ("figures", name, *problem.path)))
    return ConfigurationError(key, problem, place=origin_at(tree, problem.path))


def refuse_all(paper: Paper, name: str, problems: Sequence[MisplacedError]) -> None:
    """Reject a figure with problems.

    Raises:
        ConfigurationError: there are problems; the message has one line for each.
    """
    if problems:
        tree, _ = paper.figure(name)
        raise combined(located(tree, name, problem) for problem in problems)


@contextmanager
def misplaced(paper: Paper, name: str) -> Iterator[None]:
    """Convert a MisplacedError about a figure to a ConfigurationError with file, line and key.

    Raises:
        ConfigurationError: the body raises MisplacedError.
    """
    try:
        yield
    except MisplacedError as error:
        tree, _ = paper.figure(name)
        raise located(tree, name, error) from None


def refuse_unused_grids(paper: Paper, experiment: str) -> None:
    """Reject grids in an experiment's file that no figure shows or judges.

    Figures of the experiment and of experiments that extend it are considered.

    Raises:
        ConfigurationError: a grid is unused; the message suggests the nearest grid in use.
    """
    used: set[str] = set()
    for name in paper.library.experiments:
        try:
            extends = experiment in paper.chain(name)
            figures = paper.library.figures(name) if extends else ()
            used.update(
                *(figure(paper, figure_name, other_metrics=True).grids for figure_name in figures)
            )
        except ConfigurationError:
            if name == experiment:
                raise
            return  # an invalid file may show any grid
    nodes = paper.experiment(experiment).nodes
    for name, node in paper.library.experiment(experiment).tree("grids").items():
        for grid in nodes[name].grids if used and name in nodes else ():
            if grid not in used:
                problem = unknown("grid", grid, used)
                raise ConfigurationError(
                    f"grids.{name}", f"no figure shows or judges it: {problem}", place=node.origin
                )


def _misplaced(figure: Figure, namespace: Namespace, paper: Paper) -> Iterator[MisplacedError]:
    """Yield names of grids, columns and settings that do not exist, with the nearest valid ones."""
    # only grids without further grids below them have cells
    grids = namespace.every_grid()
    for path, grid in _grids(figure):
        if grid not in grids:
            yield MisplacedError(path, unknown("grid", grid, grids))
    for grid, column in figure.plot.tuned_columns():
        if grid in namespace.nodes and namespace.nodes[grid].settings.value(column) is None:
            axes = namespace.nodes[grid].settings
            problem = f"the grid '{grid}' has no '{column}': {unknown('column', column, axes)}"
            yield MisplacedError(("plot", "over"), problem)
    settings = paper.library.settings
    columns = {*settings, *typing.get_args(Axis), "relative_layer", "relative_index"}
    for path, column in figure.plot.named_columns():
        if column not in columns:
            yield MisplacedError(path, unknown("column", column, columns))
    known = {*settings, *placeholders.COUNTS}
    for path, text in _texts(figure):
        for setting in placeholders.named(text):
            if setting not in known:
                yield MisplacedError(path, unknown("setting", setting, known))


def _grids(figure: Figure) -> Iterator[tuple[Path, str]]:
    """Yield the grids that are drawn or judged, with the path of each reference."""
    yield from ((("plot", "panels"), grid) for grid in figure.plot.grids)
    yield from ((("claims",), grid) for grid in figure.judged_grids)


@cache
def _recorded() -> frozenset[str]:
    """Return the metrics of the project's algorithms and measurements."""
    modules = map(measurements.registry.part, measurements.registry.modules)
    return frozenset(METRICS).union(*(module.AXES for module in modules))


def _texts(figure: Figure) -> Iterator[tuple[Path, str]]:
    """Yield the texts of a figure that may contain placeholders, with their paths."""
    yield ("title",), figure.title
    yield ("see",), figure.see
    yield ("caption",), figure.caption
    yield from figure.plot.named_texts()


def _namespace(
    paper: Paper,
    name: str,
    holder: str | None,
    composed: Composed | None,
    metrics: frozenset[str] | None,
) -> Namespace:
    shared = paper.shared(holder)
    overrides = composed.entries.tree("judging") if composed else Tree(shared.origin)
    judging.refuse_unknown(shared.tree("judging"))
    judging.refuse_unknown(overrides)
    defaults: dict[str, object] = plain(shared.tree("judging"), nulls=True)
    return Namespace(
        label=label(paper.library.slug, name),
        symbols={key: str(value) for key, value in plain(shared.tree("symbols")).items()},
        quantities=plain(shared.tree("quantities")),
        judging=judging.combined(defaults, plain(overrides, nulls=True)),
        nodes=composed.nodes if composed else {},
        metrics=metrics,
    )

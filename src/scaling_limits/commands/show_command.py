"""The command `show`, which prints a figure's resolved configuration with the origin of each value."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import yaml

from scaling_limits.commands.invocation import refuse_figure_alone
from scaling_limits.commands.readable import aligned
from scaling_limits.configuration import Configuration
from scaling_limits.configuration.axes import is_axis
from scaling_limits.configuration.models import Figure
from scaling_limits.configuration.trees import Leaf, Origin, Tree, origin_at, plain
from scaling_limits.errors import ConfigurationError


def shown(configuration: Configuration, full_name: str) -> str:
    """Return the resolved configuration of a figure `<paper>/<figure>`, with the origin of each value.

    It lists settings grid by grid, measurements, plot and claims.

    Raises:
        ConfigurationError: the figure is unknown, or the configuration is invalid.
    """
    paper, slash, name = full_name.partition("/")
    if not slash:
        refuse_figure_alone(configuration, full_name)
        raise ConfigurationError(None, f"'{full_name}': a figure is <paper>/<figure>")
    figure = configuration.figure(paper, name)
    written, _ = configuration.paper(paper).figure(name)
    lines = [f"{full_name}, preset {configuration.main.preset}: {figure.title}"]
    if figure.experiment is not None:
        lines += _experiment(configuration, paper, figure.experiment, figure.grids)
    for part in ("plot", "claims"):
        if part in written:
            lines += ["", f"{part}  # {written[part].origin}", _indented(_part(figure, part))]
    return "\n".join(lines)


def _experiment(
    configuration: Configuration, paper: str, name: str, shown: Iterable[str]
) -> Iterator[str]:
    composed = configuration.paper(paper).experiment(name)
    points = configuration.points(paper, name)
    grids = {grid: composed.grids[grid] for grid in composed.grids if grid in set(shown)}
    replaced = configuration.substitutions(paper, name)
    settings = {grid: _substituted(node.settings, replaced) for grid, node in grids.items()}
    everywhere = _common(list(settings.values()))
    measured = _common([node.measurements for node in grids.values()])
    yield f"experiment {name}: {composed.entries.value('description')}"
    yield "\nin all of its grids that the figure shows or judges"
    yield _table(everywhere)
    for grid, node in grids.items():
        cells = sum(point.grid == grid for point in points)
        title = node.title()
        yield f"\ngrid {grid}{f' ({title})' if title else ''}, {cells} cells"
        specific = {k: v for k, v in _values(settings[grid]).items() if k not in everywhere}
        yield _table(specific)
        if further := {k: v for k, v in _values(node.measurements).items() if k not in measured}:
            yield "  measured here after how many updates"
            yield _table(further)
    if measured:
        yield "\nmeasured after how many updates"
        yield _table(measured)


def _substituted(settings: Tree, replaced: Mapping[str, str]) -> Tree:
    """Return settings with the datasets that are used, each origin with the datasets that they replace."""
    datasets = settings.value("dataset")
    names = list(map(str, datasets if isinstance(datasets, list) else [datasets]))
    wanted = [name for name in names if name in replaced]
    if not wanted:
        return settings
    used = [replaced.get(name, name) for name in names]
    origin = origin_at(settings, ("dataset",))
    origin = origin._replace(way=(*origin.way, f"in place of {', '.join(wanted)}"))
    leaf = Leaf(used if isinstance(datasets, list) else used[0], origin)
    return Tree(settings.origin, {**settings, "dataset": leaf})


def _values(settings: Tree) -> dict[str, tuple[object, Origin]]:
    return {key: (value, origin_at(settings, (key,))) for key, value in plain(settings).items()}


def _common(grids: Sequence[Tree]) -> dict[str, tuple[object, Origin]]:
    """Return the values that are equal in all trees and have the same origin."""
    each = [_values(settings) for settings in grids]
    first = each[0] if each else {}
    return {key: value for key, value in first.items() if all(o.get(key) == value for o in each)}


def _table(values: Mapping[str, tuple[object, Origin]]) -> str:
    if not values:
        return "  nothing else"
    lines = [
        (f"  {'*' if is_axis(value, key) else ' '} {key}", _as_yaml(value), str(origin))
        for key, (value, origin) in values.items()
    ]
    return aligned(lines, text_columns=3)


def _as_yaml(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=1000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")


def _part(figure: Figure, part: str) -> object:
    dumped = figure.model_dump(mode="json", exclude_unset=True)
    return dumped[part]


def _indented(content: object) -> str:
    text = yaml.safe_dump(content, sort_keys=False, width=116, allow_unicode=True)
    return "\n".join(f"  {line}" for line in text.splitlines())

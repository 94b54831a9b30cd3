"""From a figure's `plot`, as it is written, to the options of its kind (`figures/plots/`)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from scaling_limits.configuration.shapes import PLOTS, QUANTITY, SYMBOLS, misfits
from scaling_limits.configuration.words import MisplacedError, Words
from scaling_limits.figures.metrics import words_of
from scaling_limits.figures.plots import DRAWN_BY
from scaling_limits.figures.quantities import Quantity

Path = tuple[str | int, ...]
_AT: Path = ("plot",)
# of a plot of lines itself; all else that stands beside `kind` is of each of its panels
_PLOT = {"kind", "panels", "rows", "columns", "wrap", "hue_labels", "symbols"}
# of a table of results: a single name need not be a list
_LISTS = ("rows", "columns", "over")
# what panels of quantities over a hyperparameter have, if nothing else is said
_TRANSFER = {"x": "learning_rate", "hue": "width"}


def written_out(plot: dict[str, Any], words: Words) -> dict[str, Any]:
    """The plot with names replaced by what they stand for.

    Raises:
        MisplacedError: a grid or a quantity that is not there.
    """
    kind = plot.get("kind")
    if kind == "composite":
        return {**plot, "plots": _singles(plot, words)}
    if kind in _KINDS:
        plot = _KINDS[kind](plot, words)
    elif kind in DRAWN_BY.modules and kind not in DRAWN_BY.own:
        return _added(plot, words)
    else:
        return plot  # refused, or without cells
    symbols = {**words.symbols, **(plot.get("symbols") or {})}
    return {**plot, "symbols": symbols} if symbols else plot


def misfits_of(plot: dict[str, Any], path: Path = _AT) -> Iterator[MisplacedError]:
    """Yield the words of a plot whose type is wrong, before short forms are expanded."""
    yield from misfits(plot, {"kind": str, "symbols": SYMBOLS}, path)
    yield from misfits(plot, PLOTS.get(str(plot.get("kind")), {"quantity": QUANTITY}), path)
    if plot.get("kind") == "composite" and isinstance(plot.get("plots"), list):
        for number, single in enumerate(plot["plots"]):
            if isinstance(single, dict):
                yield from misfits_of(single, (*path, "plots", number))


def _singles(plot: dict[str, Any], words: Words) -> list[Any]:
    """The plots of a composite one."""
    found = []
    for number, single in enumerate(plot.get("plots") or []):
        path = (*_AT, "plots", number)
        try:
            found.append(written_out(single, words))
        except MisplacedError as error:
            raise MisplacedError((*path, *error.path[len(_AT) :]), str(error)) from None
    return found


def _drawn(quantity: Any) -> dict[str, Any]:
    """Label, scale and direction of a quantity's metric, where they are not those that all plots have."""
    try:
        known = words_of(Quantity.model_validate(quantity))
    except ValidationError:
        return {"label": ""}  # the quantity is refused with the plot, its label is not missing
    said = {"label": known.label, "scale": known.scale, "best": known.best}
    usual = {"scale": "log", "best": "min"}
    return {key: value for key, value in said.items() if value != usual.get(key)}


def _maps(plot: dict[str, Any], words: Words) -> dict[str, Any]:
    quantity = words.quantity(plot.get("quantity"), _AT)
    drawn = {key: value for key, value in _drawn(quantity).items() if key != "label"}
    return {**drawn, **plot, "quantity": quantity, **_by_grid(plot)}


def _lines(plot: dict[str, Any], words: Words) -> dict[str, Any]:
    own: dict[str, Any] = {
        key: plot[key] for key in ("kind", "wrap", "hue_labels", "symbols") if key in plot
    }
    shared = {key: value for key, value in plot.items() if key not in _PLOT}
    if plot.get("panels") is not None:
        for key in ("rows", "columns"):
            if key in plot:
                raise MisplacedError((*_AT, key), "stands in place of `panels`, not beside them")
        said = [((*_AT, "panels", index), part) for index, part in enumerate(plot["panels"])]
    else:
        said = _table(plot, words)
        shared = {**_TRANSFER, **shared}
        own = {"wrap": len(said) // len(plot["rows"]), **own} if said else own
    panels = []
    for path, panel in said:
        panels += _panels({**shared, **panel}, words, path)
    return {**own, "panels": panels}


def _results_table(plot: dict[str, Any], words: Words) -> dict[str, Any]:
    quantity = words.quantity(plot.get("quantity"), _AT)
    best = {key: value for key, value in _drawn(quantity).items() if key == "best"}
    plot = {
        key: [said] if isinstance(said, str) and key in _LISTS else said
        for key, said in plot.items()
    }
    entries: list[Any] = []
    for index, entry in enumerate(plot.get("entries") or []):
        path = (*_AT, "entries", index)
        if isinstance(entry, Mapping):
            for key in ("grid", "minus"):
                words.grids(entry.get(key, []), path)
            entries.append(entry)
        else:
            entries += [
                {"grid": grid, "title": title} for grid, title in words.titled([entry], path)
            ]
    return {**best, **plot, "quantity": quantity, "entries": entries}


def _table(plot: dict[str, Any], words: Words) -> list[tuple[Path, dict[str, Any]]]:
    """The panels of quantities in `rows` and grids in `columns` (default: every grid)."""
    rows = plot.get("rows")
    if rows is None:
        raise MisplacedError(_AT, "give `rows`, a list of quantities, or `panels`")
    chosen = plot.get("columns")
    columns = words.titled(words.every_grid() if chosen is None else chosen, (*_AT, "columns"))
    return [
        (
            (*_AT, "rows", index),
            {**_row(row), "of": {grid: title}, "title": grid if title is None else title},
        )
        for index, row in enumerate(rows)
        for grid, title in columns
    ]


def _row(said: Any) -> dict[str, Any]:
    """What a row says of its panels: a quantity, or one with label, scale and limits beside it."""
    return dict(said) if isinstance(said, Mapping) and "quantity" in said else {"quantity": said}


def _panels(panel: dict[str, Any], words: Words, path: Path) -> list[dict[str, Any]]:
    """The panels that one stands for: with `each`, one for each grid; with `steps`, one for each step."""
    if panel.get("steps") is not None:
        rest = {key: value for key, value in panel.items() if key != "steps"}
        at = [
            {**rest, "title": str(rest.get("title", "{}")).replace("{}", str(step))}
            for step in panel["steps"]
        ]
        for one, step in zip(at, panel["steps"], strict=True):
            one["lines"] = [_at(line, step) for line in rest.get("lines") or []]
        return [found for one in at for found in _panels(one, words, path)]
    if panel.get("each") is None:
        return [_panel(panel, words, path)]
    rest = {key: value for key, value in panel.items() if key != "each"}
    each = words.titled(panel["each"], path)
    return [
        _panel({"title": grid if title is None else title, **rest, "of": grid}, words, path)
        for grid, title in each
    ]


def _at(line: dict[str, Any], step: int) -> dict[str, Any]:
    """A line of the quantity at a training step."""
    said = line.get("quantity")
    quantity = said if isinstance(said, Mapping) else {"quantity": said}
    return {**line, "quantity": {**quantity, "reduce": "at", "step": step}}


def _panel(panel: dict[str, Any], words: Words, path: Path) -> dict[str, Any]:
    """A panel with its lines: written out, or those of the grids that it is `of`, each with those `beside` it."""
    if isinstance(panel.get("over"), str):
        panel = {**panel, "over": [panel["over"]]}
    if panel.get("tuned_by") is not None:
        judged = words.quantity(panel["tuned_by"], path)
        if _drawn(judged).get("best", "min") is None:
            raise MisplacedError((*path, "tuned_by"), "of this quantity no value is best")
        panel = {**panel, "tuned_by": judged}
    if panel.get("divided_by") is not None:
        if panel.get("label") is None:
            problem = "a metric's label is of the undivided values: give the panel a `label`"
            raise MisplacedError((*path, "divided_by"), problem)
        # what is best of the metric is not best of these
        panel = {"best": None, **panel}
    lines = panel.get("lines")
    if panel.get("of") is None:
        if lines:
            lines = [_line(line, words, path) for line in lines]
            panel = {**_drawn(lines[0].get("quantity")), **panel, "lines": lines}
        return panel
    of = ("of", "quantity", "beside")
    rest = {key: value for key, value in panel.items() if key not in of}
    beside = [_line(line, words, path) for line in panel.get("beside") or []]
    quantity = words.quantity(panel.get("quantity"), path)
    drawn = _drawn(quantity)
    lines = []
    for grid, title in words.titled(panel["of"], path):
        named = {} if rest.get("hue") else {"label": grid if title is None else title}
        lines.append({"grid": grid, "quantity": quantity, **named})
        lines += [{"grid": grid, **line} for line in beside]
    return {**drawn, **rest, "lines": lines}


def _line(line: dict[str, Any], words: Words, path: Path) -> dict[str, Any]:
    return {**line, "quantity": words.quantity(line.get("quantity"), path)}


def _exponent_plane(plot: dict[str, Any], words: Words) -> dict[str, Any]:
    said = dict(plot)
    if plot.get("points") is not None:
        nodes = plot["points"] if isinstance(plot["points"], list) else [plot["points"]]
        said["points"] = words.grids(nodes, (*_AT, "points"))
    if plot.get("quantities") is not None:
        said["quantities"] = {
            name: words.quantity(quantity, (*_AT, "quantities", name))
            for name, quantity in plot["quantities"].items()
        }
    return said


def _histograms(plot: dict[str, Any], words: Words) -> dict[str, Any]:
    quantity = words.quantity(plot.get("quantity"), _AT)
    panels = plot.get("panels")
    if isinstance(panels, str):
        titled = words.titled(panels, (*_AT, "panels"))
        panels = [{"grid": grid, "title": title} for grid, title in titled]
    return {**plot, "quantity": quantity, **_by_grid({"panels": panels})}


def _added(plot: dict[str, Any], words: Words) -> dict[str, Any]:
    """Of a package's kind what all may have: a quantity by its name, and panels by grid."""
    said = dict(plot)
    if "quantity" in plot:
        said["quantity"] = words.quantity(plot["quantity"], _AT)
    return {**said, **_by_grid(plot)} if isinstance(plot.get("panels"), Mapping) else said


def _by_grid(plot: dict[str, Any]) -> dict[str, Any]:
    """Panels that are written as `grid: {...}`, as a list."""
    panels = plot.get("panels")
    if not isinstance(panels, Mapping):
        return {"panels": panels}
    return {"panels": [{"grid": grid, **(panel or {})} for grid, panel in panels.items()]}


_KINDS: dict[str, Callable[[dict[str, Any], Words], dict[str, Any]]] = {
    "exponent_plane": _exponent_plane,
    "histograms": _histograms,
    "landscapes": lambda plot, words: {**plot, **_by_grid(plot)},
    "lines": _lines,
    "maps": _maps,
    "results_table": _results_table,
}

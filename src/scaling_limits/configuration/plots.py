"""From a figure's `plot`, as it is written, to the options of its kind (`figures/plots/`)."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from scaling_limits.configuration.words import MisplacedError, Words
from scaling_limits.figures.metrics import words_of
from scaling_limits.figures.quantities import Quantity

Path = tuple[str | int, ...]
_AT: Path = ("plot",)
# of a scaling plot itself; all else that stands beside `kind` is of each of its panels
_PLOT = {"kind", "panels", "hue_labels", "symbols"}


def written_out(plot: dict[str, Any], words: Words) -> dict[str, Any]:
    """The plot with names replaced by what they stand for.

    Raises:
        MisplacedError: a grid or a quantity that is not there.
    """
    kind = plot.get("kind")
    if kind not in _KINDS:
        return plot  # refused, or without cells
    plot = _KINDS[kind](plot, words)
    symbols = {**words.symbols, **(plot.get("symbols") or {})}
    return {**plot, "symbols": symbols} if symbols else plot


def _transfer(plot: dict[str, Any], words: Words) -> dict[str, Any]:
    rows = plot.get("rows")
    if isinstance(rows, list):
        rows = [_row(row, words, (*_AT, "rows", index)) for index, row in enumerate(rows)]
    panels = plot.get("panels")
    chosen = words.every_grid() if panels is None else panels
    titled = words.titled(chosen, (*_AT, "panels"))
    return {**plot, "rows": rows, "panels": [_titled(grid, title) for grid, title in titled]}


def _titled(grid: str, title: str | None) -> dict[str, Any]:
    return {"grid": grid} if title is None else {"grid": grid, "title": title}


def _row(said: Any, words: Words, path: Path) -> dict[str, Any]:
    """A row of a transfer plot: a quantity with label, scale and direction of its metric."""
    row = said if isinstance(said, Mapping) and "quantity" in said else {"quantity": said}
    quantity = words.quantity(row["quantity"], path)
    return {**_drawn(quantity), **row, "quantity": quantity}


def _drawn(quantity: Any) -> dict[str, Any]:
    """Label, scale and direction of a quantity's metric, where they are not those that all plots have."""
    try:
        known = words_of(Quantity.model_validate(quantity))
    except ValidationError:
        return {}  # refused with the plot
    said = {"label": known.label, "scale": known.scale, "best": known.best}
    usual = {"scale": "log", "best": "min"}
    return {key: value for key, value in said.items() if value != usual.get(key)}


def _maps(plot: dict[str, Any], words: Words) -> dict[str, Any]:
    quantity = words.quantity(plot.get("quantity"), _AT)
    panels = plot.get("panels")
    if isinstance(panels, Mapping):
        panels = [{"grid": grid, **panel} for grid, panel in panels.items()]
    drawn = {key: value for key, value in _drawn(quantity).items() if key != "label"}
    return {**drawn, **plot, "quantity": quantity, "panels": panels}


def _scaling(plot: dict[str, Any], words: Words) -> dict[str, Any]:
    shared = {key: value for key, value in plot.items() if key not in _PLOT}
    panels = []
    for index, panel in enumerate(plot.get("panels") or []):
        if not isinstance(panel, Mapping):
            raise MisplacedError((*_AT, "panels", index), f"should be a mapping, not {panel!r}")
        panels += _panels({**shared, **panel}, words, (*_AT, "panels", index))
    own = {key: value for key, value in plot.items() if key in _PLOT}
    return {**own, "panels": panels}


def _panels(panel: dict[str, Any], words: Words, path: Path) -> list[dict[str, Any]]:
    """The panels that one stands for: with `each`, one for each grid."""
    if "each" not in panel:
        return [_panel(panel, words, path)]
    rest = {key: value for key, value in panel.items() if key != "each"}
    each = words.titled(panel["each"], path)
    return [
        _panel({"title": grid if title is None else title, **rest, "of": grid}, words, path)
        for grid, title in each
    ]


def _panel(panel: dict[str, Any], words: Words, path: Path) -> dict[str, Any]:
    """A panel with its lines: written out, or those of the grids that it is `of`."""
    if isinstance(panel.get("over"), str):
        panel = {**panel, "over": [panel["over"]]}
    lines = panel.get("lines")
    if "of" not in panel:
        if isinstance(lines, list):
            panel = {**panel, "lines": [_line(line, words, path) for line in lines]}
        return panel
    rest = {key: value for key, value in panel.items() if key not in ("of", "quantity")}
    quantity = words.quantity(panel.get("quantity"), path)
    drawn = _drawn(quantity)
    best = drawn.pop("best", "min")
    if best != "min" and rest.get("over"):
        drawn["best"] = best
    if rest.get("ring") is True:
        rest["ring"] = best
    lines = []
    for grid, title in words.titled(panel["of"], path):
        named = {} if rest.get("hue") else {"label": grid if title is None else title}
        lines.append({"grid": grid, "quantity": quantity, **named})
    return {**drawn, **rest, "lines": lines}


def _line(line: Any, words: Words, path: Path) -> Any:
    if not isinstance(line, Mapping):
        return line
    return {**line, "quantity": words.quantity(line.get("quantity"), path)}


_KINDS: dict[str, Callable[[dict[str, Any], Words], dict[str, Any]]] = {
    "transfer": _transfer,
    "maps": _maps,
    "scaling": _scaling,
    "curves": lambda plot, words: plot,
}

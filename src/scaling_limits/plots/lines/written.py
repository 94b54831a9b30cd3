"""Expansion of the short written form of panels of lines."""

from collections.abc import Mapping

from scaling_limits.figures.written import MisplacedError, Names, Path, Written, entries
from scaling_limits.plots.options import axis_keys

_KEPT = ("kind", "transposed", "wrap", "hue_labels", "symbols")
"""Keys of the plot that stay as written."""
_PLOT = {*_KEPT, "panels", "rows", "columns", "against"}
"""Keys of the plot; all other keys are defaults for every panel."""
_TRANSFER = {"x": "learning_rate", "hue": "width"}
"""Defaults of panels in `rows` and `columns`."""


def expand(plot: Written, names: Names, path: Path) -> Written:
    """Return the plot with its panels written out.

    Raises:
        MisplacedError: a grid or a quantity does not exist, or keys exclude each other.
    """
    expanded: Written = {key: plot[key] for key in _KEPT if key in plot}
    shared = {key: value for key, value in plot.items() if key not in _PLOT}
    if plot.get("panels") is not None:
        for key in ("rows", "columns", "transposed"):
            if plot.get(key):
                raise MisplacedError((*path, key), "replaces `panels`; give one of the two")
        written = [((*path, "panels", key), part) for key, part in entries(plot["panels"])]
    else:
        written = _table(plot, names, path)
        shared = {**_TRANSFER, **shared}
        if written:
            rows = len(plot["rows"])
            in_row = rows if plot.get("transposed") else len(written) // rows
            expanded = {"wrap": in_row, **expanded}
    panels = []
    for location, panel in written:
        panel = {**shared, **panel}
        lines = {"lines": [line for _, line in entries(panel["lines"])]} if "lines" in panel else {}
        panels += _panels({**panel, **lines}, names, location)
    return {**expanded, "panels": panels}


def _table(plot: Written, names: Names, path: Path) -> list[tuple[Path, Written]]:
    """Return the panels of quantities in `rows` and grids in `columns` (default: all grids), row by row.

    With `transposed`, quantities are in columns and grids in rows.
    """
    rows = plot.get("rows")
    if rows is None:
        raise MisplacedError(path, "give `rows`, a list of quantities, or `panels`")
    chosen = plot.get("columns")
    columns = names.titled(names.every_grid() if chosen is None else chosen, (*path, "columns"))
    table: list[list[tuple[Path, Written]]] = []
    for index, row in enumerate(rows):
        location, panel = (*path, "rows", index), _row(row)
        row_title = panel.pop("title", None)
        comparisons = _against(
            panel.pop("against", plot.get("against")), len(columns), names, location
        )
        table.append([])
        for (grid, title), comparison in zip(columns, comparisons, strict=True):
            titles = (grid if title is None else title, row_title)
            column_keys: Written = {"of": {grid: title}, "title": ", ".join(filter(None, titles))}
            beside = [*panel.get("beside", []), *comparison]
            table[-1].append((location, {**panel, **column_keys, "beside": beside}))
    if plot.get("transposed"):
        table = [list(row) for row in zip(*table, strict=True)]
    return [panel for row in table for panel in row]


def _against(
    written: Mapping[str, str] | None, count: int, names: Names, path: Path
) -> list[list[Written]]:
    """Return, for each column, the dashed line of the grid that it is compared with.

    Args:
        written: a node with one grid, or with as many as there are columns, and its label; None for no comparison.
        count: the number of columns.
        names: the names of grids.
        path: the location of `written` in the file.
    """
    if not written:
        return [[] for _ in range(count)]
    (node, label), *_ = written.items()
    grids = [grid for grid, _ in names.titled(node, (*path, "against"))]
    if len(grids) == 1:
        grids *= count
    if len(grids) != count:
        problem = f"'{node}' has {len(grids)} grids, but there are {count} columns"
        raise MisplacedError((*path, "against"), problem)
    return [[{"grid": grid, "style": "dashed", "label": label}] for grid in grids]


def _row(row: object) -> Written:
    """Return the keys of the panels in a row: its quantity, and title, label, scale or limits if given."""
    return dict(row) if isinstance(row, Mapping) and "quantity" in row else {"quantity": row}


def _panels(panel: Written, names: Names, path: Path) -> list[Written]:
    """Return the panels that one panel expands to: one for each grid in `each`, one for each step in `steps`."""
    if panel.get("steps") is not None:
        rest = {key: value for key, value in panel.items() if key != "steps"}
        at = [
            {**rest, "title": str(rest.get("title", "{}")).replace("{}", str(step))}
            for step in panel["steps"]
        ]
        for step_panel, step in zip(at, panel["steps"], strict=True):
            step_panel["lines"] = [_at(line, step) for line in rest.get("lines") or []]
        return [panel for step_panel in at for panel in _panels(step_panel, names, path)]
    if panel.get("each") is None:
        return [_panel(panel, names, path)]
    rest = {key: value for key, value in panel.items() if key != "each"}
    written = str(rest.get("title", "{}"))
    return [
        _panel(
            {**rest, "of": grid, "title": written.replace("{}", grid if title is None else title)},
            names,
            path,
        )
        for grid, title in names.titled(panel["each"], path)
    ]


def _at(line: Written, step: int) -> Written:
    """Return a line with its quantity taken at a training step."""
    written = line.get("quantity")
    quantity = written if isinstance(written, Mapping) else {"quantity": written}
    return {**line, "quantity": {**quantity, "reduce": "at", "step": step}}


def _panel(panel: Written, names: Names, path: Path) -> Written:
    """Return a panel with its lines: as written, or one for each grid in `of`, each followed by the lines in `beside`.

    A line in `beside` has the panel's quantity and the same grid unless it names others.
    """
    if isinstance(panel.get("over"), str):
        panel = {**panel, "over": [panel["over"]]}
    if panel.get("tuned_by") is not None:
        judged = names.quantity(panel["tuned_by"], path)
        if axis_keys(judged).get("best", "min") is None:
            raise MisplacedError((*path, "tuned_by"), "of this quantity no value is best")
        panel = {**panel, "tuned_by": judged}
    if panel.get("divided_by") is not None:
        if panel.get("label") is None:
            problem = "a metric's label is of the undivided values: give the panel a `label`"
            raise MisplacedError((*path, "divided_by"), problem)
        # the best value of the metric need not be the best of the divided values
        panel = {"best": None, **panel}
    lines = panel.get("lines")
    if panel.get("of") is None:
        if lines:
            axis = names.axis(lines[0].get("quantity"))
            lines = [_line(line, names, path) for line in lines]
            panel = {**axis_keys(lines[0].get("quantity")), **axis, **panel, "lines": lines}
        return panel
    of = ("of", "quantity", "beside", "solid")
    rest = {key: value for key, value in panel.items() if key not in of}
    quantity = names.quantity(panel.get("quantity"), path)
    beside = [
        _line({"quantity": quantity, **line}, names, path) for line in panel.get("beside") or []
    ]
    lines = []
    for grid, title in names.titled(panel["of"], path):
        own = None if rest.get("hue") else grid if title is None else title
        label = panel.get("solid", own)
        named = {} if label is None else {"label": label}
        lines.append({"grid": grid, "quantity": quantity, **named})
        lines += [{"grid": grid, **line} for line in beside]
    return {**axis_keys(quantity), **names.axis(panel.get("quantity")), **rest, "lines": lines}


def _line(line: Written, names: Names, path: Path) -> Written:
    return {**line, "quantity": names.quantity(line.get("quantity"), path)}

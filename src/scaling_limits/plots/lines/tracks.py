"""The optima against the size that are drawn below panels over a hyperparameter."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from scaling_limits.files import JsonObject
from scaling_limits.plots import optima
from scaling_limits.plots.lines import Line, Panel, marks
from scaling_limits.plots.options import SIZES

if TYPE_CHECKING:
    from scaling_limits.plots.lines.drawing import Lines


def tracks_of(lines: Lines) -> list[optima.Track]:
    """Return the optima of each panel whose claim has located them, then those of the other panels.

    Claims about the largest x `within` a factor of the best value follow. Those that no claim has located are left out
    if a column already shows the optima of several panels. Lines drawn for comparison have none.
    """
    tracks: list[optima.Track] = []
    for within in sorted({claim.get("within") or 0.0 for claim in lines.figure.judged}):
        columns = [track.column for track in tracks]
        judged = list(_judged(lines, within))
        tracks += judged
        if len(columns) == len(set(columns)):
            tracks += _unjudged(lines, judged, within)
    return tracks


def judging(
    judged: Iterable[JsonObject], panel: Panel, line: Line, sharing: Collection[str] = ()
) -> JsonObject | None:
    """Return the first of the claims about optima that judges a line, or None.

    A claim whose optima are the best over further columns judges lines that are the best over these. Claims that name
    the line's grid precede those that name only parts of it, `sharing` its cells.
    """
    over_along = panel.x, panel.hue
    for grids in ([line.grid], sharing):
        claim = optima.judging(judged, over_along, grids, line.quantity, panel.over)
        if claim is not None:
            return claim
    return None


def _judged(lines: Lines, within: float) -> Iterator[optima.Track]:
    claims = [claim for claim in lines.figure.judged if (claim.get("within") or 0.0) == within]
    for number, panel in enumerate(lines.plot.panels):
        column, name = number % lines.columns, _name(lines, number, within)
        for line in panel.lines:
            if line.style != "solid":
                continue
            claim = judging(claims, panel, line)
            if claim is not None:
                track = optima.track_of(claim, line.grid, number, column, name)
            else:
                track = _shared(lines, number, line, claims, within)
            if track:
                yield track


def _shared(
    lines: Lines, number: int, line: Line, claims: Sequence[JsonObject], within: float
) -> optima.Track | None:
    """Return the optima of a line that a claim has located in a part of its grid, or None.

    At its other sizes the line has the optimum on the grid.
    """
    panel = lines.plot.panels[number]
    column, name = number % lines.columns, _name(lines, number, within)
    for rows in (rows for other, _, rows in lines.parts(panel) if other is line):
        sharing = lines.sharing(line, rows)
        claim = judging(claims, panel, line, sharing)
        if claim is None:
            continue
        located = [optima.track_of(claim, grid, number, column, name) for grid in sharing]
        for track in filter(None, located):
            sizes = {point[0] for point in track.points}
            best = [
                point for point in _on_grid(lines, panel, line, within) if point[0] not in sizes
            ]
            points = tuple(sorted([*track.points, *best], key=lambda point: point[0] or 0.0))
            return replace(track, points=points, on_grid=tuple(point[0] for point in best))
    return None


def _on_grid(
    lines: Lines, panel: Panel, line: Line, within: float
) -> list[tuple[float, float, float, float]]:
    """Return the optimum of a line on its grid, without an interval, at each value of the hue."""
    return [
        (value, x, x, x)
        for other, value, rows in lines.parts(panel)
        if other is line and value is not None
        if (x := marks.best_x(panel, rows, line.quantity, within)) is not None
    ]


def _unjudged(lines: Lines, judged: list[optima.Track], within: float) -> Iterator[optima.Track]:
    """Yield the optima of panels in which no claim has located any, if the plot shows any located ones.

    They are those of the judged quantities, or the best x of all quantities if the panels are in one row. A column
    shows the optima of one hyperparameter, that of its claims if it has any.
    """
    located = {track.panel for track in judged}
    over = {track.column: track.over for track in judged}
    quantities = {lines.plot.panels[track.panel].label for track in judged}
    is_row = bool(judged) and not within and len(lines.plot.panels) <= lines.columns
    for number, panel in enumerate(lines.plot.panels):
        column, hue = number % lines.columns, panel.hue
        if number in located or not (is_row or panel.label in quantities):
            continue
        if hue not in SIZES or not marks.is_tuned(panel) or over.get(column, panel.x) != panel.x:
            continue
        solid = [line for line in panel.lines if line.style == "solid"]
        best = [point for line in solid for point in _on_grid(lines, panel, line, within)]
        if len({size for size, *_ in best}) == len(best) > 1:
            name = _name(lines, number, within)
            yield optima.Track(number, column, name, hue, panel.x, tuple(best), judged=False)


def _name(lines: Lines, number: int, within: float) -> str:
    """Return the name of a panel's optima: what is shown `within` a factor, or else what distinguishes the panel."""
    if within:
        return f"largest within {100 * within:g} % of the lowest"
    return _in_column(lines, number)


def _in_column(lines: Lines, number: int) -> str:
    """Return what distinguishes a panel from others of its column.

    This is the header of its row, or else its quantity, the parts of its title that the others lack, or both.
    """
    header = lines.headers[0][number // lines.columns] if lines.headers else ""
    if header:
        return header
    column = lines.plot.panels[number % lines.columns :: lines.columns]
    titles = [panel.title.split(", ") for panel in column]
    panel = lines.plot.panels[number]
    phrases = [phrase for phrase in panel.title.split(", ") if not all(phrase in t for t in titles)]
    same = len({other.label for other in column}) == 1
    return ", ".join(phrases if same and phrases else [panel.label, *phrases])

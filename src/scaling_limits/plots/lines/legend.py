"""Legend of lines: blocks for the colours of sizes or lines, for line styles, and for marks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from scaling_limits.plots import optima
from scaling_limits.plots.lines import Line, Panel, fits, marks
from scaling_limits.plotting import style, text
from scaling_limits.plotting.page import Block

if TYPE_CHECKING:
    from scaling_limits.plots.lines.drawing import Lines

MARKERS = ("o", "s", "D", "^")
"""Markers of lines that are distinguished by colour."""
_MANY_SEEDS = 5  # with this many seeds the interquartile range is more informative than the range
_BANDS = {
    (False,): "min\N{EN DASH}max over seeds",
    (True,): "interquartile range over seeds",
    (False, True): "min\N{EN DASH}max (IQR from 5 seeds on)",
}
_CENTRES = {"mean": "", "median": "median and "}
"""The statistic over seeds before the words for the band; the mean is not named."""


def blocks(lines: Lines) -> list[Block]:
    """Return a block for each palette, one for line styles, one for marks and one for optima."""
    return [
        *_palettes(lines),
        Block("", _styles(lines)),
        Block("", marks.legend(lines.all_axes) | _spread(lines) | _fitted(lines)),
        Block(optima.title(lines.tracks), optima.legend(lines.tracks)),
    ]


def shows_half(line: Line, points: pd.DataFrame, panel: Panel) -> bool:
    """Return whether the band shows the interquartile range over seeds.

    Lines drawn as markers show the full range: error bars start at the mean, which may lie outside the interquartile
    range. Repeated lines have no band.
    """
    if line.style == "markers" or panel.repeated(line) or not len(points):
        return False
    return bool(points.groupby(panel.x).size().max() >= _MANY_SEEDS)


def _palettes(lines: Lines) -> list[Block]:
    """Return a block for each palette, titled by the symbol of its hue.

    If a hue has several palettes, the title also names the network.
    """
    palette_blocks = []
    plot, hues = lines.plot, [hue for hue, _ in lines.colours]
    for (hue, network), palette in lines.colours.items():
        panels = lines.sharing_palette((hue, network))
        if hue is None:
            palette_blocks.append(Block("", _individual(lines, panels)))
            continue
        marker = MARKERS[0] if any(lines.is_marked(panel) for panel in panels) else None
        entries: dict[str, Artist] = {}
        for value, colour in palette.items():
            name = plot.hue_labels.get(f"{value:g}", text.short(float(value)))
            entries[name] = Line2D([], [], color=colour, marker=marker, markersize=3.0)
        title = ""
        # without a symbol if all values have names
        if not all(f"{value:g}" in plot.hue_labels for value in palette):
            title = text.axis_label(hue, lines.figure.results.cells, plot.symbols)
            title += f" ({_shared_phrases(lines, hue, network)})" if hues.count(hue) > 1 else ""
        palette_blocks.append(Block(title, entries))
    return palette_blocks


def _individual(lines: Lines, panels: Iterable[Panel]) -> dict[str, Artist]:
    """Return the entries of lines that have colours of their own, as they look in the first panel that has them."""
    entries: dict[str, Artist] = {}
    for panel in panels:
        for line in panel.lines:
            if line.label and line.label not in entries:
                entries[line.label] = Line2D([], [], **lines.look(panel, line, None))
    return entries


def _shared_phrases(lines: Lines, hue: str | None, network: str) -> str:
    """Return the phrases shared by the titles of all panels of a palette, or else the names of their networks."""
    panels = lines.sharing_palette((hue, network))
    titles = [panel.title.split(", ") for panel in panels]
    shared = ", ".join(
        phrase for phrase in titles[0] if all(phrase in phrases for phrases in titles)
    )
    networks = dict.fromkeys(lines.kind(panel)[1] for panel in panels)
    return shared or ", ".join(map(text.name, networks))


def _styles(lines: Lines) -> dict[str, Artist]:
    """Return an entry for each labelled style, unless lines with colours of their own show it as well.

    An entry also shows the mark of its optima in the strip below the axes.
    """
    panels = lines.plot.panels
    in_strips = {line.label for panel in panels if marks.is_tuned(panel) for line in panel.lines}
    coloured = {line.label for panel in panels if panel.hue is None for line in panel.lines}
    entries: dict[str, Artist] = {}
    for panel in panels:
        for line in panel.lines:
            if line.label and panel.hue is not None and line.label not in coloured:
                look = {"markersize": 3.0, **style.LINES[line.style]}
                if line.across:
                    look["marker"] = None
                look["color"] = "0.35" if line.each else "black"
                if line.label in in_strips:
                    look |= marks.optimum_mark(look["color"], solid=line.style == "solid")
                entries[line.label] = Line2D([], [], **look)
    return entries


def _fitted(lines: Lines) -> dict[str, Artist]:
    """Return the entry of fitted slopes if a panel has any."""
    slopes = [slope for panel in lines.plot.panels for slope in lines.slopes(panel)]
    if not slopes:
        return {}
    label = fits.LEGEND
    if any(slope.interval for slope in slopes):
        label += fits.WITH_INTERVAL
    if any(slope.fitted for slope in slopes):
        label += fits.PART
    look: style.Look = {"marker": "$1.0$", "markersize": 9.0, "markeredgewidth": 0.0}
    return {label: Line2D([], [], linestyle="none", color="0.35", **look)}


def _spread(lines: Lines) -> dict[str, Artist]:
    """Return the entries of single seeds with their centres, and of bands."""
    halves: dict[str, set[bool]] = {}
    single: dict[str, Artist] = {}
    for panel in lines.plot.panels:
        for line, _, rows in lines.parts(panel):
            if not rows.duplicated(panel.x).any() or line.across or panel.repeated(line):
                continue
            if panel.spread == "none":
                continue
            if panel.spread == "seeds":
                single[f"{panel.centre} over seeds"] = Line2D([], [], color="0.35", linewidth=0.9)
                single["single seed"] = Line2D([], [], color="0.35", linewidth=0.5, alpha=0.6)
            else:
                halves.setdefault(panel.centre, set()).add(shows_half(line, rows, panel))
    return single | {
        _CENTRES[centre] + _BANDS[tuple(sorted(of_centre))]: Patch(facecolor="0.88", linewidth=0.0)
        for centre, of_centre in halves.items()
    }

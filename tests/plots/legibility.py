"""What makes a drawn figure hard to read, found from its artists: a list of faults, empty for a good figure."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox
from plotting_records import blocks

TOUCHING = 2.0
"""Pixels by which boxes of texts may reach into each other: they have room above and below the letters."""
LEAST_USED = 1 / 3
LARGEST_LEGEND = 0.3
_EDGE = 1.0  # pixels
_GREY = 0.05  # the most that channels of a grey differ


def axes_of(figure: Figure) -> list[Axes]:
    """All axes, with those inside of others."""
    return [each for ax in figure.axes for each in (ax, *ax.child_axes)]


def texts(figure: Figure) -> list[tuple[str, Bbox]]:
    """The texts that are drawn, with their boxes in pixels."""
    figure.draw_without_rendering()
    labels = {id(label) for ax in axes_of(figure) for label in _tick_labels(ax)}
    of_ticks = {id(label) for ax in axes_of(figure) for label in _every_tick_label(ax)}
    found = []
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        hidden = id(text) in of_ticks and id(text) not in labels
        if text.get_text().strip() and text.get_visible() and not hidden and _is_inside(text):
            found.append((text.get_text(), _box(text)))
    return found


def _box(text: Text) -> Bbox:
    """The box of a text without the empty lines below it, which keep it off what is below."""
    box, words = text.get_window_extent(), text.get_text()
    lines = words.count("\n") + 1
    empty = lines - words.rstrip("\n").count("\n") - 1
    return Bbox.from_extents(box.x0, box.y0 + box.height * empty / lines, box.x1, box.y1)


def _every_tick_label(ax: Axes) -> Iterator[Text]:
    for axis in (ax.xaxis, ax.yaxis):
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            yield from (tick.label1, tick.label2)


def _tick_labels(ax: Axes) -> Iterator[Text]:
    """The labels of ticks within the view of axes that have axes."""
    if not ax.axison:
        return
    for number, axis in enumerate((ax.xaxis, ax.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for label in axis.get_majorticklabels():
            if low <= label.get_position()[number] <= high:
                yield label


def _is_inside(text: Text) -> bool:
    """Whether an annotation of a point is within its axes, outside of which it is not drawn."""
    if not isinstance(text, Annotation) or text.axes is None or text.xycoords != "data":
        return True
    return bool(text.axes.bbox.contains(*text.axes.transData.transform(text.xy)))


def overlapping_texts(figure: Figure) -> list[str]:
    """Pairs of texts that overlap."""
    faults = []
    for (one, box), (other, its_box) in combinations(texts(figure), 2):
        width = min(box.x1, its_box.x1) - max(box.x0, its_box.x0)
        height = min(box.y1, its_box.y1) - max(box.y0, its_box.y0)
        if min(width, height) > TOUCHING:
            faults.append(f"{one!r} and {other!r} overlap")
    return faults


def texts_off_the_page(figure: Figure) -> list[str]:
    """Texts that leave the page."""
    page = figure.bbox
    return [
        f"{words!r} leaves the page"
        for words, box in texts(figure)
        if min(box.x0, box.y0) < -_EDGE or box.x1 > page.x1 + _EDGE or box.y1 > page.y1 + _EDGE
    ]


def large_legends(figure: Figure) -> list[str]:
    """The legends, if they take too much of the page."""
    boxes = [legend.get_window_extent() for legend in figure.findobj(Legend)]
    share = sum(box.width * box.height for box in boxes) / (figure.bbox.width * figure.bbox.height)
    return [f"legends take {share:.0%} of the page"] if share > LARGEST_LEGEND else []


def _points(ax: Axes) -> np.ndarray:
    """What lines and bands pass through in shares of the axes [n, 2], where that is within them."""
    parts = [np.empty((0, 2))]
    for line in ax.lines:
        if line.get_transform() == ax.transData and len(line.get_xdata()):
            parts.append(np.asarray(line.get_xydata(), float))
    for shown in ax.collections:
        parts += [np.asarray(path.vertices, float) for path in shown.get_paths()]
    points = np.concatenate(parts)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = ax.transAxes.inverted().transform(ax.transData.transform(points))
    inside: np.ndarray = np.isfinite(shares).all(axis=1) & (np.abs(shares - 0.5) <= 0.51).all(
        axis=1
    )
    return shares[inside]


def empty_axes(figure: Figure) -> list[str]:
    """Axes of which the data of all panels with these limits use too little; a single value has no range."""
    groups: dict[tuple[object, ...], list[np.ndarray]] = {}
    for ax in figure.axes:
        points = _points(ax) if ax.axison else np.empty((0, 2))
        # maps fill their axes, and so do their colour bars
        if len(points) and not any(isinstance(each, QuadMesh) for each in ax.collections):
            for number, limits in enumerate((ax.get_xlim(), ax.get_ylim())):
                groups.setdefault(("xy"[number], *limits), []).append(points[:, number])
    faults = []
    for (name, low, high), parts in groups.items():
        used = float(np.ptp(np.concatenate(parts)))
        if 0 < used < LEAST_USED:
            faults.append(f"data use {used:.0%} of the {name} axis from {low:.3g} to {high:.3g}")
    return faults


def shared_colours(figure: Figure) -> list[str]:
    """Pairs of entries of legends that have one colour; greys are for styles, and marks differ in shape as well."""
    entries = [
        (label, *_colour(handle)) for block in blocks(figure) for label, handle in block.items()
    ]
    coloured = [each for each in entries if max(each[1]) - min(each[1]) > _GREY]
    return [
        f"{one!r} and {other!r} have one colour"
        for (one, colour, mark), (other, its, its_mark) in combinations(coloured, 2)
        if np.allclose(colour, its, atol=1e-3) and (mark == its_mark or not (mark and its_mark))
    ]


def _colour(handle: Artist) -> tuple[tuple[float, ...], str]:
    """The colour of an entry, and its shape if it is a mark alone."""
    if not isinstance(handle, Line2D):
        assert isinstance(handle, Patch)
        return to_rgb(handle.get_facecolor()), ""
    if handle.get_linestyle() != "None":
        return to_rgb(handle.get_color()), ""
    face = handle.get_markerfacecolor()
    hollow = isinstance(face, str) and face == "none"
    return to_rgb(handle.get_markeredgecolor() if hollow else face), str(handle.get_marker())


CHECKS = (overlapping_texts, texts_off_the_page, large_legends, empty_axes, shared_colours)


def faults(figure: Figure) -> list[str]:
    """All faults of a figure."""
    return [fault for check in CHECKS for fault in check(figure)]

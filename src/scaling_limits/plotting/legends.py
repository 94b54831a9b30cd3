"""The legend at the foot of a page: its entries, and the lines that they stand in."""

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from scaling_limits.plotting import page, style, text
from scaling_limits.plotting.colours import Colour
from scaling_limits.records import Results

# Inches.
_LINE, _ABOVE = 0.175, 0.05
_ENTRY = 0.42  # an entry without its words

Handle = Line2D | Patch


def size_handles(
    column: str,
    colours: dict[float, Colour],
    results: Results,
    symbols: dict[str, str],
    labels: dict[str, str] | None = None,
    **look: Any,
) -> dict[str, Handle]:
    """The legend's entries for sizes: as `labels` names their short numbers, or symbol = value."""
    size, labels = text.symbol(column, results, symbols), labels or {}
    return {
        labels.get(text.short(v), f"${size}$ = {text.short(v)}"): Line2D([], [], color=c, **look)
        for v, c in colours.items()
    }


def best_handle() -> dict[str, Handle]:
    """The legend's entry for rings."""
    return {"best": Line2D([], [], color="0.35", **style.OPTIMUM)}


def band_handle() -> dict[str, Handle]:
    """The legend's entry for bands over seeds."""
    return {"range over seeds": Patch(facecolor="0.8", linewidth=0.0)}


def bar_handle() -> dict[str, Handle]:
    """The legend's entry for bars over seeds."""
    bar = Line2D([], [], color="0.35", marker="|", markersize=6.0, linestyle="none")
    return {"range over seeds": bar}


def diverged_handle() -> dict[str, Handle]:
    """The legend's entry for crosses."""
    return {"diverged (at least one seed)": Line2D([], [], color="0.35", **style.DIVERGED)}


def lines(legend: Iterable[dict[str, Handle]], page_width: float) -> list[dict[str, Handle]]:
    """The lines of a legend: each group of entries on as few, about equally full, as will do."""
    return [line for group in legend for line in _fitting(group, page_width - 0.2)]


def height(lines: Sequence[dict[str, Handle]]) -> float:
    """The height in inches of the lines of a legend."""
    return len(lines) * _LINE + _ABOVE


def add_lines(figure: Figure, lines: Sequence[dict[str, Handle]], axes: Sequence[Axes]) -> None:
    """Write the lines of a legend at the foot of the page, under the middle of some axes."""
    for index, handles in enumerate(lines, start=1):
        add_line(figure, handles, page.centre_of(axes), (len(lines) - index) * _LINE)


def add_line(
    figure: Figure, handles: dict[str, Handle], centre: float, bottom: float = 0.0
) -> None:
    """One line of a legend, `bottom` inches above the page's lower edge; `centre` is relative."""
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="lower center",
        bbox_to_anchor=(centre, bottom / figure.get_size_inches()[1]),
        ncols=len(handles),
        borderaxespad=0.2,
        handletextpad=0.5,
    )


def _fitting(handles: dict[str, Handle], width: float) -> list[dict[str, Handle]]:
    """A legend's entries on as few lines of `width` inches, about equally full, as will do."""
    names = list(handles)
    for number in range(1, len(names) + 1):
        most = -(-len(names) // number)
        lines = [names[i : i + most] for i in range(0, len(names), most)]
        if most == 1 or all(
            sum(text.width_of(name, style.SMALL) + _ENTRY for name in line) <= width
            for line in lines
        ):
            return [{name: handles[name] for name in line} for line in lines]
    return []

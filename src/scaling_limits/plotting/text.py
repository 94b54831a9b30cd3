"""Text on figures: short numbers, tick labels that fit, lines that wrap at a measured width."""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from scaling_limits.records import Results

_SYMBOLS = {"width": "N", "learning_rate": r"\eta", "activity_learning_rate": r"\beta", "step": "t"}
_NAMES = {
    "step": "training step",
    "learning_rate": "weight learning rate",
    "activity_learning_rate": "activity learning rate",
}


def short(value: float) -> str:
    """A number as it stands on an axis: plain where that is short, else with a power of ten.

    >>> [short(v) for v in (64, 0.05, 1000, 1e-5, 5e-4)]
    ['64', '0.05', '1000', '$10^{-5}$', '$5{\\\\cdot}10^{-4}$']
    """
    if value == 0 or 1e-3 < abs(value) < 1e4:
        return f"{value:.4g}"
    exponent = math.floor(math.log10(abs(value)) + 1e-9)
    mantissa = f"{value / 10.0**exponent:.3g}"
    return f"$10^{{{exponent}}}$" if mantissa == "1" else f"${mantissa}{{\\cdot}}10^{{{exponent}}}$"


def value_labels(values: Sequence[float]) -> list[str]:
    """Labels for the values of one axis: whole numbers, powers of two, or short decimals."""
    whole = all(float(v).is_integer() for v in values)
    if not whole and all(v > 0 and math.log2(v).is_integer() for v in values):
        return [f"$2^{{{round(math.log2(v))}}}$" for v in values]
    return [short(v) for v in values]


def are_short(values: Sequence[float]) -> bool:
    """Whether all values can stand on an axis: whole, powers of two, or of one significant digit."""
    return len(values) <= 16 and all(
        float(v).is_integer() or math.log2(v).is_integer() or float(f"{v:.0e}") == v for v in values
    )


def readable_subset(
    values: Sequence[float], extents: Sequence[float], places: Sequence[float]
) -> list[int]:
    """The indices to label, so that labels of `extents` inches at `places`, in inches, do not touch.

    All of them, else the powers of ten, else every second (third, ...) power of ten or value. Powers
    of ten alone make an axis look logarithmic: only where they are as far apart as on one.
    """
    everything = list(range(len(values)))
    decades = [i for i in everything if values[i] > 0 and f"{values[i]:e}".startswith("1.000000e")]
    choices = [everything]
    steps = [
        (places[b] - places[a]) / math.log(values[b] / values[a]) for a, b in pairwise(decades)
    ]
    if steps and math.isclose(min(steps), max(steps), rel_tol=1e-6):
        choices += [decades[::k] for k in (1, 2, 3)]
    choices += [everything[::k] for k in range(2, len(values) + 1)]
    for chosen in choices:
        if all(
            (extents[a] + extents[b]) / 2 + 0.04 <= places[b] - places[a]
            for a, b in pairwise(chosen)
        ):
            return chosen
    return everything[:1]


def log_ticks(low: float, high: float) -> list[float]:
    """About five round values on a logarithmic axis; its ends if there are not two."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for mantissas in ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        places = [float(f"{m}e{d}") for d in decades for m in mantissas]
        places = [place for place in places if low <= place <= high]
        if len(places) <= 5:
            break
    return places if len(places) > 1 else [low, high]


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line of text in inches, at `size` points."""
    properties = FontProperties(size=size, weight="bold" if bold else "normal")
    math_text = text.count("$") >= 2
    return float(text_to_path.get_text_width_height_descent(text, properties, math_text)[0]) / 72


def wrap(text: str, size: float, width: float, *, bold: bool = False) -> list[str]:
    """Break a text into lines of at most `width` inches, never inside mathematics."""
    lines: list[str] = []
    for word in re.findall(r"(?:\$[^$]*\$|\S)+", text):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size, bold=bold) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def symbol(column: str, results: Results, given: dict[str, str]) -> str:
    """The paper's symbol of a column of the cells, as mathematics without dollars.

    The depth is L where it counts weight layers or blocks, and H where it counts hidden layers.
    """
    if column in given:
        return given[column]
    cells = results.cells
    if column == "depth":
        hidden = "num_hidden_layers" in cells and bool(
            (cells["depth"] == cells["num_hidden_layers"]).all()
        )
        return "H" if hidden else "L"
    return _SYMBOLS.get(column, rf"\mathrm{{{column}}}".replace("_", r"\ "))


def axis_label(column: str, results: Results, given: dict[str, str]) -> str:
    """A column's name in words, followed by its symbol if it has one."""
    name = _NAMES.get(column, column.replace("_", " "))
    mark = symbol(column, results, given)
    return name if "mathrm" in mark else f"{name} ${mark}$"


def listed(items: Iterable[str]) -> str:
    """Different items, in order, separated by semicolons."""
    return "; ".join(dict.fromkeys(items))

"""Text on figures: short numbers, symbols of columns, wrapped lines."""

import re
from bisect import bisect_left

import pandas as pd

_SYMBOLS = {
    "width": "N",
    "learning_rate": r"\eta",
    "activity_learning_rate": r"\beta",
    "step": "t",
    "depth_exponent": r"\alpha",
    "depth_lr_exponent": r"\gamma",
}
_SPELT = {
    "relu": "ReLU",
    "gelu": "GELU",
    "mlp": "MLP",
    "cnn": "CNN",
    "residual_cnn": "residual CNN",
}
_RELATIONS = "=<>\N{ALMOST EQUAL TO}\N{LESS-THAN OR EQUAL TO}\N{MULTIPLICATION SIGN}\N{EN DASH}"
"""Signs on both sides of which a line is not broken."""
_ACTIVATIONS = ("linear", "tanh", "relu")
_NAMES = {
    "step": "training step",
    "activity_learning_rate": "activity learning rate",
    "output_init_exponent": "exponent of initial output weights",
    "depth_exponent": "branch exponent",
    "depth_lr_exponent": "learning-rate exponent",
}


def short(value: float, least_plain: float = 1e-3) -> str:
    r"""Return a number with few digits, in scientific notation if it is below `least_plain` or would be long otherwise.

    >>> [short(v) for v in (64, 0.05, 1000, 1e-5, 5e-4)]
    ['64', '0.05', '1000', '$10^{-5}$', '$5{\\cdot}10^{-4}$']
    """
    if 1e4 <= abs(value) < 1e5:
        return f"{value:.0f}".replace("-", "\N{MINUS SIGN}")
    if value == 0 or least_plain <= abs(value) < 1e4:
        return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")
    mantissa, exponent = f"{value:.2e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if mantissa == "1" else f"${mantissa}{{\\cdot}}{power}$"


def wrap(text: str, width: int) -> str:
    """Break a text into as few lines of at most about `width` characters as possible, but not inside formulas.

    The lines have about the same length.
    """
    count = len(lines(text, width))
    # wider lines are never more
    narrowest = 1 + bisect_left(
        range(1, width), True, key=lambda fewer: len(lines(text, fewer)) == count
    )
    return "\n".join(lines(text, narrowest))


def lines(text: str, width: int) -> list[str]:
    """Break a text into lines of at most about `width` characters, each as long as possible.

    Mathematics, relations such as `$N$ = 8` and intervals such as `[1, 2]` are not broken.

    >>> lines("networks with $L = 3$ layers, N = 8, slope 1 [0.5, 2]", 12)
    ['networks', 'with $L = 3$', 'layers,', 'N = 8, slope', '1 [0.5, 2]']
    """
    broken: list[str] = []
    for word in re.findall(rf"(?: [{_RELATIONS}] |\$[^$]*\$|\[\S+, \S+\]|\S)+", text):
        longer = f"{broken[-1]} {word}" if broken else word
        if broken and length(longer) <= width:
            broken[-1] = longer
        else:
            broken.append(word)
    return broken


def length(text: str) -> int:
    """Return the approximate width of a text in characters; a command of mathematics counts as one character."""
    return len(re.sub(r"[${}_^]", "", re.sub(r"\\[a-zA-Z]+", "x", text)))


def symbol(column: str, cells: pd.DataFrame, symbols: dict[str, str]) -> str:
    """Return the symbol of a column of the cells, as mathematics without dollar signs.

    The depth is L if it counts weight layers or blocks, and H if it counts hidden layers.

    Args:
        column: the column.
        cells: the cells, which determine what a depth counts.
        symbols: the paper's symbols, which take precedence.
    """
    if column in symbols:
        return symbols[column]
    if column == "depth":
        hidden = "num_hidden_layers" in cells and bool(
            (cells["depth"] == cells["num_hidden_layers"]).all()
        )
        return "H" if hidden else "L"
    return _SYMBOLS.get(column, rf"\mathrm{{{column}}}".replace("_", r"\ "))


def name(value: str) -> str:
    """Return the name of a setting's value in prose.

    >>> [name(value) for value in ("relu", "mlp", "tanh")]
    ['ReLU', 'MLP', 'tanh']
    """
    return _SPELT.get(value, value.replace("_", " "))


def order(value: float | str) -> tuple[float, str]:
    """Return a sort key: numbers by size, activations in the order of the papers, other words alphabetically.

    >>> sorted(["relu", "linear", "tanh"], key=order)
    ['linear', 'tanh', 'relu']
    """
    if not isinstance(value, str):
        return float(value), ""
    return float(_ACTIVATIONS.index(value) if value in _ACTIVATIONS else len(_ACTIVATIONS)), value


def setting(column: str, value: float | str, cells: pd.DataFrame, symbols: dict[str, str]) -> str:
    """Return a value of a column of the cells as text: a number after its symbol, a name alone.

    Args:
        column: the column.
        value: the value.
        cells: the cells, which determine what a depth counts.
        symbols: the paper's symbols.
    """
    if isinstance(value, str):
        return name(value)
    return f"${symbol(column, cells, symbols)}$ = {short(value)}"


def axis_label(column: str, cells: pd.DataFrame, symbols: dict[str, str]) -> str:
    """Return a column's name as text, followed by its symbol if it has one.

    The learning rate is named after the weights if the cells also have an activity learning rate.
    """
    label = _NAMES.get(column, column.replace("_", " "))
    if column == "learning_rate" and _has(cells, "activity_learning_rate"):
        label = f"weight {label}"
    mark = symbol(column, cells, symbols)
    return label if "mathrm" in mark else f"{label} ${mark}$"


def _has(cells: pd.DataFrame, column: str) -> bool:
    return column in cells and bool(cells[column].notna().any())

"""The axes of lines: their scales, ticks and labels."""

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullFormatter

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.plotting import page, style, text

_ABOVE = 0.13  # inches by which the label of an upright axis may be longer than it


def finish_y(ax: Axes, label: str, scale: str, limits: tuple[float, float] | None = None) -> None:
    """Scale and name the y axis, set its limits, and write round numbers at its ticks."""
    ax.set_yscale(scale)
    if limits:
        ax.set_ylim(*limits)
    low, high = ax.get_ylim()
    if scale == "log" and low <= 0:
        # nothing has a place here, as where everything diverged: these are what the linear axis had
        low, high = 0.1, 10.0
    if scale == "log" and high > 5 * low:
        places = text.log_ticks(low, high)
        places = places[:: -(-len(places) // 7)]
        ax.yaxis.set_minor_formatter(NullFormatter())
    else:
        ticks = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        places = [float(place) + 0.0 for place in ticks if low <= place <= high]
        ax.minorticks_off()
    labels = [text.short(place) for place in places]
    if len(set(labels)) < len(labels):
        labels = [f"{place:.7g}" for place in places]
    ax.set_yticks(places, labels=labels)
    ax.set_ylim(low, high)
    ax.set_ylabel("\n".join(text.wrap(label, style.NORMAL, page.extent(ax)[1] + _ABOVE)))


def finish_x(ax: Axes, label: str, scale: str, values: Iterable[float]) -> None:
    """Scale and name the x axis that shows some values.

    A logarithmic one has a tick at each value, and labels at as many as fit beside each other; at
    round numbers between them where the values are not short. Raises ScalingLimitsError if a value
    on it is not positive.
    """
    ax.set_xlabel(label)
    if scale == "linear":
        ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        return
    sizes = sorted(set(values))
    if sizes[0] <= 0:
        raise ScalingLimitsError(f"{label}: {text.short(sizes[0])} has no place on a log axis")
    margin = 1.15 * (sizes[-1] / sizes[0]) ** 0.03
    low, high = sizes[0] / margin, sizes[-1] * margin
    places = sizes if text.are_short(sizes) else text.log_ticks(sizes[0], sizes[-1])
    labels = text.value_labels(places)
    extents = [text.width_of(words, style.SMALL) for words in labels]
    inches = page.extent(ax)[0] * np.log(np.divide(places, low)) / np.log(high / low)
    shown = text.readable_subset(places, extents, inches.tolist())
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.set_xticks([places[i] for i in shown], labels=[labels[i] for i in shown])
    ax.set_xticks([size for size in sizes if size not in {places[i] for i in shown}], minor=True)
    ax.xaxis.set_minor_formatter(NullFormatter())

"""The picture of a coordinate check."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np

from scaling_limits.plotting.colours import Colour, identity_colours
from scaling_limits.plotting.style import LINES, Look, applied

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scaling_limits.model_check.report import Report
    from scaling_limits.model_check.verdicts import Layer

_PANELS = ("size", "change", "update")
_TITLES = {
    "size": "Size RMS(h)",
    "change": "Change RMS(h − h₀)",
    "update": "Update by own weights",
}


@applied()
def draw(report: Report) -> Figure:
    """Draw size, change and update of each layer over the width, and below over the depth.

    Solid lines are means over seeds after the last step, bands their range, dotted lines the first step. Dashed lines
    continue the value at the smallest size with the expected exponent 0.
    """
    axes = list(dict.fromkeys(layer.axis for layer in report.layers))
    figure, panels = plt.subplots(
        len(axes), len(_PANELS), figsize=(7.2, 2.5 * len(axes)), squeeze=False, layout="constrained"
    )
    for row, axis in zip(panels, axes, strict=True):
        layers = [layer for layer in report.layers if layer.axis == axis]
        colours = identity_colours(range(len(layers)))
        for panel, quantity in zip(row, _PANELS, strict=True):
            for number, layer in enumerate(layers):
                _line(panel, report, layer, quantity, colours[number])
            panel.set(xscale="log", yscale="log", xlabel=axis, title=_TITLES[quantity])
            sizes = layers[0].slopes[0].sizes
            panel.set_xticks(sizes, [f"{size:g}" for size in sizes])
            panel.minorticks_off()
        row[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    culprit = report.culprit
    figure.suptitle(
        f"Coordinate check: {report.verdict}" + (f" ({culprit.name})" if culprit else "")
    )
    plt.close(figure)
    return figure


def _line(panel: Axes, report: Report, layer: Layer, quantity: str, colour: Colour) -> None:
    """Draw a quantity of a layer, the first step and the guide; a legend entry in the last panel."""
    look: Look = {"color": colour}
    if quantity == _PANELS[-1]:
        label = f"{layer.name} ({layer.verdict})"
        panel.plot([], [], label=label, **LINES["solid"], **look, marker="o")
    early = layer.slope(quantity, 0 if quantity == "size" else 1)
    if early is not None:
        panel.plot(early.sizes, _positive(early.measured.mean(axis=1)), **LINES["dotted"], **look)
    last = layer.slope(quantity, report.steps)
    if last is None:
        return
    values = _positive(last.measured)
    means = _positive(last.measured.mean(axis=1))
    panel.plot(last.sizes, means, **LINES["solid"], **look, marker="o")
    panel.fill_between(
        last.sizes, values.min(axis=1), values.max(axis=1), alpha=0.15, linewidth=0, **look
    )
    panel.plot(last.sizes, means[:1].repeat(len(means)), ls="--", lw=0.5, alpha=0.7, **look)


def _positive(values: np.ndarray) -> np.ndarray:
    """Return values with NaN for those that have no place on a logarithmic axis."""
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)

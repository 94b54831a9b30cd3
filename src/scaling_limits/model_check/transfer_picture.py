"""The picture of a check of transfer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np

from scaling_limits.plotting.colours import size_colours
from scaling_limits.plotting.style import LINES, RING, applied

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scaling_limits.model_check.transfer import TransferReport


@applied()
def draw(report: TransferReport) -> Figure:
    """Draw the training loss after the last update against the hyperparameter: means over seeds, rings at optima."""
    axes = list(report.judged)
    figure, panels = plt.subplots(
        1, len(axes), figsize=(3.6 * len(axes), 2.6), squeeze=False, layout="constrained"
    )
    name = report.hyperparameter
    for panel, axis in zip(panels[0], axes, strict=True):
        other, fixed = ("depth", min) if axis == "width" else ("width", max)
        rows = report.losses[report.losses[other] == fixed(report.losses[other])]
        colours = size_colours(rows[axis])
        for size, part in rows.groupby(axis):
            means = part.groupby(name)["last"].mean()
            means = means[np.isfinite(means)]
            panel.plot(
                means.index,
                means,
                label=f"{axis} {size}",
                color=colours[size],
                **LINES["solid"],
                marker="o",
            )
            if len(means):
                ring = RING | {"markeredgecolor": colours[size]}
                panel.plot(means.idxmin(), means.min(), **ring)
        panel.set(xscale="log", xlabel=name.replace("_", " "), ylabel="training loss")
        panel.legend()
    figure.suptitle(f"Transfer of the {name.replace('_', ' ')}: {report.verdict}")
    plt.close(figure)
    return figure

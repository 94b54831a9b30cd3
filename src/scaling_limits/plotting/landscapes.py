"""The energy around its equilibrium: what the notebook `landscapes` draws its figure with."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from scaling_limits.figures.plots.landscapes import LandscapePanel, LandscapesPlot
from scaling_limits.plotting import page, style
from scaling_limits.plotting.along import Along

_POINTS = 61
_ON_MAP: dict[str, Any] = {"color": "white", "markeredgecolor": "black", "markeredgewidth": 0.5}
_PATH = {"marker": ".", "markersize": 4.0, "linewidth": 0.7, **_ON_MAP}
_STAR = {"marker": "*", "markersize": 7.0, "linestyle": "none", **_ON_MAP}


class Landscapes(Along):
    """A row of landscapes for each panel."""

    colours = colormaps[style.COLOUR_MAP]
    plot: LandscapesPlot

    @staticmethod
    def size(plot: LandscapesPlot, table: pd.DataFrame, widest: float) -> page.Size:
        """What the axes take where there are so many inches across."""
        columns = Landscapes.columns(plot, table)
        width = min(widest / columns, 1.9)
        return columns * width, len(plot.panels) * (width + 0.3)

    def energy(self, panel: LandscapePanel, value: float) -> tuple[np.ndarray, np.ndarray]:
        """Places along both axes, and by how much the energy is larger there than at the equilibrium."""
        flat, steep = self._rows(panel, value, "curvature").sort_values("index")["value"]
        places = np.linspace(*self.plot.limits, _POINTS)
        return places, (flat * places[None, :] ** 2 + steep * places[:, None] ** 2) / 2

    def path(self, panel: LandscapePanel, value: float) -> pd.DataFrame:
        """Where inference is after each step, along the flat and the steep direction."""
        rows = self._rows(panel, value, "path")
        return rows.pivot(index="inference_step", columns="index", values="value")

    def levels(self, energy: np.ndarray) -> np.ndarray:
        """Those of contours: as energies go with the square of the distance."""
        levels: np.ndarray = energy.max() * np.linspace(0.0, 1.0, 13) ** 2
        return levels

    def marks(self, panel: LandscapePanel, value: float, ax: Axes) -> None:
        """The path of inference, and the equilibrium."""
        path = self.path(panel, value)
        ax.plot(path[0], path[1], **_PATH)
        ax.plot([0.0], [0.0], **_STAR)

    def complete(self) -> None:
        """Name and limit the axes, and write the legend."""
        for _, _, ax in self.panels:
            ax.set(xlim=self.plot.limits, ylim=self.plot.limits, aspect="equal")
        self.head()
        self.label(r"along $v_\mathrm{min}$", r"along $v_\mathrm{max}$")
        explained = {"inference, step by step": _PATH, "equilibrium": _STAR}
        self.body.legend({name: Line2D([], [], **look) for name, look in explained.items()})

    def _rows(self, panel: LandscapePanel, value: float, line: str) -> pd.DataFrame:
        rows = self.rows(panel, value)
        return rows[rows["line"] == line]

"""Drawing of energy landscapes."""

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from scaling_limits.outcomes import number
from scaling_limits.plots.along import Along
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.landscapes import LandscapePanel, Options, size
from scaling_limits.plotting import page, style

_POINTS = 61
_ON_MAP: style.Look = {"color": "white", "markeredgecolor": "black", "markeredgewidth": 0.5}
_PATH = {"marker": ".", "markersize": 4.0, "linewidth": 0.7, **_ON_MAP}
_STAR = {"marker": "*", "markersize": 7.0, "linestyle": "none", **_ON_MAP}


class Landscapes(Along[Options, LandscapePanel]):
    """A row of landscapes for each panel."""

    colours = colormaps[style.COLOUR_MAP]

    def __init__(self, figure: FigureFolder[Options], table: pd.DataFrame) -> None:
        """Lay out the landscapes."""
        super().__init__(figure, table, size(figure.plot, table, page.WIDTH))

    def energy(self, panel: LandscapePanel, value: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates along both axes and the excess energy over the equilibrium.

        The energy is the quadratic form (λ_min x² + λ_max y²) / 2 of the smallest and largest curvature.
        """
        flat, steep = self._rows(panel, value, "curvature").sort_values("index")["value"]
        coordinates = np.linspace(*self.plot.limits, _POINTS)
        return coordinates, (
            flat * coordinates[None, :] ** 2 + steep * coordinates[:, None] ** 2
        ) / 2

    def path(self, panel: LandscapePanel, value: float) -> pd.DataFrame:
        """Return the position after each inference step, along the directions of smallest and largest curvature."""
        rows = self._rows(panel, value, "path")
        return rows.pivot(index="inference_step", columns="index", values="value")

    def levels(self, energy: np.ndarray) -> np.ndarray:
        """Return the contour levels, spaced quadratically because the energy grows with the square of the distance."""
        levels: np.ndarray = energy.max() * np.linspace(0.0, 1.0, 13) ** 2
        return levels

    def marks(self, panel: LandscapePanel, value: float, ax: Axes) -> None:
        """Draw the equilibrium, and the path of inference or, if it lies beyond the limits, where it is."""
        path = self.path(panel, value)
        ax.plot(path[0], path[1], **_PATH)
        low, high = self.plot.limits
        if not path.apply(lambda along: along.between(low, high)).all(axis=1).any():
            last = path[0].iloc[-1]
            beyond = f"trajectory at {number(last, 2)}"
            text, side = (
                (f"{beyond} \N{RIGHTWARDS ARROW}", 1)
                if last > 0
                else (f"\N{LEFTWARDS ARROW} {beyond}", 0)
            )
            look: style.Look = {"ha": ("left", "right")[side], "color": "white"}
            ax.annotate(
                text,
                (side, 0.5),
                (0, 9),
                xycoords="axes fraction",
                textcoords="offset points",
                **look,
            )
        ax.plot([0.0], [0.0], **_STAR)

    def complete(self) -> None:
        """Label and limit the axes, and write the legend."""
        for _, _, ax in self.panels:
            ax.set(xlim=self.plot.limits, ylim=self.plot.limits, aspect="equal")
        self.head()
        self.label(r"along $v_\mathrm{min}$", [r"along $v_\mathrm{max}$"] * len(self.axes))
        explained = {"inference trajectory": _PATH, "equilibrium": _STAR}
        entries = {name: Line2D([], [], **look) for name, look in explained.items()}
        self.body.legend(page.Block("", entries))

    def _rows(self, panel: LandscapePanel, value: float, line: str) -> pd.DataFrame:
        rows = self.rows(panel, value)
        return rows[rows["line"] == line]

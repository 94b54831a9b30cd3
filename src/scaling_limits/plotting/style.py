"""The style of all figures: for the full width of a two-column page, and with reproducible bytes.

It is Seaborn's style and context for papers with other font sizes. The settings start from matplotlib's defaults and
name their font, so that neither a matplotlibrc nor the machine's fonts have an effect.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib.lines import Line2D

Look = dict[str, Any]
"""Keyword arguments that style an artist."""

SMALL, NORMAL, LARGE = 6.5, 7.5, 9.0  # font sizes in points
COLOUR_MAP = "viridis"  # perceptually uniform, readable with colour-vision deficiencies and in grey

RING: Look = {
    "marker": "o",
    "markersize": 5.0,
    "markerfacecolor": "white",
    "markeredgewidth": 1.2,
    "linestyle": "none",
}
DASHES = ("--", ":", "-.")
"""Line styles of expected values."""
CROSS: Look = {"marker": "x", "markersize": 3.5, "linestyle": "none"}
DIVERGED = "diverged (any seed)"
"""Legend label of crosses."""
LEAVES = "leaves the frame"
"""Legend label of arrowheads where lines or optima are beyond the limits."""
ARROW: Look = {"markersize": 4.0, "markeredgewidth": 0.0, "linestyle": "none"}
_POINTS: Look = {"linewidth": 0.9, "markersize": 2.6, "markeredgewidth": 0.0}
LINES: dict[str, Look] = {
    "solid": {**_POINTS, "linestyle": "-"},
    "dashed": {"linestyle": (0, (3.5, 1.6)), "linewidth": 0.9, "marker": None},
    "dotted": {"linestyle": (0, (1, 1.3)), "linewidth": 0.9, "marker": None, "zorder": 1.9},
    "thin": {"linestyle": "-", "linewidth": 0.5, "marker": None, "zorder": 1.9},
    "markers": {**_POINTS, "linestyle": "none", "markersize": 3.2, "marker": "o"},
}
"""Styles of lines; a solid line gets markers if they distinguish lines. Dotted and thin lines are below the others."""

_SETTINGS: Look = {
    "font.size": NORMAL,
    "font.sans-serif": ["DejaVu Sans"],
    "axes.titlesize": NORMAL,
    "axes.labelsize": NORMAL,
    "axes.linewidth": 0.6,
    "axes.titlepad": 5.0,
    "axes.labelpad": 2.0,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.pad": 2.0,
    "ytick.major.pad": 2.0,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.5,
    "ytick.minor.width": 0.5,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
    "savefig.dpi": 200,
    "svg.hashsalt": "scaling-limits",
}


TRUETYPE, TYPE_3 = 42, 3
"""Fonts of PDFs. Publishers accept TrueType only, whose subsets take a sixth of the time of drawing a figure."""


def cross() -> Line2D:
    """Return the cross as a legend entry."""
    return Line2D([], [], color="0.35", **CROSS)


def apply() -> None:
    """Set this style for all subsequent figures."""
    mpl.rcdefaults()
    for settings in (sns.axes_style("ticks"), sns.plotting_context("paper"), _SETTINGS):
        mpl.rcParams.update(settings)  # type: ignore[arg-type]


@contextmanager
def applied() -> Iterator[None]:
    """Set this style while the context, or the decorated function, runs."""
    with mpl.rc_context():
        apply()
        yield

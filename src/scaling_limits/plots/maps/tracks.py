"""The optima of each hyperparameter against the size that are drawn below maps."""

from collections.abc import Iterator, Sequence

from scaling_limits.files import JsonObject
from scaling_limits.plots import optima
from scaling_limits.plots.maps import Options

_OWN, _CONTROL = "judged", "control"
"""Names of the tracks of a claim's grids and of its controls."""


def tracks_of(plot: Options, judged: Sequence[JsonObject]) -> list[optima.Track]:
    """Return the optima of y and of x that claims have located in the grids of the maps.

    There is a column for each hyperparameter and each column `along` of the panels.
    """
    tracks: list[optima.Track] = []
    alongs = dict.fromkeys(panel.along for panel in plot.panels)
    for over in (plot.y, plot.x):
        for along in alongs:
            column = len({track.column for track in tracks})
            tracks += _tracks(plot, judged, over, along, column)
    return tracks


def _tracks(
    plot: Options, judged: Sequence[JsonObject], over: str, along: str, column: int
) -> Iterator[optima.Track]:
    """Yield the optimum of one hyperparameter against one size, in each grid whose first claim has located it."""
    for number, panel in enumerate(plot.panels):
        if panel.along != along:
            continue
        best_over = (plot.x, plot.y)
        claim = optima.judging(judged, (over, along), [panel.grid], plot.quantity, best_over)
        if claim is None:
            continue
        name = _OWN if panel.grid in claim["arms"][0]["grids"] else _CONTROL
        track = optima.track_of(claim, panel.grid, number, column, name)
        if track:
            yield track

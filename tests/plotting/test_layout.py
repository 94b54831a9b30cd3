"""Nothing on a figure covers anything else, whatever its kind."""

from collections.abc import Callable

import pytest
from matplotlib.figure import Figure
from plotting_records import NOTES

from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.plotting.kinds import curves, maps, scaling, transfer


@pytest.mark.parametrize(
    ("name", "draw", "corners"),
    [
        ("transfer", maps.draw, 12),
        ("cosine", maps.draw, 12),
        ("curves", curves.draw, 1),
        ("scaling", scaling.draw, 1),
        ("along", scaling.draw, 1),
        ("rates", transfer.draw, 12),
    ],
)
def test_nothing_overlaps_and_nothing_is_cut_off(
    name: str,
    draw: Callable[[FigureFolder], Figure],
    corners: float,
    request: pytest.FixtureRequest,
) -> None:
    folder = FigureFolder.open(request.getfixturevalue(name))
    figure = draw(folder)
    folder.save(figure)
    (notes,) = [text for text in figure.texts if text.get_gid() == "notes"]
    assert all(word in notes.get_text() for note in NOTES for word in note.split())
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    boxes += [text.get_window_extent() for text in figure.texts]
    boxes += [box.get_window_extent() for box in figure.legends]
    for index, one in enumerate(boxes):
        for other in boxes[:index]:
            width = min(one.x1, other.x1) - max(one.x0, other.x0)
            height = min(one.y1, other.y1) - max(one.y0, other.y0)
            # Tick labels at the corners of neighbouring maps may reach into each other's box.
            assert min(width, height) < corners
    page = figure.get_size_inches()[0] * figure.dpi
    assert min(box.x0 for box in boxes) >= 0
    assert max(box.x1 for box in boxes) <= page + 1

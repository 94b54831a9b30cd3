"""Pages: legends in blocks side by side, and bodies that grow."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from scaling_limits.plotting import style
from scaling_limits.plotting.page import Block, Body, Heading, Page


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    with style.applied():
        yield


def block(title: str, count: int, label: str = "{}") -> Block:
    return Block(title, {label.format(k): Line2D([], []) for k in range(count)})


def body(*blocks: Block, width: float = 7.2) -> Body:
    (found,) = Page(Heading(), [], [(width, 2.0)]).bodies
    found.axes(1, 1)
    found.legend(*blocks)
    found.finish().draw_without_rendering()
    return found


def legends(found: Body) -> list[Legend]:
    return [each for each in found._foot.findobj(Legend) if isinstance(each, Legend)]


def test_blocks_are_side_by_side_under_their_symbols() -> None:
    found = body(block("$N$", 3), block("", 2, "mark {}"), block("$L$", 1))
    shown = legends(found)
    assert [each.get_title().get_text() for each in shown] == ["$N$", " ", "$L$"]
    assert [len(each.get_texts()) for each in shown] == [3, 2, 1]
    boxes = [each.get_window_extent() for each in shown]
    assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))
    assert [box.y1 for box in boxes] == pytest.approx([boxes[0].y1] * 3, abs=0.5)


def test_without_titles_there_is_no_line_for_them() -> None:
    heights = [body(block(title, 2)).legend_height for title in ("", "$N$")]
    assert heights[0] < heights[1]


def test_blocks_have_as_few_lines_as_fit() -> None:
    one = body(block("$N$", 3))
    assert len({round(text.get_window_extent().y0) for text in legends(one)[0].get_texts()}) == 1
    many = body(block("$N$", 24, "a long label {}"))
    (shown,) = legends(many)
    lines = {round(text.get_window_extent().y0) for text in shown.get_texts()}
    assert 2 <= len(lines) < 24
    assert shown.get_window_extent().width <= many.width * many.area.dpi
    assert many.legend_height > one.legend_height


def test_blocks_without_entries_take_no_room() -> None:
    assert legends(body(block("$N$", 0), block("", 0))) == []
    assert body(block("$N$", 0)).legend_height == body().legend_height


@pytest.mark.parametrize("height", [0.5, 1.05])
def test_a_body_grows_and_its_page_with_it(height: float) -> None:
    page = Page(Heading("identity", "title"), ["note"], [(6.0, 2.0)], [(6.0, 1.0)])
    before = page.figure.get_size_inches()[1]
    page.bodies[0].grow(height)
    assert page.figure.get_size_inches()[1] == pytest.approx(before + height)


def test_axes_next_to_a_taller_body_are_stretched() -> None:
    page = Page(Heading(), [], [(3.0, 4.0), (3.0, 2.0), (3.0, 3.0)])
    shares = [body._parts.get_height_ratios() for body in page.bodies]
    heights = [axes / (axes + legend) * 4.0 for axes, legend in shares]
    # by at most 1.6, and up to the taller body
    assert heights == pytest.approx([4.0, 3.2, 4.0], abs=0.1)


def test_rows_of_axes_have_the_heights_that_are_given() -> None:
    (found,) = Page(Heading(), [], [(6.0, 4.0)]).bodies
    tall, low = found.axes(2, 1, [3.0, 1.0])[:, 0]
    found.finish()
    heights = [ax.get_window_extent().height for ax in (tall, low)]
    assert heights[0] > 2 * heights[1]


def test_blocks_that_do_not_fit_side_by_side_are_below_each_other() -> None:
    wide = [
        block(title, 1, "a label of more than fifty characters, with a number: {}")
        for title in ("$N$", "$L$")
    ]
    narrow = body(*wide, width=5.2)
    first, second = (each.get_window_extent() for each in legends(narrow))
    assert second.y1 <= first.y0
    assert first.x1 <= narrow.width * narrow.area.dpi
    assert narrow.legend_height > body(*wide, width=9.0).legend_height

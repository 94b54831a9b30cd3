"""The page of all figures and verdicts of a preset, for the report and to be opened where it lies."""

import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from PIL import Image

from scaling_limits.audit.html import page, picture, table, verdict_table
from scaling_limits.audit.table import OUTCOMES, Audit, counted, summarise, tally
from scaling_limits.audit.verdicts import Verdict
from scaling_limits.files import write_file

WIDTH = 240
"""Of a thumbnail, in pixels."""
COLOURS = 64
"""Of a thumbnail: with these, and 134 figures, the page has less than 3 MB."""

_LINKS = """The name of a figure leads to its page where this file lies among the results
(results/&lt;preset&gt;/index.html). Within a report no page can lead to another one: choose the paper on the left."""


def write_index(audit: Audit, figures: Iterable[tuple[str, str]], folder: Path) -> None:
    """Write `index.html` into the folder of a preset's results, which holds `<paper>/<figure>/` of all that were drawn.

    `figures` are (paper, figure), those of a paper beside each other; within it they are ordered by their numbers.
    One that has not been drawn is listed without a thumbnail. Claims are those of the `audit`.

    Raises:
        WriteError: it cannot be written.
    """
    papers = {
        paper: sorted((figure for _, figure in group), key=_numbered)
        for paper, group in groupby(figures, key=lambda figure: figure[0])
    }
    claims = {
        (paper, figure): [v for v in audit.verdicts if (v.paper, v.figure) == (paper, figure)]
        for paper, names in papers.items()
        for figure in names
    }
    parts = [
        f"<h1>All figures at the preset {escape(audit.preset)}</h1>",
        f"<p>Claims: {counted(audit.summary)}.</p>",
        table(("paper", "figures", *OUTCOMES), _totals(audit, papers)),
        f"<p><small>{_LINKS}</small></p>",
    ]
    for paper, names in papers.items():
        cards = "\n".join(_card(folder, paper, name, claims[paper, name]) for name in names)
        parts += [f"<h2>{escape(paper)}</h2>", f'<div class="thumbnails">\n{cards}\n</div>']
    parts.append("<h2>All verdicts</h2>")
    for (paper, name), verdicts in claims.items():
        if verdicts:
            title = f"{escape(paper)} / {escape(name)}"
            parts += [f'<h3 id="{_anchor(paper, name)}">{title}</h3>', verdict_table(verdicts)]
    write_file(folder / "index.html", page(f"All figures, {audit.preset}", parts))


def _totals(audit: Audit, papers: dict[str, list[str]]) -> Iterator[tuple[str, ...]]:
    for paper, names in papers.items():
        summary = summarise([v for v in audit.verdicts if v.paper == paper])
        numbers = (len(names), *(getattr(summary, outcome) for outcome in OUTCOMES))
        yield (paper, *map(str, numbers))


def _card(folder: Path, paper: str, name: str, verdicts: Sequence[Verdict]) -> str:
    """A thumbnail, the name that leads to the figure's page, its title, and what its verdicts come to."""
    drawn = folder / paper / name / "figure.png"
    said = f'<a href="#{_anchor(paper, name)}">{tally(verdicts)}</a>' if verdicts else "no claims"
    if not drawn.exists():
        return f"<figure><figcaption>{escape(name)}: not drawn<br>{said}</figcaption></figure>"
    title = json.loads(drawn.with_name("figure.json").read_text(encoding="utf-8"))["title"]
    link = f'<a href="{escape(paper)}/{escape(name)}/summary.html">{escape(name)}</a>'
    return (
        f"<figure>{picture(thumbnail(drawn.read_bytes()), title)}\n"
        f"<figcaption>{link}: {escape(title)}<br>{said}</figcaption></figure>"
    )


def thumbnail(png: bytes) -> bytes:
    """A PNG made `WIDTH` wide, the same bytes each time."""
    content = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        size = (WIDTH, max(1, round(image.height * WIDTH / image.width)))
        small = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        small.quantize(COLOURS).save(content, "png", optimize=True)
    return content.getvalue()


def _anchor(paper: str, name: str) -> str:
    return escape(f"{paper}/{name}")


def _numbered(name: str) -> list[tuple[str, int]]:
    """What sorts `fig2` before `fig10`."""
    return [(word, int(digits or 0)) for word, digits in re.findall(r"(\D*)(\d*)", name)]

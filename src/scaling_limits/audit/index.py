"""The page with all figures and verdicts of a preset: one version with links to figures' pages, one for the report."""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

from PIL import Image

from scaling_limits.audit.html import page, picture, table, verdict_table
from scaling_limits.audit.mathematics import with_formulas
from scaling_limits.audit.table import Audit, gathered, in_short, read_verdicts, status, summarise
from scaling_limits.audit.verdicts import Verdict
from scaling_limits.figures.names import natural
from scaling_limits.files import write_file
from scaling_limits.outcomes import OUTCOMES, tally

PICTURE = "figure.png"
INDEX, IN_REPORT = "index.html", "report_index.html"
WIDTH = 240
"""Width of a thumbnail in pixels."""
QUALITY = 16
"""Quality of a thumbnail in percent: at 3.7 kB each, 200 thumbnails and all verdicts stay below `html.LARGEST`."""

_ELSEWHERE = "In the list of papers on the left, the eye next to a figure opens its page."


@dataclass(frozen=True)
class _Shown:
    """A figure on the page: thumbnail and title (None if it was not drawn), and its verdicts."""

    paper: str
    name: str
    picture: str | None
    title: str | None
    verdicts: Sequence[Verdict]

    @property
    def anchor(self) -> str:
        """The anchor of its verdicts on the page."""
        return escape(f"{self.paper}/{self.name}")


def write_index(audit: Audit, figures: Iterable[tuple[str, str]], folder: Path) -> None:
    """Write `INDEX` and `IN_REPORT` into the folder of a preset's results, which contains `<paper>/<figure>/`.

    Figures that were not drawn are listed without a thumbnail. `IN_REPORT` has no links: in a report, pages cannot link
    to each other, and a browser that follows such a link shows nothing.

    Args:
        audit: the verdicts.
        figures: (paper, figure) of all figures, grouped by paper; within a paper they are sorted by number.
        folder: the folder of the results.

    Raises:
        WriteError: a page cannot be written.
    """
    title = f"All figures at the preset {audit.preset}"
    papers = _papers(audit, figures, folder)
    for file, linked in ((INDEX, True), (IN_REPORT, False)):
        write_file(folder / file, _page(title, audit, papers, linked=linked))


def write_drawn_index(
    folder: Path, figures: Iterable[tuple[str, str]], preset: str, *, confirmed: bool
) -> None:
    """Write `INDEX` with the figures drawn so far, after a run of some figures only.

    Args:
        folder: the preset's results, which contain `<paper>/<figure>/`.
        figures: (paper, figure) of all figures, grouped by paper.
        preset: the preset's name.
        confirmed: whether the preset's seeds are those of a confirmed run.

    Raises:
        WriteError: the page cannot be written.
    """
    every = list(figures)
    existing = [(paper, name) for paper, name in every if is_drawn(folder / paper / name)]
    verdicts = [v for paper, name in existing for v in read_verdicts(folder / paper / name)]
    audit = gathered(preset, verdicts, confirmed=confirmed)
    title = f"{len(existing):,} of {len(every):,} figures drawn at the preset {preset}"
    write_file(folder / INDEX, _page(title, audit, _papers(audit, existing, folder), linked=True))


def is_drawn(folder: Path) -> bool:
    """Return whether a figure's folder is complete; after a run that was killed, a picture may lack its texts."""
    return all((folder / name).exists() for name in (PICTURE, "figure.json"))


def _papers(
    audit: Audit, figures: Iterable[tuple[str, str]], folder: Path
) -> dict[str, list[_Shown]]:
    papers = {
        paper: [_shown(folder, paper, name, audit) for name in sorted(names, key=natural)]
        for paper, names in _by_paper(figures)
    }
    return {
        paper: sorted(shown, key=lambda figure: figure.picture is None)
        for paper, shown in papers.items()
    }


def thumbnail(png: bytes) -> bytes:
    """Return a picture as WebP with a width of `WIDTH` pixels; equal pictures give identical bytes."""
    content = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        size = (WIDTH, max(1, round(image.height * WIDTH / image.width)))
        small = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    small.save(content, "webp", quality=QUALITY)
    return content.getvalue()


def _by_paper(figures: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    for paper, group in groupby(figures, key=lambda figure: figure[0]):
        yield paper, [name for _, name in group]


def _shown(folder: Path, paper: str, name: str, audit: Audit) -> _Shown:
    verdicts = [v for v in audit.verdicts if (v.paper, v.figure) == (paper, name)]
    file = folder / paper / name / PICTURE
    if not is_drawn(file.parent):
        return _Shown(paper, name, None, None, verdicts)
    title = json.loads(file.with_name("figure.json").read_text(encoding="utf-8"))["title"]
    small = picture(thumbnail(file.read_bytes()), title, kind="webp")
    return _Shown(paper, name, small, title, verdicts)


def _page(title: str, audit: Audit, papers: dict[str, list[_Shown]], *, linked: bool) -> str:
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>Claims: {in_short(audit.summary)}. {escape(status(audit))}</p>",
        table(("paper", "figures", *OUTCOMES), map(_totals, papers.items())),
        "" if linked else f"<p>{_ELSEWHERE}</p>",
    ]
    for paper, figures in papers.items():
        cards = "\n".join(_card(figure, linked=linked) for figure in figures)
        parts += [f"<h2>{escape(paper)}</h2>", f'<div class="thumbnails">\n{cards}\n</div>']
    parts.append("<h2>All verdicts</h2>")
    for figure in (figure for figures in papers.values() for figure in figures if figure.verdicts):
        name = escape(f"{figure.paper} / {figure.name}")
        parts += [f'<h3 id="{figure.anchor}">{name}</h3>', verdict_table(figure.verdicts)]
    return page(title, parts)


def _totals(paper: tuple[str, list[_Shown]]) -> tuple[str, ...]:
    slug, figures = paper
    summary = summarise([verdict for figure in figures for verdict in figure.verdicts])
    numbers = (len(figures), *summary.counts.values())
    return (slug, *map(str, numbers))


def _card(figure: _Shown, *, linked: bool) -> str:
    """Return a figure's thumbnail, name and title, with a summary of its verdicts that links to them."""
    name, outcomes = escape(figure.name), "no claims"
    if figure.verdicts:
        outcomes = f'<a href="#{figure.anchor}">{tally(verdict.verdict for verdict in figure.verdicts)}</a>'
    if figure.title is None:
        return f"<figure><figcaption>{name}: not drawn<br>{outcomes}</figcaption></figure>"
    image = figure.picture
    if linked:
        address = f"{escape(figure.paper)}/{name}/summary.html"
        name, image = (f'<a href="{address}">{inner}</a>' for inner in (name, image))
    caption = f"<strong>{name}</strong>: {with_formulas(figure.title)}<br>{outcomes}"
    return f"<figure>{image}\n<figcaption>{caption}</figcaption></figure>"

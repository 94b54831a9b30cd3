"""The gallery: every drawn figure of the papers as a PNG, with an index in Markdown; and the score in the README.

Usage: `python -m scaling_limits.audit.gallery results/laptop docs/gallery [README.md]`; the score is written only after
a run of all papers.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from scaling_limits import markdown
from scaling_limits.audit.index import PICTURE, is_drawn
from scaling_limits.audit.table import Audit, in_short, read_verdicts, score_by_paper, status
from scaling_limits.audit.verdicts import Verdict, verdict_label
from scaling_limits.figures import OWN
from scaling_limits.figures.names import natural
from scaling_limits.files import JsonObject, write_file
from scaling_limits.images import with_palette
from scaling_limits.outcomes import score, to_see, with_interval

INDEX, AUDIT = "README.md", "audit.json"
_SCORE, _END_OF_SCORE = "<!-- score -->", "<!-- end of score -->"
_SECTION = "## "  # start of the heading of a paper
_WIDTH = 420  # width in pixels of a picture in the index


def write_gallery(results: Path, gallery: Path) -> list[str]:
    """Write the pictures of a preset's drawn figures and their index, and remove outdated pictures.

    Papers without drawn figures keep their pictures and their section of the index, since one run rarely computes all
    papers. A figure that repeats the runs of another one, because its dataset is replaced by a substitute, has no
    picture. The index states whether the verdicts are confirmed, if there is an audit of the preset.

    Args:
        results: the preset's results, which contain `<paper>/<figure>/` and perhaps `audit.json`.
        gallery: the folder to write to.

    Returns:
        The names of the pictures of this preset.

    Raises:
        WriteError: a file cannot be written.
    """
    sections = _sections(gallery / INDEX)
    pictures: list[str] = []
    for paper in sorted(path for path in results.iterdir() if path.name != OWN and path.is_dir()):
        folders = sorted(filter(is_drawn, paper.iterdir()), key=lambda path: natural(path.name))
        entries: list[str] = []
        for folder in folders:
            figure = json.loads((folder / "figure.json").read_text(encoding="utf-8"))
            name = f"{paper.name}-{folder.name}.png"
            if not figure["repeats"]:
                write_file(
                    gallery / name, with_palette((folder / PICTURE).read_bytes(), optimize=True)
                )
                pictures.append(name)
            entries += _entry(figure, name, read_verdicts(folder))
        if not entries:
            continue
        sections[paper.name] = "\n".join(entries)
        for file in gallery.glob(f"{paper.name}-*.png"):
            if file.name not in pictures:
                file.unlink()
    shown = f"Figures at the preset `{results.name}`, with the verdicts on their claims."
    audit = results / AUDIT
    confirmed = f" {status(_read(audit))}" if audit.exists() else ""
    head = f"# Gallery\n\n{shown}{confirmed}\n"
    parts = [f"{_SECTION}{paper}\n\n{text}" for paper, text in sorted(sections.items())]
    write_file(gallery / INDEX, "\n".join([head, *parts]))
    return pictures


def _read(audit: Path) -> Audit:
    return Audit.model_validate_json(audit.read_bytes())


def _sections(index: Path) -> dict[str, str]:
    """Return the text of each paper's section in an index; none if there is no index yet."""
    if not index.exists():
        return {}
    _, *sections = f"\n{index.read_text(encoding='utf-8')}".split(f"\n{_SECTION}")
    return {name: text for name, _, text in (section.partition("\n\n") for section in sections)}


def _entry(figure: JsonObject, name: str, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield the Markdown blocks of a figure's entry."""
    number = figure["identity"].rpartition(" \N{MIDDLE DOT} ")[2]
    yield f"### {number}: {figure['title']}\n"
    if figure["repeats"]:
        yield f"The runs are those of {figure['repeats']}; there is no picture.\n"
    else:
        yield f'<img src="{name}" width="{_WIDTH}" alt="{escape(figure["title"])}">\n'
    outcomes = [verdict.verdict for verdict in verdicts]
    if see := to_see(figure["see"], outcomes, in_paper=figure["in_paper"]):
        yield f"{see}\n"
    if verdicts:
        outcome, claims = score(outcomes)
        yield f"**{outcome}**, {claims}. {' '.join(figure['notes'])}\n"
        yield from markdown.table(("claim", "verdict", "value", "threshold"), map(_row, verdicts))
        yield ""
    elif figure["notes"]:
        yield f"{' '.join(figure['notes'])}\n"


def _row(verdict: Verdict) -> tuple[str, ...]:
    value = "" if verdict.value is None else with_interval(verdict.value, verdict.interval)
    return verdict.statement, verdict_label(verdict), value, verdict.threshold


def write_score(results: Path, page: Path) -> None:
    """Write the score of a preset by paper between the two comments `score` of a Markdown page.

    Args:
        results: the preset's results, which contain `audit.json`.
        page: the page; it contains `<!-- score -->` and, below it, `<!-- end of score -->`.

    Raises:
        WriteError: the page cannot be written.
    """
    audit = _read(results / AUDIT)
    before, _, rest = page.read_text(encoding="utf-8").partition(_SCORE)
    after = rest.partition(_END_OF_SCORE)[2]
    head = f"Verdicts at the preset `{audit.preset}`: {in_short(audit.summary)}. {status(audit)}"
    table = "\n".join(score_by_paper(audit))
    parts = (before + _SCORE, head, table, _END_OF_SCORE + after)
    write_file(page, "\n\n".join(parts))


if __name__ == "__main__":
    write_gallery(Path(sys.argv[1]), Path(sys.argv[2]))
    for readme in sys.argv[3:]:
        write_score(Path(sys.argv[1]), Path(readme))

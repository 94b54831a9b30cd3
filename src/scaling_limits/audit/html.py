"""Building blocks of a report's pages: each page is one file that includes its pictures and no scripts."""

import io
from base64 import b64encode
from collections.abc import Iterable
from html import escape

from PIL import Image

from scaling_limits.audit.mathematics import with_formulas
from scaling_limits.audit.verdicts import Verdict, remarks, verdict_label
from scaling_limits.outcomes import with_interval

LARGEST = 1_500_000
"""Largest size of a page in bytes. A report embeds pages as base64 data URLs, and Chromium shows none above 2 MiB."""
PICTURE = 900_000
"""Largest size of a page's picture in bytes, which base64 increases by a third; the rest of `LARGEST` is for text."""

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 66rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; } h3 { font-size: 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem;
  border-bottom: 1px solid #ddd; overflow-wrap: anywhere; }
th { font-weight: 600; background: #f6f6f6; white-space: nowrap; }
td:first-child { min-width: 11rem; }
td.verdict { white-space: nowrap; }
img { max-width: 100%; height: auto; }
figure { margin: 1.2rem 0; }
summary { cursor: pointer; color: #1f4e79; padding: .35rem 0; }
.notes { background: #fff8e1; border-left: 4px solid #e0a800; padding: .5rem 1rem .5rem 2rem; }
.verdict { color: #666; } .holds { color: #14692f; } .fails { color: #a11212; }
small { color: #555; }
.badge { border-radius: .3rem; padding: .15rem .5rem; }
.thumbnails { display: grid; grid-template-columns: repeat(auto-fill, minmax(240px, 1fr));
  gap: 1.2rem; align-items: start; }
.thumbnails figure { margin: 0; }
.thumbnails img { border: 1px solid #ddd; }
@media (max-width: 45rem) { body { margin: 1rem auto; } h1, h2, h3 { overflow-wrap: anywhere; }
  table { display: block; overflow-x: auto; font-size: .85rem; }
  th, td { padding: .3rem; overflow-wrap: break-word; } td:first-child { min-width: 9rem; }
  td.verdict { white-space: normal; } }
@media print { body { max-width: none; margin: 0; } figure, tr { break-inside: avoid; } }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """Return a complete page with parts that are already HTML; empty parts are omitted."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )


def picture(content: bytes, alt: str, kind: str = "png") -> str:
    """Return a picture embedded in the page, scaled to at most its width.

    Args:
        content: the bytes of the picture.
        alt: the alternative text.
        kind: the format, such as "png".
    """
    return f'<img src="data:image/{kind};base64,{b64encode(content).decode()}" alt="{escape(alt)}">'


def shrunk(png: bytes) -> bytes:
    """Return a picture; if it is larger than `PICTURE`, with fewer colours and as few pixels as necessary."""
    if len(png) <= PICTURE:
        return png
    with Image.open(io.BytesIO(png)) as image:
        rgb = image.convert("RGB")
    smaller, scale = png, 1.0
    while len(smaller) > PICTURE:
        size = (max(1, round(scale * rgb.width)), max(1, round(scale * rgb.height)))
        content = io.BytesIO()
        rgb.resize(size, Image.Resampling.LANCZOS).quantize(256).save(content, "png")
        smaller, scale = content.getvalue(), 0.8 * scale
    return smaller


def _html_table(header: Iterable[str], rows: Iterable[str]) -> str:
    """Return a table with rows that are already HTML."""
    head = "".join(f"<th>{escape(text)}</th>" for text in header)
    return f"<table>\n<tr>{head}</tr>\n" + "\n".join(rows) + "\n</table>"


def table(header: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table of plain text."""
    return _html_table(header, ("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows))


def folded(title: str, content: str) -> str:
    """Return content that is folded until the reader opens it."""
    return f"<details>\n<summary>{escape(title)}</summary>\n{content}\n</details>"


def verdict_table(verdicts: Iterable[Verdict]) -> str:
    """Return a table of verdicts with the measured values and the reasons."""
    rows = []
    for verdict in verdicts:
        value = "" if verdict.value is None else with_interval(verdict.value, verdict.interval)
        further = "".join(f"<br>{with_formulas(text)}" for text in remarks(verdict))
        rows.append(
            f"<tr><td>{with_formulas(verdict.statement)}<br><small>{with_formulas(verdict.detail)}"
            f"{further}</small></td>"
            f'<td class="verdict {verdict.verdict.replace(" ", "-")}"><strong>{verdict_label(verdict)}</strong></td>'
            f"{_cell(value)}{_cell(verdict.threshold)}{_cell(verdict.source)}</tr>"
        )
    return _html_table(("claim", "verdict", "value", "threshold", "source"), rows)


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>"

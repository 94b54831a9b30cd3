"""What the pages of a report are made of: each is one file, with its pictures in it and nothing that runs."""

import io
from base64 import b64encode
from collections.abc import Iterable
from html import escape

from PIL import Image

from scaling_limits.audit.mathematics import with_formulas
from scaling_limits.audit.verdicts import Verdict, remarks, verdict_word
from scaling_limits.claims.measurement import with_interval

LARGEST = 1_500_000
"""Bytes of a page. A report shows it as an address of its own in base64, and Chromium none of more than 2 MiB."""
PICTURE = 900_000
"""Bytes of a page's picture, a third more in base64: the rest of `LARGEST` is for the text."""

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
    """A whole page of parts that are HTML already; those that are empty are left out."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )


def picture(content: bytes, alt: str, kind: str = "png") -> str:
    """A picture within the page, never wider than it; `kind` is its format."""
    return f'<img src="data:image/{kind};base64,{b64encode(content).decode()}" alt="{escape(alt)}">'


def fitted(png: bytes) -> bytes:
    """A picture as it is, or if it is larger than `PICTURE`, with fewer colours and as small as it has to be."""
    if len(png) <= PICTURE:
        return png
    with Image.open(io.BytesIO(png)) as image:
        whole = image.convert("RGB")
    found, share = png, 1.0
    while len(found) > PICTURE:
        size = (max(1, round(share * whole.width)), max(1, round(share * whole.height)))
        content = io.BytesIO()
        whole.resize(size, Image.Resampling.LANCZOS).quantize(256).save(content, "png")
        found, share = content.getvalue(), 0.8 * share
    return found


def tabulate(header: Iterable[str], rows: Iterable[str]) -> str:
    """A table of rows that are HTML already."""
    head = "".join(f"<th>{escape(text)}</th>" for text in header)
    return f"<table>\n<tr>{head}</tr>\n" + "\n".join(rows) + "\n</table>"


def table(header: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of plain text."""
    return tabulate(header, ("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows))


def folded(title: str, content: str) -> str:
    """What a reader opens if he wants it."""
    return f"<details>\n<summary>{escape(title)}</summary>\n{content}\n</details>"


def verdict_table(verdicts: Iterable[Verdict]) -> str:
    """The verdicts, with what was measured and why they are what they are."""
    rows = []
    for verdict in verdicts:
        value = "" if verdict.value is None else with_interval(verdict.value, verdict.interval)
        further = "".join(f"<br>{with_formulas(text)}" for text in remarks(verdict))
        rows.append(
            f"<tr><td>{with_formulas(verdict.statement)}<br><small>{with_formulas(verdict.detail)}"
            f"{further}</small></td>"
            f'<td class="verdict {verdict.verdict.replace(" ", "-")}"><strong>{verdict_word(verdict)}</strong></td>'
            f"{_cell(value)}{_cell(verdict.threshold)}{_cell(verdict.source)}</tr>"
        )
    return tabulate(("claim", "verdict", "value", "threshold", "source"), rows)


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>"

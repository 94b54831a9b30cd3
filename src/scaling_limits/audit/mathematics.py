"""Conversion of formulas between dollar signs to MathML, which browsers display without scripts."""

import re
from functools import cache
from html import escape
from xml.etree import ElementTree

_DOLLAR = re.compile(r"(?<!\\)\$")
_NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
_ELEMENTS = {
    *(
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "mtext",
        "mspace",
        "mstyle",
        "mpadded",
        "mphantom",
        "mfrac",
    ),
    *("msqrt", "mroot", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable"),
    *("mtr", "mtd"),
}
_ACTIVE = {"href", "style", "id", "class"}


def with_formulas(text: str) -> str:
    """Return a text as HTML with its formulas as MathML; a formula that cannot be converted is shown as written."""
    parts = _DOLLAR.split(text)
    if len(parts) % 2 == 0:
        return escape(text)
    html = [_formula(part) if index % 2 else _plain(part) for index, part in enumerate(parts)]
    return "".join(html)


def _plain(text: str) -> str:
    return escape(text.replace(r"\$", "$"))


@cache
def _formula(tex: str) -> str:
    # cached, since it takes a quarter of a second
    from latex2mathml.converter import convert

    written = escape(f"${tex}$")
    try:
        html: str = convert(tex)
        elements = list(ElementTree.fromstring(html).iter())
    except Exception:  # the library raises exceptions of many types
        return written
    return html if all(map(_is_harmless, elements)) else written


def _is_harmless(part: ElementTree.Element) -> bool:
    """Return whether an element is safe and valid mathematics.

    The converter copies unknown commands into elements and does not escape text.
    """
    known = part.tag.removeprefix(_NAMESPACE) in _ELEMENTS
    acts = any(name in _ACTIVE or name.startswith("on") for name in part.attrib)
    return known and not acts and "\\" not in (part.text or "")

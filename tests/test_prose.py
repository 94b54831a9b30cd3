"""No phrase that the project's style avoids is in the documentation, the docstrings and the messages."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PHRASES = (
    r"as it is found",
    r"to be had",
    r"what (?:it|they|[a-z]+ [a-z]+) comes? to",
    r"what is due",
    r"of (?:one's|his) own|of the user's own(?! \w{3,}s\b)",
    r"told by",
    r"but for",
    r"by hand",
    r"takes? for",
    r"in the place of",
    r"anew",
    r"that of an?",
    r"beside",
    r"stands",
)
"""Phrases that make a reader stop, at any place."""
BEGINNINGS = ("Of", "What is", "That of", "Where")
"""Words that no sentence begins with."""
PHRASE = re.compile(rf"(?<![-\w])(?:{'|'.join(PHRASES)})(?![-\w])", re.IGNORECASE)
BEGINNING = re.compile(rf"(?:\A|[.:;!?)] |\n\n)(?:[-*] )?(?:{'|'.join(BEGINNINGS)}) ")

GENERATED = {"docs/results.md", "docs/settings.md", "docs/power.md", "docs/performance.md"}
"""Pages whose text comes from the package, the configuration or the records of a run."""


def prose(path: Path) -> Iterator[str]:
    """The texts of a page or of a Python file, a string each, without code and with single spaces."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        nodes = ast.walk(ast.parse(text))
        found = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        # words of the configuration are code
        texts = [text for text in found if " " in text]
    else:
        texts = [re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)]
    for each in texts:
        without_code = re.sub(r"`[^`\n]*`|\]\([^)]*\)", "``", each)
        paragraphs = re.split(r"\n\s*(?=[-|\n])", without_code)
        yield "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def avoided(text: str) -> list[str]:
    """The avoided phrases of a text, each with what follows."""
    matches = [*PHRASE.finditer(text), *BEGINNING.finditer(text)]
    return [text[max(0, m.start() - 30) : m.end() + 30] for m in matches]


def files() -> list[Path]:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    code = [path for folder in ("src", "workflow") for path in (ROOT / folder).rglob("*.py")]
    kept = [p for p in [*pages, *code] if p.relative_to(ROOT).as_posix() not in GENERATED]
    return sorted(kept)


def test_no_avoided_phrase_is_used() -> None:
    found: dict[str, list[str]] = {}
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        phrases = [phrase for text in prose(path) for phrase in avoided(text)]
        if phrases:
            found[name] = phrases
    assert found == {}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The factor stands beside the weight.", 2),
        ("That of a cell.", 2),
        ("Return the sum. Of these, one is kept.", 1),
        ("See `beside` and [a page](by hand.md); out-of-hand stand-ins are fine.", 0),
        ("The place\nof a value, in the place\n    of another.", 1),
        ("- an item\n- Where a list begins.", 1),
        ("Whereas this is fine, and the whole Of course is not a beginning.", 0),
    ],
)
def test_phrases_are_found_in_prose_only(text: str, count: int, tmp_path: Path) -> None:
    for name, content in (("page.md", text), ("module.py", f'"""{text}"""\n')):
        (tmp_path / name).write_text(content)
        (only,) = prose(tmp_path / name)
        assert len(avoided(only)) == count, avoided(only)

"""Links of the documentation resolve, and its code blocks and commands are valid. `make docs` tests the site itself."""

import ast
import re
import shlex
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click
import pytest
import yaml

from scaling_limits.commands.main import main
from scaling_limits.datasets.prepared import digest

PROJECT = Path(__file__).parents[1]
FOLDERS = ("", "config", "docs", "figures")
PAGES = sorted(
    page for folder in FOLDERS for page in (PROJECT / folder).glob("**/*.md" if folder else "*.md")
)
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"""\]\(([^()\s]+)\)|<img src="([^"]+)"|<a href="([^"]+)\"""")
ENTRY = re.compile(r'"\w+": "[\w.]+",\n')
"""A line of a registry."""

HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)

by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, which GitHub and the site make alike."""
    slugs = [
        re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(
            " ", "-"
        )
        for heading in HEADING.findall(BLOCK.sub("", text))
    ]
    # repeated headings are numbered, differently by the two: no link can lead to them
    return {slug for slug, count in Counter(slugs).items() if count == 1}


def dead_links(page: Path) -> list[str]:
    """The links of a page that lead nowhere, other than those to the web."""
    text = CODE.sub("", BLOCK.sub("", page.read_text("utf-8")))
    links = ["".join(groups) for groups in LINK.findall(text)]
    return [link for link in links if "://" not in link and not is_alive(page, link)]


def is_alive(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / unquote(path)) if path else page
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target.read_text("utf-8"))


def blocks(page: Path, *languages: str) -> list[str]:
    """The code blocks of a page in these languages."""
    found = BLOCK.findall(page.read_text("utf-8"))
    return [code for _, language, code in found if language in languages]


@by_page
def test_links_lead_somewhere(page: Path) -> None:
    assert dead_links(page) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    other = tmp_path / "other.md"
    other.write_text("# µP, *again*\n\n## Twice\n\n## Twice\n\n```bash\n# code\n```\n")
    page.write_text(
        "# Page\n[a](other.md#µp-again) [b](none.md) [c](other.md#code) [d](#pages) [e](other.md#twice)\n"
        "[f](#page) `[g](none.md)` [h](https://example.org/none.md) ![i](none.png)\n"
        '<img src="none.svg">\n```text\n[j](none.md)\n```\n'
    )
    assert dead_links(page) == [
        "none.md",
        "other.md#code",
        "#pages",
        "other.md#twice",
        "none.png",
        "none.svg",
    ]


@by_page
def test_code_blocks_can_be_read(page: Path) -> None:
    for code in blocks(page, "python"):
        ast.parse(f"{{{code}}}" if ENTRY.fullmatch(code) else code)
    for code in blocks(page, "yaml"):
        assert yaml.safe_load(code)
    for code in blocks(page, "toml"):
        assert tomllib.loads(code)


def commands(page: Path) -> list[list[str]]:
    """The words of each call of `scaling-limits` and `make` in a page."""
    lines = "\n".join(blocks(page, "bash")).replace("\\\n", "").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [
        line for line in words if line and line[0].rpartition("/")[2] in ("scaling-limits", "make")
    ]


def test_there_are_commands() -> None:
    assert sum(len(commands(page)) for page in PAGES) > 30


@by_page
def test_commands_are_commands(page: Path) -> None:
    targets = set(
        re.findall(r"^\.PHONY: (.*)$", (PROJECT / "Makefile").read_text(), re.MULTILINE)[0].split()
    )
    for program, *arguments in commands(page):
        if program == "make":
            assert {word for word in arguments if "=" not in word} <= targets
        else:
            require_valid(main, arguments)


def require_valid(command: click.Command, arguments: list[str]) -> None:
    """Let click read the arguments of a command; an unknown option or command is an error."""
    context = command.make_context(command.name, list(arguments))
    if isinstance(command, click.Group):
        _, chosen, rest = command.resolve_command(context, arguments)
        assert chosen is not None
        require_valid(chosen, rest)


DEFINED = {
    "algorithm": {"Settings", "Options", "init", "update", "errors"},
    "dataset": {"INFO", "SOURCES", "decode"},
    "limit": {"refuse", "compute"},
    "measurement": {"AXES", "labels", "measure"},
}


@pytest.mark.parametrize("kind", DEFINED)
def test_a_documented_part_is_a_module(kind: str) -> None:
    """The parts of `docs/adding/package.md` run in `tests/configuration/test_added_packages.py`."""
    code, *_ = blocks(PROJECT / "docs/adding" / f"{kind}.md", "python")
    module: dict[str, Any] = {}
    exec(compile(code, f"{kind}.md", "exec"), module)
    assert DEFINED[kind] <= module.keys()
    if kind == "dataset":
        assert digest(module["decode"]({})) == module["INFO"].checksum

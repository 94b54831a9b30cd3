"""Hooks of the documentation site: pages at the paths of the project, and formulas as MathML."""

import re
from html import unescape
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
OUTSIDE = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE",
    "CITATION.cff",
    "config/README.md",
)
"""Files of the site that do not lie in `docs/`."""

GALLERY = "docs/gallery/README.md"
_LINK = re.compile(r"\]\(([\w./-]+)\)")
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Move all files to their paths in the project, so that the links between them hold as they are written."""
    theme = [file for file in files if file.src_dir != config.docs_dir]
    docs = [f"docs/{file.src_uri}" for file in files if file.src_dir == config.docs_dir]
    moved = Files([*theme, *(_file(path, config) for path in (*OUTSIDE, *docs))])
    if GALLERY not in docs:
        moved.append(File.generated(config, GALLERY, content=_pictures()))
    return moved


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Let links to a folder lead to its README."""
    here = (ROOT / page.file.src_uri).parent

    def to_page(link: re.Match[str]) -> str:
        return f"]({link[1]}/README.md)" if (here / link[1]).is_dir() else link[0]

    return _LINK.sub(to_page, markdown)


def on_page_content(html: str, **_: object) -> str:
    """Convert formulas, which arithmatex has marked, to MathML: browsers show it without any script."""
    return _FORMULA.sub(_mathml, html)


def _file(path: str, config: MkDocsConfig) -> File:
    return File(path, str(ROOT), config.site_dir, config.use_directory_urls)


def _pictures() -> str:
    """Return a gallery of pictures alone, shown until `make gallery` has written its index."""
    pictures = sorted((ROOT / GALLERY).parent.glob("*.png"))
    return "\n".join(["# Gallery\n", *(f"![{path.stem}]({path.name})" for path in pictures)])


def _mathml(formula: re.Match[str]) -> str:
    """Return a formula as MathML; commands that the converter does not know would be left in it."""
    tex = unescape(formula[2])
    mathml: str = convert(tex, display="block" if formula[1] == "div" else "inline")
    if "\\" in mathml:
        raise PluginError(f"the formula '{tex}' has a command that latex2mathml does not know")
    return mathml

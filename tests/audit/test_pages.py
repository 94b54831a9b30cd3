"""The page of a figure, and the page of all figures."""

import html
import io
import json
import re
import shutil
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from scaling_limits.audit.html import LARGEST, PICTURE, shrunk
from scaling_limits.audit.index import IN_REPORT, INDEX, WIDTH, write_drawn_index, write_index
from scaling_limits.audit.mathematics import with_formulas
from scaling_limits.audit.summary import settings_of, write_summary
from scaling_limits.audit.table import (
    CONFIRMED,
    EXPLORATORY,
    Audit,
    read_verdicts,
    summarise,
    write_verdicts,
)
from scaling_limits.audit.verdicts import Verdict
from scaling_limits.outcomes import BACKGROUNDS

FORMULA = re.compile(r"\$[^$]+\$")
GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
FIELDS = {"paper": "mupc", "figure": "fig5", "source": "Fig 5"}
FAILS = Verdict(
    claim="c",
    statement="N<H",
    verdict="fails",
    value=2.0,
    registered="r&d",
    detail="x < y",
    **FIELDS,
)
HOLDS = Verdict(claim="d", statement="It stays.", verdict="holds", detail="0.1", **FIELDS)


class Checker(HTMLParser):
    """A page: its texts, those that are folded, its pictures, where it leads to, and where that may be."""

    def __init__(self, page: str):
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.folded: list[str] = []
        self.pictures: list[Image.Image] = []
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        assert tag != "script"
        if "src" in attributes:
            kind, _, content = attributes["src"].partition(",")
            assert kind in ("data:image/png;base64", "data:image/webp;base64")
            self.pictures.append(Image.open(io.BytesIO(b64decode(content))))
        self.links += [value for name, value in attrs if name == "href"]
        self.anchors += [value for name, value in attrs if name == "id"]
        if tag not in ("br", "meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        folded = "details" in self.open and "summary" not in self.open
        (self.folded if folded else self.texts).append(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """That of a figure which was collected and drawn."""
    folder = tmp_path / "mupc" / "fig5"
    folder.mkdir(parents=True)
    figure = {
        "paper": "mupc",
        "figure": "fig5",
        "preset": "smoke",
        "identity": "Innocenti & Buckley 2025 \N{MIDDLE DOT} Figure 5",
        "in_paper": True,
        "arxiv": "2505.13124",
        "title": "T < U",
        "see": "P > Q at $N = 8$",
        "caption": "A & B",
        "kind": "maps",
        "plot": {},
        "differences": ["digits stand in for <MNIST>"],
        "grids": ["g", "control"],
        "judged_only": ["control"],
        "defaults": ["momentum", "width"],
    }
    (folder / "figure.json").write_text(json.dumps(figure))
    provenance = {
        "compared": {"seeds": [0, 1], "experiment": {"grids": {"g": {"activation": "tanh"}}}},
        "not_compared": {"device": "cpu"},
    }
    (folder / "provenance.json").write_text(json.dumps(provenance))
    cells = pd.DataFrame(
        {
            "grid": ["g", "g", "control", "of another figure"],
            "cell_id": ["a", "b", "c", "d"],
            "width": [256, 64, 64, 8],
            "optimiser": ["adam", "adam", "adam", "sgd"],
            "momentum": 0.5,
        }
    )
    cells.to_parquet(folder / "cells.parquet")
    write_verdicts(folder, [FAILS])
    pixels = np.random.default_rng(0).integers(0, 256, (90, 60, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / "figure.png")
    return folder


def summary(folder: Path) -> str:
    write_summary(folder)
    return (folder / "summary.html").read_text("utf-8")


def test_the_page_of_a_figure(folder: Path) -> None:
    page = summary(folder)
    checker = Checker(page)
    files = ["notebook.ipynb", "figure.pdf", "figure.svg", "records.parquet", "cells.parquet"]
    assert checker.links == ["https://arxiv.org/abs/2505.13124", *files]
    (shown,) = checker.pictures
    assert np.array_equal(np.asarray(shown), np.asarray(Image.open(folder / "figure.png")))
    order = [
        *("Innocenti &amp; Buckley 2025 \N{MIDDLE DOT} Figure 5", ">arXiv:2505.13124</a>"),
        *("<h1>T &lt; U</h1>", "<p>In the paper: P &gt; Q at <math "),
        f'background: {BACKGROUNDS["not reproduced"]}">not reproduced</strong> 1 fails.',
        *("Preset smoke.", "<img", "A &amp; B", ">PDF</a>", "N&lt;H", "x &lt; y", "r&amp;d"),
        *("for &lt;MNIST&gt;", "Judged, but not in the picture: control."),
        *("Settings that vary", "<td>width</td><td>64, 256</td>", "<td>adam</td>"),
        *("<details>", "<td>momentum</td><td>0.5</td>", "</details>"),
        *("<td>compared.seeds</td><td>0, 1</td>", "<td>not_compared.device</td><td>cpu</td>"),
        *("<details>", "<td>compared.experiment.grids.g.activation</td><td>tanh</td>"),
    ]
    places = [page.find(text) for text in order]
    # the first and the second of what is folded
    places[-2] = page.rfind("<details>")
    assert -1 not in places
    assert places == sorted(places)
    assert "of another figure" not in page
    assert {"momentum", "tanh"} <= set(checker.folded)
    assert {"width", "optimiser", "compared.seeds"} <= set(checker.texts)


def test_a_figure_without_claims_differences_or_cells(folder: Path) -> None:
    write_verdicts(folder, [])
    bare = {"differences": [], "grids": [], "judged_only": [], "defaults": []}
    bare |= {"identity": "own figure <mine>", "arxiv": None, "see": ""}
    figure = json.loads((folder / "figure.json").read_text())
    (folder / "figure.json").write_text(json.dumps(figure | bare))
    pd.DataFrame(columns=["grid", "cell_id"]).to_parquet(folder / "cells.parquet")
    page = summary(folder)
    assert not any(link.startswith("https:") for link in Checker(page).links)
    assert "own figure &lt;mine&gt;</small>" in page
    assert "arXiv" not in page
    assert "<p>Preset smoke.</p>" in page
    assert "No claim is judged" in page
    assert 'class="notes"' not in page
    assert "Settings" not in page


def test_formulas_of_titles_captions_and_statements_are_mathematics(folder: Path) -> None:
    formula = r"$\\bar\\gamma_L < N^{-1/2}$"
    said = json.loads((folder / "figure.json").read_text())
    said |= {
        "title": rf"Of {formula}",
        "see": "",
        "caption": rf"At {formula} for \$2",
        "differences": [formula],
    }
    (folder / "figure.json").write_text(json.dumps(said))
    write_verdicts(folder, [FAILS.model_copy(update={"statement": formula, "detail": formula})])
    root = folder.parents[1]
    pages = summary(folder), *index(root, [("mupc", "fig5")], *read_verdicts(folder))
    for page, count in zip(pages, (5, 3, 3), strict=True):
        Checker(page)
        assert page.count("<math ") == page.count("<msup>") == count
    assert "</math> for $2</p>" in pages[0]


@pytest.mark.parametrize(
    "text",
    [
        r"$\unheard x$",
        r"$\frac{1}{$",
        "one $ alone",
        r"$\text{<b onclick=alert(1)>x</b>}$",
        r"$\text{<script>alert(1)</script>}$",
        r"$\text{<mi onclick=\"alert(1)\">x</mi>}$",
        r"$\href{javascript:alert(1)}{x}$",
        "$a & b$",
    ],
)
def test_what_is_no_mathematics_stays_as_it_is_written(text: str) -> None:
    assert with_formulas(text) == html.escape(text)


def test_a_large_picture_is_made_to_fit(folder: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (1500, 1000, 3), dtype=np.uint8)
    Image.fromarray(noise).save(folder / "figure.png")
    page = summary(folder)
    assert len(page) < LARGEST
    (shown,) = Checker(page).pictures
    assert shown.width / shown.height == pytest.approx(2 / 3, rel=0.01)
    # of a picture with few colours nothing is lost
    strips = np.kron(noise[:4, :3] // 128 * 255, np.ones((400, 400, 1), np.uint8))
    content = io.BytesIO()
    Image.fromarray(strips).save(content, "png", compress_level=0)
    assert len(content.getvalue()) > PICTURE
    small = shrunk(content.getvalue())
    assert len(small) < PICTURE
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(small)).convert("RGB")), strips)


def index(folder: Path, figures: list[tuple[str, str]], *verdicts: Verdict) -> tuple[str, str]:
    """The page where it lies, and that of the report."""
    audit = Audit(preset="smoke", summary=summarise(verdicts), verdicts=verdicts)
    write_index(audit, figures, folder)
    return tuple((folder / file).read_text("utf-8") for file in (INDEX, IN_REPORT))


@pytest.mark.parametrize("in_report", [False, True])
def test_the_page_of_all_figures(folder: Path, in_report: bool) -> None:
    shutil.copytree(folder, folder.with_name("fig10"))
    # behind the figures that are drawn
    not_drawn = ("mupc", "fig2")
    missing = HOLDS.model_copy(
        update={"paper": "pc-tp", "figure": "fig1", "verdict": "not computed"}
    )
    figures = [not_drawn, ("mupc", "fig10"), ("mupc", "fig5"), ("pc-tp", "fig1")]
    root = folder.parents[1]
    page = index(root, figures, FAILS, HOLDS, missing)[in_report]
    checker = Checker(page)
    assert [picture.size for picture in checker.pictures] == [(WIDTH, WIDTH * 90 // 60)] * 2
    pages = [link for link in checker.links if not link.startswith("#")]
    leads_to = ["mupc/fig5/summary.html", "mupc/fig10/summary.html"]
    # by their pictures and by their names
    assert pages == ([] if in_report else sorted(leads_to * 2, reverse=True))
    assert [link for link in checker.links if link not in pages] == ["#mupc/fig5", "#pc-tp/fig1"]
    assert checker.anchors == ["mupc/fig5", "pc-tp/fig1"]
    for text in ("T < U", "N<H", "x < y", "It stays.", "r&d", "1 holds, 1 fails", "1 not computed"):
        assert text in "".join(checker.texts)
    assert "fig1: not drawn" in checker.texts
    cards = [text for text in checker.texts if text in ("fig2: not drawn", "fig5", "fig10")]
    assert cards == ["fig5", "fig10", "fig2: not drawn"]
    # figures, then one column for each outcome
    assert (
        "<tr><td>mupc</td><td>3</td><td>1</td><td>1</td><td>0</td><td>0</td><td>0</td><td>0</td></tr>"
        in page
    )
    assert (
        "<tr><td>pc-tp</td><td>1</td><td>0</td><td>0</td><td>0</td><td>0</td><td>0</td><td>1</td></tr>"
        in page
    )
    assert index(root, figures, FAILS, HOLDS, missing)[in_report] == page


def test_a_report_can_show_the_page_of_two_hundred_figures(tmp_path: Path) -> None:
    """With pictures that were drawn, and as many verdicts as the papers' figures have."""
    drawn = sorted(GALLERY.glob("*.png"))[::8]
    assert len(drawn) > 8
    figures = [("mupc", f"fig{number}") for number in range(len(drawn))]
    for (paper, name), path in zip(figures, drawn, strict=True):
        (tmp_path / paper / name).mkdir(parents=True)
        shutil.copy(path, tmp_path / paper / name / "figure.png")
        (tmp_path / paper / name / "figure.json").write_text('{"title": "What it shows"}')
    _, page = index(tmp_path, figures)
    said = (GALLERY.parent / "results.md").stat().st_size
    # with the marks of a table
    assert len(page) * 200 / len(drawn) + 1.5 * said < LARGEST


def test_settings_that_vary():
    cells = pd.DataFrame(
        {
            "cell_id": [str(k) for k in range(20)],
            "seed": range(20),
            "learning_rate": [0.1, 0.05] * 10,
            "activity_learning_rate": [0.5, None] * 10,
            "skip": True,
            "dtype": "float32",
        }
    )
    varying, fixed = settings_of(cells)
    assert varying == {
        "seed": "0 … 19 (20 values)",
        "learning_rate": "0.05, 0.1",
        "activity_learning_rate": "0.5, none",
    }
    assert fixed == {"skip": "True", "dtype": "float32"}


def test_every_formula_of_the_papers_is_translated() -> None:
    files = sorted((GALLERY.parents[1] / "config/papers").rglob("*.yaml"))
    # as YAML reads them in double quotes and without
    texts = {
        text.replace("\\\\", "\\")
        for file in files
        for text in FORMULA.findall(file.read_text("utf-8"))
    }
    assert len(texts) > 40
    assert [text for text in sorted(texts) if not with_formulas(text).startswith("<math")] == []


@pytest.mark.parametrize("confirmed", [False, True])
def test_the_page_of_drawn_figures_says_whether_verdicts_are_confirmed(
    folder: Path, confirmed: bool
) -> None:
    root = folder.parents[1]
    write_drawn_index(root, [("mupc", "fig5")], "smoke", confirmed=confirmed)
    page = (root / INDEX).read_text("utf-8")
    assert (CONFIRMED in page, EXPLORATORY in page) == (confirmed, not confirmed)


def test_a_picture_that_a_killed_run_left_without_its_texts_is_not_drawn(folder: Path) -> None:
    root = folder.parents[1]
    left = folder.with_name("fig6")
    left.mkdir()
    shutil.copy(folder / "figure.png", left)
    write_drawn_index(root, [("mupc", "fig5"), ("mupc", "fig6")], "smoke", confirmed=False)
    page = (root / INDEX).read_text("utf-8")
    assert "1 of 2 figures drawn" in page
    assert "fig6: not drawn" not in page

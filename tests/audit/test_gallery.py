"""The gallery: pictures of a preset's figures, and their index."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from scaling_limits.audit.gallery import INDEX, write_gallery, write_score
from scaling_limits.audit.table import gathered, write_audit, write_verdicts
from scaling_limits.audit.verdicts import Verdict
from scaling_limits.images import COLOURS, with_palette

SCALE = "Scale (laptop): $N$ = 8."
FIELDS = {"paper": "mupc", "source": "Fig 5", "detail": "", "threshold": "at most 1 octave"}


def verdict(figure: str, **said: Any) -> Verdict:
    return Verdict(**FIELDS | {"figure": figure, "claim": "c", "statement": "It stays."} | said)


def png(colours: int = 4) -> bytes:
    """A picture of true colours with so many of them."""
    values = np.linspace(0, 255, colours).astype(np.uint8)
    pixels = np.stack([np.tile(values, (30, 1))] * 3, axis=-1)
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "png")
    return content.getvalue()


def add(
    results: Path, paper: str, name: str, *verdicts: Verdict, picture: bytes = b"", **said: Any
) -> None:
    folder = results / paper / name
    folder.mkdir(parents=True)
    figure = {
        "identity": f"Innocenti 2025 \N{MIDDLE DOT} Figure {name.removeprefix('fig')}",
        "in_paper": True,
        "title": f"Title of {name}",
        "see": f"See {name}.",
        "notes": [SCALE],
        "repeats": None,
    }
    (folder / "figure.json").write_text(json.dumps(figure | said))
    (folder / "figure.png").write_bytes(picture or png())
    write_verdicts(folder, list(verdicts))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    results = tmp_path / "laptop"
    add(
        results,
        "mupc",
        "fig5",
        verdict("fig5", verdict="holds", value=0.5, interval=(0.25, 1.0)),
        verdict("fig5", claim="d", statement="$|x|$ falls.", verdict="fails", registered="known"),
    )
    add(results, "mupc", "fig10", see="", notes=[], title='The "best" rate <')
    add(results, "mupc", "fig6", verdict("fig6", verdict="holds"), repeats="mupc Fig. 5")
    add(results, "depth-mup", "fig1")
    add(results, "own", "mine")
    # not drawn, and no figure at all
    (results / "pc-tp" / "fig2").mkdir(parents=True)
    (results / "index.html").touch()
    return results


def test_the_index_has_papers_and_figures_in_order(results: Path, tmp_path: Path) -> None:
    write_gallery(results, tmp_path / "gallery")
    index = (tmp_path / "gallery" / INDEX).read_text("utf-8")
    assert index.startswith("# Gallery\n\nFigures at the preset `laptop`")
    headings = [line for line in index.splitlines() if line.startswith("##")]
    assert headings == [
        "## depth-mup",
        "### Figure 1: Title of fig1",
        "## mupc",
        "### Figure 5: Title of fig5",
        "### Figure 6: Title of fig6",
        '### Figure 10: The "best" rate <',
    ]
    assert "mine" not in index


def test_an_entry_has_picture_what_to_see_scale_badge_and_claims(
    results: Path, tmp_path: Path
) -> None:
    write_gallery(results, tmp_path / "gallery")
    index = (tmp_path / "gallery" / INDEX).read_text("utf-8")
    entry = index[index.index("### Figure 5") : index.index("### Figure 6")]
    assert entry.split("\n\n") == [
        "### Figure 5: Title of fig5",
        '<img src="mupc-fig5.png" width="420" alt="Title of fig5">',
        "In the paper: See fig5.",
        f"**partly reproduced**, 1 of 2 claims, 1 fails. {SCALE}",
        "| claim | verdict | value | threshold |\n"
        "| --- | --- | --- | --- |\n"
        "| It stays. | holds | 0.5 [0.25, 1] | at most 1 octave |\n"
        "| $\\|x\\|$ falls. | fails (registered) |  | at most 1 octave |",
        "",
    ]
    # neither claims nor what to see
    alone = index[index.index("### Figure 10") :]
    assert alone.split("\n\n")[1:] == [
        '<img src="mupc-fig10.png" width="420" alt="The &quot;best&quot; rate &lt;">\n'
    ]
    # without claims the scale stands alone
    first = index[index.index("### Figure 1:") : index.index("## mupc")]
    assert first.split("\n\n")[2:] == ["See fig1.", SCALE, ""]


def test_a_figure_that_repeats_another_has_no_picture(results: Path, tmp_path: Path) -> None:
    gallery = tmp_path / "gallery"
    names = write_gallery(results, gallery)
    assert names == ["depth-mup-fig1.png", "mupc-fig5.png", "mupc-fig10.png"]
    assert {path.name for path in gallery.iterdir()} == {INDEX, *names}
    index = (gallery / INDEX).read_text("utf-8")
    entry = index[index.index("### Figure 6") : index.index("### Figure 10")]
    assert "The runs are those of mupc Fig. 5; there is no picture.\n" in entry
    assert "<img" not in entry
    assert "**reproduced**, 1 of 1 claim." in entry


def test_pictures_that_are_no_longer_drawn_are_removed(results: Path, tmp_path: Path) -> None:
    gallery = tmp_path / "gallery"
    gallery.mkdir()
    for name in ("mupc-fig99.png", "mupc-fig6.png", "notes.txt"):
        (gallery / name).write_text("old")
    names = write_gallery(results, gallery)
    assert {path.name for path in gallery.iterdir()} == {INDEX, "notes.txt", *names}


def test_papers_without_figures_keep_their_section_and_pictures(
    results: Path, tmp_path: Path
) -> None:
    gallery = tmp_path / "gallery"
    write_gallery(results, gallery)
    complete = {path.name: path.read_bytes() for path in gallery.iterdir()}
    shutil.rmtree(results / "mupc")
    add(results, "depth-mup", "fig2")
    assert write_gallery(results, gallery) == ["depth-mup-fig1.png", "depth-mup-fig2.png"]
    assert (gallery / "mupc-fig5.png").read_bytes() == complete["mupc-fig5.png"]
    before, after = complete[INDEX].decode(), (gallery / INDEX).read_text("utf-8")
    assert after[after.index("## mupc") :] == before[before.index("## mupc") :]
    assert "### Figure 2: Title of fig2" in after[: after.index("## mupc")]


def test_pictures_have_a_palette_and_keep_their_pixels(results: Path, tmp_path: Path) -> None:
    write_gallery(results, tmp_path / "gallery")
    before = Image.open(results / "mupc" / "fig5" / "figure.png")
    with Image.open(tmp_path / "gallery" / "mupc-fig5.png") as picture:
        assert (picture.mode, picture.size) == ("P", before.size)
        assert np.array_equal(np.asarray(picture.convert("RGB")), np.asarray(before))


def test_a_palette_makes_a_picture_smaller_and_the_same_each_time() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (80, 80, 4), dtype=np.uint8)
    content = io.BytesIO()
    Image.fromarray(noise, "RGBA").save(content, "png")
    small = with_palette(content.getvalue(), optimize=True)
    assert with_palette(content.getvalue(), optimize=True) == small
    assert len(small) < len(content.getvalue()) / 2
    with Image.open(io.BytesIO(small)) as picture:
        assert len(picture.getcolors()) <= COLOURS


def test_a_gallery_is_written_the_same_each_time(results: Path, tmp_path: Path) -> None:
    gallery, contents = tmp_path / "gallery", []
    for _ in range(2):
        write_gallery(results, gallery)
        contents.append({path.name: path.read_bytes() for path in gallery.iterdir()})
    assert contents[0] == contents[1]


def test_the_score_stands_between_its_comments(tmp_path: Path) -> None:
    verdicts = [
        verdict("fig5", verdict="holds"),
        verdict("fig5", claim="d", verdict="inconclusive"),
        verdict("fig2", paper="pc-tp", verdict="holds"),
    ]
    write_audit(gathered("laptop", verdicts, confirmed=False), tmp_path)
    page = tmp_path / "README.md"
    page.write_text("before\n\n<!-- score -->\n\nearlier\n\n<!-- end of score -->\n\nafter\n")
    write_score(tmp_path, page)
    written = page.read_text()
    before, head, table, after = (
        written.split("\n\n", 1)[0],
        *written.split("\n\n")[2:4],
        written[-6:],
    )
    assert (before, after) == ("before", "after\n")
    assert head.startswith("Verdicts at the preset `laptop`: 2 hold, 1 inconclusive; 67% decided. ")
    assert "not confirmed" in head
    assert table.splitlines() == [
        "| paper | holds | inconclusive |",
        "| --- | --- | --- |",
        "| mupc | 1 | 1 |",
        "| pc-tp | 1 | 0 |",
    ]
    write_score(tmp_path, page)
    assert page.read_text() == written


def test_the_index_says_first_whether_verdicts_are_confirmed(results: Path, tmp_path: Path) -> None:
    shown = "Figures at the preset `laptop`, with the verdicts on their claims."
    for confirmed, status in ((False, "These verdicts are exploratory"), (True, "confirmed")):
        write_audit(
            gathered("laptop", [verdict("fig5", verdict="holds")], confirmed=confirmed), results
        )
        write_gallery(results, tmp_path / "gallery")
        _, line, *_ = (tmp_path / "gallery" / INDEX).read_text("utf-8").split("\n\n")
        assert line.startswith(shown)
        assert status in line

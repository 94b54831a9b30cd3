"""Reading a figure's folder, what stands beside the drawing, and the files that are left."""

import dataclasses
import doctest
import errno
import json
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_rgba
from matplotlib.text import Text
from plotting_records import IDENTITY, NOTES, SEE, VERDICT, Drawn

import scaling_limits
from scaling_limits.errors import ScalingLimitsError
from scaling_limits.files import WriteError
from scaling_limits.outcomes import BACKGROUNDS
from scaling_limits.plots.figure_folder import FigureFolder, find
from scaling_limits.plotting.page import Page


@pytest.fixture
def folder(rates_folder: Path, tmp_path: Path) -> Path:
    return shutil.copytree(rates_folder, tmp_path / "f")


def with_verdicts(folder: FigureFolder, *names: str) -> FigureFolder:
    said = [
        VERDICT
        | {
            "claim": f"claim-{k}",
            "verdict": name,
            "reason": "interval",
            "statement": f"It {name} {k}.",
        }
        for k, name in enumerate(names)
    ]
    return dataclasses.replace(folder, verdicts=tuple(said))


def test_saved_files_are_the_same_each_time(folder: Path, rates: Drawn) -> None:
    opened, contents = FigureFolder.open(folder), []
    for name, record in (("edited", False), ("figure", True)):
        before = {path.name for path in folder.iterdir()}
        shown = opened.save(rates.figure, record=record)
        files = [f"{name}.{suffix}" for suffix in ("png", "pdf", "svg")]
        assert {path.name for path in folder.iterdir()} - before == set(files)
        contents.append([(folder / file).read_bytes() for file in files])
    assert contents[0] == contents[1]
    assert b"<dc:date>" not in contents[0][2]
    assert b"CreationDate" not in contents[0][1]
    assert shown._repr_png_()[:4] == b"\x89PNG"
    assert len(shown.png) < len(contents[0][0])
    assert repr(shown) == "mupc/fig5"


def test_boxes_are_warned_of(
    folder: Path, rates: Drawn, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = FigureFolder.open(folder)
    opened.save(rates.figure)
    assert capsys.readouterr().err == ""
    hidden = rates.figure.text(0, 0, "宽", visible=False)
    label = rates.figure.text(0, 0, "data 宽度\n🦊")
    try:
        with warnings.catch_warnings():
            # matplotlib's own, a line for each character and file
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
            opened.save(rates.figure)
    finally:
        hidden.remove()
        label.remove()
    assert capsys.readouterr().err == (
        "warning: mupc/fig5: 'data 宽度 🦊' is drawn with boxes for characters that DejaVu Sans lacks: "
        "'宽' (U+5BBD), '度' (U+5EA6), '🦊' (U+1F98A)\n"
    )


def test_a_full_disk_leaves_no_partial_figure(
    folder: Path, rates: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def full(source: Path, target: Path) -> None:
        if target.suffix == ".pdf":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(WriteError, match=r"cannot write .*figure\.pdf: No space left on device"):
        FigureFolder.open(folder).save(rates.figure, record=True)
    assert sorted(path.name for path in folder.glob("figure.*")) == ["figure.json", "figure.png"]
    assert not list(folder.glob("*.tmp"))


def below(page: Page) -> list[tuple[str, ...]]:
    """The texts below a figure, a tuple for each row, without line breaks."""
    rows: dict[float, list[str]] = {}
    for text in page._bottom.texts:
        rows.setdefault(text.get_position()[1], []).append(text.get_text().replace("\n", " "))
    return [tuple(row) for row in rows.values()]


def test_what_is_written_on_a_page(folder: Path) -> None:
    opened = FigureFolder.open(folder)
    said = with_verdicts(opened, "holds", "holds", "holds", "fails", "inconclusive")
    page = said.page([(6.0, 2.0)])
    over = {text.get_gid(): text.get_text() for text in page._top.texts}
    assert over == {
        "identity": IDENTITY,
        "title": "Transfer of the rate over the width",
        "see": f"In the paper: {SEE}",
        "badge": "partly reproduced \N{MIDDLE DOT} 3 of 5 claims, 1 fails",
    }
    measured = ("0.123 [0, 0.5]", "at most 1 octave")
    assert below(page) == [
        *((note,) for note in NOTES),
        ("Reproduced:", "found [95 % interval]", "claimed"),
        *((f"\N{BULLET} It holds {k}.", *measured) for k in range(3)),
        ("Not reproduced: It fails 3.", *measured),
        (
            "Inconclusive, as the interval contains a threshold: It inconclusive 4.",
            *measured,
        ),
    ]
    # identity over title over what to see, from the same margin
    identity, title, see, badge = page._top.texts
    assert identity.get_position()[1] > title.get_position()[1] > see.get_position()[1]
    assert {text.get_position()[0] for text in (identity, title, see)} == {0.0}
    assert badge.get_ha() == "right"


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        (("holds",), "reproduced \N{MIDDLE DOT} 1 of 1 claim"),
        (("holds", "inconclusive"), "partly reproduced \N{MIDDLE DOT} 1 of 2 claims"),
        (("fails", "fails"), "not reproduced \N{MIDDLE DOT} 0 of 2 claims, 2 fail"),
        (("fails", "inconclusive"), "not reproduced \N{MIDDLE DOT} 0 of 2 claims, 1 fails"),
        (
            ("holds", "fails", *["inconclusive"] * 3),
            "partly reproduced \N{MIDDLE DOT} 1 of 5 claims, 1 fails",
        ),
        (("holds", "data not available"), "partly reproduced \N{MIDDLE DOT} 1 of 2 claims"),
        (("diverged",), "inconclusive at this scale \N{MIDDLE DOT} 0 of 1 claim"),
        (("data not available",), "data not available \N{MIDDLE DOT} 0 of 1 claim"),
    ],
)
def test_the_badge_says_the_outcome_on_its_colour(
    folder: Path, outcomes: tuple[str, ...], words: str
) -> None:
    page = with_verdicts(FigureFolder.open(folder), *outcomes).page([(6.0, 2.0)])
    (badge,) = (text for text in page._top.texts if text.get_gid() == "badge")
    assert badge.get_text() == words
    colour = BACKGROUNDS[words.partition(" \N{MIDDLE DOT} ")[0]]
    assert badge.get_bbox_patch().get_facecolor() == to_rgba(colour)


def test_a_figure_without_claims_has_no_badge(folder: Path) -> None:
    page = with_verdicts(FigureFolder.open(folder)).page([(6.0, 2.0)])
    assert "badge" not in {text.get_gid() for text in page._top.texts}


def test_why_claims_do_not_hold_is_said_below_the_picture(folder: Path) -> None:
    fails = VERDICT | {"verdict": "fails", "value": -0.5, "interval": None}
    unsure = VERDICT | {"verdict": "inconclusive", "reason": "interval"}
    control = {"name": "SP", "holds": None, "value": -1.0, "interval": [-2.0, 0.0]}
    clause = "wider networks end lower; 100 updates are too few"
    verdicts = (
        fails | {"statement": "It stays.", "clause": clause},
        fails | {"statement": "It stays."},
        fails | {"statement": "It holds at $N = 8$", "clause": "", "value": None},
        VERDICT | {"statement": "It is so.", "clause": "it is"},
        unsure | {"statement": "It rests.", "interval": [0.0, None]},
        unsure
        | {"statement": "It falls.", "reason": "control", "control": control}
        | {"threshold": "at most 1 octave; fails above 2"},
        unsure
        | {"statement": "It moves.", "clause": "one seed diverges", "kinds": ["seeds"]}
        | {"changed": ["seeds from 2 to 4"], "place": "at width 8"},
        unsure | {"statement": "It rises.", "reason": "divergence", "value": None},
        unsure | {"statement": "It grows.", "reason": "values", "value": None, "detail": "it is 0"},
        VERDICT | {"verdict": "data not available", "value": 0.4},
    )
    said = dataclasses.replace(FigureFolder.open(folder), verdicts=verdicts)
    measured = ("0.123 [0, 0.5]", "at most 1 octave")
    assert below(said.page([(6.0, 2.0)])) == [
        *((note,) for note in NOTES),
        ("found [95 % interval]", "claimed"),
        ("Reproduced: It is so.", *measured),
        ("Not reproduced:",),
        (f"\N{BULLET} It stays – {clause}.", "\N{MINUS SIGN}0.5", "at most 1 octave"),
        ("\N{BULLET} It stays.", "\N{MINUS SIGN}0.5", "at most 1 octave"),
        ("\N{BULLET} It holds at $N = 8$.", "no value", "at most 1 octave"),
        ("Inconclusive, as the interval contains a threshold:",),
        ("\N{BULLET} It rests.", "0.123 [0, ∞]", "at most 1 octave"),
        ("\N{BULLET} It moves†.", "0.123 [0, 0.5] at width 8", "at most 1 octave"),
        (
            "Inconclusive, as the control may satisfy the claim as well: It falls.",
            "0.123 [0, 0.5]; control “SP”: \N{MINUS SIGN}1 [\N{MINUS SIGN}2, 0]",
            "at most 1 octave; fails above 2",
        ),
        ("Inconclusive, as compared runs diverged: It rises.", "no value", "at most 1 octave"),
        ("Inconclusive, as it is 0: It grows.", "no value", "at most 1 octave"),
        (
            "Not decided without the paper's dataset: The best rates do not depend on the width.",
            "0.4 [0, 0.5]",
            "at most 1 octave",
        ),
        ("† Changed after a result was seen: seeds from 2 to 4.",),
    ]


def test_claims_without_values_are_named_below_their_reason(folder: Path) -> None:
    small = VERDICT | {"verdict": "inconclusive", "reason": "sizes", "value": None}
    small |= {"detail": "the width is at most 64; claims are decided from 512 on", "threshold": ""}
    verdicts = tuple(small | {"statement": f"It {k}."} for k in range(2))
    said = dataclasses.replace(FigureFolder.open(folder), verdicts=verdicts)
    assert below(said.page([(6.0, 2.0)]))[len(NOTES) :] == [
        (f"Inconclusive, as {small['detail']}:",),
        ("\N{BULLET} It 0.",),
        ("\N{BULLET} It 1.",),
    ]


def test_numbers_on_a_substitute_are_not_printed_twice(folder: Path) -> None:
    lacking = VERDICT | {"verdict": "data not available"}
    said = dataclasses.replace(
        FigureFolder.open(folder), verdicts=(VERDICT, lacking, lacking | {"value": 0.2})
    )
    found = [row[1] for row in below(said.page([(6.0, 2.0)])) if len(row) == 3]
    assert found == ["0.123 [0, 0.5]", "as above, on other data", "0.2 [0, 0.5]"]


def test_amended_claims_are_marked_or_named_below_the_picture(folder: Path) -> None:
    amended = VERDICT | {"verdict": "holds", "kinds": ["seeds"], "changed": ["seeds from 2 to 4"]}
    unsure = amended | {"verdict": "inconclusive", "reason": "interval"}
    further = amended | {
        "kinds": ["sizes", "seeds"],
        "changed": ["widths to 64", "seeds from 2 to 8"],
    }

    def lines(*verdicts: dict[str, Any]) -> list[str]:
        said = dataclasses.replace(FigureFolder.open(folder), verdicts=verdicts)
        return [row[0] for row in below(said.page([(9.0, 2.0)]))]

    seen = "Changed after a result was seen:"
    statement = VERDICT["statement"].rstrip(".")
    for verdicts in ((amended,), (unsure,), (amended, unsure)):
        assert lines(*verdicts)[-1] == f"† {seen} seeds from 2 to 4."
    assert f"Reproduced: {statement}†." in lines(amended, unsure)
    # more than two changes are only named
    assert lines(amended, further)[-1] == f"† {seen} seeds, sizes."


def test_fonts_of_pictures_for_papers_are_truetype(folder: Path, rates: Drawn) -> None:
    opened = FigureFolder.open(folder)
    for bare in (False, True):
        dataclasses.replace(opened, bare=bare).save(rates.figure, record=True)
        written = (folder / "figure.pdf").read_bytes()
        assert [b"/FontFile2" in written, b"/Type3" in written] == [bare, not bare]


def test_a_bare_page_has_the_same_axes_and_no_words_around_them(folder: Path) -> None:
    said = json.loads((folder / "figure.json").read_text())
    (folder / "figure.json").write_text(json.dumps(said | {"page": "bare"}))
    bare = with_verdicts(FigureFolder.open(folder), "fails").page([(6.0, 2.0)])
    full = with_verdicts(dataclasses.replace(FigureFolder.open(folder), bare=False), "fails").page(
        [(6.0, 2.0)]
    )
    words, heights, axes = [], [], []
    for page in (bare, full):
        page.bodies[0].axes(1, 1)[0, 0].set(xlabel="rate", ylabel="loss")
        figure = page.compute_layout()
        shown = (text.get_text() for text in figure.findobj(Text))
        words.append(
            {said for said in shown if any(word in said for word in ("rate", "claim", "smoke"))}
        )
        heights.append(figure.get_size_inches()[1])
        axes.append(page.bodies[0].area.axes[0].get_window_extent().size)
    assert words[0] == {"rate"}
    assert len(words[1]) > 2
    assert 2.0 < heights[0] < 2.2 < heights[1]
    assert axes[0] == pytest.approx(axes[1], rel=0.02)


def test_long_words_are_wrapped_and_the_page_grows(folder: Path) -> None:
    opened = FigureFolder.open(folder)
    short, long = (
        dataclasses.replace(opened, title="T" + " and more" * k, notes=("n" + " of it" * k,))
        for k in (0, 30)
    )
    pages = [each.page([(3.0, 2.0)]) for each in (short, long)]
    heights = [page.figure.get_size_inches()[1] for page in pages]
    assert heights[1] > heights[0] + 0.5
    texts = {text.get_gid(): text.get_text() for text in pages[1]._top.texts}
    assert texts["title"].count("\n") >= 3
    assert pages[0].figure.get_size_inches()[0] > 3  # the narrowest that is read with ease


def test_figures_are_found_and_loaded(
    rates_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = rates_folder.parents[3]
    assert find("mupc/fig5", "smoke", root) == rates_folder
    table = scaling_limits.load("mupc/fig5", root=root)
    assert set(table["title"]) == {"main", "control"}
    below = root / "results" / "smoke"
    monkeypatch.chdir(below)
    assert scaling_limits.load("mupc/fig5").equals(table)
    for figure, preset in (("mupc/fig6", "smoke"), ("mupc/fig5", "laptop")):
        with pytest.raises(ScalingLimitsError) as caught:
            find(figure, preset)
        said = str(caught.value)
        assert said.startswith(f"{figure}: was not computed at the preset {preset} in {below} or ")
        assert f"scaling-limits run {figure} --preset {preset}." in said
        assert said.endswith("Computed there: at smoke: mupc/fig5")
        assert "did you mean" not in said
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScalingLimitsError, match=r"Computed there: nothing$"):
        scaling_limits.load("mupc/fig5")
    with pytest.raises(ScalingLimitsError, match=r"in .*nowhere\. To compute it"):
        scaling_limits.load("mupc/fig5", root=tmp_path / "nowhere")
    for wrong in ({"figure": None}, {"figure": "mupc/fig5", "root": 3}):
        with pytest.raises(ScalingLimitsError, match=": should be a name or a path, not "):
            scaling_limits.load(**wrong)  # type: ignore[arg-type]


def test_the_example_of_load_runs(rates_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(rates_folder.parents[3])
    (example,) = doctest.DocTestFinder().find(scaling_limits.load, "load", globs={})
    assert doctest.DocTestRunner().run(example) == (0, len(example.examples))
    assert example.examples


def test_descriptions(folder: Path) -> None:
    opened = FigureFolder.open(folder)
    assert opened.describe().split("\n\n") == [
        IDENTITY,
        "## Transfer of the rate over the width",
        SEE,
        "Training loss of **tanh** networks.",
    ]
    assert SEE not in dataclasses.replace(opened, see="").describe()
    assert "\n\n\n" not in dataclasses.replace(opened, see="").describe()
    assert opened.describe_notes().splitlines()[:-1] == [f"- {note}" for note in NOTES]
    assert "summary.html" in opened.describe_notes()
    assert opened.describe_verdicts() == (
        "- **holds**: The best rates do not depend on the width. (measured 0.123 [0, 0.5]; "
        "threshold: at most 1 octave; source: Fig 5) "
        "The optimum is resolved in 4 of 5 panels."
    )
    inconclusive = VERDICT | {
        "verdict": "inconclusive",
        "value": None,
        "interval": None,
        "registered": "The paper is silent.",
    }
    words = dataclasses.replace(opened, verdicts=(inconclusive,)).describe_verdicts()
    assert "**inconclusive**" in words
    assert "measured" not in words
    assert words.endswith("*Registered deviation:* The paper is silent.")
    assert "No claim" in dataclasses.replace(opened, verdicts=()).describe_verdicts()


def test_a_missing_or_broken_file_is_named(folder: Path) -> None:
    (folder / "verdicts.json").write_text("[{")
    with pytest.raises(ScalingLimitsError, match=r"verdicts\.json cannot be read"):
        FigureFolder.open(folder)
    (folder / "verdicts.json").write_text("[]")
    (folder / "cells.parquet").unlink()
    with pytest.raises(ScalingLimitsError, match=r"not complete.*cells\.parquet"):
        FigureFolder.open(folder)


def test_an_unknown_kind_or_option_is_refused(folder: Path) -> None:
    description = json.loads((folder / "figure.json").read_text())
    (folder / "figure.json").write_text(json.dumps(description | {"kind": "map"}))
    with pytest.raises(ScalingLimitsError, match="did you mean 'maps'"):
        FigureFolder.open(folder)
    description["plot"]["colour"] = "red"
    (folder / "figure.json").write_text(json.dumps(description))
    with pytest.raises(ScalingLimitsError, match="colour"):
        FigureFolder.open(folder)

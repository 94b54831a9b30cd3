"""Reading a figure's folder, and the files that are left in it."""

import dataclasses
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from plotting_records import NOTES, VERDICT
from scaling_limits.plotting.kinds import curves as curves_module
from scaling_limits.plotting.kinds import maps
from scaling_limits.plotting.kinds import scaling as scaling_module

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.files import WriteError
from scaling_limits.plotting.figure_folder import FigureFolder


@pytest.mark.parametrize(
    ("name", "draw"),
    [
        ("transfer", maps.draw),
        ("cosine", maps.draw),
        ("curves", curves_module.draw),
        ("scaling", scaling_module.draw),
    ],
)
def test_saved_files_are_the_same_each_time(
    name: str, draw: Callable[[FigureFolder], Figure], request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(name)
    contents = []
    for _ in range(2):
        folder = FigureFolder.open(path)
        figure = draw(folder)
        folder.save(figure)
        contents.append([(path / f"figure.{s}").read_bytes() for s in ("png", "pdf", "svg")])
    assert contents[0] == contents[1]
    folder.save(figure)  # the notes are written once
    assert (path / "figure.png").read_bytes() == contents[0][0]
    assert b"<dc:date>" not in contents[0][2]
    assert b"CreationDate" not in contents[0][1]


def test_a_full_disk_leaves_no_partial_figure(
    curves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = FigureFolder.open(curves)
    figure = curves_module.draw(folder)
    replace = os.replace

    def full(source: Path, target: Path) -> None:
        if target.suffix == ".pdf":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(WriteError, match=r"cannot write .*figure\.pdf: No space left on device"):
        folder.save(figure)
    assert sorted(path.name for path in curves.glob("figure.*")) == ["figure.json", "figure.png"]
    assert not list(curves.glob("*.tmp"))


def test_descriptions(transfer: Path) -> None:
    folder = FigureFolder.open(transfer)
    assert folder.describe().startswith("## mupc/fig5: Learning rates transfer")
    assert "**tanh**" in folder.describe()
    assert folder.describe_notes().count("- ") == len(NOTES)
    assert folder.describe_verdicts() == (
        "- **holds**: The best learning rates do not depend on the width. (measured 0.123; "
        "interval 0 to 0.5; threshold: at most 1 octave; source: Fig 5) "
        "The optimum is resolved in 4 of 5 panels."
    )
    untested = VERDICT | {
        "verdict": "untested",
        "value": None,
        "interval": None,
        "registered": "The paper is silent.",
    }
    words = dataclasses.replace(folder, verdicts=(untested,)).describe_verdicts()
    assert "**untested**" in words
    assert "measured" not in words
    assert words.endswith("*Registered deviation:* The paper is silent.")
    assert "No claim" in dataclasses.replace(folder, verdicts=()).describe_verdicts()


def test_a_missing_or_broken_file_is_named(transfer: Path) -> None:
    (transfer / "verdicts.json").write_text("[{")
    with pytest.raises(ScalingLimitsError, match=r"verdicts\.json cannot be read"):
        FigureFolder.open(transfer)
    (transfer / "verdicts.json").write_text("[]")
    (transfer / "cells.parquet").unlink()
    with pytest.raises(ScalingLimitsError, match=r"not complete.*cells\.parquet"):
        FigureFolder.open(transfer)


def test_an_unknown_kind_or_option_is_refused(transfer: Path) -> None:
    description = json.loads((transfer / "figure.json").read_text())
    (transfer / "figure.json").write_text(json.dumps(description | {"kind": "map"}))
    with pytest.raises(ScalingLimitsError, match="did you mean 'maps'"):
        FigureFolder.open(transfer)
    description["plot"]["colour"] = "red"
    (transfer / "figure.json").write_text(json.dumps(description))
    with pytest.raises(ScalingLimitsError, match="colour"):
        FigureFolder.open(transfer)

"""Judging from the records of figures' folders, and the checksums that they are checked against."""

import json
from pathlib import Path

import pandas as pd
import pytest

from scaling_limits.audit.judge import judge
from scaling_limits.audit.register import Amendment, Register, RegisteredFailure
from scaling_limits.audit.table import FigureClaims, collect, write_audit, write_verdicts
from scaling_limits.pipeline.checksums import (
    CHECKED,
    PROVENANCE,
    ChangedError,
    checksums,
    require_unchanged,
)
from scaling_limits.pipeline.judging import disagreements, judged, missing
from scaling_limits.records import Results
from toys import parsed_claim

CLAIM = parsed_claim(
    {
        "id": "small",
        "statement": "The loss is small.",
        "source": "Fig 5",
        "kind": "bound",
        "grids": ["main"],
        "by": ["width"],
        "quantity": {"metric": "train_loss"},
        "at_most": 0.5,
    }
)


@pytest.fixture
def figure(tmp_path: Path) -> FigureClaims:
    """A computed figure whose one claim fails."""
    folder = tmp_path / "results/smoke/mupc/fig5"
    folder.mkdir(parents=True)
    cells = pd.DataFrame({"cell_id": ["a", "b"], "grid": "main", "width": [8, 16], "seed": 0})
    records = pd.DataFrame({"cell_id": ["a", "b"], "metric": "train_loss", "step": 0})
    records = records.assign(inference_step=pd.NA, layer=pd.NA, index=pd.NA, value=[2.0, 3.0])
    cells.to_parquet(folder / "cells.parquet", index=False)
    records.to_parquet(folder / "records.parquet", index=False)
    (folder / "figure.json").write_text("{}")
    named = {"paper": "mupc", "figure": "fig5", "preset": "smoke"}
    verdicts = judge([CLAIM], Results.read(folder), **named, substituted=False, register=Register())
    write_verdicts(folder, verdicts)
    compared = {**named, "substitutions": {}}
    provenance = {"compared": compared, "checksums": checksums(folder)}
    (folder / PROVENANCE).write_text(json.dumps(provenance))
    return FigureClaims("mupc", "fig5", folder, [CLAIM])


def edited(figure: FigureClaims) -> None:
    path = figure.folder / "verdicts.json"
    text = path.read_text()
    assert text.count('"fails"') == 1
    path.write_text(text.replace('"fails"', '"holds"'))


def test_verdicts_are_of_the_records(figure: FigureClaims) -> None:
    require_unchanged([figure.folder])
    (verdict,) = judged("smoke", [figure], Register()).verdicts
    assert (verdict.verdict, verdict.value) == ("fails", 3.0)
    edited(figure)
    assert collect("smoke", [figure]).verdicts[0].verdict == "holds"
    assert judged("smoke", [figure], Register()).verdicts == (verdict,)


def test_what_is_registered_amended_and_substituted_is_known(figure: FigureClaims) -> None:
    key = ("mupc", "fig5", "small", "smoke")
    failure = RegisteredFailure(
        paper="mupc",
        figure="fig5",
        claim="small",
        presets=("smoke",),
        clause="too few updates",
        text="too short",
        checked=True,
    )
    amendment = Amendment(
        paper="mupc",
        figure="fig5",
        claim="small",
        presets=("smoke",),
        kinds=("sizes", "seeds"),
        changed=("widths", "seeds"),
        before="holds",
        why="It was open.",
    )
    (verdict,) = judged("smoke", [figure], Register({key: failure}, {key: amendment})).verdicts
    assert (verdict.registered, verdict.grids_tried) == ("too short", 3)
    assert verdict.clause == "too few updates"
    assert (verdict.changed, verdict.kinds) == (("widths", "seeds"), ("sizes", "seeds"))
    assert verdict.amended == "holds before. Changed after a result: widths; seeds. It was open."
    path = figure.folder / PROVENANCE
    content = json.loads(path.read_text())
    content["compared"]["substitutions"] = {"mnist": "digits"}
    path.write_text(json.dumps(content))
    named = FigureClaims(
        "mupc", "fig5", figure.folder, [CLAIM.model_copy(update={"names_dataset": True})]
    )
    (verdict,) = judged("smoke", [named], Register()).verdicts
    assert (verdict.verdict, verdict.value) == ("data not available", 3.0)
    assert verdict.detail.startswith("the claim names a dataset, and a substitute was used: the ")


@pytest.mark.parametrize("name", CHECKED)
def test_a_file_that_was_changed_cut_or_removed_is_named(figure: FigureClaims, name: str) -> None:
    path = figure.folder / name
    content = path.read_bytes()
    for changed in (content + b" ", content[:-1], b""):
        path.write_bytes(changed)
        with pytest.raises(ChangedError) as error:
            require_unchanged([figure.folder])
        assert str(error.value).startswith(f"{path}: does not match its checksum in {PROVENANCE}")
        assert str(error.value).endswith(f"remove {figure.folder} and run mupc/fig5 again")
    path.unlink()
    with pytest.raises(ChangedError, match=f"{name}: missing"):
        require_unchanged([figure.folder])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "missing"),
        ("{", "not the JSON that was written"),
        ("[]", "not the JSON that was written"),
        (
            '{"compared": {"substitutions": {}}}',
            "has no 'checksums', as written by another version",
        ),
        ('{"compared": {}, "checksums": {}}', "has no 'substitutions'"),
    ],
)
def test_a_provenance_that_holds_no_checksums_is_named(
    figure: FigureClaims, content: str | None, words: str
) -> None:
    path = figure.folder / PROVENANCE
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    with pytest.raises(ChangedError) as error:
        require_unchanged([figure.folder])
    assert str(error.value).startswith(f"{path}: {words}")


def test_all_changed_files_are_named(figure: FigureClaims) -> None:
    for name in CHECKED:
        (figure.folder / name).write_bytes(b"")
    with pytest.raises(ChangedError) as error:
        require_unchanged([figure.folder])
    assert [line.split(":")[0] for line in str(error.value).splitlines()] == [
        str(figure.folder / name) for name in CHECKED
    ]


def test_figures_without_records_are_counted(figure: FigureClaims, tmp_path: Path) -> None:
    absent = [FigureClaims("mupc", f"figA{k}", tmp_path / f"figA{k}", [CLAIM]) for k in range(1, 8)]
    assert missing([figure]) == []
    (sentence,) = missing([figure, *absent])
    assert sentence.startswith("7 of 8 figures have no records: mupc/figA1, ")
    assert "mupc/figA5 and 2 more; compute them, or pass --allow-missing" in sentence
    assert judged("smoke", [figure, *absent], Register()).summary.counts["not computed"] == 7


def test_a_table_of_other_verdicts_is_named(figure: FigureClaims, tmp_path: Path) -> None:
    audit, path = judged("smoke", [figure], Register()), tmp_path / "audit.json"
    write_audit(audit, tmp_path)
    assert disagreements(audit, path) == []
    path.write_text(path.read_text().replace('"verdict": "fails"', '"verdict": "holds"'))
    (sentence,) = disagreements(audit, path)
    assert "says 'holds 3" in sentence
    assert "and its records say 'fails 3" in sentence
    assert "remove the file and results/smoke/mupc/fig5" in sentence
    path.write_text("{")
    assert disagreements(audit, path) == [f"{path}: not the JSON that was written; remove it"]

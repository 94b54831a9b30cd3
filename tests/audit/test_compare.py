"""Two folders of results side by side."""

import json
import shutil
from pathlib import Path

import pytest
from test_audit_table import verdict

from scaling_limits.audit.compare import differences, results_of
from scaling_limits.audit.table import write_verdicts
from scaling_limits.errors import ConfigurationError


def write(folder: Path, figure: str, *verdicts, **compared) -> None:
    place = folder / figure
    place.mkdir(parents=True)
    write_verdicts(place, verdicts)
    (place / "provenance.json").write_text(
        json.dumps({"compared": compared, "not_compared": {"machine": str(folder)}})
    )


@pytest.fixture
def first(tmp_path):
    folder = tmp_path / "results" / "smoke"
    experiment = {"name": "transfer", "settings": {"num_steps": 40, "width": 8}}
    write(folder, "mupc/fig5", verdict("holds"), preset="smoke", experiment=experiment)
    write(folder, "mupc/table1", preset="smoke", experiment=None)
    return folder


def test_equal_results_have_no_differences(first, tmp_path):
    copy = shutil.copytree(first, tmp_path / "copy")
    assert differences(first, copy) == []


def test_settings_verdicts_and_values(first, tmp_path):
    second = tmp_path / "second"
    experiment = {"name": "transfer", "settings": {"num_steps": 20, "depth": 2, "width": 8}}
    claims = verdict("holds", value=0.7, interval=(0.6, 0.8)), verdict("inconclusive", "other")
    write(second, "mupc/fig5", *claims, preset="laptop", experiment=experiment)
    write(second, "pc-tp/fig1", preset="laptop", experiment=None)
    assert differences(first, second) == [
        "mupc/fig5",
        "  experiment.settings.depth: unset -> 2",
        "  experiment.settings.num_steps: 40 -> 20",
        "  claim other: no claim -> inconclusive",
        "  claim stays: holds 0.5 -> holds 0.7 [0.6, 0.8]",
        f"mupc/table1: only in {first}",
        f"pc-tp/fig1: only in {second}",
    ]


def test_results_are_presets_or_folders(first, tmp_path):
    assert results_of("smoke", tmp_path) == results_of(str(first), tmp_path / "elsewhere") == first
    (tmp_path / "empty").mkdir()
    for name, said in (
        ("smok", "did you mean 'smoke'"),
        ("", "two results are compared"),
        (str(tmp_path / "empty"), r"no figure's provenance\.json lies below .*empty"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            results_of(name, tmp_path)

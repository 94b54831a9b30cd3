"""How values are written: YAML 1.2's core schema in files, the same as text on the command line."""

import math
from pathlib import Path
from typing import Any

import pytest

from scaling_limits.configuration import load
from scaling_limits.configuration.files import read_yaml
from scaling_limits.errors import ConfigurationError
from toys import FIGURE, PAPER, SETTINGS, as_yaml, cell, write_project


def read(folder: Path, text: str) -> dict[str, Any]:
    (folder / "x.yaml").write_text(text, encoding="utf-8")
    return read_yaml(folder / "x.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e5", 1e5),
        ("1E-3", 1e-3),
        ("010", 10),
        ("-08", -8),
        ("0o17", 15),
        ("0x1F", 31),
        (".5", 0.5),
        ("-.inf", -math.inf),
        ("true", True),
        ("~", None),
        ("", None),
        ("on", "on"),
        ("No", "No"),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("'1'", "1"),
    ],
)
def test_a_value(tmp_path: Path, text: str, value: Any) -> None:
    found = read(tmp_path, f"a: {text}")["a"]
    assert (found, type(found)) == (value, type(value))


def test_a_key_is_what_is_written(tmp_path: Path) -> None:
    assert list(read(tmp_path, "{on: 1, 010: 2, 2024-01-01: 3, 1.0: 4, ~: 5}")) == [
        *("on", "010", "2024-01-01", "1.0", "~")
    ]


@pytest.mark.parametrize(
    "text", ["!!binary aa", "!!set {a}", "!!int x", "!!int [1]", "!!timestamp 2024-01-01", "!x y"]
)
def test_other_tags_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"yaml:1: cannot be read: |cannot be read: line 1"
    ):
        read(tmp_path, f"a: {text}")


def test_whole_numbers_have_exponents_and_zeros(tmp_path: Path) -> None:
    experiment = as_yaml(PAPER["transfer"])
    for written, steps in (("1e2", 100), ("010", 10), ("'1e2'", 100)):
        write_project(tmp_path, preset={"caps": {"num_steps": 50}})
        text = experiment.replace("num_steps: 6", f"num_steps: {written}")
        (tmp_path / "config/papers/toy/transfer.yaml").write_text(text, encoding="utf-8")
        assert {c.num_steps for c in load(tmp_path).cells("toy", "transfer")} == {steps}
        capped = load(tmp_path, {"preset": "small"}).cells("toy", "transfer")
        assert written.startswith("'") or {c.num_steps for c in capped} == {min(steps, 50)}
    changes = {"experiments": {"transfer": {"num_steps": "1e1", "seed": {"count": "2e0"}}}}
    changed = load(tmp_path, {"papers": {"toy": changes}}).cells("toy", "transfer")
    assert {(c.num_steps, c.seed) for c in changed} == {(10, 0), (10, 1)}


@pytest.mark.parametrize("value", ["1.5", "1e-1", "nan", "many"])
def test_no_whole_number(value: str) -> None:
    with pytest.raises(ConfigurationError, match=r"num_steps: .*integer"):
        cell(num_steps=value)


def test_text_beside_words_is_a_whole_number() -> None:
    assert cell(num_inference_steps="1e1").canonical()["algorithm"]["num_inference_steps"] == 10


def test_a_figure_is_called_on(tmp_path: Path) -> None:
    own = {**PAPER["transfer"], "quantities": PAPER["paper"]["quantities"], **SETTINGS}
    own |= {"grids": {"main": {}}, "width": [8, 16], "figures": {"true": FIGURE}}
    write_project(tmp_path)
    path = tmp_path / "config/experiments/mine.yaml"
    path.parent.mkdir()
    for name in ("on", "true", "010"):
        text = as_yaml(own).replace("'true'", name)
        path.write_text(text, encoding="utf-8")
        configuration = load(tmp_path)
        assert configuration.faults == {}
        assert configuration.figures("own") == [name]
        assert configuration.figure("own", name).title == FIGURE["title"]

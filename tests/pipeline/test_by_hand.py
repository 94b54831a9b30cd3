"""One network without a pipeline."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import scaling_limits
from scaling_limits.configuration.models import MeasurementPlan, Resources
from scaling_limits.configuration.resolve import Resolver
from scaling_limits.datasets.preparation import prepare
from scaling_limits.errors import ConfigurationError, DatasetError
from scaling_limits.pipeline.jobs import run_job
from scaling_limits.store import Store

ROOT = Path(__file__).parents[2]
SETTINGS = yaml.safe_load("""
dataset: digits
num_train: 64
num_test: 16
depth_kind: hidden_layers
depth: 2
width: 8
activation: tanh
parameterisation: mup
optimiser: sgd
algorithm: backpropagation
learning_rate: 0.1
num_steps: 5
batch_size: 16
dtype: float32
""")


def test_its_records_are_those_of_the_pipeline(tmp_path: Path) -> None:
    ours = scaling_limits.train(SETTINGS, {"performance": [0, "end"]})
    plans = {"performance": MeasurementPlan(steps=[0, "end"])}
    cell = Resolver(Resources(), {}, {}).resolve(SETTINGS, plans).cell
    output = tmp_path / "digits.npz"
    prepare("digits", data_path=None, downloads=tmp_path, output=output, user={})
    records, meta = tmp_path / "records.parquet", tmp_path / "meta.json"
    run_job(
        [cell],
        store=Store(tmp_path / "cells"),
        datasets_folder=tmp_path,
        accepted_sources=[],
        records=records,
        meta=meta,
    )
    theirs = pd.read_parquet(records).drop(columns="cell_id")
    pd.testing.assert_frame_equal(ours, theirs)
    assert set(ours["metric"]) == {"train_loss", "test_loss", "test_accuracy"}


@pytest.fixture(scope="module")
def arrays() -> dict[str, Any]:
    x = np.random.default_rng(0).random((20, 6))
    return {"x_train": x, "y_train": np.arange(20) % 3, "x_test": x[:8].tolist(), "y_test": [0] * 8}


def test_data_are_arrays_or_a_file(arrays: dict[str, Any], tmp_path: Path) -> None:
    own = {key: value for key, value in SETTINGS.items() if key not in ("dataset", "num_test")}
    own |= {"normalisation": "standardise", "num_train": 16, "num_steps": 3}
    np.savez(tmp_path / "mine.npz", **arrays)
    given = scaling_limits.train(own, {"performance": ["end"]}, data=arrays)
    assert list(given["metric"]).count("train_loss") == 3
    file = scaling_limits.train(own, {"performance": ["end"]}, data=str(tmp_path / "mine.npz"))
    pd.testing.assert_frame_equal(given, file)
    named = scaling_limits.train(own | {"dataset": "mine"}, data=arrays)
    assert len(named) == 3


def test_what_is_wrong_with_data_is_said_of_them(arrays: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"^data: the key 'y_test' is missing"):
        scaling_limits.train(SETTINGS, data={k: v for k, v in arrays.items() if k != "y_test"})
    with pytest.raises(DatasetError, match=r"^data: 'y_train' cannot be read as an array of num"):
        scaling_limits.train(SETTINGS, data=arrays | {"y_train": [object()] * 20})
    with pytest.raises(ConfigurationError, match="'digits' is a dataset of the project"):
        scaling_limits.train(SETTINGS, data=arrays)
    with pytest.raises(ConfigurationError, match=r"data: .*nowhere is not there"):
        scaling_limits.train(SETTINGS, data=tmp_path / "nowhere")


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ConfigurationError, match="activation"):
        scaling_limits.train(SETTINGS | {"activation": "tahn"})


def test_the_example_of_the_documentation_runs(tmp_path: Path) -> None:
    """In a process of its own, as JAX is set up by the first import."""
    page = (ROOT / "docs/own.md").read_text()
    example = page.split("## One network by hand")[1].split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert "test_accuracy" in done.stdout

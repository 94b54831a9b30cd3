"""One network without a pipeline."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
import yaml

import scaling_limits
from scaling_limits import runtime
from scaling_limits.configuration.models import MeasurementPlan, Resources
from scaling_limits.configuration.resolve import Resolver
from scaling_limits.datasets.preparation import prepare
from scaling_limits.errors import ConfigurationError, DatasetError
from scaling_limits.pipeline.jobs import run_job
from scaling_limits.store import Store

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def configured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set JAX up as `train` does. XLA's flags are those of all tests, as the process has read them."""
    for name, value in runtime._ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with jax.default_matmul_precision("highest"):
        yield


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
        records=records,
        meta=meta,
    )
    theirs = pd.read_parquet(records).drop(columns="cell_id")
    pd.testing.assert_frame_equal(ours, theirs)
    assert set(ours["metric"]) == {"train_loss", "test_loss", "test_accuracy"}


OWN = {key: value for key, value in SETTINGS.items() if key not in ("dataset", "num_test")}
OWN |= {"normalisation": "standardise"}
ROW = yaml.safe_load("""
scheme: mine
update_rule: sgd
input: {init_std: {fan_in: -0.5}}
hidden: {init_std: {fan_in: -0.5}}
output: {init_std: {fan_in: -0.5}}
source: own
""")
ALGORITHM = """
import jax

from scaling_limits.algorithms.backpropagation.computation import errors, init
from scaling_limits.algorithms.backpropagation.computation import update as whole


def update(problem, state):
    gradients, state, metrics = whole(problem, state)
    return jax.tree.map(lambda gradient: 1.0 * gradient, gradients), state, metrics
"""


@pytest.fixture(scope="module")
def arrays() -> dict[str, Any]:
    x = np.random.default_rng(0).random((20, 6))
    return {"x_train": x, "y_train": np.arange(20) % 3, "x_test": x[:8].tolist(), "y_test": [0] * 8}


def test_data_are_arrays_or_a_file(arrays: dict[str, Any], tmp_path: Path) -> None:
    own = OWN | {"num_train": 16, "num_steps": 3}
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
    with pytest.raises(DatasetError, match="data: 'x_train' is no array of numbers"):
        scaling_limits.train(SETTINGS, data=arrays | {"x_train": [[1], [1, 2]]})
    masked = np.ma.masked_equal(arrays["y_train"], 0)
    with pytest.raises(DatasetError, match="data: 'y_train' has masked values"):
        scaling_limits.train(SETTINGS, data=arrays | {"y_train": masked})


def test_further_arrays_are_passed_over(arrays: dict[str, Any]) -> None:
    own = OWN | {"num_steps": 1, "num_train": 16}
    assert len(scaling_limits.train(own, data=arrays | {"file": [1], 2: [3]})) == 1


def test_a_folder_of_copies_that_lacks_the_dataset_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "copies").mkdir()
    with pytest.raises(DatasetError, match=f"mnist: no complete copy in {tmp_path}/copies, and no"):
        scaling_limits.train(SETTINGS | {"dataset": "mnist"}, data="~/copies")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"settings": None}, "train: settings: "),
        ({"settings": ["width"]}, "train: settings: "),
        ({"settings": SETTINGS | {1: 2}}, "train: settings.1: "),
        ({"settings": SETTINGS | {"activation": "tahn"}}, "activation: unknown value 'tahn'"),
        ({"settings": SETTINGS | {"dataset": ["digits"]}}, "dataset: "),
        ({"settings": SETTINGS | {"algorithm": ["backpropagation"]}}, "algorithm: unknown algorithm"),
        ({"settings": SETTINGS | {"width": [8, 16]}}, "width: "),
        ({"settings": SETTINGS | {"width": np.array([8, 16])}}, "width: "),
        ({"settings": SETTINGS | {"exponent_changes": 3}}, "exponent_changes: "),
        ({"settings": SETTINGS | {"input_shape": [0, 8]}}, "input_shape.0: "),
        ({"measurements": ["performance"]}, "train: measurements: "),
        ({"measurements": {1: [0]}}, "train: measurements.1: "),
        *(
            ({"measurements": {"performance": steps}}, "train: measurements.performance")
            for steps in (0, None, "end", [], [-1], [0.5], ["start"])
        ),
        (
            {"measurements": {"performance": [0, 6]}},
            "measurements.performance: step 6 is never reached, as num_steps is 5; valid are 0 to 5, and 'end'",
        ),
        ({"data": 3}, "data: should be arrays by name (x_train, y_train, x_test, y_test) or a path, not int"),
        ({"data": [1, 2]}, "data: should be arrays by name"),
        ({"algorithms": ["mine.py"]}, "train: algorithms: "),
        ({"algorithms": {"backpropagation": "mine.py"}}, "train: algorithms: 'backpropagation' is one of"),
        ({"algorithms": {"my own": "mine.py"}}, "train: algorithms: 'my own': a name has letters, "),
        ({"algorithms": {"mine": "nowhere.py"}}, "train: algorithms.mine: nowhere.py: cannot be read"),
        ({"algorithms": {"mine": 3}}, "train: algorithms.mine: "),
        ({"parameterisations": {"scheme": "mine"}}, "train: parameterisations: "),
        ({"parameterisations": [{"scheme": "mine"}]}, "train: parameterisations.0."),
        ({"parameterisations": [ROW | {"scheme": "mup"}]}, "train: parameterisations: 'mup with sgd' is one"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{re.escape(message)}") as caught:
        scaling_limits.train(**{"settings": SETTINGS, **arguments})
    assert "pydantic" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "named"),
    [({"width": 2_000_000}, "width 2000000"), ({"num_steps": 10**10}, "10000000000 steps")],
)
def test_what_does_not_fit_into_memory_is_refused(change: dict[str, int], named: str) -> None:
    message = rf"{named}.* takes about [\d,]+ MB, more than the [\d,]+ of this machine; lower width"
    with pytest.raises(ConfigurationError, match=message):
        scaling_limits.train(SETTINGS | change)


def test_the_end_may_be_said_by_its_number() -> None:
    by_number = scaling_limits.train(SETTINGS, {"performance": range(0, 6, 5)})
    pd.testing.assert_frame_equal(
        by_number, scaling_limits.train(SETTINGS, {"performance": [0, "end"]})
    )


def test_a_row_of_the_table_may_be_given() -> None:
    theirs = scaling_limits.train(SETTINGS | {"parameterisation": "sp_gaussian"})
    mine = {"parameterisation": "mine"}
    ours = scaling_limits.train(SETTINGS | mine, parameterisations=[ROW])
    pd.testing.assert_frame_equal(ours, theirs)
    with pytest.raises(ConfigurationError, match="unknown parameterisation 'mine'"):
        scaling_limits.train(SETTINGS | mine)


def test_an_algorithm_may_be_given(tmp_path: Path) -> None:
    """An edit of its file counts in the same process, also within a second and of the same size."""
    file = tmp_path / "mine.py"

    def ours() -> pd.DataFrame:
        return scaling_limits.train(SETTINGS | {"algorithm": "mine"}, algorithms={"mine": file})

    theirs = scaling_limits.train(SETTINGS)
    file.write_text(ALGORITHM)
    pd.testing.assert_frame_equal(ours(), theirs)
    file.write_text(ALGORITHM.replace("1.0 *", "0.0 *"))
    losses = ours()["value"]
    assert losses[0] == theirs["value"][0]
    assert losses.nunique() > 1  # of other batches
    assert not np.allclose(losses, theirs["value"])
    file.write_text(ALGORITHM.replace("import errors, init", "import init"))
    with pytest.raises(ConfigurationError, match="defines no function 'errors'"):
        ours()
    assert list(tmp_path.iterdir()) == [file]


def test_the_examples_of_the_documentation_run(tmp_path: Path) -> None:
    """In a process of its own, as JAX is set up by the first import."""
    page = (ROOT / "docs/own.md").read_text()
    (algorithm,) = re.findall("```python\n# own/feedback_alignment.py\n(.*?)```", page, re.DOTALL)
    (tmp_path / "own").mkdir()
    (tmp_path / "own/feedback_alignment.py").write_text(algorithm)
    examples = page.split("## One network by hand")[1]
    code = "\n".join(re.findall("```python\n(.*?)```", examples, re.DOTALL)) + "print(len(records))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert "test_accuracy" in done.stdout
    assert done.stdout.splitlines()[-1] == "100"

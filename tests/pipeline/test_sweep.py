"""Networks and sweeps from Python."""

import doctest
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
from scaling_limits.cells import Cell
from scaling_limits.configuration.models import MeasurementPlan, Resources
from scaling_limits.configuration.resolve import Resolver
from scaling_limits.datasets.loading import Arrays
from scaling_limits.datasets.preparation import prepare
from scaling_limits.errors import ConfigurationError
from scaling_limits.pipeline import jobs
from scaling_limits.pipeline.jobs import computation, run_job
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
    cell = Resolver(Resources(), {}).resolve(SETTINGS, plans).cell
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


def test_errors_in_data_name_the_argument(arrays: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^data: the key 'y_test' is missing"):
        scaling_limits.train(SETTINGS, data={k: v for k, v in arrays.items() if k != "y_test"})
    with pytest.raises(
        ConfigurationError, match=r"^data: 'y_train' cannot be read as an array of num"
    ):
        scaling_limits.train(SETTINGS, data=arrays | {"y_train": [object()] * 20})
    with pytest.raises(ConfigurationError, match="'digits' is already the name of a dataset"):
        scaling_limits.train(SETTINGS, data=arrays)
    with pytest.raises(ConfigurationError, match=r"data: .*nowhere is not there"):
        scaling_limits.train(SETTINGS, data=tmp_path / "nowhere")
    with pytest.raises(ConfigurationError, match="data: 'x_train' is no array of numbers"):
        scaling_limits.train(SETTINGS, data=arrays | {"x_train": [[1], [1, 2]]})
    with pytest.raises(ConfigurationError, match="dataset: `data` is one dataset"):
        scaling_limits.train(SETTINGS | {"dataset": ["a", "b"]}, data=arrays)
    masked = np.ma.masked_equal(arrays["y_train"], 0)
    with pytest.raises(ConfigurationError, match="data: 'y_train' has masked values"):
        scaling_limits.train(SETTINGS, data=arrays | {"y_train": masked})


def test_further_arrays_are_passed_over(arrays: dict[str, Any]) -> None:
    own = OWN | {"num_steps": 1, "num_train": 16}
    assert len(scaling_limits.train(own, data=arrays | {"file": [1], 2: [3]})) == 1


def test_a_folder_of_copies_that_lacks_the_dataset_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "copies").mkdir()
    with pytest.raises(
        ConfigurationError, match=f"mnist: no complete copy in {tmp_path}/copies, and no"
    ):
        scaling_limits.train(SETTINGS | {"dataset": "mnist"}, data="~/copies")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"settings": None}, "train: settings: "),
        ({"settings": ["width"]}, "train: settings: "),
        ({"settings": SETTINGS | {1: 2}}, "train: settings.1: "),
        ({"settings": SETTINGS | {"activation": "tahn"}}, "activation: unknown value 'tahn'"),
        ({"settings": SETTINGS | {"dataset": ["digits", "digit"]}}, "dataset: unknown dataset 'digit'"),
        ({"settings": SETTINGS | {"algorithm": [["backpropagation"]]}}, "algorithm: unknown algorithm"),
        ({"settings": SETTINGS | {"width": [8, 0]}}, "width: "),
        ({"settings": SETTINGS | {"width": {8, 16}}}, "width: "),
        ({"settings": SETTINGS | {"width": np.array([[8], [16]])}}, "width: "),
        ({"settings": SETTINGS | {"width": []}}, "width: a list of values needs at least one"),
        ({"settings": SETTINGS | {"seed": [0, 1, 0]}}, "seed: the value 0 occurs twice"),
        ({"settings": SETTINGS | {"learning_rate": (0.1, 1e-1)}}, "learning_rate: the value 0.1 occurs twice"),
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
        ({"store": 3}, "store: should be the path of a folder, not int"),
        ({"store": __file__}, f"store: {__file__} is a file, not a folder"),
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
    with pytest.raises(ConfigurationError, match="defines no 'errors'"):
        ours()
    assert list(tmp_path.iterdir()) == [file]


SWEEP = SETTINGS | {"seed": (0, 2), "width": np.array([8, 12]), "learning_rate": [0.1, 0.2]}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
    """The first cell of each program that is compiled."""
    cells: list[Cell] = []

    def counted(cell: Cell, arrays: Arrays) -> Any:
        cells.append(cell)
        return computation(cell, arrays)

    monkeypatch.setattr(jobs, "computation", counted)
    return cells


def test_a_sweep_is_compiled_once_per_shape(compiled: list[Cell]) -> None:
    table = scaling_limits.train(SWEEP, {"performance": ["end"]})
    assert [cell.network.width for cell in compiled] == [8, 12]
    assert list(table)[:4] == ["width", "learning_rate", "seed", "metric"]
    single = {"width": 12, "learning_rate": 0.2, "seed": 2}
    alone = scaling_limits.train(SWEEP | single, {"performance": ["end"]})
    chosen = table[(table[list(single)] == pd.Series(single)).all(axis=1)].drop(columns=[*single])
    pd.testing.assert_frame_equal(chosen.reset_index(drop=True), alone)
    assert len(table) == 8 * len(alone)
    points = table[["seed", "width", "learning_rate"]].drop_duplicates()
    assert points.to_numpy().tolist()[:3] == [[0, 8, 0.1], [2, 8, 0.1], [0, 8, 0.2]]


def test_a_setting_whose_value_is_a_list_is_swept_by_lists_of_lists() -> None:
    table = scaling_limits.train(SETTINGS | {"frozen": ["input"], "input_shape": (4, 4)})
    assert "frozen" not in table
    swept = scaling_limits.train(SETTINGS | {"frozen": [[], ["input"]], "num_steps": 1})
    assert swept["frozen"].tolist() == [(), ("input",)]
    assert list(swept)[:2] == ["frozen", "seed"]


def test_a_sweep_over_dataset_dtype_and_length() -> None:
    change = {"dataset": ["digits", "gaussian_binary"], "dtype": ["float64", "float32"]}
    change |= {"num_steps": [1, 2], "num_train": 16, "num_test": None}
    settings = SETTINGS | change | {"targets": "gaussian", "target_dim": 2}
    settings |= {"normalisation": "none"}
    table = scaling_limits.train(settings, {"performance": [2]})
    losses = table[table["metric"] == "train_loss"]
    assert losses.groupby(["dataset", "dtype", "num_steps"]).size().tolist() == [1, 2] * 4
    single = {"dataset": "gaussian_binary", "dtype": "float64", "num_steps": 2}
    alone = scaling_limits.train(settings | single)
    chosen = losses[(losses[[*single]] == pd.Series(single)).all(axis=1)]
    assert chosen["value"].tolist() == alone["value"].tolist()
    assert chosen["value"].tolist() != chosen["value"].astype(np.float32).tolist()
    tested = table[table["metric"] == "test_loss"]
    assert tested["num_steps"].tolist() == [2] * 4  # shorter trainings do not reach it


def test_stored_networks_are_loaded(tmp_path: Path, compiled: list[Cell]) -> None:
    store = tmp_path / "cells"
    first = scaling_limits.train(SWEEP, store=store)
    assert len(compiled) == 2
    pd.testing.assert_frame_equal(scaling_limits.train(SWEEP, store=str(store)), first)
    assert len(compiled) == 2
    pd.testing.assert_frame_equal(scaling_limits.train(SWEEP), first)
    assert len(compiled) == 4
    scaling_limits.train(SWEEP | {"seed": [0, 1, 2]}, store=store)
    assert [(cell.network.width, cell.seed) for cell in compiled[4:]] == [(8, 1), (12, 1)]
    assert {path.name for path in tmp_path.iterdir()} == {"cells"}


def test_the_store_is_that_of_the_pipeline(tmp_path: Path, compiled: list[Cell]) -> None:
    cell = Resolver(Resources(), {}).resolve(SETTINGS, {}).cell
    prepare("digits", data_path=None, downloads=tmp_path, output=tmp_path / "digits.npz", user={})
    store = Store(tmp_path / "cells")
    files = {name: tmp_path / name for name in ("records", "meta")}
    run_job([cell], store=store, datasets_folder=tmp_path, **files)
    ours = scaling_limits.train(SETTINGS, store=store.folder)
    assert len(compiled) == 1
    pd.testing.assert_frame_equal(ours, pd.read_parquet(files["records"]).drop(columns="cell_id"))
    scaling_limits.train(SETTINGS | {"seed": 1}, store=store.folder)
    other = cell.model_copy(update={"seed": 1})
    run_job([other], store=store, datasets_folder=tmp_path, **files)
    assert len(compiled) == 2


def test_an_edited_algorithm_is_not_loaded_from_the_store(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"

    def losses() -> list[float]:
        table = scaling_limits.train(
            SETTINGS | {"algorithm": "mine"}, algorithms={"mine": file}, store=tmp_path / "cells"
        )
        return table["value"].tolist()

    file.write_text(ALGORITHM)
    before = losses()
    file.write_text(ALGORITHM.replace("1.0 *", "0.0 *"))
    assert losses() != before
    file.write_text(ALGORITHM)
    assert losses() == before


def test_a_store_that_cannot_be_written_is_an_error_in_the_arguments(tmp_path: Path) -> None:
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "lock").mkdir()
    with pytest.raises(ConfigurationError, match=r"cannot write .*cells/lock"):
        scaling_limits.train(SETTINGS, store=tmp_path / "cells")


def test_progress_is_shown_in_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scaling_limits.train(SWEEP)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    scaling_limits.train(SWEEP)
    out, err = capsys.readouterr()
    assert out == ""
    assert "0/8" in err
    assert "\n" not in err


def test_the_example_of_its_docstring_runs() -> None:
    function = scaling_limits.train
    (example,) = doctest.DocTestFinder().find(function, "train", globs={})
    assert doctest.DocTestRunner().run(example) == (0, len(example.examples))
    assert example.examples


def test_the_examples_of_the_documentation_run(tmp_path: Path) -> None:
    """In a process of its own, as JAX is set up by the first import."""
    page = (ROOT / "docs/own.md").read_text()
    (algorithm,) = re.findall("```python\n# own/feedback_alignment.py\n(.*?)```", page, re.DOTALL)
    (tmp_path / "own").mkdir()
    (tmp_path / "own/feedback_alignment.py").write_text(algorithm)
    examples = page.split("## From Python")[1]
    code = "\n".join(re.findall("```python\n(.*?)```", examples, re.DOTALL)) + "print(len(records))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert "test_accuracy" in done.stdout
    assert done.stdout.splitlines()[-1] == "100"

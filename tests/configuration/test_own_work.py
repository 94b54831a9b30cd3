"""Experiments, algorithms and rows of the user's own, in the configuration."""

import numpy as np
import pytest
import yaml

from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.cells import AlgorithmSpec
from scaling_limits.configuration import load
from scaling_limits.datasets.loading import load as load_arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.pipeline.keys import cell_key, cell_source
from scaling_limits.source import closure
from scaling_limits.training.loop import compile_shard
from toys import PAPER, SETTINGS, forget_sources, write_project

EXPERIMENT, FIGURE = PAPER["experiments"]["transfer"], PAPER["figures"]["fig1"]
OWN = {
    "title": "Mine",
    "caption": "What it shows.",
    "experiment": EXPERIMENT,
    "plot": FIGURE["plot"],
}
COPY = "from scaling_limits.algorithms.backpropagation.computation import errors, init, update\n"


def configured(root, own=OWN, name="mine", *, overrides=None, **main):
    write_project(root, main={"preset": "whole", **main}, preset={"caps": {"width": 8, "seeds": 1}})
    path = root / "config/experiments" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(own, sort_keys=False), encoding="utf-8")
    return load(root, overrides)


def with_algorithm(root, text, **settings):
    file = root / "own.py"
    file.write_text(text, encoding="utf-8")
    settings = SETTINGS | {"algorithm": "copy"} | settings
    own = OWN | {"experiment": EXPERIMENT | {"settings": settings}}
    return configured(root, own, algorithms={"copy": "own.py"}), file


def test_an_experiment_of_a_file_is_a_figure_named_as_the_file(tmp_path):
    configuration = configured(tmp_path, name="my_own-1")
    assert configuration.papers == ["toy", "own"]
    assert list(configuration.paper("own").figures) == ["my_own-1"]
    assert configuration.figure("own", "my_own-1").title == "Mine"
    assert configuration.cells("own", "my_own-1") == configuration.cells("toy", "transfer")


def test_without_files_there_is_nothing_of_the_users_own(tmp_path):
    assert load(write_project(tmp_path)).papers == ["toy"]


def test_presets_leave_it_as_it_is_written(tmp_path):
    configuration = configured(tmp_path, overrides={"preset": "small"})
    whole = configured(tmp_path)
    assert configuration.cells("own", "mine") == whole.cells("own", "mine")
    assert len(configuration.cells("toy", "transfer")) < len(whole.cells("toy", "transfer"))


def test_a_preset_replaces_no_dataset_of_it(tmp_path):
    write_project(tmp_path)
    settings = {"settings": SETTINGS | {"dataset": "mnist"}}
    configured(tmp_path, OWN | {"experiment": EXPERIMENT | settings})
    path = tmp_path / "config/presets/whole.yaml"
    path.write_text("description: digits for all\nsubstitutions: {mnist: digits}\n")
    configuration = load(tmp_path)
    assert configuration.substitutions("own", "mine") == {}
    assert {cell.dataset.name for cell in configuration.cells("own", "mine")} == {"mnist"}


def test_the_command_line_changes_it(tmp_path):
    changes = {"experiments": {"mine": {"axes": {"seed": [7]}}}}
    configuration = configured(tmp_path, overrides={"papers": {"own": changes}})
    assert {cell.seed for cell in configuration.cells("own", "mine")} == {7}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"titel": "x"}, r"mine\.yaml: titel: unknown key 'titel'; did you mean 'title'"),
        ({"plot": FIGURE["plot"] | {"kind": "curve"}}, r"mine\.yaml: plot"),
        (
            {"experiment": EXPERIMENT | {"settings": SETTINGS | {"widht": 3}}},
            r"mine\.yaml: .*unknown setting 'widht'; did you mean 'width'",
        ),
    ],
)
def test_errors_name_the_file(tmp_path, changes, message):
    configuration = configured(tmp_path, OWN | changes)
    with pytest.raises(ConfigurationError, match=message):
        configuration.cells("own", "mine")


def test_a_name_that_is_no_target_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"my plot\.yaml: .*pattern"):
        configured(tmp_path, name="my plot").paper("own")


def test_own_is_no_paper(tmp_path):
    configured(tmp_path)
    (tmp_path / "config/papers/own.yaml").write_text("{}")
    with pytest.raises(ConfigurationError, match=r"papers/own\.yaml: .* config/experiments"):
        _ = load(tmp_path).papers


def test_a_file_is_an_algorithm(tmp_path, datasets_folder):
    """Backpropagation from a file trains as backpropagation does, bit by bit."""
    configuration, file = with_algorithm(tmp_path, COPY)
    own = configuration.cells("own", "mine")[0]
    assert own.algorithm.file == str(file)
    known = own.model_copy(update={"algorithm": AlgorithmSpec(name="backpropagation")})
    arrays = load_arrays(own.dataset, datasets_folder / "digits.npz")
    first, second = (compile_shard(cell, arrays)([cell])[0] for cell in (own, known))
    assert first.keys() == second.keys()
    np.testing.assert_array_equal(first["train_loss"].values, second["train_loss"].values)


def rewrite(file, text):
    file.write_text(text)
    forget_sources()


def test_its_source_is_the_file_and_what_that_imports(tmp_path):
    configuration, file = with_algorithm(tmp_path, COPY)
    cell = configuration.cells("own", "mine")[0]
    before = cell_key(cell)
    assert cell_source(cell) != cell_source(configuration.cells("toy", "transfer")[0])
    rewrite(file, COPY + "# a comment\n")
    assert cell_key(cell) == before
    rewrite(file, COPY + "FACTOR = 2\n")
    assert cell_key(cell) != before
    assert backpropagation.__name__ in closure([str(file)])


@pytest.mark.parametrize("inference", [None, "exact"])
def test_it_gets_what_is_given_for_inference(tmp_path, inference):
    changes = {"inference": {"step": {"width": 1.0}}}
    configuration, file = with_algorithm(
        tmp_path, COPY, inference=inference, activity_gradient=None, exponent_changes=changes
    )
    cell = configuration.cells("own", "mine")[0]
    assert cell.algorithm == AlgorithmSpec(
        name="copy",
        file=str(file),
        inference=inference,
        num_inference_steps=SETTINGS["depth"],
        activity_learning_rate=SETTINGS["activity_learning_rate"] * cell.network.width,
    )


def test_it_may_use_all_numbers_of_a_role(tmp_path):
    changes = {"input": {"energy_weight": {"width": 1.0}}, "output": {"branch": {"width": 1.0}}}
    configuration, _ = with_algorithm(
        tmp_path, COPY, inference=None, energy_weight=3.0, exponent_changes=changes
    )
    cell = configuration.cells("own", "mine")[0]
    assert cell.scaling["input"].energy_weight == 3.0 * cell.network.width
    assert cell.scaling["output"].branch == cell.network.width


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"algorithms\.copy: .*own\.py: cannot be read"),
        ("def update(:\n", r"own\.py: cannot be read as Python: .*line 1"),
        ("def init(problem):\n    ...\n", r"own\.py: defines no function 'update'"),
    ],
)
def test_a_file_that_is_no_algorithm_is_refused(tmp_path, text, message):
    configuration, file = with_algorithm(tmp_path, text or "")
    if text is None:
        file.unlink()
    with pytest.raises(ConfigurationError, match=message):
        configuration.cells("own", "mine")


def test_names_of_algorithms(tmp_path):
    (tmp_path / "own.py").write_text(COPY)
    algorithms = {"backpropagation": "own.py"}
    with pytest.raises(
        ConfigurationError, match="'backpropagation' is an algorithm of the project"
    ):
        configured(tmp_path, algorithms=algorithms).cells("own", "mine")
    own = OWN | {"experiment": EXPERIMENT | {"settings": SETTINGS | {"algorithm": "copi"}}}
    with pytest.raises(ConfigurationError, match="unknown algorithm 'copi'; did you mean 'copy'"):
        configured(tmp_path, own, algorithms={"copy": "own.py"}).cells("own", "mine")

"""Experiments, algorithms and rows of the user's own, in the configuration."""

import numpy as np
import pytest

from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.cells import AlgorithmSpec
from scaling_limits.configuration import load
from scaling_limits.datasets.loading import load as load_arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.pipeline.keys import cell_key, cell_source
from scaling_limits.source import closure
from scaling_limits.training.loop import compile_shard
from toys import BACKPROPAGATION, FIGURE, PAPER, SETTINGS, as_yaml, forget_sources, write_project

MINE = {**FIGURE, "title": "Mine"}
OWN = {
    **PAPER["transfer"],
    "quantities": PAPER["paper"]["quantities"],
    "grids": {"main": PAPER["transfer"]["grids"]["main"]},
    "figures": {"mine": MINE},
}
COPY = "from scaling_limits.algorithms.backpropagation.computation import errors, init, update\n"


DECLARING = """
from pydantic import Field

from scaling_limits.cells import AlgorithmSpec, Traced
from scaling_limits.strict import Strict


class Settings(Strict):
    strength: float = Field(gt=0)


class Options(AlgorithmSpec):
    strength: Traced
    steps: int


def options(settings, inference_step):
    return {"steps": settings.num_hidden_layers}


def init(problem):
    return ()


def update(problem, state):
    from scaling_limits.algorithms.backpropagation import computation

    return computation.update(problem, state)


def errors(problem):
    from scaling_limits.algorithms.backpropagation import computation

    return computation.errors(problem)
"""


def configured(root, own=OWN, name="mine", *, overrides=None, **main):
    write_project(root, main={"preset": "whole", **main}, preset={"caps": {"width": 8, "seeds": 1}})
    path = root / "config/experiments" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_yaml(own), encoding="utf-8")
    return load(root, overrides)


def with_algorithm(root, text, **settings):
    file = root / "own.py"
    file.write_text(text, encoding="utf-8")
    own = OWN | SETTINGS | BACKPROPAGATION | {"algorithm": "copy"} | settings
    return configured(root, own, algorithms={"copy": "own.py"}), file


def test_an_experiment_is_a_file_with_its_figures(tmp_path):
    configuration = configured(tmp_path, name="my_own-1")
    assert configuration.papers == ["toy", "own"]
    assert configuration.figures("own") == ["mine"]
    assert configuration.figure("own", "mine").title == "Mine"
    assert configuration.cells("own", "my_own-1") == configuration.cells("toy", "transfer")


def test_a_file_has_words_of_its_own_and_may_extend_another(tmp_path):
    changed = {"extends": "small", "bases": {"small": {"num_steps": 3}}, "num_steps": None}
    configured(tmp_path, {k: v for k, v in (OWN | changed).items() if k != "num_steps"})
    twin = {"description": "a twin", "extends": "mine", "seed": 3}
    twin["figures"] = {"twin": {"extends": "mine", "title": "A twin"}}
    configuration = configured(tmp_path, twin, "other")
    assert configuration.figure("own", "twin").plot == configuration.figure("own", "mine").plot
    assert {(c.seed, c.num_steps) for c in configuration.cells("own", "other")} == {(3, 3)}
    changes = {"papers": {"own": {"bases": {"small": {"num_steps": 4}}}}}
    assert {c.num_steps for c in load(tmp_path, changes).cells("own", "other")} == {4}


def test_a_file_without_grids_has_tables_only(tmp_path):
    entries = [{"title": "NTK", "scheme": "ntk", "gauge": 0.5}]
    plot = {"kind": "parameterisation_table", "form": "output_scaled", "entries": entries}
    table = {"description": "a table", "figures": {"table": {**FIGURE, "plot": plot}}}
    configuration = configured(tmp_path, table)
    assert configuration.figure("own", "table").experiment is None


def test_its_own_presets_change_it(tmp_path):
    own = OWN | {"presets": {"small": {"num_steps": 3}}}
    assert {c.num_steps for c in configured(tmp_path, own).cells("own", "mine")} == {6}
    configuration = configured(tmp_path, own, overrides={"preset": "small"})
    assert {c.num_steps for c in configuration.cells("own", "mine")} == {3}


def test_without_files_there_is_nothing_of_the_users_own(tmp_path):
    assert load(write_project(tmp_path)).papers == ["toy"]


def test_presets_leave_it_as_it_is_written(tmp_path):
    configuration = configured(tmp_path, overrides={"preset": "small"})
    whole = configured(tmp_path)
    assert configuration.cells("own", "mine") == whole.cells("own", "mine")
    assert len(configuration.cells("toy", "transfer")) < len(whole.cells("toy", "transfer"))


def test_a_preset_replaces_no_dataset_of_it(tmp_path):
    write_project(tmp_path)
    configured(tmp_path, OWN | {"dataset": "mnist"})
    path = tmp_path / "config/presets/whole.yaml"
    path.write_text("description: digits for all\nsubstitutions: {mnist: digits}\n")
    configuration = load(tmp_path)
    assert configuration.substitutions("own", "mine") == {}
    assert {cell.dataset.name for cell in configuration.cells("own", "mine")} == {"mnist"}


def test_the_command_line_changes_it(tmp_path):
    changes = {"experiments": {"mine": {"seed": 7}}}
    configuration = configured(tmp_path, overrides={"papers": {"own": changes}})
    assert {cell.seed for cell in configuration.cells("own", "mine")} == {7}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"widht": 3},
            r"mine\.yaml:\d+: widht: unknown word or setting 'widht'; did you mean 'width'",
        ),
        ({"figures": {"mine": MINE | {"titel": "x"}}}, r"mine\.yaml:\d+: .*did you mean 'title'"),
        (
            {"figures": {"mine": MINE | {"plot": FIGURE["plot"] | {"kind": "curve"}}}},
            r"mine\.yaml:\d+: figures\.mine\.plot",
        ),
    ],
)
def test_errors_name_the_file(tmp_path, changes, message):
    configuration = configured(tmp_path, OWN | changes)
    with pytest.raises(ConfigurationError, match=message):
        configuration.figure("own", "mine")


def test_a_name_that_is_no_target_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"my plot\.yaml: a name has"):
        configured(tmp_path, name="my plot").figures("own")


def test_own_is_no_paper(tmp_path):
    configured(tmp_path)
    (tmp_path / "config/papers/own").mkdir()
    (tmp_path / "config/papers/own/paper.yaml").write_text("{}")
    with pytest.raises(ConfigurationError, match=r"papers/own: .* config/experiments"):
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


def test_it_declares_its_settings_and_options(tmp_path):
    changes = {"inference": {"step": {"width": 1.0}}}
    configuration, file = with_algorithm(
        tmp_path, DECLARING, strength=2.0, exponent_changes=changes
    )
    cell = configuration.cells("own", "mine")[0]
    assert cell.canonical()["algorithm"] == {
        "name": "copy",
        "file": str(file),
        "loss": "mean_squared_error",
        "strength": 2.0,
        "steps": SETTINGS["depth"],
    }
    assert cell.traced()["algorithm"] == {"strength": 2.0}


def test_what_it_does_not_declare_is_refused(tmp_path):
    configuration, _ = with_algorithm(tmp_path, COPY, inference="exact")
    message = "inference: exact acts only with algorithm: predictive_coding; leave it out"
    with pytest.raises(ConfigurationError, match=message):
        configuration.cells("own", "mine")


def test_it_may_use_all_numbers_of_a_role(tmp_path):
    changes = {"input": {"energy_weight": {"width": 1.0}}}
    configuration, _ = with_algorithm(tmp_path, COPY, exponent_changes=changes)
    cell = configuration.cells("own", "mine")[0]
    assert cell.scaling["input"].energy_weight == cell.network.width


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
        ConfigurationError, match="algorithms: 'backpropagation' is one of the project"
    ):
        configured(tmp_path, algorithms=algorithms).cells("own", "mine")
    own = OWN | {"algorithm": "copi"}
    with pytest.raises(ConfigurationError, match="unknown algorithm 'copi'; did you mean 'copy'"):
        configured(tmp_path, own, algorithms={"copy": "own.py"}).cells("own", "mine")

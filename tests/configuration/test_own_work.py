"""Experiments, algorithms and rows of the user's own, in the configuration."""

import re
from pathlib import Path

import numpy as np
import pytest

from scaling_limits import source
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
    # what the grid says itself would change nothing above it
    above = {key: value for key, value in SETTINGS.items() if key not in OWN["grids"]["main"]}
    own = OWN | above | BACKPROPAGATION | {"algorithm": "copy"} | settings
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


def test_an_archive_that_is_not_there_is_refused_with_what_it_holds(tmp_path):
    """Those of papers are replaced (tests/pipeline/test_notes.py)."""
    (tmp_path / "data").mkdir()
    configuration = configured(tmp_path, OWN | {"dataset": "imagenet"}, data={"path": "data"})
    message = (
        r"mine\.yaml:\d+: .*: dataset: .*no imagenet\.npz below data\.path \(data\).*"
        r"x_train and x_test \[n, H, W, C\], y_train"
    )
    with pytest.raises(ConfigurationError, match=message):
        configuration.points("own", "mine")


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    (home / "copy.py").write_text(COPY)
    x, y = np.ones((4, 3)), np.arange(4) % 2
    np.savez(home / "mine.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    data = {"path": "~", "downloads": "~/downloads", "datasets": {"mine": "~/mine.npz"}}
    configuration = configured(tmp_path, data=data, algorithms={"copy": "~/copy.py"})
    assert configuration.data_path == home
    assert Path(configuration.main.data.downloads) == home / "downloads"
    assert configuration.user_datasets == {"mine": home / "mine.npz"}
    assert configuration.own.algorithms.files == {"copy": str(home / "copy.py")}
    with pytest.raises(ConfigurationError, match=r"data\.path: .*home/nowhere is not there"):
        configured(tmp_path, overrides={"data": {"path": "~/nowhere"}})


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
        ("def init(problem):\n    ...\n", r"own\.py: defines no 'update'"),
    ],
)
def test_a_file_that_is_no_algorithm_is_refused(tmp_path, text, message):
    configuration, file = with_algorithm(tmp_path, text or "")
    if text is None:
        file.unlink()
    with pytest.raises(ConfigurationError, match=message):
        configuration.cells("own", "mine")


@pytest.mark.parametrize(
    "line", ["import helper", "from helper import one", "from . import helper"]
)
@pytest.mark.parametrize("inside", [True, False])
def test_an_algorithm_imports_no_file_beside_it(tmp_path, line, inside):
    """Its cells would not notice an edit there."""
    (tmp_path / "helper.py").write_text("one = 1\n")
    text = COPY + (f"def more():\n    {line}\n" if inside else f"{line}\n")
    configuration, _ = with_algorithm(tmp_path, text)
    with pytest.raises(
        ConfigurationError, match=r"own\.py: imports '[.]?(helper)?' from its own folder"
    ):
        configuration.cells("own", "mine")


def test_its_source_has_the_versions_of_packages_that_it_imports(tmp_path, monkeypatch):
    site = tmp_path / "site"
    install(site, "some-helpers", "helpers")
    install(site, "others", "others")
    monkeypatch.syspath_prepend(str(site))
    text = COPY + "def more():\n    import math, jax\n    from helpers.inner import one\n"
    configuration, file = with_algorithm(tmp_path, text)
    cell = configuration.cells("own", "mine")[0]
    before = cell_key(cell)
    for name, changes in (("others", False), ("some-helpers", True)):
        install(site, name, name.removeprefix("some-"), "0.2")
        forget_sources()
        assert (cell_key(cell) != before) == changes
    rewrite(file, text.replace("helpers.inner", "halpers"))
    with pytest.raises(ConfigurationError, match="imports 'halpers', which belongs to no instal"):
        source.refuse_untracked(str(file))


def install(site, name, package, version="0.1"):
    """What an installer leaves of a package without modules."""
    info = site / f"{name.replace('-', '_')}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "top_level.txt").write_text(f"{package}\n")


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


ROW = {
    "scheme": "mine",
    "update_rule": "sgd",
    "input": {"init_std": {"fan_in": -0.5}},
    "hidden": {"init_std": {"fan_in": -0.5}},
    "output": {"init_std": {"fan_in": -0.5}, "multiplier": {"width": -0.5}},
    "source": "own",
}
NAMES = {
    "data": {"datasets": {"line": "line.npz"}},
    "algorithms": {"copy": "own.py"},
    "parameterisations": [ROW],
}
USED = {
    **OWN,
    **BACKPROPAGATION,
    "dataset": "line",
    "normalisation": "none",
    "targets": "real",
    "num_train": None,
    "num_test": None,
    "batch_size": 4,
    "algorithm": "copy",
    "optimiser": "sgd",
    "parameterisation": "mine",
    "grids": {"main": {"width": [8, 16]}},
}


@pytest.fixture
def named(tmp_path):
    """A project's folder with the files that NAMES names."""
    x = np.linspace(0, 1, 12).reshape(4, 3)
    np.savez(tmp_path / "line.npz", x_train=x, y_train=x[:, :2], x_test=x, y_test=x[:, 1:])
    (tmp_path / "own.py").write_text(COPY)
    (tmp_path / "broken.py").write_text(DECLARING.replace("gt=0", "gt=zero"))
    return tmp_path


def test_an_experiment_names_its_own_parts(named):
    cells = configured(named, USED | NAMES).cells("own", "mine")
    assert {cell.dataset.target_dim for cell in cells} == {2}
    assert {cell.algorithm.file for cell in cells} == {str(named / "own.py")}
    assert {cell.scaling["output"].multiplier for cell in cells} == {8**-0.5, 16**-0.5}
    assert cells == configured(named, USED, **NAMES).cells("own", "mine")


def test_what_is_named_in_a_file_is_known_everywhere(named):
    configured(named, USED | NAMES)
    heir = {"description": "an heir", "extends": "mine", "seed": 3, "figures": {"heir": MINE}}
    configuration = configured(named, heir, "heir")
    assert {cell.dataset.name for cell in configuration.cells("own", "heir")} == {"line"}
    assert configuration.faults == {}
    assert configuration.user_datasets == {"line": named / "line.npz"}


def test_the_same_may_be_named_twice(named):
    configured(named, USED | NAMES)
    configuration = configured(named, USED | NAMES | {"figures": {"twin": MINE}}, "twin", **NAMES)
    assert configuration.faults == {}
    assert configuration.cells("own", "twin") == configuration.cells("own", "mine")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": {"datasets": {"digits": "line.npz"}}}, "data.datasets: 'digits' is one of the"),
        ({"data": {"datasets": {"../up": "line.npz"}}}, r"data.datasets: '\.\./up': a name has"),
        ({"data": {"datasets": {"lime": "lime.npz"}}}, r"data.datasets.lime: .*lime\.npz is not"),
        ({"data": {"path": "."}}, "data.path: unknown key 'path'. Valid: datasets"),
        ({"algorithms": {"backpropagation": "own.py"}}, "'backpropagation' is one of the project"),
        ({"algorithms": {"lost": "lost.py"}}, r"algorithms.lost: .*lost\.py: cannot be read"),
        ({"algorithms": {"broken": "broken.py"}}, r"broken\.py: cannot be imported: NameError"),
        ({"algorithms": ["own.py"]}, "algorithms: Input should be a valid dictionary"),
        ({"parameterisations": [ROW | {"scheme": "mup"}]}, "'mup with sgd' is one of the project"),
        (
            {"parameterisations": [{"schem": "x"}]},
            "parameterisations.0.schem: unknown key 'schem'; did you mean 'scheme'",
        ),
    ],
)
def test_wrong_names_stop_their_file_only(named, changes, message):
    configured(named, OWN | {"figures": {"sound": MINE}}, "sound")
    configuration = configured(named, USED | NAMES | changes)
    with pytest.raises(
        ConfigurationError, match=rf"^config/experiments/mine\.yaml:\d+: .*{message}"
    ):
        configuration.cells("own", "mine")
    assert list(configuration.faults) == ["mine"]
    assert configuration.sound_figures("own") == ["sound"]
    assert configuration.cells("toy", "transfer")


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        ("data", {"datasets": {"line": "other.npz"}}),
        ("algorithms", {"copy": "other.py"}),
        ("parameterisations", [ROW | {"source": "elsewhere"}]),
    ],
)
def test_one_name_for_two_parts_is_refused_with_both_places(named, kind, other):
    np.savez(named / "other.npz", **np.load(named / "line.npz"))
    (named / "other.py").write_text(COPY)
    changed = USED | NAMES | {kind: other, "figures": {"other": MINE}}
    configured(named, USED | NAMES)
    faults = configured(named, changed, "other").faults
    mine, others = (rf"config/experiments/{name}\.yaml:\d+" for name in ("mine", "other"))
    assert re.match(rf"{mine}: {kind}.* is something else at {others}; give one", faults["mine"])
    assert re.match(rf"{others}: {kind}.* is something else at {mine}; give one", faults["other"])

    (named / "config/experiments/mine.yaml").unlink()
    faults = configured(named, changed, "other", **NAMES).faults
    assert re.match(
        rf"{others}: {kind}.* is something else at config/config\.yaml", faults["other"]
    )


def test_files_of_papers_name_nothing(tmp_path):
    experiment = {**PAPER["transfer"], "algorithms": {"copy": "own.py"}}
    write_project(tmp_path, paper={**PAPER, "transfer": experiment})
    with pytest.raises(ConfigurationError, match="algorithms: unknown word or setting"):
        load(tmp_path).cells("toy", "transfer")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"grids": {"main": {**OWN["grids"]["main"], "title": 2024}}},
            "grids.main.title: should be text, not 2024; put it in quotes",
        ),
        (
            {"quantities": {"loss": "train_loss"}},
            "quantities.loss: should be a mapping, not 'train",
        ),
        ({"figures": {"mine": MINE | {"plot": "lines"}}}, "figures.mine.plot: should be a mapping"),
        (
            {"figures": {"mine": MINE | {"plot": MINE["plot"] | {"panels": {"main": "mine"}}}}},
            "figures.mine.plot.panels.main: should be a mapping, not 'mine'",
        ),
    ],
)
def test_a_word_of_another_type_stops_its_file_only(tmp_path, changes, message):
    configured(tmp_path, OWN | {"figures": {"sound": MINE}}, "sound")
    configuration = configured(tmp_path, OWN | changes)
    assert list(configuration.faults) == ["mine"]
    assert re.match(rf"config/experiments/mine\.yaml:\d+: {message}", configuration.faults["mine"])
    assert configuration.sound_figures("own") == ["sound"]
    assert configuration.figure("toy", "fig1").title == FIGURE["title"]
    with pytest.raises(ConfigurationError, match=message):
        configuration.figure("own", "mine")


def test_all_that_is_wrong_is_said_together(tmp_path):
    claims = {
        "small": {"statement": 3, "bound": {"grids": "main", "quantity": "loss", "at_most": 1}},
        "large": {"statement": "x", "bound": {"grids": "mian", "quantity": "loss", "at_least": 1}},
        "fast": {"statement": "x", "bound": {"grids": "main", "quantity": "loss", "atmost": 1}},
    }
    figure = MINE | {"plot": MINE["plot"] | {"quantity": []}, "claims": claims}
    own = OWN | {"batch_size": 0, "figures": {"mine": figure, "twin": MINE | {"titel": 3}}}
    del own["figures"]["twin"]["titel"]
    own["figures"]["twin"]["plot"] = MINE["plot"] | {"x": "sede"}
    said = configured(tmp_path, own).faults["mine"].splitlines()
    assert all(re.match(r"config/experiments/mine\.yaml:\d+.*: \S", line) for line in said)
    for word in (
        "batch_size: Input should be greater than",
        "figures.mine.plot.quantity: should be text or a mapping, not []",
        "figures.mine.claims.small.statement: should be text, not 3",
        "figures.mine.claims.large.bound.grids: unknown grid 'mian'",
        "figures.mine.claims.fast.bound.atmost: unknown key 'atmost'; did you mean 'at_most'",
        "figures.twin.plot.x: unknown column 'sede'; did you mean 'seed'",
    ):
        assert [line for line in said if word in line], (word, said)

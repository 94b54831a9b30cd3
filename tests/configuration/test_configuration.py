"""What a user may write, what is refused, and how the refusal reads."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml

from published import on_published, published
from scaling_limits.cells import digest
from scaling_limits.configuration import Configuration, load
from scaling_limits.configuration.caps import shrunk
from scaling_limits.configuration.models import Caps
from scaling_limits.configuration.parts import every_setting
from scaling_limits.configuration.schema import as_text, schemas
from scaling_limits.configuration.settings_page import page
from scaling_limits.configuration.trees import Origin, located, plain
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks.nodes import ACTIVATIONS
from scaling_limits.pipeline.keys import cell_key
from toys import BACKPROPAGATION, EXACT, FIGURE, PAPER, merged, write_project

PROJECT = Path(__file__).parents[2]
TOY = "config/papers/toy/transfer.yaml"


def resolve_all(configuration: Configuration) -> None:
    for slug in configuration.papers:
        for name in configuration.experiments(slug):
            configuration.points(slug, name)
        for name in configuration.figures(slug):
            configuration.figure(slug, name)


def refusal(root: Path, overrides: Any = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        resolve_all(load(root, overrides))
    return str(caught.value)


def in_experiment(**changes: Any) -> Any:
    return {"transfer": changes}


def by_user(**changes: Any) -> Any:
    return {"papers": {"toy": {"experiments": {"transfer": changes}}}}


CLAIM = {
    "statement": "It is small.",
    "bound": {"grids": "main", "quantity": "loss", "at_most": 1.0},
}


def claiming(**changes: Any) -> Any:
    return {"fig1": {"claims": {"small": merged(CLAIM, {"bound": changes})}}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"axis": {}}, ["axis", "unknown word or setting"], id="part"),
        pytest.param({"widht": 8}, ["widht", "'width'"], id="setting"),
        pytest.param({"sede": [1]}, ["sede", "'seed'"], id="axis"),
        pytest.param({"grids": {"main": {"widht": [8]}}}, ["grids.main.", "'width'"], id="grid's"),
        pytest.param({"axes": {"width": [8]}}, ["axes: an axis is a setting"], id="axes"),
        pytest.param({"settings": {"width": 8}}, ["settings: settings are written"], id="settings"),
        pytest.param({"dataset": "digit"}, ["dataset 'digit'", "'digits'"], id="dataset"),
        pytest.param({"network": "mpl"}, ["network 'mpl'", "'mlp'"], id="network"),
        pytest.param({"activation": "tahn"}, ["activation", "'tahn'", "'tanh'"], id="activation"),
        pytest.param(
            {"algorithm": "predictve_coding"},
            ["algorithm 'predictve_coding'", "'predictive_coding'"],
            id="algorithm",
        ),
        pytest.param(
            {"parameterisation": "mucp"},
            ["parameterisation 'mucp'", "did you mean"],
            id="parameterisation",
        ),
        pytest.param({"parameterisation": "sp"}, ["sp_gaussian", "sp_uniform"], id="bare sp"),
        pytest.param(
            {"exponent_changes": {"outptu": {"multiplier": {"width": 1}}}},
            ["role or layer 'outptu'", "'output'"],
            id="role",
        ),
        pytest.param(
            {"exponent_changes": {"output": {"multipler": {"width": 1}}}},
            ["'multipler'", "'multiplier'"],
            id="quantity of a role",
        ),
        pytest.param({"optimiser": "adm"}, ["optimiser", "'adm'", "'adam'"], id="optimiser"),
        pytest.param(
            {"measurements": {"gradient_alignmnt": [0]}},
            ["measurement 'gradient_alignmnt'", "'gradient_alignment'"],
            id="measurement",
        ),
        pytest.param({"seed": {"octaves": [3, 1]}}, ["seed: octaves: from 3 to 1"], id="range"),
        pytest.param(
            {"learning_rate": {"octaves": [0, 1, 1.5]}},
            ["learning_rate: octaves: the step", "0.5", "not 1.5"],
            id="step of a range",
        ),
        pytest.param(
            {"learning_rate": {"octaves": [0, 1, 1e-9]}},
            ["learning_rate: octaves: the step", "not 1e-09"],
            id="tiny step of a range",
        ),
        pytest.param(
            {"learning_rate": {"octave": [0, 1]}},
            ["'octave'", "did you mean 'octaves'"],
            id="octave",
        ),
        pytest.param({"seed": {"count": 0}}, ["seed: ", "from 1 to", "not 0"], id="count"),
        pytest.param({"seed": {"count": 2, "of": 3}}, ["seed: a range is"], id="range's word"),
        pytest.param(
            {"figures": {"fig1": {"captoin": "x"}}}, ["fig1.captoin", "'caption'"], id="figure's"
        ),
        pytest.param(
            {"figures": {"fig1": {"plot": {"panles": []}}}},
            ["plot", "panles", "'panels'"],
            id="plot's",
        ),
        pytest.param(
            {"figures": {"fig1": {"plot": {"quantity": "los"}}}},
            ["figures.fig1.plot: unknown quantity 'los'", "'loss'"],
            id="quantity",
        ),
        pytest.param(
            {"figures": {"fig1": {"title": "of width {widht}"}}},
            ["figures.fig1.title: unknown setting 'widht'", "'width'"],
            id="setting in a title",
        ),
        pytest.param(
            {
                "figures": {
                    "fig1": {
                        "plot": {
                            "panels": [{"grid": "main", "along": "width", "title": "of {widht}"}]
                        }
                    }
                }
            },
            ["figures.fig1.plot: unknown setting 'widht'", "'width'"],
            id="setting in a panel's title",
        ),
        pytest.param(
            {"figures": {"fig1": {"plot": {"panels": [{"grid": "mian", "along": "width"}]}}}},
            ["figures.fig1.plot", "mian", "'main'"],
            id="plot's grid",
        ),
        pytest.param(
            {"figures": claiming(control=["oen"])},
            ["figures.fig1.claims.small.bound.control", "oen", "'one'"],
            id="claim's grid",
        ),
        pytest.param(
            {"figures": claiming(over="momentum")},
            ["figures.fig1.claims.small.bound.over", "the grid main: unknown column 'momentum'"],
            id="claim's best",
        ),
        pytest.param(
            {"figures": claiming(all_of=["smal"])},
            ["figures.fig1.claims.small.bound.all_of", "unknown claim 'smal'"],
            id="claim's part",
        ),
        pytest.param({"figures": claiming(at_mots=1.0)}, ["at_mots", "'at_most'"], id="claim's"),
        pytest.param(
            {"figures": {"fig1": {"claims": {"small": {**CLAIM, "bount": {}}}}}},
            ["claims.small.", "has one kind"],
            id="two kinds",
        ),
        pytest.param(
            {"figures": {"fig1": {"claims": {"small": {"bount": {}}}}}},
            ["kind of claim 'bount'", "'bound'"],
            id="kind",
        ),
        pytest.param(
            {"figures": {"fig1": {"experiment": "transfer"}}},
            ["fig1.experiment: a figure is written in the file"],
            id="experiment of a figure",
        ),
    ],
)
@pytest.mark.parametrize("layer", ["preset", "command line"])
def test_unknown_words_are_refused_with_file_line_and_nearest(
    tmp_path: Path, changes: Any, words: list[str], layer: str
) -> None:
    root, overrides = tmp_path, None
    if layer == "preset":
        write_project(root, paper=merged(PAPER, in_experiment(presets={"small": changes})))
        overrides = {"preset": "small"}
    else:
        write_project(root)
        experiment = {key: value for key, value in changes.items() if key != "figures"}
        toy = {"experiments": {"transfer": experiment}, "figures": changes.get("figures", {})}
        overrides = {"papers": {"toy": toy}}
    message = refusal(root, overrides)
    for word in words:
        assert word in message
    if layer == "command line":
        assert message.startswith("--config or --configfile: ")
    else:
        found = re.match(rf"{TOY}:(\d+)", message)
        assert found
        # at the line there is a word that the message speaks of
        line = (root / TOY).read_text().splitlines()[int(found[1]) - 1]
        key = line.split(":")[0].strip()
        assert key in message or key == "exponent_changes"


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"measurements": 3}, "measurements"),
        ({"figures": {"fig1": {"title": 3}}}, "figures.fig1.title"),
        ({"figures": {"fig1": {"plot": {"rows": "loss"}}}}, "figures.fig1.plot.rows"),
        ({"figures": {"fig2": {"extends": "fig3"}}}, "figures.fig2.extends"),
    ],
)
def test_an_error_about_one_key_carries_it(tmp_path: Path, changes: Any, key: str) -> None:
    root = write_project(tmp_path, paper=merged(PAPER, in_experiment(**changes)))
    with pytest.raises(ConfigurationError, match=rf"{TOY}:\d+: {re.escape(key)}: ") as caught:
        resolve_all(load(root))
    assert caught.value.key == key


def test_a_figure_in_two_files_is_refused_with_both_places(tmp_path: Path) -> None:
    figures = {"fig1": {"title": "again", "caption": "again", "plot": {}}}
    other = {"description": "another", "extends": "transfer", "figures": figures}
    root = write_project(tmp_path, paper=merged(PAPER, {"zebra": other}))
    with pytest.raises(ConfigurationError, match=rf"zebra\.yaml:\d+: figures\.fig1: .*{TOY}:\d+$"):
        load(root).figures("toy")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"extends": "transfer"}, ["extends: transfer -> transfer never ends"]),
        ({"grids": {"main": {"extends": "one"}, "one": {"extends": "main"}}}, ["never ends"]),
        ({"grids": ["mian"]}, ["unknown base 'mian'"]),
        ({"presets": {"small": {"grids": {"mian": {}}}}}, ["unknown grid 'mian'", "'main'"]),
        ({"presets": {"small": {"figures": {"fig2": {}}}}}, ["unknown figure 'fig2'", "'fig1'"]),
        ({"judging": {"slope": {"max_shift": 1}}}, ["judging: unknown word 'max_shift'"]),
        ({"figures": {"fig 2": {}}}, ["figures.fig 2: a name has"]),
        ({"grids": {"a": {"grids": {"b": {}}}, "a_b": {}}}, ["two grids are called 'a_b'"]),
        ({"symbols": {"width": "M"}}, ["symbols: unknown word or setting"]),
    ],
)
def test_words_of_experiments_are_refused_with_file_and_line(
    tmp_path: Path, changes: Any, words: list[str]
) -> None:
    root = write_project(tmp_path, paper=merged(PAPER, in_experiment(**changes)))
    message = refusal(root, {"preset": "small"})
    assert re.match(rf"{TOY}:\d+( \(preset small\))?: ", message)
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"experiments": {}}, ["experiments: an experiment is a file of its own"]),
        ({"bases": {"a": {"widht": 8}}}, ["bases.a.widht: unknown word or setting", "'width'"]),
        ({"bases": {"a": {"grids": {}}}}, ["bases.a.grids: unknown word or setting"]),
        ({"bases": {"a": {"presets": {"small": {"figures": {}}}}}}, ["presets.small.figures: "]),
    ],
)
def test_words_of_a_paper_are_refused_with_file_and_line(
    tmp_path: Path, changes: Any, words: list[str]
) -> None:
    message = refusal(write_project(tmp_path, paper=merged(PAPER, {"paper": changes})))
    assert re.match(r"config/papers/toy/paper\.yaml:\d+: ", message)
    for word in words:
        assert word in message


def test_unknown_words_of_a_preset(tmp_path: Path) -> None:
    write_project(tmp_path, preset={"papers": {}})
    message = refusal(tmp_path, {"preset": "small"})
    assert message.startswith("config/presets/small.yaml:2: papers: the changes of a preset")


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"dataset": [["digits"]]}, "dataset"),
        ({"num_inference_steps": -1}, "num_inference_steps"),
        ({"momentum": 1.0}, "momentum"),
        ({"epsilon": 0}, "epsilon"),
        ({"num_test": 0}, "num_test"),
    ],
)
def test_values_of_the_wrong_type_or_size(tmp_path: Path, settings: Any, key: str) -> None:
    grids = {"one": {"width": 8, **settings}}
    root = write_project(tmp_path, paper=merged(PAPER, in_experiment(grids=grids)))
    message = refusal(root)
    assert message.startswith(TOY)
    assert f": experiments.transfer.grids.one: {key}" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title: a\nx: {y: {b: 1, b: 2}}\n", ["line 2", "'b'", "twice"]),
        ("title: a\nx: [{b: 1, b: 2}]\n", ["line 2", "'b'", "twice"]),
        ("? [a, b]\n: c\n", ["line 1", "key"]),
    ],
)
def test_yaml_that_is_ambiguous_or_broken(tmp_path: Path, text: str, words: list[str]) -> None:
    root = write_project(tmp_path)
    (root / TOY).write_text(text)
    message = refusal(root)
    for word in [TOY, *words]:
        assert word in message


IMPOSSIBLE = [
    ({**EXACT, "activation": "tanh"}, "exact"),
    (
        {**EXACT, "inference": "equilibrium"},
        "inference_tolerance: required by inference: equilibrium",
    ),
    (
        {**EXACT, "inference": "equilibrium", "inference_tolerance": 1e-9},
        "inference_tolerance: 1e-09 is below 1e-06, the smallest residual that round-off allows in float32",
    ),
    ({**EXACT, "activation": "linear", "num_inference_steps": 3}, "num_inference_steps"),
    ({**EXACT, "activation": "linear", "activity_learning_rate": 1.0}, "activity_learning_rate"),
    ({**BACKPROPAGATION, "inference": "exact"}, "inference"),
    ({**BACKPROPAGATION, "activity_learning_rate": 0.1}, "activity_learning_rate"),
    ({"inference": None}, "inference"),
    ({"activity_learning_rate": None}, "activity_learning_rate"),
    ({"num_inference_steps": None}, "num_inference_steps"),
    ({"num_train": 1501}, "num_train"),
    ({"num_test": 298}, "num_test"),
    ({"targets": "scalar"}, "targets"),
    ({"parameterisation": "mean_field", "depth_exponent": 0.5, "skip": False}, "depth_exponent"),
    ({"depth_exponent": 0.5}, "depth_exponent"),
    ({"output_scale": 2.0}, "output_scale"),
    ({"mean_subtraction": True, "skip": False}, "mean_subtraction"),
    ({"depth_kind": "weight_layers", "depth": 1}, "depth"),
    ({"optimiser": "sgd"}, "sgd"),
    ({"branch_multiplier": 2.0, "skip": False}, "branch_multiplier"),
    ({"targets": "gaussian"}, "target_dim"),
    ({"target_dim": 3}, "target_dim"),
    ({"targets": "gaussian", "target_dim": 3, "loss": "cross_entropy"}, "loss"),
    ({**EXACT, "activation": "linear", "loss": "cross_entropy"}, "inference"),
    ({**EXACT, "activation": "linear", "inference_order": "sequential"}, "inference_order"),
    ({"inference": "adam", "inference_order": "sequential"}, "inference_order"),
    ({**BACKPROPAGATION, "fixed_predictions": True}, "fixed_predictions"),
    (
        {**BACKPROPAGATION, "preconditioner_exponent": 0.5},
        "preconditioner_exponent: 0.5 acts only with algorithm: gauss_newton_target, or optimiser: shampoo",
    ),
    ({**BACKPROPAGATION, "algorithm": "gauss_newton_target", "inference": "exact"}, "inference"),
    ({"limit": "linear_dmft"}, "limit linear_dmft"),
    ({"depth_kind": "blocks", "limit": "depth_recursion"}, "limit depth_recursion"),
]


@pytest.mark.parametrize(("settings", "key"), IMPOSSIBLE)
def test_impossible_combinations(tmp_path: Path, settings: Any, key: str) -> None:
    root = write_project(tmp_path, paper=merged(PAPER, in_experiment(**settings)))
    message = refusal(root)
    assert message.startswith(TOY)
    assert ": experiments.transfer.grids.main: " in message
    assert key in message.split("grids.main: ")[1]


def test_strings_from_the_command_line_give_the_identical_cells(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    numbers = by_user(
        num_steps=4,
        skip=False,
        parameterisation="sp_gaussian",
        learning_rate=[0.5, 1, 2],
        seed=[0, 3],
        grids={"main": {"width": [8, 32]}},
    )
    strings = by_user(
        num_steps="4",
        skip="false",
        parameterisation="sp_gaussian",
        learning_rate={"octaves": ["-1", "1"]},
        seed=["0", "3"],
        grids={"main": {"width": ["8", "32"]}},
    )
    a = load(root, numbers).points("toy", "transfer")
    b = load(root, strings).points("toy", "transfer")
    assert a == b
    assert [cell_key(p.cell) for p in a] == [cell_key(p.cell) for p in b]


def test_layers_merge_file_then_preset_then_command_line(tmp_path: Path) -> None:
    presets = {"small": {"num_steps": 5, "batch_size": 8}}
    paper = merged(PAPER, in_experiment(presets=presets))
    root = write_project(tmp_path, preset={"caps": {"seeds": 1}}, paper=paper)
    overrides = {"preset": "small", **by_user(batch_size=4)}
    cells = load(root, overrides).cells("toy", "transfer")
    assert {c.num_steps for c in cells} == {5}
    assert {c.batch_size for c in cells} == {4}
    assert {c.seed for c in cells} == {0}


def test_the_same_cell_in_two_grids_is_computed_once(tmp_path: Path) -> None:
    configuration = load(write_project(tmp_path))
    points, cells = (
        configuration.points("toy", "transfer"),
        configuration.cells("toy", "transfer"),
    )
    assert len(points) == 12
    assert len(cells) == 8


def test_caps() -> None:
    experiment = {
        "num_steps": 100,
        "batch_size": 8,
        "seed": [0, 1, 2],
        "learning_rate": [1, 2, 3, 4, 5],
        "algorithm": ["a", "b", "c"],
        "input_shape": [8, 8, 1, 1],
        "grids": {"a": {"width": [8, 16, 64]}, "b": {"depth": [32, 64]}},
    }
    caps = Caps(width=16, depth=4, num_steps=10, batch_size=64, seeds=2, points=3)
    assert plain(shrunk(located(experiment, Origin("here")), caps, "caps")) == experiment | {
        "num_steps": 10,
        "seed": [0, 1],
        "learning_rate": [1, 3, 5],
        "grids": {"a": {"width": [8, 16]}, "b": {"depth": [4]}},
    }


def test_own_dataset_and_own_parameterisation(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 255, (20, 4, 4), dtype=np.uint8), rng.integers(0, 3, 20)
    np.savez(root / "mine.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    role = {"init_std": {"fan_in": -0.5}, "learning_rate": {"width": -1.0}}
    row = {
        "scheme": "mine",
        "update_rule": "adam",
        **dict.fromkeys(("input", "hidden", "output"), role),
        "source": "my own",
    }
    settings = {"dataset": "own", "parameterisation": "mine", "num_train": 20, "num_test": 5}
    overrides = {
        "data": {"datasets": {"own": "mine.npz"}},
        "parameterisations": [row],
        **by_user(**settings),
    }
    point = load(root, overrides).points("toy", "transfer")[0]
    cell = point.cell
    assert cell.dataset.name == "own"
    assert cell.network.input_dim == 16
    assert cell.network.output_dim == int(y.max()) + 1
    rate = point.settings.learning_rate
    assert cell.scaling["hidden"].learning_rate == rate / cell.network.width


@on_published
@pytest.mark.parametrize(
    "preset", ["smoke", "laptop", "paper", pytest.param("full", marks=pytest.mark.slow)]
)
def test_every_preset_of_the_project_resolves(preset: str) -> None:
    configuration = published(preset)
    resolve_all(configuration)
    for slug in configuration.papers:
        experiments = {
            configuration.figure(slug, f).experiment for f in configuration.figures(slug)
        }
        assert {*configuration.experiments(slug)} <= experiments
        assert [
            w for f in configuration.figures(slug) for w in configuration.warnings(slug, f)
        ] == []


def test_a_seed_changes_a_cell_in_nothing_else(tmp_path: Path) -> None:
    """Cells that differ in the seed are resolved together: each is what it would be alone."""

    root = write_project(tmp_path)

    def points(seed: Any) -> list[Any]:
        return list(load(root, by_user(seed=seed)).points("toy", "transfer"))

    together = points([0, 5, 2])
    alone = [point for seed in (0, 5, 2) for point in points(seed)]
    assert {point.cell.seed for point in together} == {0, 5, 2}
    assert len(together) == len(alone)
    for point in alone:
        assert point in together


@on_published
@pytest.mark.parametrize("preset", ["smoke", "laptop", "paper"])
def test_at_the_base_depth_all_scalings_of_depth_are_one_cell(preset: str) -> None:
    """Note depth-mup (H4): at 8 blocks nothing depends on the exponents."""
    points = published(preset).points("depth-mup", "depth_transfer")
    at_base: dict[tuple[float, int], dict[str, str]] = {}
    for point in points:
        settings = point.settings
        if settings.depth == 8 and not settings.layer_norm:
            key = settings.learning_rate, settings.seed
            at_base.setdefault(key, {})[point.grid] = digest(point.cell.canonical())
    # grids have learning rates of their own, and share some
    shared = [cells for cells in at_base.values() if len(cells) == 4]
    assert len(shared) > 3
    assert all(len(set(cells.values())) == 1 for cells in shared)


def test_a_table_has_no_experiment(tmp_path: Path) -> None:
    entry = {"title": "SP", "scheme": "sp_gaussian"}
    plot = {"kind": "parameterisation_table", "form": "init_and_rate", "entries": [entry]}
    table = {"title": "A table", "caption": "What it shows.", "plot": plot}
    root = write_project(tmp_path, paper=merged(PAPER, {"paper": {"figures": {"table1": table}}}))
    configuration = load(root)
    assert configuration.figure("toy", "table1").experiment is None
    assert configuration.points("toy", None) == ()
    assert configuration.substitutions("toy", None) == {}
    drawn = merged(PAPER, {"paper": {"figures": {"fig2": FIGURE}}})
    message = refusal(write_project(tmp_path / "other", paper=drawn))
    assert "unknown grid 'main'" in message


def test_the_end_is_after_the_last_update(tmp_path: Path) -> None:
    plans = {"gradient_alignment": None, "performance": ["end", 2, 99]}
    paper = merged(PAPER, in_experiment(measurements=plans))
    cell = load(write_project(tmp_path, paper=paper)).cells("toy", "transfer")[0]
    assert [(m.name, m.steps) for m in cell.measurements] == [("performance", (2, 6))]


@on_published
def test_the_full_preset_is_the_papers_own_scale() -> None:
    configuration = published("full")
    for slug in configuration.papers:
        for name in configuration.experiments(slug):
            assert configuration.experiment(slug, name) == configuration.original(slug, name)


def test_activations_of_the_configuration_are_those_of_the_networks() -> None:
    text = json.dumps(every_setting().model_json_schema()["properties"]["activation"]["enum"])
    assert sorted(json.loads(text)) == sorted(ACTIVATIONS)


@pytest.mark.parametrize("name", ["paper", "experiment"])
def test_what_is_written_fits_the_schemas(name: str) -> None:
    """So an editor that completes by them marks nothing."""
    papers = PROJECT / "config/papers"
    page = (PROJECT / "docs/own.md").read_text("utf-8")
    texts = {
        "paper": [path.read_text("utf-8") for path in papers.glob("*/paper.yaml")],
        "experiment": [
            page.split("```yaml\n# config/experiments/")[1].split("```")[0].partition("\n")[2],
            (papers / "second-order/bottleneck_rates.yaml").read_text("utf-8"),
        ],
    }[name]
    assert len(texts) >= 2
    validator = jsonschema.Draft202012Validator(schemas()[name])
    for text in texts:
        content = yaml.safe_load(text)
        assert [error.message for error in validator.iter_errors(content)] == []
        assert not validator.is_valid({**content, "widht": 3})
    if name == "experiment":
        (schema,) = re.findall(r"^# yaml-language-server: \$schema=(\S+)", texts[0], re.MULTILINE)
        assert (PROJECT / "config/experiments" / schema).resolve().is_file()


def test_the_schema_and_the_page_of_settings_are_in_step() -> None:
    schema = (PROJECT / "workflow" / "experiment.schema.json").read_text("utf-8")
    settings = (PROJECT / "docs" / "settings.md").read_text("utf-8")
    assert (schema, settings) == (as_text(), page()), "run make format"


def test_changes_in_the_main_file_have_lines(tmp_path: Path) -> None:
    main = {"preset": "whole", **by_user(grids={"mian": {"width": 8}})}
    message = refusal(write_project(tmp_path, main=main))
    assert message.startswith(
        "config/config.yaml:7: grids: unknown grid 'mian'; did you mean 'main'"
    )


@pytest.mark.parametrize("name", ["a b", ""])
@pytest.mark.parametrize("key", ["data.datasets", "algorithms"])
def test_names_that_are_no_file_names(tmp_path: Path, key: str, name: str) -> None:
    own = {name: "x"}
    overrides = {"algorithms": own} if key == "algorithms" else {"data": {"datasets": own}}
    message = refusal(write_project(tmp_path), overrides)
    assert f"{key}: '{name}': a name has letters, digits, '_' and '-' only" in message


@pytest.mark.parametrize("folder", ["papers", "presets", "experiments"])
def test_files_of_editors_are_passed_over(tmp_path: Path, folder: str) -> None:
    root = write_project(tmp_path)
    before = load(root).papers
    place = root / "config" / folder
    place.mkdir(exist_ok=True)
    (place / ".hidden.yaml").write_text("[")
    (place / ".#lock.yaml").symlink_to("nowhere")
    (place / "folder.yaml").mkdir()
    configuration = load(root)
    resolve_all(configuration)
    assert configuration.papers == before


@pytest.mark.parametrize("folder", ["papers", "papers/toy", "presets"])
def test_files_of_another_ending(tmp_path: Path, folder: str) -> None:
    root = write_project(tmp_path)
    (root / "config" / folder).mkdir(exist_ok=True)
    (root / "config" / folder / "mine.yml").touch()
    assert refusal(root) == f"config/{folder}/mine.yml: rename it to mine.yaml"

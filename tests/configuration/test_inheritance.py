"""What experiments, grids and figures take from others, what presets change, and what wins."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from published import on_published, published
from scaling_limits.commands.show_command import shown
from scaling_limits.configuration import Configuration, files, library, load, resolved_figure
from scaling_limits.configuration.ranges import expanded
from scaling_limits.errors import ConfigurationError
from scaling_limits.pipeline.keys import cell_key
from toys import SETTINGS, merged, write_project

PROJECT = Path(__file__).parents[2]
FAMILY: dict[str, Any] = {
    "paper": {
        "title": "A family",
        "authors": "Nobody",
        "year": 2000,
        "arxiv": "0001.00001",
        "reference": "none",
        "symbols": {"width": "M"},
        "quantities": {"loss": {"metric": "train_loss", "window": 2}},
        "judging": {
            "quantity": "loss",
            "along": "width",
            "bound": {"at_most": 1, "over": "learning_rate"},
        },
        "bases": {
            "small": {**SETTINGS, "presets": {"small": {"num_steps": 2, "num_train": 32}}},
            "wide": {"extends": "small", "width": 16},
            "linear": {"title": "linear", "activation": "linear"},
            "relu": {"title": "ReLU", "activation": "relu", "width": 32},
        },
    },
    "parent": {
        "description": "a parent",
        "extends": "wide",
        "learning_rate": {"octaves": [-2, 0], "of": 0.1},
        "grids": {
            "plain": {},
            "activations": {"title": "of", "seed": {"count": 2}, "grids": ["linear", "relu"]},
            "fast": {"extends": "plain", "learning_rate": 1},
        },
        "measurements": {"performance": "end", "feature_changes": [1, "end"]},
        "presets": {"small": {"grids": {"plain": {"seed": [5, 6]}}}},
        "judging": {"decided_at": {"width": 8}},
        "figures": {
            "fig1": {
                "title": "A figure",
                "caption": "What it shows.",
                "plot": {"kind": "lines", "rows": ["loss"], "columns": "activations"},
                "claims": {
                    "small": {
                        "statement": "It is small.",
                        "source": "{figure} left",
                        "bound": {"grids": "activations", "control": "plain"},
                    },
                    "large": {
                        "statement": "It is not.",
                        "bound": {"grids": "plain", "decided_at": None, "at_most": 2},
                    },
                },
            }
        },
    },
    "child": {
        "description": "a child",
        "extends": "parent",
        "num_steps": 7,
        "num_train": None,
        "measurements": {"feature_changes": None},
        "figures": {
            "figA2": {
                "extends": "fig1",
                "title": "A twin",
                "claims": {"small": None, "large": {"bound": {"at_most": 3}}},
            }
        },
    },
    "orphan": {"description": "other grids", "extends": "parent", "grids": ["relu"]},
}


def family(root: Path, changes: Any = None, **overrides: Any) -> Configuration:
    return load(write_project(root, paper=merged(FAMILY, changes or {})), overrides)


def settings(configuration: Configuration, experiment: str, grid: str) -> dict[str, Any]:
    return configuration.experiment("toy", experiment).grids[grid].settings


def test_grids_are_a_tree_with_names_and_titles_of_their_paths(tmp_path: Path) -> None:
    grids = family(tmp_path).experiment("toy", "parent").grids
    assert {name: grid.title for name, grid in grids.items()} == {
        "plain": None,
        "activations_linear": "of, linear",
        "activations_relu": "of, ReLU",
        "fast": None,
    }


def test_what_stands_nearest_wins(tmp_path: Path) -> None:
    configuration = family(tmp_path)
    plain = settings(configuration, "parent", "plain")
    assert (plain["width"], plain["learning_rate"]) == (16, [0.025, 0.05, 0.1])
    relu = settings(configuration, "parent", "activations_relu")
    assert (relu["width"], relu["seed"], relu["activation"]) == (32, [0, 1], "relu")
    assert settings(configuration, "parent", "fast")["learning_rate"] == 1


def test_a_grid_says_more_than_what_it_extends(tmp_path: Path) -> None:
    """A grid beside it, or a base, which both say something else."""
    grids = {
        "plain": {"learning_rate": 2, "num_steps": 3},
        "shallow": {"extends": "relu", "width": 64},
        "faster": {"extends": "fast", "num_steps": 4},
    }
    configuration = family(tmp_path, {"parent": {"grids": grids}})
    found = {
        name: settings(configuration, "parent", name) for name in ("fast", "shallow", "faster")
    }
    assert (found["fast"]["learning_rate"], found["fast"]["num_steps"]) == (1, 3)
    assert (found["shallow"]["width"], found["shallow"]["activation"]) == (64, "relu")
    assert (found["faster"]["learning_rate"], found["faster"]["num_steps"]) == (1, 4)


def test_a_grid_measures_what_is_said_above_it_unless_it_says_otherwise(tmp_path: Path) -> None:
    grids = {
        "plain": {"measurements": {"weight_changes": 1}},
        "activations": {"measurements": {"feature_changes": None}},
    }
    changes = {"parent": {"grids": grids}}
    found = family(tmp_path, changes).experiment("toy", "parent").grids
    measured = {name: set(grid.measurements) for name, grid in found.items()}
    everywhere = measured["activations_relu"]
    assert everywhere == {"performance"}
    assert measured["activations_linear"] == everywhere
    # `fast` extends it
    for name in ("plain", "fast"):
        assert measured[name] == {*everywhere, "feature_changes", "weight_changes"}


def test_presets_stand_beside_what_they_change(tmp_path: Path) -> None:
    configuration = family(tmp_path, preset="small")
    plain = settings(configuration, "parent", "plain")
    assert (plain["num_steps"], plain["num_train"], plain["seed"]) == (2, 32, [5, 6])
    # `fast` extends it
    assert settings(configuration, "parent", "fast")["seed"] == [5, 6]


def test_the_preset_of_a_base_does_not_win_over_what_an_inheritor_says(tmp_path: Path) -> None:
    """It says 7 steps and all samples, in every preset; its own presets may say otherwise."""
    child = settings(family(tmp_path, preset="small"), "child", "plain")
    assert child["num_steps"] == 7
    assert "num_train" not in child
    changed = {"child": {"presets": {"small": {"num_steps": 3}}}}
    child = settings(family(tmp_path, changed, preset="small"), "child", "plain")
    assert child["num_steps"] == 3


def test_experiments_inherit_all_but_description_and_figures(tmp_path: Path) -> None:
    configuration = family(tmp_path, preset="small")
    child = configuration.experiment("toy", "child")
    assert child.description == "a child"
    assert list(child.grids) == list(configuration.experiment("toy", "parent").grids)
    assert settings(configuration, "child", "plain")["seed"] == [5, 6]
    for grid in child.grids.values():
        assert {name: plan.steps for name, plan in grid.measurements.items()} == {
            "performance": ["end"]
        }
    # own grids stand in place of inherited ones
    assert list(configuration.experiment("toy", "orphan").grids) == ["relu"]


def test_figures_are_written_in_words_of_the_paper(tmp_path: Path) -> None:
    figure = family(tmp_path).figure("toy", "fig1")
    loss = {"metric": "train_loss", "window": 2}
    assert figure.plot.model_dump(exclude_unset=True, mode="json") == {
        "kind": "lines",
        "wrap": 2,
        "panels": [
            {
                "title": title,
                "x": "learning_rate",
                "hue": "width",
                "label": "training loss",
                "lines": [{"grid": f"activations_{grid}", "quantity": loss}],
            }
            for grid, title in (("linear", "linear"), ("relu", "ReLU"))
        ],
        "symbols": {"width": "M"},
    }
    small, large = figure.claims
    assert small.grids == ("activations_linear", "activations_relu")
    assert (small.control, small.source) == (("plain",), "toy Fig. 1 left")
    assert (small.at_most, small.decided_at, small.quantity.window) == (1, {"width": 8}, 2)
    assert (large.at_most, large.decided_at, large.source) == (2, {}, "toy Fig. 1")


def test_a_twin_is_the_figure_with_its_own_words_and_cells(tmp_path: Path) -> None:
    configuration = family(tmp_path)
    twin, figure = (configuration.figure("toy", name) for name in ("figA2", "fig1"))
    assert (twin.title, twin.caption, twin.plot) == ("A twin", figure.caption, figure.plot)
    (claim,) = twin.claims
    assert (claim.id, claim.at_most, claim.source) == ("large", 3, "toy Fig. A.2")
    assert {c.num_steps for c in configuration.cells("toy", twin.experiment)} == {7}


def test_a_twin_changes_single_panels_and_lines_by_their_names(tmp_path: Path) -> None:
    line = {"grid": "plain", "quantity": "loss"}
    panels = {
        "left": {"title": "Left", "lines": {"plain": line, "fast": {"grid": "fast", **line}}},
        "middle": {"title": "Middle", "lines": [line]},
    }
    plot = {"kind": "lines", "x": "learning_rate", "hue": "width", "rows": None, "columns": None}
    changed = {
        "left": {"lines": {"fast": None, "relu": {**line, "style": "dashed"}}},
        "middle": None,
        # one colour for each line, which all other panels have for each width
        "right": {"title": "Right", "hue": None, "lines": [{**line, "label": "loss"}]},
    }
    changes = {
        "parent": {"figures": {"fig1": {"plot": {**plot, "panels": panels}}}},
        "child": {"figures": {"figA2": {"plot": {"panels": changed}}}},
    }
    left, right = family(tmp_path, changes).figure("toy", "figA2").plot.panels
    assert (left.title, left.hue) == ("Left", "width")
    assert [each.style for each in left.lines] == ["solid", "dashed"]
    assert (right.title, right.x, right.hue) == ("Right", "learning_rate", None)


MAPS = {"kind": "maps", "quantity": "loss", "x": "width", "y": "learning_rate"}
PLOTS = {
    "rates": MAPS | {"panels": {"plain": {"along": "seed"}}},
    "steps": {
        "kind": "lines",
        "x": "learning_rate",
        "hue": "width",
        "panels": {"left": {"of": "plain", "quantity": "loss", "title": "Left"}},
    },
}
COMPOSITE = {"kind": "composite", "rows": None, "columns": None}


def composites(root: Path, plots: Any, changed: Any) -> Configuration:
    """The parent's figure with these plots, and a twin that changes them."""
    changes = {
        "parent": {"figures": {"fig1": {"plot": {**COMPOSITE, "plots": plots}}}},
        "child": {"figures": {"figA2": {"plot": {"plots": changed}}}},
    }
    return family(root, changes)


def test_a_twin_changes_single_plots_of_a_composite_by_their_names(tmp_path: Path) -> None:
    changed = {
        "rates": {"panels": {"plain": None, "fast": {"along": "seed"}}},
        "steps": {"hue": None, "panels": {"left": {"of": "fast"}}},
        "relu": MAPS | {"panels": {"activations_relu": {"along": "seed"}}},
    }
    configuration = composites(tmp_path, PLOTS, changed)
    own = configuration.figure("toy", "fig1").plot
    assert [plot.kind for plot in own.plots] == ["maps", "lines"]
    rates, steps, relu = configuration.figure("toy", "figA2").plot.plots
    assert (rates.grids, relu.grids) == (["fast"], ["activations_relu"])
    (left,) = steps.panels
    assert (left.title, left.hue, [line.grid for line in left.lines]) == ("Left", None, ["fast"])


def test_a_twin_removes_a_plot_of_a_composite(tmp_path: Path) -> None:
    plots = {**PLOTS, "last": PLOTS["steps"]}
    configuration = composites(tmp_path, plots, {"rates": None})
    kinds = [plot.kind for plot in configuration.figure("toy", "figA2").plot.plots]
    assert kinds == ["lines", "lines"]


def test_plots_of_a_composite_are_the_same_with_names_and_in_a_list(tmp_path: Path) -> None:
    named, listed = (
        composites(tmp_path / str(number), plots, {}).figure("toy", "fig1").plot
        for number, plots in enumerate((PLOTS, list(PLOTS.values())))
    )
    assert named == listed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rates": {"xx": "width"}}, r"child\.yaml:\d+: figures\.figA2\.plot\.plots\.rates\.xx: "),
        ({"steps": {"wrap": 0}}, r"child\.yaml:\d+: figures\.figA2\.plot\.plots\.steps\.wrap: "),
        (
            {"rates": {"quantity": "los"}},
            r"child\.yaml:\d+: figures\.figA2\.plot\.plots\.rates: unknown quantity 'los'",
        ),
        ({"rates": {"kind": "map"}}, r"child\.yaml:\d+: .*plots\.rates.*'map'"),
        ({"rates": 3}, r"child\.yaml:\d+: .*plots\.rates: should be a mapping, not 3"),
    ],
)
def test_a_mistake_in_a_named_plot_is_found_at_its_line(
    tmp_path: Path, changed: Any, message: str
) -> None:
    configuration = composites(tmp_path, PLOTS, changed)
    with pytest.raises(ConfigurationError, match=message):
        configuration.figure("toy", "figA2")


def test_a_mistake_in_a_named_panel_is_found_at_its_line(tmp_path: Path) -> None:
    panels = {"left": {"title": "Left", "of": "plian", "quantity": "loss"}}
    plot = {"kind": "lines", "x": "learning_rate", "rows": None, "columns": None, "panels": panels}
    configuration = family(tmp_path, {"parent": {"figures": {"fig1": {"plot": plot}}}})
    with pytest.raises(ConfigurationError, match=r"plot\.panels\.left: unknown grid 'plian'"):
        configuration.figure("toy", "fig1")


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({"bases": {"small": {"num_steps": 4}}}, {"parent": 4, "child": 7, "orphan": 4}),
        ({"experiments": {"parent": {"num_steps": 4}}}, {"parent": 4, "child": 7, "orphan": 4}),
        ({"experiments": {"child": {"num_steps": 4}}}, {"parent": 6, "child": 4, "orphan": 6}),
    ],
)
def test_changes_by_the_user_reach_all_that_inherit(
    tmp_path: Path, changes: Any, steps: dict[str, int]
) -> None:
    configuration = family(tmp_path, papers={"toy": changes})
    found = {name: {c.num_steps for c in configuration.cells("toy", name)} for name in steps}
    assert found == {name: {number} for name, number in steps.items()}


def test_a_change_that_no_grid_takes_up_is_refused(tmp_path: Path) -> None:
    configuration = family(tmp_path, papers={"toy": {"experiments": {"orphan": {"width": 4}}}})
    message = r"experiments\.orphan\.width: changes nothing, .* under `grids`, of relu"
    with pytest.raises(ConfigurationError, match=message):
        configuration.experiment("toy", "orphan")


def test_changes_by_the_user_reach_figures(tmp_path: Path) -> None:
    words = {"quantities": {"loss": {"window": 9}}, "figures": {"fig1": {"title": "Other"}}}
    configuration = family(tmp_path, papers={"toy": words})
    figure = configuration.figure("toy", "fig1")
    assert (figure.title, figure.claims[0].quantity.window) == ("Other", 9)
    assert configuration.figure("toy", "figA2").title == "A twin"


def test_values_say_where_they_are_from(tmp_path: Path) -> None:
    changes = {"paper": {"bases": {"small": {"presets": {"small": {"num_steps": "few"}}}}}}
    root = write_project(tmp_path, paper=merged(FAMILY, changes))
    with pytest.raises(ConfigurationError) as caught:
        load(root, {"preset": "small"}).points("toy", "parent")
    where, _, _ = str(caught.value).partition(": ")
    file, line = where.removesuffix(" (small, preset small)").split(":")
    assert file == "config/papers/toy/paper.yaml"
    assert (root / file).read_text().splitlines()[int(line) - 1].strip() == "num_steps: few"


def test_an_experiment_reads_its_file_and_what_it_extends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    wrapped = files.read_tree

    def noted(path: Path, file: str) -> Any:
        read.append(path.stem)
        return wrapped(path, file)

    monkeypatch.setattr("scaling_limits.configuration.library.read_tree", noted)
    family(tmp_path).cells("toy", "child")
    assert sorted(read) == ["child", "paper", "parent"]
    read.clear()
    family(tmp_path).figure("toy", "fig1")
    # `orphan` does not speak of it
    assert sorted(read) == ["child", "paper", "parent"]


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ({"octaves": [-2, 1]}, [0.25, 0.5, 1, 2]),
        ({"octaves": [0, 4, 2]}, [1, 4, 16]),
        ({"octaves": [-1, 1, 0.5]}, [0.5, 2**-0.5, 1, 2**0.5, 2]),
        ({"octaves": [0, 1, "0.333"]}, [1, 2 ** (1 / 3), 2 ** (2 / 3), 2]),
        ({"octaves": [0, 1], "of": 0.001}, [0.001, 0.002]),
        ({"octaves": ["0", "1"], "of": "3"}, [3, 6]),
        ({"count": 3}, [0, 1, 2]),
        ({"input": {"learning_rate": 1}}, {"input": {"learning_rate": 1}}),
    ],
)
def test_ranges(said: Any, values: Any) -> None:
    assert expanded(said) == values


def test_settings_that_are_lists(tmp_path: Path) -> None:
    changes = {"orphan": {"input_shape": [4, 4], "frozen": [[], ["input"]]}}
    cells = family(tmp_path, changes).cells("toy", "orphan")
    assert {cell.dataset.input_shape for cell in cells} == {(4, 4)}
    assert {cell.frozen for cell in cells} == {(), ("input",)}


def test_show_says_every_value_with_its_place(tmp_path: Path) -> None:
    family(tmp_path)
    configuration = load(tmp_path, {"preset": "small"})
    text = " ".join(shown(configuration, "toy/figA2").split())
    for words in (
        "toy/figA2, preset small: A twin",
        "num_steps 7 config/papers/toy/child.yaml:3",
        "* learning_rate [0.025, 0.05, 0.1] config/papers/toy/parent.yaml:3",
        "* seed [5, 6] config/papers/toy/parent.yaml:",
        "dataset digits config/papers/toy/paper.yaml:",
        "performance end config/papers/toy/parent.yaml:",
        "kind: lines",
        "id: large",
    ):
        assert words in text
    with pytest.raises(ConfigurationError, match=r"^'toy': a figure is <paper>/<figure>"):
        shown(configuration, "toy")
    with pytest.raises(ConfigurationError, match="unknown figure 'fig11'; did you mean 'fig1'"):
        shown(configuration, "toy/fig11")


# the repository


def every_file() -> list[tuple[Path, dict[str, Any]]]:
    paths = sorted((PROJECT / "config" / "papers").glob("*/*.yaml"))
    return [(path, yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)) for path in paths]


def test_files_can_be_read_by_hand() -> None:
    """No file of more than 200 lines, and `extends` at most four steps deep."""
    for path in (PROJECT / "config" / "papers").glob("*/*.yaml"):
        assert len(path.read_text("utf-8").splitlines()) <= 200, path
    for folder in (PROJECT / "config" / "papers").iterdir():
        named = {p.stem: content for p, content in every_file() if p.parent == folder}
        extends = {
            name: content.get("extends")
            for name, content in {**named, **named["paper"].get("bases", {})}.items()
        }
        for name in extends:
            steps, at = 0, extends[name]
            while at is not None:
                steps, at = steps + 1, extends[at]
            assert steps <= 4, (folder.name, name)


def entries(changes: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths to all values of a preset."""
    if isinstance(changes, dict) and not {"octaves", "count"} & set(changes):
        return [found for key, value in changes.items() for found in entries(value, (*path, key))]
    return [path]


def without(content: Any, path: tuple[str, ...]) -> Any:
    if len(path) == 1:
        return {key: value for key, value in content.items() if key != path[0]}
    return {**content, path[0]: without(content[path[0]], path[1:])}


def come_to(root: Path, slug: str, preset: str, names: list[str]) -> Any:
    configuration = load(root, {"preset": preset})
    paper = configuration.paper(slug)
    # with an entry away, a figure may show what its cells would not record
    figures = {
        name: resolved_figure.figure(paper, name)
        for name, holder in paper.figures.items()
        if holder in names
    }
    return [configuration.experiment(slug, name) for name in names], figures


def inheritors(named: dict[str, Any], changed: str) -> list[str]:
    """The experiments that come from a file, or from a base, with what their grids extend."""
    bases = named["paper"].get("bases", {})
    found = {changed}
    while True:
        more = {
            name
            for name, content in {**bases, **named}.items()
            if name not in found and found & set(extended(content))
        }
        if not more:
            return sorted((found & set(named)) - {"paper"})
        found |= more


def extended(content: Any) -> list[str]:
    if isinstance(content, list):
        return [str(item) for item in content]
    if not isinstance(content, dict):
        return []
    own = [content["extends"]] if "extends" in content else []
    grids = content.get("grids", {})
    nodes = grids.values() if isinstance(grids, dict) else [grids]
    return own + [name for node in nodes for name in extended(node)]


@pytest.fixture
def parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every content of a file is parsed once: a paper's are read hundreds of times below."""
    known: dict[tuple[str, str], Any] = {}

    def read(path: Path, file: str) -> Any:
        found = (file, path.read_text(encoding="utf-8"))
        if found not in known:
            known[found] = files.read_tree(path, file)
        return known[found]

    monkeypatch.setattr(library, "read_tree", read)


@pytest.mark.slow
@pytest.mark.usefixtures("parsed_once")
@pytest.mark.parametrize("slug", ["depth-mup", "mupc", "pc-tp", "pcn-limits", "second-order"])
def test_every_entry_of_a_preset_changes_something(tmp_path: Path, slug: str) -> None:
    named = {path.stem: content for path, content in every_file() if path.parent.name == slug}
    folder = tmp_path / "config" / "papers" / slug
    folder.mkdir(parents=True)
    presets = tmp_path / "config" / "presets"
    presets.symlink_to(PROJECT / "config" / "presets")
    (tmp_path / "config" / "config.yaml").write_text("preset: smoke\n")
    for name, content in named.items():
        (folder / f"{name}.yaml").write_text(json.dumps(content))
    idle = []
    for file, content in named.items():
        places = {(file,): content} if file != "paper" else {}
        if file == "paper":
            places = {("bases", base): said for base, said in content.get("bases", {}).items()}
        for place, said in places.items():
            users = inheritors(named, place[-1])
            for preset, changes in (said.get("presets") or {}).items():
                before = come_to(tmp_path, slug, preset, users)
                for path in entries(changes):
                    whole = (*(() if len(place) == 1 else place), "presets", preset, *path)
                    (folder / f"{file}.yaml").write_text(json.dumps(without(content, whole)))
                    if come_to(tmp_path, slug, preset, users) == before:
                        idle.append((*place, preset, *path))
                (folder / f"{file}.yaml").write_text(json.dumps(content))
                assert come_to(tmp_path, slug, preset, users) == before
    assert not idle


IDLE: dict[str, Any] = {"one": {"extends": "small"}, "two": {"num_steps": 3}}


def experiment_with(root: Path, said: Any, grids: Any, **overrides: Any) -> Any:
    words = {"idle": {"description": "Idle.", **SETTINGS, "num_steps": None, **said}}
    words["idle"] = {key: value for key, value in words["idle"].items() if value is not None}
    words["idle"]["grids"] = grids
    return family(root, words, **overrides).experiment("toy", "idle")


@pytest.mark.parametrize("preset", ["small", "whole"])
def test_a_setting_that_every_grid_says_itself_is_refused(tmp_path: Path, preset: str) -> None:
    """A base of a grid is nearer than the experiment; its own words of a mapping count one by one."""
    message = r"idle\.yaml:\d+: num_steps: changes nothing, .* under `grids`, of one, two"
    with pytest.raises(ConfigurationError, match=message):
        experiment_with(tmp_path, {"num_steps": 5}, IDLE, preset=preset)
    changes = {"exponent_changes": {"hidden": {"learning_rate": {"width": 0.5}}}}
    own = {"exponent_changes": {"hidden": {"learning_rate": {"width": 0.25}}}}
    grids = {name: {**grid, **own} for name, grid in IDLE.items()}
    with pytest.raises(ConfigurationError, match=r"idle\.yaml:\d+: exponent_changes: changes"):
        experiment_with(tmp_path, changes, grids, preset=preset)


def test_a_setting_that_one_grid_takes_up_or_a_preset_overrides_is_not(tmp_path: Path) -> None:
    grids = {**IDLE, "three": {}}
    assert experiment_with(tmp_path / "one", {"num_steps": 5}, grids).grids["three"]
    by_preset = {"small": {"grids": {"one": {"num_steps": 1}, "two": {"num_steps": 2}}}}
    said = {"num_steps": 5, "presets": by_preset}
    assert experiment_with(tmp_path / "two", said, {"one": {}, "two": {}}, preset="small")


@on_published
def test_the_same_cells_judge_one_claim_once() -> None:
    """In other words, or under another figure, it would count twice."""
    configuration = published("paper")
    judged: dict[Any, str] = {}
    for slug in configuration.papers:
        paper = configuration.paper(slug)
        for name in paper.figures:
            figure = resolved_figure.figure(paper, name)
            for claim in figure.claims:
                said = claim.model_dump_json(exclude={"id", "statement", "source"})
                where = f"{slug}/{name} {claim.id}"
                assert judged.setdefault((slug, figure.experiment, said), where) == where


@on_published
@pytest.mark.parametrize("preset", ["laptop", "paper"])
def test_convolutional_networks_of_figure_s5_are_cells_of_figure_3(preset: str) -> None:
    """Nothing but equal settings and measurements makes them so."""
    configuration = published(preset)
    at_three, at_s5 = (
        {cell_key(p.cell) for p in configuration.points("second-order", name) if p.grid == grid}
        for name, grid in (("output_init_sweep", "kfac"), ("output_init_sweep_networks", "cnn"))
    )
    assert at_s5
    assert at_s5 <= at_three


def test_twins_are_short() -> None:
    """A figure that extends another one, with an experiment that extends another one, is some dozen lines."""
    experiments = {(path.parent, path.stem) for path, _ in every_file()}
    for path, content in every_file():
        twins = content.get("figures", {})
        if (path.parent, content.get("extends")) not in experiments:
            continue
        if twins and all("extends" in figure for figure in twins.values()):
            claims = sum(len(figure.get("claims", {})) for figure in twins.values())
            lines = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
            assert len(lines) <= 12 * len(twins) + 3 * claims, path

"""An experiment of the user's own may say anything: what is wrong with it is said, and all other figures go on."""

import contextlib
import copy
import math
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling_limits.configuration import Configuration, load
from scaling_limits.configuration.own_parts import UNFORESEEN
from scaling_limits.configuration.readable import refuse_unreadable
from scaling_limits.errors import ScalingLimitsError
from toys import BACKPROPAGATION, FIGURE, SETTINGS, write_project

LOSS = {"quantity": "loss", "grids": "mup"}
CLAIMS: dict[str, Any] = {
    "stays": {
        "optimum_stays": {"along": "width", "over": "learning_rate", "max_shift": 1, **LOSS}
        | {"control": "sp", "decided_at": {"width": 16}}
    },
    "moves": {
        "optimum_moves": {"along": "width", "over": "learning_rate", "min_shift": 1, **LOSS}
        | {"direction": "up", "control": "sp"}
    },
    "costs": {
        "transfer_cost": {"along": "width", "over": "learning_rate", "tolerance": 0.1, **LOSS}
        | {"control": "sp"}
    },
    "improves": {
        "improves_with": {"along": "width", "over": ["learning_rate"], "tolerance": 0.1, **LOSS}
    },
    "bounded": {
        "bound": {"by": ["width"], "over": "learning_rate", "at": [0, 2], "at_most": 1.0, **LOSS}
        | {"where": {"ratio": ["width"], "at_least": 8}}
    },
    "ranked": {
        "rank_correlation": {"by": ["width", "learning_rate"], "ratio": ["width", "learning_rate"]}
        | {"above": 0.5, **LOSS}
    },
    "slopes": {
        "slope": {"along": "width", "expected": -1, "only": {"learning_rate": 0.5}, **LOSS}
        | {"control": "sp", "quantity": {"quantity": "changes", "layer": 1}}
    },
    "agrees": {
        "agrees_with": {"along": "width", "by": ["learning_rate"], "tolerance": 0.1, **LOSS}
        | {"reference": "sp", "control": "sp"}
    },
    "apart": {"gap": {"along": "width", "over": "learning_rate", "reference": ["sp"], **LOSS}},
}
CLAIMS = {name: {"statement": f"It {name}.", **claim} for name, claim in CLAIMS.items()}
LAYERS = {"x": "layer", "hue": "width", "over": "learning_rate", "best": "min"}
PANEL = {"x": "width", "hue": "learning_rate"}
MEASURED = {"per": "layer", "reduce": "at", "step": 0}
PLOTS: dict[str, Any] = {
    "rows": {"kind": "lines", "rows": ["loss", {"quantity": "changes", **LAYERS}]}
    | {"columns": {"mup": None, "sp": "standard"}, "symbols": {"width": "N"}},
    "panels": {
        "kind": "lines",
        "panels": [
            {
                "of": "mup",
                "quantity": "loss",
                "title": "best",
                "x": "width",
                "over": "learning_rate",
            },
            {"each": ["mup", "sp"], "quantity": {"quantity": "loss", "label": "L"}, **PANEL},
            {
                "steps": [0, 2],
                "title": "after {}",
                **PANEL,
                "lines": [{"grid": "sp", "quantity": "loss"}],
            },
            {"of": "sp", "beside": [{"quantity": "loss", "style": "dashed"}], **PANEL}
            | {"quantity": "loss", "title": "SP"},
        ],
    },
    "maps": {
        "kind": "maps",
        "quantity": {"metric": "train_loss", "window": 2},
        "x": "learning_rate",
        "y": "seed",
        "panels": {"mup": {"along": "width", "values": [8, 16]}, "sp": {"along": "width"}},
    },
    "table": {
        "kind": "results_table",
        "quantity": "loss",
        "over": "learning_rate",
        "rows": "entry",
        "columns": ["width"],
        "entries": ["mup", {"grid": "sp", "minus": "mup", "title": "less"}],
    },
    "several": {
        "kind": "composite",
        "plots": [
            {"kind": "lines", "rows": ["loss"], "columns": "mup"},
            {"kind": "maps", "quantity": "loss", "x": "learning_rate", "y": "seed"}
            | {"panels": [{"grid": "sp", "along": "width"}]},
        ],
    },
    "words": {"kind": "definitions", "columns": ["a", "b"], "rows": [["1", "2"]]},
    "sets": {"kind": "nested_sets", "outermost": {"label": "all", "contains": [{"label": "a"}]}},
}
EXPERIMENT: dict[str, Any] = {
    "description": "all that an experiment of one's own may say",
    "data": {"datasets": {"mine": "mine.npz"}},
    "algorithms": {"copy": "copy.py"},
    "parameterisations": [
        {"scheme": "mine", "update_rule": "sgd", "source": "own"}
        | {role: {"init_std": {"fan_in": -0.5}} for role in ("input", "hidden", "output")}
    ],
    **{k: v for k, v in (SETTINGS | BACKPROPAGATION).items() if v is not None},
    "skip": False,
    "optimiser": "sgd",
    "momentum": 0.5,
    "width": [8, 16],
    "learning_rate": {"octaves": [-1, 0], "of": 1.0},
    "seed": {"count": 2},
    "exponent_changes": {"output": {"learning_rate": {"width": 0.5}}},
    "frozen": ["input"],
    "measurements": {"feature_changes": [0, "end"], "performance": "end"},
    "bases": {"small": {"num_steps": 4}},
    "extends": "small",
    "symbols": {"learning_rate": r"\eta"},
    "quantities": {
        "loss": {"metric": "train_loss"},
        "changes": {"metric": "activity_change", **MEASURED},
    },
    "judging": {"margin": 0.05, "slope": {"tolerance": 0.2}},
    "stated": {"width": "Table 1"},
    "presets": {"small": {"grids": {"mup": {"seed": 0}}, "figures": {"maps": {"title": "m"}}}},
    "grids": {
        "mup": {"title": "μP", "parameterisation": "mup"},
        "sp": {"grids": {}, "title": "SP", "parameterisation": "sp_gaussian"},
    },
    "figures": {
        name: {"title": name, "caption": "{width} units.", "plot": plot}
        | ({"claims": CLAIMS} if name == "rows" else {})
        for name, plot in PLOTS.items()
    },
}
del EXPERIMENT["num_steps"], EXPERIMENT["parameterisation"]
EXPERIMENT["figures"]["heir"] = {"extends": "maps", "title": "again"}

WORDS = (
    "",
    "width",
    "loss",
    "sp",
    "own",
    "on",
    "1e5",
    "010",
    "end",
    "entry",
    "$x",
    "{widht}",
    "a b",
)
NUMBERS = (0, -1, 3, 2**70, 1e5, 2.5, -0.0, 1e-320, 1e308, math.nan, math.inf)
SCALARS = st.sampled_from([None, True, False, *WORDS, *NUMBERS])
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["octaves", "count", "metric", *WORDS]), inner, max_size=2
        )
    ),
    max_leaves=4,
)


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything in nested mappings and lists."""
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


@st.composite
def experiments(draw: st.DrawFn) -> dict[str, Any]:
    """The experiment with up to three changes: a word replaced by anything, gone, or by another name."""
    changed = copy.deepcopy(EXPERIMENT)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(list(places(changed))))
        holder: Any = changed
        for key in way:
            holder = holder[key]
        change = draw(st.sampled_from(["replace", "replace", "remove", "rename", "nest", "swap"]))
        if change == "remove":
            del holder[last]
        elif change == "rename" and isinstance(holder, dict):
            holder[draw(st.sampled_from([*WORDS, f"{last}s"]))] = holder.pop(last)
        elif change == "nest":
            holder[last] = draw(st.sampled_from([[holder[last]], {"sp": holder[last]}]))
        elif change == "swap":
            *other, end = draw(st.sampled_from(list(places(changed))))
            found: Any = changed
            for key in other:
                found = found[key]
            holder[last] = copy.deepcopy(found[end])
        else:
            holder[last] = draw(ANYTHING)
    return changed


def configured(root: Path, experiment: Any) -> Configuration:
    write_project(root)
    (root / "config/experiments").mkdir(exist_ok=True)
    text = yaml.dump(experiment, Dumper=_WithoutAliases, sort_keys=False, allow_unicode=True)
    (root / "config/experiments/mine.yaml").write_text(text, encoding="utf-8")
    (root / "copy.py").write_text(
        "from scaling_limits.algorithms.backpropagation.computation import errors, init, update\n"
    )
    (root / "mine.npz").touch()
    return load(root)


class _WithoutAliases(yaml.SafeDumper):
    """Aliases are refused."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def test_the_experiment_itself_is_sound(tmp_path: Path) -> None:
    configuration = configured(tmp_path, EXPERIMENT)
    assert configuration.faults == {}
    assert set(configuration.sound_figures("own")) == {*PLOTS, "heir"}


@given(experiments())
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
def test_what_is_wrong_is_said(experiment: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        configuration = configured(Path(folder), experiment)
        faults = configuration.faults
        assert UNFORESEEN not in str(faults)
        for line in faults.get("mine", "").splitlines():
            assert (
                re.match(r"config/experiments(/mine\.yaml(:\d+.*)?)?: \S", line) or line[0] in "- "
            ), line
        for name in configuration.sound_figures("own"):
            assert configuration.figure("own", name).title is not None
            assert all(line.startswith("config/") for line in configuration.warnings("own", name))
            with contextlib.suppress(ScalingLimitsError):
                refuse_unreadable(configuration, "own", name)
        assert configuration.figure("toy", "fig1").title == FIGURE["title"]

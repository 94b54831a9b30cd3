"""What a user may get wrong, case by case, with what is said to it; `python tests/bad_input.py` prints all of them.

Groups are those of the trial in which all was tried by hand: `names`, `values`, `files`, `data` and `store` were well
from the beginning, A to J were not.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

from scaling_limits.algorithms import registry as algorithms
from scaling_limits.commands.main import main
from scaling_limits.commands.readable import aligned
from scaling_limits.configuration import load
from scaling_limits.configuration.readable import refuse_unreadable
from scaling_limits.costs.memory import refuse_too_large
from scaling_limits.datasets.loading import load as load_arrays
from scaling_limits.datasets.preparation import prepare
from scaling_limits.errors import ScalingLimitsError
from scaling_limits.measured import Measured
from scaling_limits.store import Store, StoredCell
from toys import BACKPROPAGATION, FIGURE, PAPER, as_yaml, cell, merged, write_project

PROJECT = Path(__file__).parents[1]
TOY = "config/papers/toy/transfer.yaml"
MINE = "config/experiments/mine.yaml"
GIVEN = "--config or --configfile"


def resolve(root: Path, overrides: Any = None) -> None:
    """Do what the rules of Snakemake do of the configuration for all figures, before any job."""
    configuration = load(root, overrides)
    for slug in configuration.papers:
        for name in configuration.experiments(slug):
            shards = configuration.shards(slug, name)
            refuse_too_large([each[0] for each in shards], **configuration.main.resources.memory)
        for name in configuration.figures(slug):
            refuse_unreadable(configuration, slug, name)


@dataclass(frozen=True)
class Case:
    """`words` stand in what is said, in this order; without any it is rightly accepted.

    `files` are written over those of the toy project, `overrides` are given as those of `--config`, and `act` does the
    rest; what it prints is what is said if it raises nothing.
    """

    group: str
    name: str
    words: tuple[str, ...] = ()
    overrides: Any = None
    files: Mapping[str, Any] = field(default_factory=dict)
    act: Callable[[Path, Any], object] = resolve
    runs: bool = False
    """Whether it starts Snakemake."""

    @property
    def id(self) -> str:
        """What the case is called."""
        return f"{self.group}: {self.name}"

    def message(self, root: Path) -> str:
        """What is said, with the project's folder as `.`; nothing where all goes well."""
        write_project(root)
        for path, content in self.files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                file.write_bytes(content)
            else:
                text = content if isinstance(content, str) else as_yaml(content)
                file.write_text(text, encoding="utf-8")
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
                self.act(root, self.overrides)
        except ScalingLimitsError as error:
            said.write(str(error))
        return said.getvalue().replace(str(root), ".").strip()


# where something wrong may stand


def by_user(**changes: Any) -> Any:
    """An experiment changed on the command line."""
    return {"papers": {"toy": {"experiments": {"transfer": changes}}}}


def figure_by_user(**changes: Any) -> Any:
    """A figure changed on the command line."""
    return {"papers": {"toy": {"figures": {"fig1": changes}}}}


def in_file(**changes: Any) -> dict[str, Any]:
    """An experiment changed in its file."""
    return {TOY: merged(PAPER["transfer"], changes)}


def in_figure(**changes: Any) -> dict[str, Any]:
    """A figure changed in its file."""
    return in_file(figures={"fig1": changes})


def in_paper(**changes: Any) -> dict[str, Any]:
    """`paper.yaml` changed."""
    return {"config/papers/toy/paper.yaml": merged(PAPER["paper"], changes)}


BOUND = {"grids": "main", "quantity": "loss", "at_most": 1.0}


def claiming(**changes: Any) -> dict[str, Any]:
    """A claim of a figure, changed in its file."""
    return in_figure(claims={"small": {"statement": "It is small.", "bound": {**BOUND, **changes}}})


EXPERIMENT = {
    **PAPER["transfer"],
    "quantities": PAPER["paper"]["quantities"],
    "grids": {"main": {"width": [8, 16]}},
    "figures": {"mine": FIGURE},
}


def own(**changes: Any) -> dict[str, Any]:
    """An experiment of the user's own."""
    return {MINE: merged(EXPERIMENT, changes)}


def asking(**wanted: str) -> Callable[[Path, Any], object]:
    """Ask for one figure, experiment or paper."""
    (kind, name) = next(iter(wanted.items()))

    def act(root: Path, overrides: Any) -> object:
        configuration = load(root, overrides)
        if kind == "paper":
            return configuration.figures(name)
        ask = configuration.figure if kind == "figure" else configuration.points
        return ask("toy", name)

    return act


# files of data


def npz(**changes: Any) -> bytes:
    """A dataset of the user's own."""
    x, y = np.random.default_rng(0).random((20, 6)), np.arange(20) % 3
    arrays = {"x_train": x, "y_train": y, "x_test": x, "y_test": y} | changes
    written = io.BytesIO()
    np.savez(written, **{key: value for key, value in arrays.items() if value is not None})
    return written.getvalue()


def with_value(value: float) -> np.ndarray:
    """Inputs of which one is this."""
    x = np.zeros((20, 6))
    x[4, 3] = value
    return x


RINGS = {
    "data": {"datasets": {"rings": "rings.npz"}},
    **by_user(dataset="rings", num_train=20, num_test=5),
}


def rings(name: str, *words: str, content: bytes | None = None, **changes: Any) -> Case:
    """A case of a dataset of the user's own."""
    file = npz(**changes) if content is None else content
    return Case("data", name, words, RINGS, {"rings.npz": file})


class Evil:
    """What must not be unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("unpickled",)


def flipped(content: bytes) -> bytes:
    """One bit of the middle is another."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def prepared_and(damage: Callable[[bytes], bytes]) -> Callable[[Path, Any], object]:
    """The prepared digits, damaged, then read."""

    def act(root: Path, _: Any) -> object:
        output = root / "digits.npz"
        prepare(
            "digits", data_path=None, downloads=root, output=output, user={}, report=lambda _: None
        )
        output.write_bytes(damage(output.read_bytes()))
        try:
            return load_arrays(cell().dataset, output)
        finally:
            assert (root / "digits.npz.corrupt").exists()

    return act


KEYS = "0123456789abcdef", "fedcba9876543210"


def stored_and(damage: Callable[[bytes], bytes]) -> Callable[[Path, Any], object]:
    """A stored cell, damaged, then read: it is set aside, and can be stored again."""

    def act(root: Path, _: Any) -> None:
        store = Store(root / "cells")
        loss = Measured(np.arange(3.0), ("step",), {"step": (0, 1, 2)})
        for key in KEYS:
            store.save(key, StoredCell({"train_loss": loss}, {"seconds": 1}))
        path = store.path(KEYS[0])
        path.write_bytes(
            damage(path.read_bytes()) if damage is not copied else store.path(KEYS[1]).read_bytes()
        )
        assert store.load(KEYS[0]) is None
        assert store.load(KEYS[1]) is not None
        assert path.with_suffix(".corrupt").exists()
        store.save(KEYS[0], StoredCell({"train_loss": loss}, {"seconds": 1}))
        assert store.load(KEYS[0]) is not None

    return act


def copied(content: bytes) -> bytes:
    """Stands for another cell's file."""
    return content


# commands


def called(*words: str) -> Callable[[Path, Any], object]:
    """Give words to the command line, in the project's folder."""

    def act(root: Path, _: Any) -> None:
        with contextlib.chdir(root):
            done = CliRunner().invoke(main, words)
        assert isinstance(done.exception, SystemExit)
        assert done.exit_code
        print(done.output)

    return act


def snakemake(*arguments: str, folder: str = ".") -> Callable[[Path, Any], object]:
    """The plan of a run in the toy project, or in a folder below it."""

    def act(root: Path, _: Any) -> None:
        for part in ("workflow", "docs", "tests", "profiles"):
            (root / part).symlink_to(PROJECT / part)
        run(
            [
                sys.executable,
                "-m",
                "snakemake",
                "-s",
                str(PROJECT / "Snakefile"),
                *arguments,
                "-n",
            ],
            root / folder,
        )

    return act


def run(command: list[str], folder: Path) -> None:
    """Print what a command says that is its own message; one that goes well may warn."""
    folder.mkdir(parents=True, exist_ok=True)
    path = {"PYTHONPATH": str(PROJECT / "src")}
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **path}, capture_output=True, text=True, check=False
    )
    output = done.stdout + done.stderr
    assert "Traceback" not in output
    lines = [line for line in output.splitlines() if re.match(r"(error|warning|\S*Makefile)", line)]
    assert (done.returncode == 0) == (not any("error" in x or "***" in x for x in lines)), output
    print("\n".join(lines))


def _names() -> Iterator[Case]:
    """Names of which there is none."""
    yield Case(
        "names",
        "figure",
        ("config/papers/toy: unknown figure 'fig2'", "'fig1'"),
        act=asking(figure="fig2"),
    )
    yield Case(
        "names",
        "experiment",
        ("config/papers/toy: unknown experiment 'tranfer'", "'transfer'"),
        act=asking(experiment="tranfer"),
    )
    yield Case("names", "paper", ("unknown paper 'tyo'", "'toy'"), act=asking(paper="tyo"))
    for key, change, word, near in (
        ("key", {"preste": "small"}, "unknown key 'preste'", "'preset'"),
        ("preset", {"preset": "smal"}, "unknown preset 'smal'", "'small'"),
        ("key of data", {"data": {"paht": "x"}}, "data.paht: unknown key", "'path'"),
        (
            "key of resources",
            {"resources": {"memory": 1}},
            "resources.memory: unknown key",
            "mem_mb",
        ),
        (
            "device",
            {"resources": {"device": "gpus"}},
            "resources.device: unknown value 'gpus'",
            "'gpu'",
        ),
        ("audit", {"audit": "storde"}, "audit: unknown value 'storde'", "'stored'"),
        ("page", {"page": "bear"}, "page: unknown value 'bear'", "'bare'"),
        ("changed paper", {"papers": {"tyo": {}}}, "papers: unknown paper 'tyo'", "'toy'"),
        (
            "word of a changed paper",
            {"papers": {"toy": {"experiment": {}}}},
            "papers.toy.experiment",
            "under `figures`",
        ),
        (
            "key of a row",
            {"parameterisations": [{"schem": "mine"}]},
            "parameterisations.0.schem: unknown key",
            "'scheme'",
        ),
        (
            "changed experiment",
            {"papers": {"toy": {"experiments": {"transfe": {}}}}},
            "unknown experiment 'transfe'",
            "'transfer'",
        ),
        (
            "changed figure",
            {"papers": {"toy": {"figures": {"fig2": {}}}}},
            "unknown figure 'fig2'",
            "'fig1'",
        ),
        (
            "changed base",
            {"papers": {"toy": {"bases": {"smal": {}}}}},
            "unknown base 'smal'",
            "Valid",
        ),
        ("changed grid", by_user(grids={"mian": {"width": 8}}), "unknown grid 'mian'", "'main'"),
    ):
        yield Case("names", key, (GIVEN, word, near), change)
    settings = (
        ("setting", {"widht": 8}, "widht: unknown word or setting", "'width'"),
        ("axis", {"sede": [1]}, "sede: unknown word or setting", "'seed'"),
        ("setting of a grid", {"grids": {"main": {"widht": [8]}}}, "grids.main.widht: ", "'width'"),
        ("dataset", {"dataset": "digit"}, "unknown dataset 'digit'", "'digits'"),
        ("network", {"network": "mpl"}, "unknown network 'mpl'", "'mlp'"),
        ("activation", {"activation": "tahn"}, "activation: unknown value 'tahn'", "'tanh'"),
        (
            "algorithm",
            {"algorithm": "predictve_coding"},
            "unknown algorithm 'predictve_coding'",
            "'predictive_coding'",
        ),
        ("row", {"parameterisation": "mucp"}, "unknown parameterisation 'mucp'", "did you mean"),
        ("optimiser", {"optimiser": "adm"}, "unknown optimiser 'adm'", "'adam'"),
        ("limit", {"limit": "linear_dmf"}, "unknown limit 'linear_dmf'", "'linear_dmft'"),
        ("loss", {"loss": "cross_entrpy"}, "unknown loss 'cross_entrpy'", "'cross_entropy'"),
        (
            "role",
            {"exponent_changes": {"outptu": {"multiplier": {"width": 1}}}},
            "exponent_changes: unknown role or layer 'outptu'",
            "'output'",
        ),
        (
            "number of a role",
            {"exponent_changes": {"output": {"multipler": {"width": 1}}}},
            "exponent_changes.output: unknown scaled quantity 'multipler'",
            "'multiplier'",
        ),
        (
            "size of an exponent",
            {"exponent_changes": {"output": {"multiplier": {"widht": 1}}}},
            "exponent_changes.output.multiplier: unknown scaling axis 'widht'",
            "'width'",
        ),
        (
            "measurement",
            {"measurements": {"gradient_alignmnt": [0]}},
            "unknown measurement 'gradient_alignmnt'",
            "'gradient_alignment'",
        ),
    )
    for name, change, word, near in settings:
        yield Case("names", name, (TOY, word, near), files=in_file(**change))
    for name, files, word, near in (
        ("key of a figure", in_figure(captoin="x"), "figures.fig1.captoin", "'caption'"),
        ("key of a plot", in_figure(plot={"panles": []}), "figures.fig1.plot.panles", "'panels'"),
        ("kind of plot", in_figure(plot={"kind": "curve"}), "figures.fig1.plot", "Valid"),
        (
            "grid of a plot",
            in_figure(plot={"panels": [{"grid": "mian", "along": "width"}]}),
            "figures.fig1.plot",
            "'main'",
        ),
        (
            "quantity of a plot",
            in_figure(plot={"quantity": "los"}),
            "unknown quantity 'los'",
            "'loss'",
        ),
        (
            "setting in a title",
            in_figure(title="of width {widht}"),
            "figures.fig1.title: unknown setting 'widht'",
            "'width'",
        ),
        (
            "grid of a claim",
            claiming(grids="mian"),
            "claims.small.bound.grids: unknown grid 'mian'",
            "'main'",
        ),
        (
            "control of a claim",
            claiming(control=["oen"]),
            "bound.control: unknown grid 'oen'",
            "'one'",
        ),
        (
            "quantity of a claim",
            claiming(quantity="los"),
            "bound.quantity: unknown quantity 'los'",
            "'loss'",
        ),
        ("key of a claim", claiming(at_mots=1.0), "at_mots", "'at_most'"),
        (
            "kind of claim",
            in_figure(claims={"small": {"bount": {}}}),
            "unknown kind of claim 'bount'",
            "'bound'",
        ),
        (
            "figure that one extends",
            in_file(figures={"fig2": {"extends": "fig11"}}),
            "figures.fig2.extends: unknown figure 'fig11'",
            "'fig1'",
        ),
        ("base", in_file(extends="tranfer"), "extends: unknown base 'tranfer'", "'transfer'"),
        (
            "base of a grid",
            in_file(grids={"main": {"extends": "oen"}}),
            "unknown base 'oen'",
            "'one'",
        ),
        ("preset in a file", in_file(presets={"smal": {}}), "unknown preset 'smal'", "'small'"),
        (
            "word of judging",
            in_file(judging={"toleranc": 1}),
            "judging: unknown word 'toleranc'",
            "'tolerance'",
        ),
    ):
        yield Case("names", name, (TOY, word, near), files=files)
    yield Case(
        "names",
        "key of a preset",
        ("config/presets/small.yaml:2: cap", "'caps'"),
        {"preset": "small"},
        {"config/presets/small.yaml": {"description": "x", "cap": {}}},
    )
    yield Case(
        "names",
        "cap of a preset",
        ("config/presets/small.yaml", "caps.num_step", "'num_steps'"),
        {"preset": "small"},
        {"config/presets/small.yaml": {"description": "x", "caps": {"num_step": 3}}},
    )
    yield Case(
        "names",
        "key of a paper",
        ("config/papers/toy/paper.yaml", "unknown word 'titel'", "'title'"),
        files=in_paper(titel="x"),
    )
    yield Case(
        "names",
        "word of an own experiment",
        (MINE, "unknown word or setting 'figurse'", "'figures'"),
        files=own(figurse={}),
    )


def _values() -> Iterator[Case]:
    """Values of another type or size."""
    for name, change, key, word in (
        ("text for a number", {"width": "wide"}, "width", "'wide'"),
        ("zero width", {"width": 0}, "width", "greater than"),
        ("half a unit", {"width": 8.5}, "width", "8.5"),
        ("list in an axis", {"width": [[8]]}, "width", "[8]"),
        ("no yes or no", {"skip": "perhaps"}, "skip", "'perhaps'"),
        (
            "negative rate",
            {"activity_learning_rate": -1},
            "activity_learning_rate",
            "greater than 0",
        ),
        ("infinite rate", {"learning_rate": float("inf")}, "learning_rate", "finite"),
        ("rate that is no number", {"learning_rate": float("nan")}, "learning_rate", "finite"),
        ("seed beyond 32 bits", {"seed": 2**31}, "seed", "less than"),
        ("width of 1e24", {"width": 1e24}, "width", "1e+24"),
        ("nothing for a number", {"num_steps": None}, "num_steps", "num_epochs"),
        ("empty text", {"activation": ""}, "activation", "unknown value ''"),
        ("mapping for a number", {"width": {"is": 8}}, "width", "{'is': 8}"),
    ):
        yield Case(
            "values", name, (TOY, f"grids.one: {key}", word), files=in_file(grids={"one": change})
        )
    for name, change, key, word in (
        (
            "negative steps, on the command line",
            {"num_steps": "-1"},
            "num_steps",
            "greater than or equal to 0",
        ),
        ("infinite rate, on the command line", {"learning_rate": "inf"}, "learning_rate", "finite"),
        ("empty axis", {"seed": []}, "seed", "a list of values needs at least one"),
        (
            "range that ends before it begins",
            {"seed": {"octaves": [3, 1]}},
            "seed: octaves",
            "from 3 to 1",
        ),
        ("range of none", {"seed": {"count": 0}}, "seed: ", "not 0"),
    ):
        yield Case("values", name, (GIVEN, key, word), by_user(**change))
    yield Case(
        "values",
        "list for a mapping",
        (TOY, "should be a mapping", "not [1]"),
        files=in_file(measurements=[1]),
    )
    yield Case(
        "values",
        "number for a grid",
        (TOY, "grids.main: should be a mapping, not 3"),
        files=in_file(grids={"main": 3}),
    )
    yield Case(
        "values",
        "no grid",
        (TOY, "grids: an experiment needs one at least"),
        files=in_file(grids=None),
    )
    yield Case(
        "values",
        "memory of none",
        (GIVEN, "resources.mem_mb", "greater than or equal to 500"),
        {"resources": {"mem_mb": 0}},
    )
    yield Case(
        "values",
        "numbers as text, on the command line",
        (),
        by_user(num_steps="4", seed=["0", "3"]),
    )
    yield Case("values", "preset that changes nothing", (), {"preset": "small"})


def _files() -> Iterator[Case]:
    """Files that are no YAML, or another one than meant."""
    bomb = "a: &a [x, x]\nb: [*a, *a]\n"
    for name, content, *words in (
        ("empty", b"", "should be a mapping"),
        ("binary", bytes(range(256)), "cannot be read"),
        ("Latin-1", "größe: 1\n".encode("latin-1"), "cannot be read", "utf-8"),
        ("duplicate key", b"title: a\ntitle: b\n", "line 2", "'title' occurs twice"),
        ("alias", bomb.encode(), "line 2", "aliases are not allowed"),
        (
            "python/object",
            b"!!python/object/apply:os.getcwd []\n",
            "cannot be read",
            "python/object",
        ),
        (
            "brackets that stay open",
            b"title: [a\n",
            "cannot be read",
            "did not find expected ',' or ']'",
        ),
        ("tab", b"title:\n\tx: 1\n", ":2: cannot be read"),
        ("list", b"- a\n- b\n", "should be a mapping"),
        ("deep", b"a: " + b"[" * 99999 + b"]" * 99999, "line 1", "50 levels"),
        ("date", b"a: !!timestamp 2001-13-45\n", "cannot be read", "timestamp"),
    ):
        yield Case("files", name, (TOY, *words), files={TOY: content})
    yield Case(
        "files",
        "duplicate key in the main file",
        ("config/config.yaml", "'preset' occurs twice"),
        files={"config/config.yaml": "preset: small\npreset: whole\n"},
    )
    yield Case(
        "files",
        "empty paper",
        ("config/papers/toy/paper.yaml: should be a mapping",),
        files={"config/papers/toy/paper.yaml": ""},
    )
    yield Case(
        "files",
        "empty preset",
        ("config/presets/whole.yaml: should be a mapping",),
        files={"config/presets/whole.yaml": ""},
    )
    yield Case("files", "JSON", (), files={TOY: as_json(PAPER["transfer"])})
    yield Case(
        "files",
        "letters of other languages",
        (),
        files=in_figure(title="Größe ширина \N{GREEK SMALL LETTER MU}"),
    )
    yield Case(
        "files",
        "paper in one file",
        ("config/papers/old.yaml: a paper is a folder",),
        files={"config/papers/old.yaml": "title: x\n"},
    )


def as_json(content: Any) -> str:
    """JSON, which is YAML."""
    return json.dumps(content)


def _data() -> Iterator[Case]:
    """Files of data that are damaged, or no data."""
    place = "./rings.npz: "
    yield rings("own dataset")
    yield rings("array that lacks", place, "'y_test' is missing", y_test=None)
    yield rings(
        "labels for other samples",
        place,
        "'x_test' has 20 samples, but 'y_test' has 2",
        y_test=np.array([1, 2]),
    )
    yield rings("NaN", place, "'x_train' is nan at index (4, 3)", x_train=with_value(np.nan))
    yield rings("infinity", place, "'x_train' is -inf at index (4, 3)", x_train=with_value(-np.inf))
    yield rings(
        "beyond 32 bits", place, "'x_train' is 1e+39 at index (4, 3)", x_train=with_value(1e39)
    )
    yield rings(
        "inputs of other shapes",
        place,
        "shape (6,), but samples of 'x_test' have shape (5,)",
        x_test=np.zeros((20, 5)),
    )
    yield rings(
        "real targets for classes",
        place,
        "'y_train' contains 1 real targets of each sample, but 'y_test' contains classes",
        y_train=np.linspace(0, 1, 20),
    )
    real = np.linspace(0, 1, 20)
    yield rings(
        "real targets taken as classes",
        "targets: 'one_hot' is not available for dataset 'rings', which has real targets; use 'real'",
        y_train=real,
        y_test=real,
    )
    yield rings(
        "NaN target", place, "'y_test' is nan at index 19", y_test=np.append(real[1:], np.nan)
    )
    yield rings(
        "negative labels", place, "labels from 0, or only -1 and 1", y_train=np.arange(20) - 3
    )
    ten = np.arange(20) % 10
    yield rings("one-hot rows", place, "y_train.argmax(axis=1)", y_train=np.eye(10)[ten])
    yield rings("labels from 1", place, "subtract 1", y_train=ten + 1, y_test=ten + 1)
    yield rings("label beyond 32 bits", place, "4294967296", y_train=np.append(ten[1:], 2**32))
    yield rings(
        "complex inputs",
        place,
        "'x_train' must contain numbers",
        x_train=np.zeros((20, 6), complex),
    )
    yield rings(
        "pickled objects",
        place,
        "'x_train' cannot be read as an array of numbers",
        x_train=np.array([Evil()] * 20, dtype=object),
    )
    yield rings("truncated", "rings.npz", content=npz()[:-200])
    yield rings("no archive", "rings.npz is not an .npz file", content=b"\x80\x02}.")
    yield Case(
        "data", "own dataset that is not there", ("rings.npz cannot be read", "No such file"), RINGS
    )
    yield Case(
        "data",
        "more samples than there are",
        (GIVEN, "num_train", "20"),
        merged(RINGS, by_user(num_train=21)),
        {"rings.npz": npz()},
    )
    yield Case(
        "data", "symlinked own dataset", (), RINGS, {"elsewhere/rings.npz": npz()}, act=linked
    )
    yield Case(
        "data",
        "name that the project has",
        (GIVEN, "data.datasets: 'digits' is one of the project"),
        {"data": {"datasets": {"digits": "x.npz"}}},
    )
    for name, damage in (
        ("flipped bit", flipped),
        ("truncated", lambda content: content[:-99]),
        ("empty", lambda _: b""),
    ):
        yield Case(
            "data",
            f"prepared data: {name}",
            ("./digits.npz is corrupt: expected", "found", "moved aside"),
            act=prepared_and(damage),
        )
    yield Case(
        "data",
        "damaged copy of MNIST",
        ("mnist: no complete copy", "train-images-idx3-ubyte: expected sha256:", "found sha256:"),
        act=damaged_mnist,
    )


def linked(root: Path, overrides: Any) -> None:
    """An own dataset through a link."""
    (root / "rings.npz").symlink_to("elsewhere/rings.npz")
    resolve(root, overrides)


MNIST = ("train-images", "train-labels", "t10k-images", "t10k-labels")


def prepare_mnist(root: Path, *files: str) -> None:
    """Prepare MNIST from a folder with these files, which are none of it."""
    folder = root / "copies" / "mnist"
    folder.mkdir(parents=True)
    for file in files:
        kind = "idx3" if "images" in file else "idx1"
        (folder / f"{file}-{kind}-ubyte").write_bytes(b"\0\0\x08\x01\0\0\0\x01\x05")
    prepare(
        "mnist",
        data_path=root / "copies",
        downloads=root / "data",
        output=root / "mnist.npz",
        user={},
    )


def damaged_mnist(root: Path, _: Any) -> None:
    """A copy of MNIST with wrong files."""
    prepare_mnist(root, *MNIST)


def _store() -> Iterator[Case]:
    """Cells on disk."""
    said = ("0123456789abcdef.cell", "damaged", "0123456789abcdef.corrupt")
    for name, damage in (
        ("flipped bit", flipped),
        ("truncated", lambda content: content[:-10]),
        ("empty", lambda _: b""),
        ("longer", lambda content: content + b"\0"),
    ):
        yield Case("store", f"cell: {name}", said, act=stored_and(damage))


def _found_late() -> Iterator[Case]:
    """What the trial found accepted, or said too late, or badly (groups A to J)."""
    # A
    yield Case(
        "A",
        "mistyped grid on the command line",
        (GIVEN, "unknown grid 'mien'", "'main'"),
        by_user(grids={"mien": {"width": [12]}}),
    )
    yield Case(
        "A",
        "mistyped grid in an own file",
        (MINE, "grids.mien: no figure shows or judges it", "'main'"),
        files=own(grids={"mien": {"width": [12]}}),
    )
    yield Case(
        "A",
        "mistyped setting of a grid",
        (MINE, "grids.main.widht: unknown word or setting", "'width'"),
        files=own(grids={"main": {"widht": [12]}}),
    )
    yield Case(
        "A",
        "grid that only a claim names",
        (),
        files=own(
            grids={"other": {"width": [12]}},
            figures={
                "mine": {
                    "claims": {
                        "small": {
                            "statement": "It is.",
                            "bound": {**BOUND, "grids": "other", "by": ["width", "learning_rate"]},
                        }
                    }
                }
            },
        ),
    )
    yield Case(
        "A",
        "grid that only an heir shows",
        (),
        files={
            **own(grids={"other": {"width": [12]}}),
            "config/experiments/heir.yaml": {
                "description": "x",
                "extends": "mine",
                "figures": {
                    "heir": {
                        "extends": "mine",
                        "plot": {"panels": [{"grid": "other", "along": "width"}]},
                    }
                },
            },
        },
    )
    # B
    stays = {
        "optimum_stays": {
            "grids": "main",
            "control": "one",
            "quantity": "loss",
            "along": "width",
            "over": "learning_rate",
            "max_shift": 1,
        }
    }
    for name, files, path, word in (
        (
            "along",
            in_figure(
                claims={
                    "small": {
                        "statement": "x",
                        **merged(stays, {"optimum_stays": {"along": "widht"}}),
                    }
                }
            ),
            "claims.small.optimum_stays.along",
            "'width'",
        ),
        ("over", claiming(over="learning_rat"), "claims.small.bound.over: ", "'learning_rate'"),
        (
            "decided_at",
            claiming(decided_at={"wdith": 64}),
            "claims.small.bound.decided_at",
            "'width'",
        ),
        ("only", claiming(only={"activaton": "tanh"}), "claims.small.bound.only", "'activation'"),
        ("by", claiming(by=["widht"]), "claims.small.bound.by", "'width'"),
        (
            "where",
            claiming(where={"ratio": ["widht"], "at_most": 8}),
            "claims.small.bound.where",
            "'width'",
        ),
        ("plot.x", in_figure(plot={"x": "sede"}), "plot.x", "'seed'"),
        ("plot.y", in_figure(plot={"y": "learning_rat"}), "plot.y", "'learning_rate'"),
        (
            "plot.panels.along",
            in_figure(plot={"panels": [{"grid": "main", "along": "widht"}]}),
            "plot",
            "'width'",
        ),
        ("plot.hue", in_figure(plot=LINES | {"hue": "widht"}), "plot", "'width'"),
        (
            "plot metric",
            in_figure(plot={"quantity": {"metric": "trainloss"}}),
            "unknown metric 'trainloss'",
            "'train_loss'",
        ),
        (
            "claim metric",
            claiming(quantity={"metric": "trainloss"}),
            "unknown metric 'trainloss'",
            "'train_loss'",
        ),
        (
            "metric that the grid does not record",
            claiming(quantity={"metric": "test_loss"}),
            "no cell of the grid 'main' will record it",
            "'train_loss'",
        ),
    ):
        yield Case("B", name, (TOY, path, word), files=files)
    algorithm = "".join(f"def {name}(problem, *state): ...\n" for name in algorithms.functions)
    yield Case(
        "B",
        "metric that an own algorithm does not record",
        (MINE, "figures.mine.plot", "'trainloss'", "'train_loss'", "metrics(cell) in ./copy.py"),
        files=own(
            **BACKPROPAGATION | {"algorithm": "copy"},
            algorithms={"copy": "copy.py"},
            measurements=None,
            figures={"mine": {"plot": {"quantity": {"metric": "trainloss"}}}},
        )
        | {"copy.py": algorithm},
    )
    # C
    yield Case(
        "C",
        "seed twice",
        (TOY, "grids.main.seed: the value 0 occurs twice"),
        files=in_file(seed=[0, 0, 0]),
    )
    yield Case(
        "C",
        "rate twice",
        (TOY, "grids.main.learning_rate: the value 0.1 occurs twice"),
        files=in_file(learning_rate=[0.1, 0.1]),
    )
    yield Case(
        "C",
        "rate twice, written otherwise",
        (GIVEN, "learning_rate: the value 1e-1 occurs twice"),
        by_user(learning_rate=["0.1", "1e-1"]),
    )
    # D
    for name in ("../../pwn", "../../data/x", "{b}"):
        yield Case(
            "D",
            f"dataset called {name}",
            (GIVEN, f"data.datasets: '{name}': a name has"),
            {"data": {"datasets": {name: "f.npz"}}},
        )
    yield Case(
        "D",
        "algorithm called ../x",
        (GIVEN, "algorithms: '../x': a name has"),
        {"algorithms": {"../x": "f.py"}},
    )
    # E
    yield Case(
        "E",
        "cell under another's key",
        ("0123456789abcdef.cell is that of another cell (key fedcba9876543210)", ".corrupt"),
        act=stored_and(copied),
    )
    # F
    yield Case(
        "F",
        "data.path that is not there",
        (GIVEN, "data.path: nowhere is not there"),
        {"data": {"path": "nowhere"}},
    )
    yield Case(
        "F",
        "data.path that is a file",
        (GIVEN, "data.path: Snakefile is a file, not a folder"),
        {"data": {"path": "Snakefile"}},
        {"Snakefile": ""},
    )
    yield Case(
        "F",
        "three of four files of MNIST",
        ("mnist: no complete copy in ./copies, and nothing was", "missing: t10k-labels-idx1-ubyte"),
        act=three_of_four,
    )
    # G
    yield Case(
        "G",
        "1e8 steps",
        ("resources.mem_mb: ", "100000000 steps", "takes about"),
        by_user(num_steps=10**8),
    )
    # H
    yield Case(
        "H",
        "own experiment with a fault, another figure asked for",
        ("warning", MINE, "'width'"),
        files=own(widht=3),
        act=snakemake("figures/toy/fig1.png"),
        runs=True,
    )
    yield Case(
        "H",
        "own experiment with a fault, its figure asked for",
        ("error", MINE, "'width'"),
        files=own(widht=3),
        act=snakemake("figures/own/mine.png"),
        runs=True,
    )
    yield Case(
        "H",
        "own dataset with another file of its name elsewhere",
        (f"{MINE}:", "data.datasets: 'rings' is something else at", GIVEN, "another name"),
        {"data": {"datasets": {"rings": "other.npz"}}},
        {**own(data={"datasets": {"rings": "rings.npz"}}), "rings.npz": npz()},
        act=lambda root, overrides: load(root, overrides).figure("own", "mine"),
    )
    yield Case(
        "H",
        "own algorithm that is not there, another figure asked for",
        (),
        files=own(algorithms={"copy": "copy.py"}),
        act=asking(figure="fig1"),
    )
    heir = {"config/experiments/heir.yaml": {"description": "x", "extends": "mine", "widht": 3}}
    yield Case(
        "H",
        "own experiment with a fault, one that it extends asked for",
        files={**own(), **heir},
        act=lambda root, _: load(root).figure("own", "mine"),
    )
    yield Case("H", "folder", (), act=with_folder)
    yield Case("H", "hidden file", (), files={"config/papers/toy/.x.yaml": "["})
    yield Case("H", "lock of Emacs", (), act=with_lock)
    yield Case(
        "H",
        ".yml",
        ("config/experiments/mine.yml: rename it to mine.yaml",),
        files={"config/experiments/mine.yml": ""},
    )
    # I
    yield Case(
        "I",
        "slug with a space",
        ("config/papers/a b", "a slug"),
        files={"config/papers/a b/paper.yaml": PAPER["paper"]},
    )
    yield Case(
        "I",
        "slug that is a rule",
        ("config/papers/run", "a slug"),
        files={"config/papers/run/paper.yaml": PAPER["paper"]},
    )
    for name, words, said, files in (
        ("paper that there is not", ["run", "tyo"], ("unknown paper 'tyo'", "'toy'"), {}),
        ("ending of a file", ["run", "toy/fig1.jpg"], ("'fig1.jpg'", "'fig1'"), {}),
        ("preset", ["run", "toy", "--preset", "smal"], ("--preset", "'smal'", "'small'"), {}),
        ("change without a value", ["run", "--set", "junk"], ("junk: should be KEY=VALUE",), {}),
        ("bracket", ["run", "--set", "data={path: ["], ("--set data={path: [", "line 1"), {}),
        ("no file", ["run", "--configfile", "x.yaml"], ("x.yaml: cannot be read",), {}),
        ("binary file", ["run", "--configfile", "x"], ("x: cannot be read",), {"x": b"\x89\0"}),
        ("empty file", ["run", "--configfile", "x"], ("x: should be a mapping",), {"x": ""}),
        ("tab", ["run", "--configfile", "x"], ("x:2: cannot be read: ",), {"x": "a:\n\tb: 1"}),
        ("command", ["shwo", "toy/fig1"], ("No such command 'shwo'", "'show'"), {}),
        ("option", ["run", "--presett", "small"], ("No such option '--presett'", "--preset"), {}),
        ("paper for a figure", ["show", "toy"], ("'toy': a figure is <paper>/<figure>",), {}),
        ("folder", ["run", "--directory", "no"], ("no has no config/config.yaml",), {}),
    ):
        yield Case("I", f"command line: {name}", said, files=files, act=called(*words))
    # J
    yield Case(
        "J",
        "paper without a title",
        ("config/papers/toy/paper.yaml", "title: required, but missing"),
        files=in_paper(title=None),
    )
    yield Case(
        "J",
        "figure without a title",
        (TOY, "figures.fig1.title: required, but missing"),
        files=in_figure(title=None),
    )
    yield Case(
        "J",
        "main file without a preset",
        ("config/config.yaml:1: preset: required, but missing",),
        files={"config/config.yaml": "audit: run\n"},
    )
    yield Case(
        "J",
        "true for a number",
        (TOY, "learning_rate: should be a number, not true"),
        files=in_file(learning_rate=[True]),
    )
    yield Case(
        "J",
        "true for a whole number",
        (GIVEN, "width: should be a number, not true"),
        by_user(grids={"main": {"width": True}}),
    )
    yield Case(
        "J",
        "axes beside settings",
        (TOY, "axes: an axis is a setting"),
        files=in_file(axes={"width": [8]}, settings={"width": 8}),
    )
    yield Case(
        "J",
        "mathematics of a title",
        (TOY, "figures.fig1.title", r"$\frac{1}{$", "cannot be set"),
        files=in_figure(title=r"Loss $\frac{1}{$"),
    )
    for place, text, where in (
        ({"title": "宽度 and loss"}, "宽度 and loss", "title"),
        (
            {"plot": {"panels": [{"grid": "main", "along": "width", "title": "Loss 🦊"}]}},
            "Loss 🦊",
            "plot.panels.0.title",
        ),
        ({"plot": {"symbols": {"width": "宽"}}}, "宽", "plot.symbols.width"),
    ):
        yield Case(
            "J",
            f"characters that the font lacks: {where}",
            (TOY, f"figures.fig1.{where}", text, "DejaVu Sans, lacks: '"),
            files=in_figure(**place),
        )
    yield Case(
        "J",
        "characters that the font has",
        files=in_figure(title="µP, η → ∞ and Größe", caption="宽度"),
    )
    yield Case(
        "J",
        "dollar alone",
        (TOY, "figures.fig1.title", "has no second one"),
        files=in_figure(title=r"Loss $x"),
    )
    yield Case(
        "J",
        "mathematics of a symbol",
        (TOY, "figures.fig1.plot.symbols.width", "cannot be set"),
        files=in_figure(plot={"symbols": {"width": r"\frac{1}{"}}),
    )
    yield Case(
        "J",
        "another folder",
        ("error: config/config.yaml: is not there", "--directory"),
        act=snakemake("figures/toy/fig1.png", folder="elsewhere"),
        runs=True,
    )
    yield Case(
        "J",
        "number of a claim",
        (TOY, "claims.small.bound.at_most", "'much'"),
        files=claiming(at_most="much"),
    )
    yield Case(
        "J",
        "step of a measurement",
        (TOY, "measurements.gradient_alignment", "'ende'", "end"),
        files=in_file(measurements={"gradient_alignment": ["ende"]}),
    )
    for step in (-1, 0.5, True):
        yield Case(
            "J",
            f"step {step} of a measurement",
            (TOY, "measurements.gradient_alignment", "0 or more, or 'end'", f"found {step}"),
            files=in_file(measurements={"gradient_alignment": [step]}),
        )
    yield Case(
        "J",
        "kind of plot, the nearest",
        (TOY, "figures.fig1.plot.kind: unknown value 'mapps'", "'maps'"),
        files=in_figure(plot={"kind": "mapps"}),
    )
    yield Case(
        "J",
        "name of an experiment",
        ("config/experiments/my plot.yaml: a name has",),
        files={"config/experiments/my plot.yaml": EXPERIMENT},
    )
    yield Case(
        "J",
        "folder with a space",
        ("Makefile", "contains a space", "move the project"),
        act=spaced,
    )


LINES = {
    "kind": "lines",
    "rows": ["loss"],
    "quantity": None,
    "x": "learning_rate",
    "y": None,
    "panels": None,
}


def three_of_four(root: Path, _: Any) -> None:
    """MNIST without one of its files."""
    prepare_mnist(root, *MNIST[:3])


def with_folder(root: Path, overrides: Any) -> None:
    """A folder that is called as a file."""
    (root / "config/papers/toy/folder.yaml").mkdir()
    resolve(root, overrides)


def with_lock(root: Path, overrides: Any) -> None:
    """A link to nowhere, as Emacs makes of a file in work."""
    (root / "config/papers/toy/.#transfer.yaml").symlink_to("user@host")
    resolve(root, overrides)


def spaced(root: Path, _: Any) -> None:
    """The Makefile in a folder with a space in its name."""
    run(["make", "-f", str(PROJECT / "Makefile"), "--dry-run", "setup"], root / "a b")


ELSEWHERE = {
    "test_pipeline_failures.py": {
        "test_killed_while_training": "runs: a job killed, or all",
        "test_a_truncated_cell_is_computed_again": "runs: a cell truncated between two runs",
        "test_a_corrupt_dataset_is_said_moved_aside_and_prepared_again": "runs: prepared data damaged between two runs",
        "test_a_failing_notebook_is_kept_and_named": "runs: a notebook that fails",
    },
    "test_pipeline_faults.py": {
        "test_a_full_disk_costs_the_figure_and_no_cell": "runs: a full disk",
        "test_results_that_may_not_be_written_to": "runs: read-only results",
        "test_what_diverges_from_the_first_step_on_is_drawn_and_judged": "runs: training that diverges",
        "test_a_server_that_is_down": "runs: a server that is down",
        "test_own_data_in_places_with_spaces_and_other_letters": "runs: letters and spaces in paths of data",
    },
    "test_faults.py": {
        "test_two_jobs_at_once_share_a_store": "runs: two jobs at once",
        "test_a_configuration_that_may_not_be_read": "files: configuration that may not be read",
        "test_a_folder_in_place_of_the_configuration": "files: folder in place of the main file",
    },
    "test_pipeline_outputs.py": {
        "test_the_audit_passes_and_fails": "runs: a claim that fails",
        "test_mistakes_are_refused_before_any_work": "runs: target of an unknown figure or paper",
    },
    "test_makefile.py": {
        "test_a_variable_that_no_command_knows_is_refused": "J: unknown variable of the Makefile",
    },
}
"""Cases with tests of their own in `tests/pipeline`, by file and name: they need a run, or look at more than words."""

CASES = [
    case for group in (_names, _values, _files, _data, _store, _found_late) for case in group()
]


def print_all() -> None:
    """Print all cases with what is said."""
    lines = [["case", "message"]]
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            lines.append([case.id, case.message(Path(folder)).replace("\n", " | ") or "(accepted)"])
    print(aligned(lines, text_columns=2))


if __name__ == "__main__":
    print_all()

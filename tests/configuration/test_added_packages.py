"""Parts of installed packages: the one of docs/adding/package.md, and what is refused."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import further_claims
import pytest

from scaling_limits import claims
from scaling_limits.errors import ConfigurationError
from scaling_limits.plots.tables import FIRST
from scaling_limits.registry import Registry

PROJECT = Path(__file__).parents[2]
BLOCK = re.compile(r"```\w+\n# (\S+)\n(.*?)```", re.DOTALL)
GROUP = "scaling_limits.networks"

CELLS = """
import json, sys
from pathlib import Path
from scaling_limits.configuration.models import MeasurementPlan, Resources
from scaling_limits.configuration.parts import every_setting
from scaling_limits.configuration.resolve import Resolver
from scaling_limits.errors import ConfigurationError
from scaling_limits.pipeline.keys import cell_source
from toys_of_packages import KFAC, MEASURED, SETTINGS

def cell(measured=(), **changes):
    plans = {name: MeasurementPlan(steps=[0]) for name in measured}
    return Resolver(Resources(), {}).resolve({**SETTINGS, **changes}, plans).cell

def refused(**changes):
    try:
        cell(**changes)
    except ConfigurationError as error:
        return str(error)

said = [
    refused(network="sharp_mpl"), refused(measured=["largest_outputs"]), refused(gain=2.0),
    refused(network="sharp_mlp", gain=-1.0), refused(network="sharp_mlp", gian=2.0),
    refused(loss="log_cosj"), refused(loss="log_cosh", optimiser="kfac", **KFAC),
]
cells = {
    "network": cell(network="sharp_mlp", gain=2.0),
    "measurement": cell(MEASURED),
    "loss": cell(loss="log_cosh"),
    "neither": cell(),
}
spec = cells["network"].canonical()["network"]
sources = [{name: cell_source(each) for name, each in cells.items()}]
package = Path(sys.argv[1]) / "sharp_networks"
for file, old, new in json.loads(sys.argv[2]):
    path = package / file
    before = path.read_text()
    assert before.count(old) == 1, (file, old)
    path.write_text(before.replace(old, new))
    from scaling_limits import source
    for function in vars(source).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()
    sources.append({name: cell_source(each) for name, each in cells.items()})
    path.write_text(before)
assert "jax" not in sys.modules
gain = every_setting().model_json_schema()["properties"]["gain"]
print(json.dumps({"said": said, "spec": spec, "sources": sources, "gain": gain}))
"""
TRAIN = """
import json
import scaling_limits
from toys_of_packages import MEASURED, SETTINGS
runs = ({"network": "mlp"}, {"network": "sharp_mlp", "gain": 2.0}, {"loss": "log_cosh"})
tables = [
    scaling_limits.train({**SETTINGS, "activation": "linear", **run}, dict.fromkeys(MEASURED, [0, "end"]))
    for run in runs
]
print(json.dumps([{metric: list(rows["value"]) for metric, rows in t.groupby("metric")} for t in tables]))
"""
DRAW = """
import json, sys
from pathlib import Path
from plotting_records import NOTEBOOK, TRAIN, rate_rows, write_folder
from scaling_limits.configuration import load
from scaling_limits.errors import ConfigurationError
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots import registry
from scaling_limits.plots.notebook import execute
from scaling_limits.source import closure
from toys import FIGURE, PAPER, merged, write_project

def drawn(**changes):
    figure = {**FIGURE, "plot": {"kind": "bars", "quantity": "loss", "x": "width", "panels": {"main": {}}, **changes}}
    write_project(Path("project"), paper=merged(PAPER, {"transfer": {"figures": None}}) | {
        "other": {**PAPER["transfer"], "figures": {"fig1": figure}}
    })
    try:
        return load("project").figure("toy", "fig1").model_dump(mode="json")["plot"]
    except ConfigurationError as error:
        return str(error)

wrong = [{"kind": "bar"}, {"hue": "width"}, {"x": 3}, {"panels": {"mein": {}}}, {"quantity": "los"}, {"x": "widht"}]
plot = {"kind": "bars", "quantity": TRAIN, "x": "learning_rate", "panels": [{"grid": "main"}]}
rows = [row for row in rate_rows("main") if row[0]["width"] == 8]
composite = {"kind": "composite", "plots": [plot, plot]}
for name, each in {"fig1": plot, "fig2": composite}.items():
    folder = write_folder(Path("results/smoke/toy", name), each, rows)
    execute(NOTEBOOK, folder, folder / "notebook.ipynb", Path("failed.ipynb"))
folder = Path("results/smoke/toy/fig1")
shown = [text.count("sns.barplot(") for text in map(Path.read_text, sorted(folder.parent.glob("*/notebook.ipynb")))]
table = FigureFolder.open(folder).table()
print(json.dumps({
    "plot": drawn(), "said": [drawn(**each) for each in wrong],
    "png": [path.stat().st_size for path in folder.parent.glob("*/figure.png")],
    "columns": list(table)[:9], "rows": len(table), "shown": shown,
    "source": closure([registry.modules["bars"]]),
}))
"""
TOYS = """
SETTINGS = {
    "dataset": "digits", "num_train": 16, "num_test": 4, "width": 8, "depth": 3, "depth_kind": "weight_layers",
    "activation": "tanh", "parameterisation": "mup", "algorithm": "backpropagation", "optimiser": "sgd",
    "learning_rate": 0.1, "num_steps": 3, "batch_size": 8,
}
MEASURED = ("largest_output",)
KFAC = {"fisher": "exact", "damping": 0.1}
"""
EDITS = [
    # imported by the network's file, inside of a function
    ("nodes.py", "(self.gain * x)", "(x * self.gain)"),
    # a declaration
    ("sharp_mlp.py", "default=1.0", "default=1.5"),
    ("largest_output.py", ".max()", ".min()"),
    ("log_cosh.py", "outputs - targets", "targets - outputs"),
    # the package's, of which nothing is imported by name
    ("__init__.py", "", "UNUSED = 1\n"),
]


def install(folder: Path, name: str, groups: dict[str, dict[str, str]]) -> None:
    """What an installer leaves of a package beside its modules."""
    info = folder / f"{name.replace('-', '_')}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    lines = [
        f"[{g}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items())
        for g, names in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


def documented_files() -> dict[str, str]:
    """The files of the package in docs/adding/package.md."""
    return dict(BLOCK.findall((PROJECT / "docs/adding/package.md").read_text("utf-8")))


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages with the one of docs/adding/package.md."""
    folder = tmp_path_factory.mktemp("site")
    files = documented_files()
    project = tomllib.loads(files.pop("pyproject.toml"))["project"]
    install(folder, project["name"], project["entry-points"])
    (folder / "sharp_networks").mkdir()
    for name, text in {
        **files,
        "sharp_networks/__init__.py": "",
        "toys_of_packages.py": TOYS,
    }.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def output(script: str, site: Path, *arguments: str) -> Any:
    """What a script prints in a process that finds the packages in `site`."""
    folders = site, *(PROJECT / name for name in ("src", "tests", "tests/plots"))
    path = os.pathsep.join(map(str, folders))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(
        command, cwd=site, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found(documented: Path) -> Any:
    return output(CELLS, documented, str(documented), json.dumps(EDITS))


def test_its_settings_are_settings(found: Any) -> None:
    network, measurement, idle, value, setting, loss, fisher = found["said"]
    assert "unknown loss 'log_cosj'; did you mean 'log_cosh'" in loss
    assert fisher == (
        "optimiser: 'kfac' needs the Fisher information of a likelihood, which the loss 'log_cosh' does not say"
    )
    assert "unknown network 'sharp_mpl'; did you mean 'sharp_mlp'" in network
    assert "unknown measurement 'largest_outputs'; did you mean 'largest_output'" in measurement
    assert idle == "gain: 2.0 acts only with network: sharp_mlp; leave it out"
    assert value.startswith("gain: ")
    assert "greater than 0" in value
    assert "'gian'; did you mean 'gain'" in setting
    assert (found["spec"]["name"], found["spec"]["gain"]) == ("sharp_mlp", 2.0)
    assert found["gain"]["exclusiveMinimum"] == 0


def test_cells_depend_on_its_code(found: Any) -> None:
    before, *edited = found["sources"]
    changed = [{name for name in before if before[name] != after[name]} for after in edited]
    assert changed == [{"network"}, set(), {"measurement"}, {"loss"}, set()]


def test_its_parts_train(documented: Path) -> None:
    plain, sharp, softer = output(TRAIN, documented)
    assert len(sharp["train_loss"]) == 3
    before, after = sharp["largest_output"]
    # two gains of two in linear networks from the same draws; training then leads elsewhere
    assert before == 4 * plain["largest_output"][0]
    assert after != 4 * plain["largest_output"][1]
    # log cosh u lies below u^2 / 2
    assert 0 < softer["train_loss"][0] < plain["train_loss"][0]
    assert softer["largest_output"][0] == plain["largest_output"][0]
    assert softer["largest_output"][1] != plain["largest_output"][1]


def test_its_kind_of_plot_is_checked_and_drawn(documented: Path) -> None:
    found = output(DRAW, documented)
    check_bars(found)
    # so an edit draws again
    assert {"sharp_networks.bars", "scaling_limits.plots.tables"} <= set(found["source"])


def test_the_same_file_is_a_kind_of_the_project_with_one_line_of_the_registry(
    tmp_path: Path,
) -> None:
    package = tmp_path / "scaling_limits"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROJECT / "src" / "scaling_limits", package, ignore=ignored)
    (package / "plots" / "bars").mkdir()
    text = documented_files()["sharp_networks/bars.py"]
    (package / "plots" / "bars" / "__init__.py").write_text(text, "utf-8")
    registry = package / "plots" / "__init__.py"
    line = '"composite": "scaling_limits.plots.composite",'
    assert registry.read_text("utf-8").count(line) == 1
    further = f'"bars": "scaling_limits.plots.bars",\n{line}'
    registry.write_text(registry.read_text("utf-8").replace(line, further), "utf-8")
    found = output(DRAW, tmp_path)
    check_bars(found)
    assert {"plots/bars/__init__.py", "plots/__init__.py"} == {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if not same_in_project(path.relative_to(package), path.read_bytes())
    }


def same_in_project(name: Path, content: bytes) -> bool:
    path = PROJECT / "src" / "scaling_limits" / name
    return path.is_file() and path.read_bytes() == content


def check_bars(found: Any) -> None:
    assert found["plot"]["quantity"]["metric"] == "train_loss"
    assert found["plot"]["panels"] == [{"grid": "main", "title": None}]
    said = (
        "unknown value 'bar'; did you mean 'bars'",
        "unknown key 'hue'. Valid: kind, panels, quantity, x",
        "plot.x: Input should be a valid string",
        "unknown grid 'mein'; did you mean 'main'",
        "unknown quantity 'los'; did you mean 'loss'",
        "unknown column 'widht'; did you mean 'width'",
    )
    for words, message in zip(said, found["said"], strict=True):
        assert words in message
        assert message.startswith("config/papers/toy/other.yaml:")
    assert min(found["png"]) > 5000
    assert found["shown"] == [1, 2]
    assert found["columns"] == list(FIRST)
    assert found["rows"] > 4


def test_its_kind_of_claim_is_configured_checked_judged_and_simulated(documented: Path) -> None:
    further_claims.require_whole(output(further_claims.SCRIPT, documented))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of installed packages."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def networks() -> Registry:
    """As of a new process."""
    own = {"mlp": "scaling_limits.networks.mlp"}
    return Registry("network", own, GROUP, ("spec", "layers"))


def test_nothing_is_imported_for_a_name(site: Path) -> None:
    install(site, "absent", {GROUP: {"b": "absent_package.b", "a": "absent_package.a"}})
    install(site, "other", {"scaling_limits.optimisers": {"c": "absent_package.c"}})
    modules = networks().modules
    assert list(modules) == ["mlp", "a", "b"]
    assert modules["a"] == "absent_package.a"


def test_a_name_of_the_project_is_refused(site: Path) -> None:
    install(site, "shadowing", {GROUP: {"mlp": "shadowing.mlp"}})
    with pytest.raises(
        ConfigurationError, match="'mlp' of the package 'shadowing' is already the name"
    ):
        networks().part("mlp")


def test_a_name_of_two_packages_is_refused(site: Path) -> None:
    for name in ("first", "second"):
        install(site, name, {GROUP: {"deep": f"{name}.deep"}})
    said = "'deep' of the package 'second' is already the name of a network of the package 'first'"
    with pytest.raises(ConfigurationError, match=said):
        networks().part("mlp")


def test_what_is_no_module_is_refused(site: Path) -> None:
    install(site, "wrong", {GROUP: {"deep": "wrong.deep:build"}})
    with pytest.raises(ConfigurationError, match=r"not 'wrong\.deep:build'"):
        networks().part("mlp")


@pytest.mark.parametrize("ask", [Registry.part, Registry.get, Registry.module])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be imported: ModuleNotFoundError: No module named 'broken_part'"),
        ("1 / 0", "cannot be imported: ZeroDivisionError"),
        ("import jax", "imports JAX at its top level"),
        ("spec = layer = None", "defines no 'layers'; .* must define spec, layers"),
    ],
)
def test_a_module_that_cannot_declare_is_refused(
    site: Path, monkeypatch: pytest.MonkeyPatch, ask: Any, text: str | None, said: str
) -> None:
    install(site, "broken", {GROUP: {"deep": "broken_part"}})
    if text is not None:
        (site / "broken_part.py").write_text(text)
    # a further import of the true one would do harm
    (site / "jax.py").write_text("")
    monkeypatch.delitem(sys.modules, "jax")
    monkeypatch.delitem(sys.modules, "broken_part", raising=False)
    with pytest.raises(
        ConfigurationError, match=f"network 'deep' of the package 'broken': .*{said}"
    ):
        ask(networks(), "deep")
    sys.modules.pop("broken_part", None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Claim = int", "should be derived from scaling_limits.claims.base.ClaimBase"),
        (
            "from scaling_limits.claims.base import ClaimBase\nclass Claim(ClaimBase):\n    def columns(self): ...",
            "does not define measure, simulation",
        ),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused(
    site: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str
) -> None:
    install(site, "vague", {"scaling_limits.claims": {"vague": "vague_claims"}})
    (site / "vague_claims.py").write_text(text)
    registry = Registry("kind of claim", {}, "scaling_limits.claims", ("Claim",))
    monkeypatch.setattr(claims, "registry", registry)
    with pytest.raises(ConfigurationError, match=f"kind of claim 'vague': .*{problem}"):
        claims.models.__wrapped__()
    sys.modules.pop("vague_claims", None)


def test_a_folder_of_a_package_computes_beside_its_declaration(site: Path) -> None:
    folder = site / "foldered" / "deep"
    folder.mkdir(parents=True)
    for file in (folder.parent / "__init__.py", folder / "computation.py"):
        file.write_text("")
    (folder / "__init__.py").write_text("spec = layers = None")
    install(site, "foldered", {GROUP: {"deep": "foldered.deep"}})
    assert networks().module("deep") == "foldered.deep.computation"
    assert networks().get("deep").__name__ == "foldered.deep.computation"


@pytest.mark.parametrize(
    "room",
    [
        *("algorithms", "claims", "limits", "losses", "measurements", "networks", "optimisers"),
        "datasets.catalogue",
    ],
)
def test_every_room_takes_parts_of_packages_and_has_what_it_asks_of_them(room: str) -> None:
    registry = importlib.import_module(f"scaling_limits.{room}").registry
    assert registry.group == f"scaling_limits.{room.split('.')[0]}"
    for name in registry.own:
        assert all(hasattr(registry.part(name), word) for word in registry.needed), name

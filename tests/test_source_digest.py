"""Which edits of the code make cells new."""

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import scaling_limits
from scaling_limits import source
from scaling_limits.cells import Cell
from scaling_limits.pipeline import keys
from scaling_limits.pipeline.keys import cell_source
from toys import BACKPROPAGATION, cell, forget_sources

PC = cell()
BP = cell(**BACKPROPAGATION)
MEASURED = cell(measure={"gradient_alignment": [0]})


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package whose source is digested in place of the real one's."""
    folder = tmp_path / "scaling_limits"
    original = Path(scaling_limits.__file__).parent
    shutil.copytree(original, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(source, "__file__", str(folder / "source.py"))
    forget_sources()
    yield folder
    forget_sources()


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    forget_sources()


def closure_of(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    with monkeypatch.context() as patch:
        patch.setattr(keys, "source_digest", source.closure)
        return {name.removeprefix("scaling_limits.") for name in cell_source(cell)}


def test_copied_package_has_the_same_digest(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = cell_source(PC)
    monkeypatch.undo()
    forget_sources()
    assert cell_source(PC) == copied


def test_comments_docstrings_and_layout_do_not_count(package: Path) -> None:
    before = cell_source(PC)
    path = package / "algorithms" / "predictive_coding" / "computation.py"
    edit(path, "from jax import Array\n", "# a comment\nfrom jax import Array  # and another\n\n\n")
    assert cell_source(PC) == before
    edit(path, '"""Predictive coding', '"""Another docstring')
    assert cell_source(PC) == before
    edit(path, "Weights(gradients), state", "(\n        Weights(gradients)\n    ), state")
    assert cell_source(PC) == before
    stages = package / "algorithms" / "predictive_coding" / "stages.py"
    edit(stages, '"""Maximum number', '"""A text below a name: maximum number')
    assert cell_source(PC) == before


def test_code_counts_and_an_edit_undone_does_not(package: Path) -> None:
    before = {name: cell_source(c) for name, c in (("pc", PC), ("bp", BP))}
    path = package / "algorithms" / "predictive_coding" / "stages.py"
    edit(path, "NUM_STAGES = 4", "NUM_STAGES = 3")
    assert cell_source(PC) != before["pc"]
    assert cell_source(BP) == before["bp"]
    edit(path, "NUM_STAGES = 3", "NUM_STAGES = 4")
    assert cell_source(PC) == before["pc"]


def test_a_text_that_is_code_counts(package: Path) -> None:
    before = cell_source(PC)
    edit(package / "networks" / "network.py", '"weights"', '"Weights"')
    assert cell_source(PC) != before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("training/step.py", "cosine_decay_schedule(1.0", "cosine_decay_schedule(0.5"),
        ("optimisers/groups.py", "p + u", "p - u"),
        ("datasets/order.py", "data order", "order of data"),
        ("networks/nodes.py", "jnp.tanh", "jnp.sinh"),
        ("networks/draws.py", "3.0**0.5", "2.0**0.5"),
        ("datasets/loading.py", "_CHUNK = 1024", "_CHUNK = 512"),
        ("datasets/digits.py", "_SPLIT_KEY = 1797", "_SPLIT_KEY = 1798"),
        ("datasets/resample.py", "import numpy as np", "import numpy"),
        ("runtime.py", '"highest"', '"default"'),
    ],
)
def test_what_every_cell_depends_on(package: Path, file: str, old: str, new: str) -> None:
    before = [cell_source(c) for c in (PC, BP, MEASURED)]
    edit(package / file, old, new)
    assert all(a != b for a, b in zip(before, map(cell_source, (PC, BP, MEASURED)), strict=True))


def append(path: Path, text: str) -> None:
    edit(path, path.read_text("utf-8"), path.read_text("utf-8") + text)


def test_unrelated_modules_do_not_count(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = (PC, BP, MEASURED)
    before = [cell_source(c) for c in cells]
    used = set().union(*(closure_of(c, monkeypatch) for c in cells))
    edited = 0
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name and name not in used:
            append(path, "\nAN_EDIT = 1\n")
            edited += 1
    assert edited > 20
    assert [cell_source(c) for c in cells] == before


def test_closures_hold_what_is_used_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    closure = closure_of(PC, monkeypatch)
    assert {
        "algorithms.predictive_coding.computation",
        "networks.mlp.computation",
        "optimisers.adam",
        "training.loop",
        "datasets.loading",
        "datasets.digits",
    } <= closure
    rooms = {name.split(".")[0] for name in closure}
    assert not rooms & {
        "audit",
        "plotting",
        "plots",
        "parameterisations",
        "configuration",
        "pipeline",
    }
    assert not rooms & {"limits", "records"}
    others = {"mnist", "cifar10", "fashion_mnist", "gaussian_binary", "cifar10_standin"}
    assert not closure & {f"datasets.{name}" for name in (*others, "catalogue", "fetch")}
    assert "algorithms.backpropagation.computation" not in closure
    assert "measurements.gradient_alignment" not in closure
    assert {
        "measurements.gradient_alignment",
        "algorithms.backpropagation.computation",
    } <= closure_of(MEASURED, monkeypatch)
    assert "algorithms.predictive_coding.computation" not in closure_of(BP, monkeypatch)


def test_a_new_entry_in_a_registry_makes_no_cell_new(package: Path) -> None:
    before = cell_source(PC)
    edit(
        package / "algorithms" / "__init__.py",
        '"backpropagation":',
        '"another": "scaling_limits.algorithms.another",\n        "backpropagation":',
    )
    assert cell_source(PC) == before


def test_relative_absolute_and_local_imports_are_followed(package: Path) -> None:
    (package / "toy").mkdir()
    (package / "toy" / "__init__.py").write_text("")
    (package / "toy" / "a.py").write_text("def f():\n    from .b import g\n    return g\n")
    (package / "toy" / "b.py").write_text("import scaling_limits.toy.c as c\n\ng = c\n")
    (package / "toy" / "c.py").write_text("from . import d\nfrom ..errors import unknown\n")
    (package / "toy" / "d.py").write_text("import os\n")
    names = [f"scaling_limits.toy{end}" for end in ("", ".a", ".b", ".c", ".d")]
    assert source.closure(["scaling_limits.toy.a"]) == sorted(["scaling_limits.errors", *names])


def test_modules_of_another_package_are_followed_within_it(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where they have the names of modules of this package."""
    monkeypatch.syspath_prepend(str(package.parent))
    other = package.parent / "another_package"
    other.mkdir()
    for name, text in {
        "__init__": "CONSTANT = 1\n",
        "losses": "import numpy\nfrom . import store\nfrom scaling_limits.errors import unknown\n",
        "store": "def f():\n    from another_package import CONSTANT\n",
        "unused": "import yaml\n",
    }.items():
        (other / f"{name}.py").write_text(text)
    of_it = [f"another_package{end}" for end in ("", ".losses", ".store")]
    asked = ("another_package.losses",)
    assert source.closure(asked) == [*of_it, "scaling_limits.errors"]
    before = source.source_digest(asked)
    edit(other / "unused.py", "yaml", "json")
    assert source.source_digest(asked) == before
    edit(other / "__init__.py", "1", "2")
    assert source.source_digest(asked) != before


def test_a_module_that_does_not_exist(package: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"scaling_limits\.nothing"):
        source.source_digest(("scaling_limits.nothing",))


PARTS = (
    "algorithms/predictive_coding/computation.py",
    "networks/mlp/computation.py",
    "optimisers/adam.py",
)


@pytest.mark.parametrize("file", PARTS)
def test_declarations_do_not_count(package: Path, file: str) -> None:
    before = cell_source(PC)
    append(
        package / file,
        "\n\nfrom scaling_limits.strict import Strict\n"
        "if TYPE_CHECKING:\n    from scaling_limits.limits import linear_dmft\n"
        "class Settings(Strict):\n    rate: float = 1.0\n"
        "def refuse(settings):\n    return settings.rate\n"
        "def work(cell, count):\n    return count.products(2)\n"
        "def memory(cell):\n    return 0\n",
    )
    assert cell_source(PC) == before
    edit(package / file, "rate: float = 1.0", "rate: float = 2.0")
    edit(package / file, "count.products(2)", "count.products(3)")
    edit(package / file, "import linear_dmft", "import depth_recursion")
    assert cell_source(PC) == before


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("def metrics(x):\n    return 1\n\ndef update(x):\n    return metrics(x)\n", "1", "2"),
        ("class Settings:\n    rate = 1\n\nRATE = Settings.rate\n", "= 1", "= 2"),
        # referred to by what is referred to
        (
            "def work(x):\n    return 1\n\ndef memory(x):\n    return work(x)\n\nUSED = memory\n",
            "1",
            "2",
        ),
    ],
)
def test_a_declaration_that_code_refers_to_counts(
    tmp_path: Path, text: str, old: str, new: str
) -> None:
    """Also in a file of the user's own."""
    file = tmp_path / "mine.py"
    file.write_text(text)
    forget_sources()
    before = source.source_digest((str(file),))
    edit(file, old, new)
    assert source.source_digest((str(file),)) != before


@pytest.mark.parametrize(
    "line",
    [
        "from scaling_limits.toy.a import work",
        "from scaling_limits.toy.a import *",
        "from scaling_limits.toy import a as b\nb.work(1)",
        "import scaling_limits.toy.a\nscaling_limits.toy.a.work(1)",
        "import scaling_limits.toy.a as b\nb.work(1)",
    ],
)
def test_a_declaration_that_another_module_refers_to_counts(package: Path, line: str) -> None:
    (package / "toy").mkdir()
    (package / "toy" / "__init__.py").write_text("")
    declared = package / "toy" / "a.py"
    declared.write_text("def work(x):\n    return 1\n")
    (package / "toy" / "b.py").write_text(f"{line}\n")
    (package / "toy" / "c.py").write_text("from scaling_limits.toy import a\n")
    forget_sources()
    modules = ("scaling_limits.toy.b",), ("scaling_limits.toy.c",)
    before = [source.source_digest(names) for names in modules]
    edit(declared, "return 1", "return 2")
    used, unused = [source.source_digest(names) for names in modules]
    assert used != before[0]
    assert unused == before[1]


def test_what_a_declaration_shares_with_the_computation_counts(package: Path) -> None:
    before = cell_source(PC)
    path = package / "optimisers" / "adam.py"
    append(
        path,
        "\n\ndef refuse(settings):\n    return eps(settings)\n\n\ndef eps(settings):\n    return 1\n",
    )
    assert cell_source(PC) != before


def test_an_init_counts_if_something_is_imported_from_it(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closure = closure_of(PC, monkeypatch)
    # asked for by name by the training loop
    assert {"algorithms", "measurements", "networks", "optimisers"} <= closure
    assert not closure & {"algorithms.predictive_coding", "networks.mlp", "training", "datasets"}
    before = cell_source(PC)
    path = package / "algorithms" / "predictive_coding" / "__init__.py"
    append(path, "\nDECLARED = 1\n")
    assert cell_source(PC) == before
    computation = path.with_name("computation.py")
    append(computation, "\nfrom scaling_limits.algorithms.predictive_coding import DECLARED\n")
    used = cell_source(PC)
    edit(path, "DECLARED = 1", "DECLARED = 2")
    assert cell_source(PC) != used


@pytest.mark.parametrize(
    "path", sorted(Path(scaling_limits.__file__).parent.rglob("__init__.py")), ids=str
)
def test_importing_a_package_does_nothing(path: Path) -> None:
    """Its digest leaves packages out, so they only define, import and assign."""
    allowed = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.If)
    defined = (ast.FunctionDef, ast.ClassDef)
    docstring, *statements = ast.parse(path.read_text("utf-8")).body
    assert isinstance(docstring, ast.Expr)
    for statement in statements:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        assert is_text or isinstance(statement, (*allowed, *defined)), ast.unparse(statement)

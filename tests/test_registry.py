"""What is found by name, and that declaring costs no import of JAX."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from scaling_limits import algorithms, optimisers
from scaling_limits.errors import ConfigurationError
from scaling_limits.registry import Registry

PACKAGE = Path(__file__).parents[1] / "src" / "scaling_limits"
ROOMS = (
    "algorithms",
    "limits",
    "losses",
    "measurements",
    "networks",
    "optimisers",
    "datasets.catalogue",
)

DECLARED = """
import importlib, sys
for room in {rooms}:
    registry = importlib.import_module(f"scaling_limits.{{room}}").registry
    for name in registry.modules:
        registry.part(name)
        loaded = {{"jax", "flax", "optax"}} & set(sys.modules)
        assert not loaded, f"{{room}}: {{name}} imports {{loaded}}"
"""


def test_a_folder_declares_and_its_computation_computes() -> None:
    name = "predictive_coding"
    package = f"scaling_limits.algorithms.{name}"
    assert algorithms.registry.part(name).__name__ == package
    assert algorithms.registry.get(name).__name__ == f"{package}.computation"
    assert algorithms.registry.module(name) == f"{package}.computation"


def test_a_file_does_both() -> None:
    registry = optimisers.registry
    assert registry.part("sgd") is registry.get("sgd")
    assert registry.module("sgd") == registry.part("sgd").__name__


@pytest.mark.parametrize("ask", [Registry.part, Registry.get, Registry.module])
def test_unknown_names_are_refused_with_the_nearest(ask) -> None:
    with pytest.raises(ConfigurationError, match="unknown optimiser 'adm'; did you mean 'adam'"):
        ask(optimisers.registry, "adm")


RULE = """
from scaling_limits.strict import Strict


class Settings(Strict):
    strength: float = 1.0


init, update, errors = range(3)
"""


def test_a_file_is_found_by_its_name_in_its_registry_alone(tmp_path: Path) -> None:
    files = [tmp_path / folder / "rule.py" for folder in "ab"]
    for file, number in zip(files, (1, 2), strict=True):
        file.parent.mkdir()
        file.write_text(f"{RULE}number = {number}\n")
    first, second = (algorithms.registry.with_files({"rule": file}) for file in files)
    assert (first.get("rule").number, second.get("rule").number) == (1, 2)
    assert first.part("rule") is first.get("rule")
    assert first.module("rule") == str(files[0])
    assert list(first.modules) == [*algorithms.registry.modules, "rule"]
    with pytest.raises(ConfigurationError, match="unknown algorithm 'rule'"):
        algorithms.registry.part("rule")
    files[0].write_text(f"{RULE}number = 3\n")
    assert first.get("rule").number == 3


def test_a_file_without_settings_declares_nothing_and_is_imported_to_compute(
    tmp_path: Path,
) -> None:
    file = tmp_path / "rule.py"
    file.write_text("init, update, errors = 1 / 0, 0, 0\n")
    registry = algorithms.registry.with_files({"rule": file})
    assert not hasattr(registry.part("rule"), "update")
    with pytest.raises(ZeroDivisionError):
        registry.get("rule")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("rule.py", None, "cannot be read as Python: .*No such file"),
        ("rule.py", "def f(:", "cannot be read as Python: .*line 1"),
        ("rule.py", "a\0b", "cannot be read as Python: "),
        ("rule.txt", RULE, "no Python file; its name must end in .py"),
        ("rule.py", RULE.replace("init, ", "ini, "), "defines no 'init'; .* init, update, errors"),
        ("rule.py", f"{RULE}\nTABLE.init(3)".replace("init, ", "ini, "), "defines no 'init'"),
        (
            "rule.py",
            RULE.replace("(Strict)", ""),
            "its Settings must be a class derived from .*Strict",
        ),
        ("rule.py", f"{RULE}\n1 / 0", "cannot be imported: ZeroDivisionError"),
        ("rule.py", f"{RULE}\nimport jax", "imports JAX at its top level; .* inside its functions"),
    ],
)
def test_a_file_that_is_no_part_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str | None, problem: str
) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    # a further import of the true one would do harm
    (tmp_path / "jax.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    registry = algorithms.registry.with_files({"rule": file})
    with pytest.raises(ConfigurationError, match=f"^{file}: .*{problem}"):
        registry.part("rule")


def test_declarations_import_no_jax() -> None:
    program = DECLARED.format(rooms=ROOMS)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("room", ROOMS)
def test_mypy_checks_every_part_against_its_contract(room: str) -> None:
    registry = importlib.import_module(f"scaling_limits.{room}").registry
    contract = PACKAGE / room.partition(".")[0] / "contract.py"
    tree = ast.parse(contract.read_text(encoding="utf-8"))
    checked = {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and node.value is not None
        for name in ast.walk(node.value)
        if isinstance(name, ast.Name)
    }
    assert checked == {module.rpartition(".")[2] for module in registry.modules.values()}

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

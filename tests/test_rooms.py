"""The rooms of the package stand on each other: no import runs upward, not even inside of a function."""

import ast
from pathlib import Path

from scaling_limits.claims import registry

PACKAGE = Path(__file__).parents[1] / "src" / "scaling_limits"

FLOORS = [
    {
        *(
            "errors",
            "strict",
            "files",
            "locks",
            "registry",
            "cells",
            "measured",
            "losses",
            "runtime",
        ),
        *("source", "store", "outcomes", "images", "markdown"),
    },
    {
        *("datasets", "networks", "parameterisations", "algorithms", "optimisers", "limits"),
        "measurements",
    },
    {"training", "costs", "mup_rules"},
    {"figures"},
    {"records"},
    {"claims"},
    {"plotting"},
    {"plots", "model_check"},
    {"configuration"},
    {"audit"},
    {"pipeline"},
    {"commands"},
    {"__main__"},
]
"""Rooms and single modules, from the ground up; on one floor, no two import each other."""


def floor(module: str) -> int:
    (number,) = [n for n, rooms in enumerate(FLOORS) if module.split(".")[0] in rooms]
    return number


def modules() -> dict[str, Path]:
    """The dotted names in the package, without its own."""
    names = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        names[".".join(part for part in parts if part != "__init__")] = path
    return {name: path for name, path in names.items() if name}


def imported(path: Path, known: set[str]) -> set[str]:
    """What of the package a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name.partition(".")[2] in known else node.module for name in whole}
    return {name.partition(".")[2] for name in found if name.startswith("scaling_limits.")}


def test_every_module_stands_on_a_floor():
    assert {name.split(".")[0] for name in modules()} <= set.union(*FLOORS)


def imports() -> set[tuple[str, str]]:
    """All (module, imported module) in the package."""
    known = modules()
    return {(name, other) for name, path in known.items() for other in imported(path, set(known))}


def test_no_import_runs_upward():
    assert {(name, other) for name, other in imports() if floor(other) > floor(name)} == set()


def test_no_two_rooms_import_each_other():
    rooms = {(name.split(".")[0], other.split(".")[0]) for name, other in imports()}
    assert {pair for pair in rooms if pair[0] != pair[1] and pair[::-1] in rooms} == set()


def test_the_audit_knows_no_plots():
    rooms = {(name.split(".")[0], other.split(".")[0]) for name, other in imports()}
    assert not {("audit", "plotting"), ("audit", "plots")} & rooms


def test_claims_and_plots_do_not_know_each_other():
    rooms = {(name.split(".")[0], other.split(".")[0]) for name, other in imports()}
    assert not {("claims", "plotting"), ("claims", "plots")} & rooms
    assert not {("plotting", "claims"), ("plots", "claims")} & rooms


def test_the_configuration_knows_no_kind_of_plot():
    known = {other for name, other in imports() if name.split(".")[0] == "configuration"}
    assert {name for name in known if name.startswith("plots.")} == {"plots.options"}


def test_no_room_above_knows_a_kind_of_claim():
    known = {
        (name, other)
        for name, other in imports()
        if other.startswith("claims.") and not name.startswith("claims")
    }
    kinds = {f"claims.{kind}" for kind in registry.modules} | {"claims.optima"}
    # the check of a user's models is a user of the judge
    assert {pair for pair in known if pair[1] in kinds} == {
        ("model_check.transfer", "claims.optimum_stays")
    }

"""The faults of the mutation check can be seeded; which of them are noticed, the check itself says."""

import ast
from dataclasses import replace

import pytest

from mutation_check import FAULTS, ROOT, Fault, FaultError, seeded, source

STORE = next(fault for fault in FAULTS if fault.file == "store.py")


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_fault_changes_one_line_and_leaves_python(fault: Fault) -> None:
    right = source(fault)
    wrong = seeded(fault, right)
    pairs = zip(right.splitlines(), wrong.splitlines(), strict=True)
    assert sum(a != b for a, b in pairs) == 1
    assert ast.dump(ast.parse(wrong)) != ast.dump(ast.parse(right))
    for test in fault.tests:
        file, _, name = test.partition("::")
        assert (
            f"def {name}(" in (ROOT / file).read_text("utf-8") if name else (ROOT / file).is_file()
        )


def test_faults_have_names_of_their_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) == 50


@pytest.mark.parametrize("right", ["if expected == found:", "import"], ids=["gone", "twice"])
def test_a_line_that_does_not_stand_once_is_refused(right: str) -> None:
    with pytest.raises(FaultError, match=r"checksum-not-compared: store\.py has"):
        seeded(replace(STORE, right=right), source(STORE))

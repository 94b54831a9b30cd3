"""The line between what compiles and what is only a number."""

from typing import Any

import pytest
from pydantic import BaseModel

from scaling_limits.cells import Cell, MeasurementSpec, digest
from scaling_limits.pipeline import keys
from scaling_limits.pipeline.keys import cell_key
from toys import BACKPROPAGATION, cell

BASE = cell(measure={"gradient_alignment": [0, 2]})
PLAIN = {**BACKPROPAGATION, "skip": False, "optimiser": "sgd", "parameterisation": "sp_gaussian"}
# one of every kind of algorithm and optimiser that has numbers of its own
CELLS = {
    "predictive_coding": BASE,
    "activities that decay": cell(inference_tolerance=0.1, activity_decay=1.0),
    "kfac": cell(
        **PLAIN
        | {"optimiser": "kfac", "damping": 0.1, "fisher": "sampled"}
        | {"accumulation": "averaged", "averaging_weight": 0.1}
    ),
    "gauss_newton_target": cell(
        **PLAIN | {"algorithm": "gauss_newton_target", "preconditioner_exponent": 0.25}
    ),
    "target_propagation": cell(
        **PLAIN
        | {"algorithm": "target_propagation", "activation_position": "after_weight"}
        | {"feedback": "relu", "feedback_learning_rate": 1.0, "feedback_noise": 0.2}
    ),
}
TRACED_NAMES = {
    "activity_decay",
    "activity_learning_rate",
    "beta1",
    "beta2",
    "branch",
    "energy_weight",
    "epsilon",
    "factor_decay",
    "factor_weight",
    "feedback_weight_decay",
    "inference_tolerance",
    "init_std",
    "input_damping",
    "learning_rate",
    "momentum",
    "multiplier",
    "other_power",
    "output_damping",
    "own_power",
    "preconditioner_exponent",
    "seed",
    "smallest_damping",
    "target_step",
}
OTHER = {  # for fields that cannot be changed by their type alone
    "init_distribution": "uniform",
    "normalisation": "standardise",
    "context_size": 8,
    "sequence_length": 8,
    "targets": "scalar",
    "inference": "exact",
    "loss": "cross_entropy",
    "fisher": "exact",
    "preconditioner_interval": 10,
    "activity_initialisation": "zeros",
    "inference_order": "sequential",
    "smooth": True,
    "limit": "linear_dmft",
    "frozen": ("input",),
    "activity_gradient": "per_sample",
    "dtype": "float64",
    "device": "gpu",
    ("algorithm", "file"): "own.py",
    ("network", "input_shape"): (8, 8),
    "feedback": "tanh",
    "difference_correction": True,
    "feedback_loss": "difference_reconstruction",
    "feedback_noise": 0.1,
    "num_feedback_steps": 3,
    "num_statistics": 5,
    "label_smoothing": 0.1,
    "augmentation": ("flip",),
    "learning_rate_schedule": "cosine",
    "warmup_steps": 2,
    "averaged_records": 2,
    "target_step": 0.1,
    "preconditioner_exponent": 0.5,
    "scaling": None,
}

Path = tuple[str | int, ...]


def leaves(model: BaseModel, path: Path = ()) -> list[tuple[Path, bool]]:
    """All fields of a cell that are no models themselves, and whether they say that they are
    traced; numbers that the cell lacks are left out."""
    found: list[tuple[Path, bool]] = []
    for name, info in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            found += leaves(value, (*path, name))
        elif isinstance(value, dict):
            for key, inner in value.items():
                found += leaves(inner, (*path, name, key))
        elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
            for index, inner in enumerate(value):
                found += leaves(inner, (*path, name, index))
        else:
            traced = bool((info.json_schema_extra or {}).get("traced"))
            if not traced or value is not None:
                found.append(((*path, name), traced))
    return found


def another(value: Any, path: Path) -> Any:
    other = OTHER.get(path[-2:], OTHER.get(path[-1]))
    if path[-1] == "activation_position":
        return "before_weight" if value == "after_weight" else "after_weight"
    if path == ("measurements",):
        return (MeasurementSpec(name="performance", steps=(0,)),)
    if path == ("compiled",):
        return None if value else "quickly"
    if other is not None:
        return other
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return 0.5 * value + 0.125
    return f"{value}_other" if isinstance(value, str) else (*value, 7)


def changed(tree: Any, path: Path, rest: Path | None = None) -> Any:
    """A cell, or a part of one, with another value at `path`."""
    first, *below = path if rest is None else rest
    value = getattr(tree, first) if isinstance(tree, BaseModel) else tree[first]
    new = changed(value, path, tuple(below)) if below else another(value, path)
    assert new != value
    if isinstance(tree, BaseModel):
        given = {name: getattr(tree, name) for name in type(tree).model_fields}
        return type(tree).model_validate(given | {first: new})
    if isinstance(tree, dict):
        return tree | {first: new}
    return (*tree[:first], new, *tree[first + 1 :])


LEAVES = [(name, *leaf) for name, base in CELLS.items() for leaf in leaves(base)]
STATIC = [(name, path) for name, path, traced in LEAVES if not traced]
TRACED = [(name, path) for name, path, traced in LEAVES if traced]


@pytest.mark.parametrize(("name", "path"), TRACED, ids=str)
def test_a_traced_number_keeps_the_shard_and_changes_the_cell(name: str, path: Path) -> None:
    base = CELLS[name]
    other = changed(base, path)
    assert other.shard() == base.shard()
    assert other.traced() != base.traced()
    assert digest(other.canonical()) != digest(base.canonical())


@pytest.mark.parametrize(("name", "path"), STATIC, ids=str)
def test_a_static_field_changes_the_shard(name: str, path: Path) -> None:
    base = CELLS[name]
    other = changed(base, path)
    assert other.shard() != base.shard()
    assert other.traced() == base.traced()
    assert digest(other.canonical()) != digest(base.canonical())


@pytest.mark.parametrize("name", ["inference_tolerance", "activity_decay"])
def test_a_number_that_one_cell_lacks_makes_another_program(name: str) -> None:
    """Also where it is zero, as a strength of zero among others."""
    given = [cell(**{name: value}) for value in (1e-3, 0.5)]
    assert given[0].shard() == given[1].shard() != cell().shard()
    assert cell(activity_decay=0.0).shard() == cell(activity_decay=1.0).shard()


def test_exactly_the_numbers_are_traced() -> None:
    assert {path[-1] for _, path in TRACED} == TRACED_NAMES


def test_every_field_is_either_static_or_traced() -> None:
    def flat(tree: Any, path: Path = ()) -> dict[Path, Any]:
        if isinstance(tree, dict):
            return {k: v for key, t in tree.items() for k, v in flat(t, (*path, key)).items()}
        return {path: tree}

    for base in CELLS.values():
        static, traced = flat(base.static()), flat(base.traced())
        assert not set(static) & set(traced)
        assert static | traced == flat(base.canonical())


def test_keys_follow_cells_source_and_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    key = cell_key(BASE)
    assert key == cell_key(cell(measure={"gradient_alignment": [0, 2]}))
    assert key != cell_key(cell(seed=1))
    with monkeypatch.context() as patch:
        patch.setattr(keys, "cell_source", lambda cell: "other source")
        assert key != cell_key(BASE)
    versions = keys.library_versions()
    monkeypatch.setattr(keys, "library_versions", lambda: versions | {"jax": "0.0.0"})
    assert key != cell_key(BASE)


def test_an_unset_option_is_no_part_of_a_cell() -> None:
    assert (
        "activity_gradient"
        not in cell(
            activation="linear",
            inference="exact",
            num_inference_steps=None,
            activity_gradient=None,
            activity_learning_rate=None,
        ).canonical()["algorithm"]
    )


def test_the_preconditioner_s_exponent_is_the_algorithm_s_and_the_row_s():
    """pc-tp (11): muP's hidden rate falls as the width to the power e_B, SP's does not."""
    rates = {}
    for row in ("preconditioned_mup", "sp_gaussian"):
        resolved = cell(
            **BACKPROPAGATION
            | {"algorithm": "gauss_newton_target", "preconditioner_exponent": 0.5}
            | {"parameterisation": row, "optimiser": "sgd", "skip": False}
            | {"width": 16, "base_width": 4, "learning_rate": 1.0},
        )
        assert resolved.algorithm.preconditioner_exponent == 0.5
        rates[row] = resolved.scaling["hidden"].learning_rate
    assert rates == {"preconditioned_mup": 0.5, "sp_gaussian": 1.0}


def test_parameterisations_of_depth_are_shifts_that_share_cells():
    """depth-mup's gamma enters only the rate of the blocks, eta L^-gamma."""

    def at(gamma: float, rate: float, **changes: object) -> Cell:
        own = {
            "parameterisation": "depth_mup", "depth_kind": "blocks", "depth": 32, "base_depth": 8,
            "depth_exponent": 0.5, "depth_lr_exponent": gamma, "frozen": ["input", "output"],
        }  # fmt: skip
        return cell(**{**BACKPROPAGATION, **own, "learning_rate": rate, **changes})

    assert at(0.5, 0.004) == at(0, 0.002)
    assert at(0.5, 0.004) != at(0, 0.004)
    # rates of other weights are the setting itself, so nothing is shared where these are trained
    assert at(0.5, 0.004, frozen=[]) != at(0, 0.002, frozen=[])

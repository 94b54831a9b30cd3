"""A small project folder for the configuration, and tiny cells."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from scaling_limits import claims, source
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import Cell
from scaling_limits.claims.base import ClaimBase
from scaling_limits.configuration.models import MeasurementPlan, Resources
from scaling_limits.configuration.resolve import Resolver
from scaling_limits.networks.network import Params
from scaling_limits.parameterisations.table import Row

STORE = Path("results", "cells")
"""The folder of the store in a project."""

SETTINGS: dict[str, Any] = {
    "dataset": "digits",
    "num_train": 64,
    "num_test": 16,
    "activation": "tanh",
    "skip": True,
    "depth_kind": "hidden_layers",
    "depth": 2,
    "width": 8,
    "parameterisation": "mupc",
    "algorithm": "predictive_coding",
    "inference": "gradient_descent",
    "num_inference_steps": "num_hidden_layers",
    "activity_gradient": "batch_mean",
    "activity_learning_rate": 1.0,
    "optimiser": "adam",
    "learning_rate": 0.01,
    "batch_size": 16,
    "num_steps": 6,
}
BACKPROPAGATION: dict[str, Any] = {
    "algorithm": "backpropagation",
    "inference": None,
    "num_inference_steps": None,
    "activity_gradient": None,
    "activity_learning_rate": None,
}
EXACT: dict[str, Any] = {**BACKPROPAGATION, "algorithm": "predictive_coding", "inference": "exact"}
CBOW: dict[str, Any] = {
    **BACKPROPAGATION,
    "dataset": "attribute_words",
    "normalisation": "none",
    "network": "mlp",
    "skip": None,
    "activation": "linear",
    "depth_kind": "weight_layers",
    "depth": 2,
    "parameterisation": "sp_gaussian",
    "optimiser": "sgd",
    "loss": "cross_entropy",
}
"""Two linear weights on words."""
EQUILIBRIUM: dict[str, Any] = {
    "inference": "equilibrium",
    "inference_tolerance": 1e-11,
    "num_inference_steps": None,
    "activity_gradient": None,
    "activity_learning_rate": None,
}
_FIELD: dict[str, Any] = {
    "skip": None,
    "parameterisation": "mean_field",
    "loss": "cross_entropy",
    "dtype": "float64",
}
IMAGES: dict[str, Any] = {
    "input_shape": [16, 16],
    "depth_kind": "weight_layers",
    "skip": None,
    "parameterisation": "sp_gaussian",
    "width": 1,
}
"""A convolutional network, but for its architecture and depth."""
RESIDUAL_CNN: dict[str, Any] = {
    **_FIELD,
    "dataset": "digits",
    "network": "residual_cnn",
    "activation": "tanh",
    "depth_kind": "weight_layers",
    "depth": 7,
    "width": 18,
    "depth_exponent": 0.5,
}
"""Of two stages, on digits."""
TRANSFORMER: dict[str, Any] = {
    **_FIELD,
    "dataset": "sentences",
    "normalisation": "none",
    "sequence_length": 5,
    "network": "transformer",
    "activation": "gelu",
    "depth_kind": "blocks",
    "depth": 2,
    "num_heads": 2,
    "width": 8,
    "depth_exponent": 1.0,
}
"""A small transformer on characters."""

FIGURE: dict[str, Any] = {
    "title": "A figure",
    "caption": "What it shows.",
    "plot": {
        "kind": "maps",
        "quantity": "loss",
        "x": "seed",
        "y": "learning_rate",
        "panels": [{"grid": "main", "along": "width"}],
    },
}
PAPER: dict[str, Any] = {
    "paper": {
        "title": "A toy",
        "authors": "Nobody",
        "year": 2000,
        "arxiv": "0001.00001",
        "reference": "none",
        "quantities": {"loss": {"metric": "train_loss"}},
    },
    "transfer": {
        "description": "a few cells",
        **{k: v for k, v in SETTINGS.items() if k != "width"},
        "learning_rate": [0.1, 0.01],
        "seed": [0, 1],
        "grids": {"main": {"width": [8, 16]}, "one": {"width": 8}},
        "measurements": {"gradient_alignment": [0, 3]},
        "figures": {"fig1": FIGURE},
    },
}
"""The files of a paper by name, without their ending."""


def cell(
    *, measure: Mapping[str, list[int]] | None = None, rows: list[Row] | None = None, **changes: Any
) -> Cell:
    """The cell of `SETTINGS` with changes."""
    resources = {key: changes.pop(key) for key in ("cells_per_batch", "device") if key in changes}
    plans = {name: MeasurementPlan(steps=steps) for name, steps in (measure or {}).items()}
    resolver = Resolver(Resources.model_validate(resources), {}, rows or [])
    return resolver.resolve({**SETTINGS, **changes}, plans).cell


def gradients(algorithm: Any, problem: Problem) -> tuple[Params, dict[str, Any]]:
    """An algorithm's gradients of the weights, and its metrics."""
    found, _, metrics = algorithm.update(problem, algorithm.init(problem))
    return found.forward, metrics


def forget_sources() -> None:
    """Look at the code anew, as another process would after an edit."""
    for function in vars(source).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def write_project(root: Path, *, main: Any = None, preset: Any = None, paper: Any = None) -> Path:
    """A project's `config/`: preset `whole` shrinks nothing, `small` is the one given."""
    contents = {
        "config.yaml": {"preset": "whole"} if main is None else main,
        "presets/whole.yaml": {"description": "everything"},
        "presets/small.yaml": {"description": "less", **(preset or {})},
        **{f"papers/toy/{name}.yaml": file for name, file in (paper or PAPER).items()},
    }
    for name, content in contents.items():
        path = root / "config" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_yaml(content), encoding="utf-8")
    return root


def as_yaml(content: Any) -> str:
    """Written out: YAML would make aliases of what stands in it twice."""
    return yaml.safe_dump(json.loads(json.dumps(content)), sort_keys=False)


def merged(base: Any, changes: Any) -> Any:
    """`changes` merged into a copy of nested mappings."""
    if isinstance(base, Mapping) and isinstance(changes, Mapping):
        return {**base, **{key: merged(base.get(key), value) for key, value in changes.items()}}
    return changes


def parsed_claim(content: Mapping[str, Any]) -> ClaimBase:
    """A claim from its fields."""
    return claims.models()[content["kind"]].model_validate(content)

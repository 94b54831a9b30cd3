"""Cells: fully resolved points of an experiment, with everything that determines their results.

Fields marked `Traced` enter a compiled program as arguments. Cells that differ only in traced fields share a compiled
program and form a shard. All other fields are static. A cell contains the exponents of its parameterisation already
evaluated to numbers, so the table of parameterisations is not part of it.
"""

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, SerializeAsAny
from pydantic.config import JsonDict

from scaling_limits.strict import Extended, Strict

_TRACED: JsonDict = {"traced": True}

Traced = Annotated[float, Field(json_schema_extra=_TRACED)]
TracedInt = Annotated[int, Field(json_schema_extra=_TRACED)]
TracedOrNone = Annotated[float | None, Field(json_schema_extra=_TRACED)]
Compiled = Literal["quickly", "partly"] | None
"""How a program is compiled: with all optimisations (None), with some (`partly`), or with none (`quickly`).

Fewer optimisations compile faster, but the program is slower."""


Fields = dict[str, Any]
"""Fields of a specification, by name."""


class CellSettings(Extended):
    """Settings of one cell: the base of the classes that combine the `Settings` declared by the cell's parts."""


class DatasetSpec(Strict):
    """A prepared dataset: `checksum` identifies its payload, and `input_shape` is the shape that the network receives.

    `targets` have `target_dim` columns: one-hot rows (`one_hot`), the label itself (`scalar`), random draws independent
    of the data (`gaussian`), or the real targets of data without classes (`real`). For text, a sample is either
    `context_size` words or a sequence of `sequence_length` tokens whose targets are the next tokens. Both are stored as
    indices until a batch is taken. For other data, both fields are None.
    """

    name: str
    checksum: str
    input_shape: tuple[int, ...]
    num_classes: int
    num_train: int
    num_test: int
    normalisation: Literal["none", "unit_interval", "standardise"]
    targets: Literal["one_hot", "scalar", "gaussian", "real"]
    target_dim: int
    context_size: int | None = None
    sequence_length: int | None = None


class NetworkSpec(Strict):
    """The structure of a network, without scales: `width` N and `num_hidden_layers` H, so L = H + 1 weight layers.

    A network with further options derives its own specification from this class. `block_depth` is the number of layers
    in a residual branch of an mlp, and `layer_norm` says whether the input of a branch is normalised. A block of
    several layers counts as one hidden layer. `input_shape` is the shape of images, for networks that depend on it.
    `feedback` is the activation of feedback nodes (pc-tp psi), None for networks without feedback nodes.
    `num_statistics` is the maximum number of training samples from which a network with batch norm takes its statistics
    for evaluation, None without batch norm.
    """

    name: str
    input_dim: int
    output_dim: int
    width: int
    num_hidden_layers: int
    activation: str
    activation_position: Literal["before_weight", "after_weight"]
    skip: bool
    mean_subtraction: bool
    block_depth: int = 1
    layer_norm: bool = False
    input_shape: tuple[int, ...] | None = None
    feedback: str | None = None
    num_statistics: int | None = None

    @property
    def has_branches(self) -> bool:
        """Whether the network has residual branches with a multiplier."""
        return self.skip and self.num_hidden_layers > 1


class RoleScaling(Strict):
    """The numbers that a parameterisation assigns to the weights of one role.

    `init_std` multiplies unit-variance draws, `multiplier` the weight in the forward pass, and `branch` a whole
    residual branch. `epsilon` (Adam) and the two dampings (of Kronecker factors) multiply those of the optimiser.
    `energy_weight` weights predictive coding's error at the weight's node (pc-tp gamma_l). In a cell, `learning_rate`
    is the final learning rate of these weights, the setting times the row's factor, and 0 if the weights are frozen.
    Cells that differ only in how this product is split are therefore the same cell.
    """

    init_std: Traced
    multiplier: Traced
    branch: Traced
    learning_rate: Traced
    epsilon: Traced
    energy_weight: Traced
    input_damping: Traced = 1.0
    output_damping: Traced = 1.0


class AlgorithmSpec(Extended):
    """How weight gradients are computed, and from which loss.

    An algorithm with options derives its own specification from this class. `file` is the path of a user's algorithm,
    absolute or relative to the project's folder.
    """

    name: str
    file: str | None = None
    loss: str = "mean_squared_error"


class OptimiserSpec(Extended):
    """An update rule. A rule with numbers derives its own specification from this class.

    Learning rates belong to the roles (`RoleScaling`). `feedback_weight_decay` times a feedback weight is added to its
    gradient.
    """

    name: str
    feedback_weight_decay: TracedOrNone = None


class MeasurementSpec(Strict):
    """A registered measurement and the numbers of updates after which it is taken."""

    name: str
    steps: tuple[int, ...]


class Cell(Strict):
    """One point of an experiment.

    `scaling` and `frozen` name roles of weights, or single layers if the layers of a role differ in fan-in. Weights in
    `frozen` keep their initial values. Feedback weights are trained alone for `num_feedback_steps` updates before the
    first step. A fraction `label_smoothing` of each training target is spread over all classes. The transformations in
    `augmentation` change the training images at random at every step. Without a schedule the learning rate is constant;
    with `warmup_steps` it first rises linearly from 0. If `averaged_records` is set, metrics of every step are stored
    as means over this number of equal parts of training. If `limit` is set, this limit computes the results instead of
    training.
    """

    limit: str | None = None
    dataset: DatasetSpec
    network: SerializeAsAny[NetworkSpec]
    init_distribution: Literal["normal", "uniform", "orthogonal"]
    scaling: dict[str, RoleScaling]
    algorithm: SerializeAsAny[AlgorithmSpec]
    optimiser: SerializeAsAny[OptimiserSpec]
    frozen: tuple[str, ...]
    seed: TracedInt
    label_smoothing: float | None = None
    augmentation: tuple[str, ...] | None = None
    learning_rate_schedule: Literal["cosine"] | None = None
    warmup_steps: int | None = None
    averaged_records: int | None = None
    num_feedback_steps: int | None = None
    num_steps: int
    batch_size: int
    measurements: tuple[MeasurementSpec, ...]
    dtype: Literal["float32", "float64"]
    cells_per_batch: int
    compiled: Compiled = None
    device: Literal["cpu", "gpu"]

    def canonical(self) -> Fields:
        """Return the cell as plain JSON types, without unset options."""
        return self.model_dump(mode="json", exclude_none=True)

    def static(self) -> Fields:
        """Return the fields on which a compiled program depends."""
        return _select(self, self.canonical(), traced=False)

    def traced(self) -> Fields:
        """Return the fields that enter a compiled program as arguments, nested as in the cell."""
        return _select(self, self.canonical(), traced=True)

    def shard(self) -> str:
        """Return a hash of the static fields and of the names of the traced fields.

        Cells with the same hash share one compilation.
        """
        return digest([self.static(), _names(self.traced())])


def digest(value: object) -> str:
    """Return 16 hexadecimal digits that identify a JSON value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _names(values: object) -> object:
    """Replace all leaves of nested mappings by None."""
    if not isinstance(values, dict):
        return None
    return {name: _names(value) for name, value in values.items()}


def _select(model: BaseModel, values: Fields, *, traced: bool) -> Fields:
    selected: Fields = {}
    for name, info in type(model).model_fields.items():
        if name not in values:
            continue
        field = getattr(model, name)
        if isinstance(field, BaseModel):
            inner = _select(field, values[name], traced=traced)
        elif isinstance(field, dict):
            inner = {key: _select(field[key], values[name][key], traced=traced) for key in field}
        else:
            extra = info.json_schema_extra
            is_traced = isinstance(extra, dict) and bool(extra.get("traced"))
            if is_traced == traced:
                selected[name] = values[name]
            continue
        if inner:
            selected[name] = inner
    return selected

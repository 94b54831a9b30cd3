"""A cell: one fully resolved point of an experiment, everything that decides its numbers.

Fields marked `Traced` are only numbers: cells that differ in nothing else share a compiled program (a shard).
All other fields are static. The exponents of a parameterisation have become numbers here, so the table that
they came from is not part of a cell.
"""

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, SerializeAsAny

from scaling_limits.strict import Extended, Strict

_TRACED: dict[str, Any] = {"traced": True}

Traced = Annotated[float, Field(json_schema_extra=_TRACED)]
TracedInt = Annotated[int, Field(json_schema_extra=_TRACED)]
TracedOrNone = Annotated[float | None, Field(json_schema_extra=_TRACED)]
Compiled = Literal["quickly", "partly"] | None
"""How a program is compiled: None, with all optimisations; partly, with some; quickly, with none, which makes it a
slower one."""


Fields = dict[str, Any]
"""Fields of the specification of a part, by name."""


class CellSettings(Extended):
    """Settings of one cell: the base of the classes composed of the `Settings` that its parts declare."""


class DatasetSpec(Strict):
    """A prepared dataset: `checksum` is that of the payload, `input_shape` what the network sees.

    `targets` have `target_dim` columns: one-hot rows, the label itself, draws that do not depend on the data, or the
    real numbers of data without classes.
    A sample of a text is so many words as `context_size` says, or a sequence of `sequence_length` tokens, whose targets
    are the next ones; both are kept as indices until a batch is taken. None of others.
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
    """Structure only; `width` N, `num_hidden_layers` H (so L = H + 1 weight layers). A network with options of its own
    derives its own from this.

    `block_depth` is how many layers a residual branch of an mlp has, `layer_norm` whether what enters a branch is
    normalised. A block of several layers is one hidden layer.
    `input_shape` is that of images, where the network depends on it. `feedback` is the activation of feedback nodes,
    None without any (pc-tp psi). `num_statistics` is of how many training samples at most a network with batch norm
    takes the statistics that it is evaluated with, None without batch norm.
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
        """Whether there are residual branches with a multiplier."""
        return self.skip and self.num_hidden_layers > 1


class RoleScaling(Strict):
    """What a parameterisation says of the weights of one role, as numbers.

    `init_std` multiplies unit-variance draws, `multiplier` the weight in the forward pass, `branch` a whole residual
    branch, `epsilon` (Adam) and both `damping`s (of Kronecker factors) the optimiser's own; `energy_weight` is that of
    predictive coding's error of the weight's node (pc-tp gamma_l). In a cell, `learning_rate` is the rate of these
    weights, the setting times the row's factor, and 0 if they are frozen: cells share what differs in this split alone.
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
    """The loss, and how weight gradients are computed. An algorithm with options derives its own from this.

    `file` is the file of a user's own algorithm, from the project's folder or absolute.
    """

    name: str
    file: str | None = None
    loss: str = "mean_squared_error"


class OptimiserSpec(Extended):
    """An update rule; one with numbers of its own derives its own from this.

    The learning rates are those of the roles (`RoleScaling`). Feedback weights have a decay that is added to their
    gradient.
    """

    name: str
    feedback_weight_decay: TracedOrNone = None


class MeasurementSpec(Strict):
    """A registered measurement and after how many updates it is taken."""

    name: str
    steps: tuple[int, ...]


class Cell(Strict):
    """One point of an experiment.

    `scaling` and `frozen` name roles of weights, or single layers where those of one role differ in fan-in. Weights
    that are `frozen` stay as drawn. Feedback weights are trained alone for `num_feedback_steps` before the first step.
    A share `label_smoothing` of each training target is spread over all classes; training images are changed by what
    `augmentation` names, at random at every step. The learning rate stays the same without a schedule; with
    `warmup_steps` it rises linearly from 0 before. Metrics of every step are kept as means over `averaged_records`
    equal parts of training, if that is set.
    With `limit`, its numbers are computed by that limit instead of by training.
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

    def canonical(self) -> dict[str, Any]:
        """The cell as plain JSON types, without unset options."""
        return self.model_dump(mode="json", exclude_none=True)

    def static(self) -> dict[str, Any]:
        """The fields that a compiled program depends on."""
        return _select(self, self.canonical(), traced=False)

    def traced(self) -> dict[str, Any]:
        """The fields that enter a compiled program as arguments, nested as in the cell."""
        return _select(self, self.canonical(), traced=True)

    def shard(self) -> str:
        """Hash of the static fields, and of the names of the traced numbers: cells of equal `shard` compile once."""
        return digest([self.static(), _names(self.traced())])


def digest(value: object) -> str:
    """16 hexadecimal digits that name a JSON value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _names(values: Any) -> Any:
    """Nested mappings without their values."""
    if not isinstance(values, dict):
        return None
    return {name: _names(value) for name, value in values.items()}


def _select(model: BaseModel, values: dict[str, Any], *, traced: bool) -> dict[str, Any]:
    selected: dict[str, Any] = {}
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

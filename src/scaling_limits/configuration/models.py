"""The typed models of the configuration. The JSON schemas in `workflow/schemas/` are generated from them."""

from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from scaling_limits.audit.claims import Claim
from scaling_limits.parameterisations.table import Row
from scaling_limits.plotting.specs import (
    CurvesPlot,
    HyperparameterMapPlot,
    ParameterisationTablePlot,
    ScalingPlot,
    TransferPlot,
    WidthDepthMapPlot,
)


class Model(BaseModel):
    """Immutable and strict about names."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


Plot = Annotated[
    CurvesPlot
    | HyperparameterMapPlot
    | ParameterisationTablePlot
    | ScalingPlot
    | TransferPlot
    | WidthDepthMapPlot,
    Field(discriminator="kind"),
]
Axis = Annotated[list[Any], Field(min_length=1)]
Activation = Literal["linear", "tanh", "relu", "abs", "gelu", "erf"]


class Settings(Model):
    """Everything that decides one cell, as a user writes it. Each of these may be an axis of an experiment.

    `depth` is what the paper's axis shows; `depth_kind` says what it counts. Symbols: `width` N, `output_scale`
    gamma_0, `depth_exponent` alpha (pcn-limits, depth-mup); `learning_rate` eta, `activity_learning_rate` beta,
    `num_inference_steps` T (mupc); `branch_multiplier` a, `depth_lr_exponent` gamma (depth-mup); `init_scale` sigma',
    `energy_weight` gamma_l, `output_energy_weight` gamma', `energy_weight_exponent` of gamma_L, `feedback` psi,
    `preconditioner_exponent` e_B, `target_step` etahat, `feedback_learning_rate` tau' (pc-tp).
    """

    dataset: str
    num_train: int | None = Field(
        default=None, ge=1, description="training samples used; all of them if absent"
    )
    num_test: int | None = Field(
        default=None, ge=1, description="test samples used; all of them if absent"
    )
    input_shape: tuple[int, ...] | None = Field(
        default=None, description="images are resampled to this shape"
    )
    normalisation: Literal["none", "unit_interval", "standardise"] = "unit_interval"
    targets: Literal["one_hot", "scalar", "gaussian"] = "one_hot"
    target_dim: int | None = Field(
        default=None, ge=1, description="outputs of gaussian targets; else the targets say"
    )
    loss: Literal["mean_squared_error", "cross_entropy"] = "mean_squared_error"

    network: str = "mlp"
    width: int = Field(ge=1)
    depth: int = Field(ge=1)
    depth_kind: Literal["hidden_layers", "weight_layers", "blocks"]
    activation: Activation
    activation_position: Literal["before_weight", "after_weight"] = "before_weight"
    skip: bool = False
    mean_subtraction: bool = False

    parameterisation: str
    base_width: int = Field(default=1, ge=1)
    base_depth: int = Field(default=1, ge=1)
    init_scale: float = Field(default=1.0, gt=0)
    output_scale: float = Field(default=1.0, gt=0)
    branch_multiplier: float = Field(default=1.0, gt=0)
    energy_weight: float = Field(default=1.0, gt=0, description="of all layers but the last")
    output_energy_weight: float = Field(default=1.0, gt=0)
    depth_exponent: float | None = Field(
        default=None, description="of residual networks, where the row has one"
    )
    depth_lr_exponent: float | None = Field(
        default=None, description="of residual networks, where the row has one"
    )
    energy_weight_exponent: float | None = Field(default=None, description="where the row has one")
    exponent_changes: dict[str, dict[str, dict[str, float]]] = Field(
        default_factory=dict,
        description="added to the row's exponents: role -> quantity -> width or depth (controls)",
    )
    pivot_width: int | None = Field(default=None, ge=1, description="where width's changes are 1")
    pivot_depth: int | None = Field(default=None, ge=1, description="where depth's changes are 1")

    algorithm: str
    inference: Literal["gradient_descent", "adam", "exact"] | None = None
    num_inference_steps: Annotated[int, Field(ge=0)] | Literal["num_hidden_layers"] | None = None
    activity_gradient: Literal["batch_mean", "per_sample"] | None = None
    activity_learning_rate: float | None = Field(default=None, gt=0)
    activity_initialisation: Literal["forward", "zeros", "normal"] | None = Field(
        default=None, description="forward if absent"
    )
    inference_order: Literal["synchronous", "sequential"] | None = Field(
        default=None, description="synchronous if absent"
    )
    fixed_predictions: bool | None = Field(default=None, description="false if absent")

    preconditioner_exponent: float | None = Field(
        default=None, ge=0, le=1, description="of gauss_newton_target; 1 if absent"
    )
    feedback: Activation | None = Field(default=None, description="activation of feedback nodes")
    difference_correction: bool | None = Field(default=None, description="false if absent")
    target_step: float | None = Field(default=None, gt=0, description="0.01 if absent")
    feedback_loss: Literal["reconstruction", "difference_reconstruction"] | None = Field(
        default=None, description="reconstruction if absent"
    )
    feedback_noise: float | None = Field(
        default=None, gt=0, description="standard deviation; no noise if absent"
    )
    feedback_learning_rate: float | None = Field(default=None, ge=0)
    feedback_weight_decay: float | None = Field(default=None, ge=0, description="0.0001 if absent")
    num_feedback_steps: int | None = Field(
        default=None, ge=0, description="updates of feedback weights alone, first; 0 if absent"
    )

    limit: str | None = Field(
        default=None, description="computed by this limit of the training instead of by training"
    )
    optimiser: Literal["sgd", "adam"]
    learning_rate: float = Field(gt=0)
    momentum: float = Field(default=0.0, ge=0, lt=1)
    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.999, ge=0, lt=1)
    epsilon: float = Field(default=1e-8, gt=0)
    frozen: tuple[Literal["input", "hidden", "output"], ...] = Field(
        default=(), description="roles of weights that stay as drawn"
    )

    seed: int = Field(default=0, ge=0, lt=2**31)
    num_steps: int = Field(ge=1)
    batch_size: int = Field(ge=1)
    dtype: Literal["float32", "float64"] = "float32"

    @property
    def num_weight_layers(self) -> int:
        """L: weight layers, the output included."""
        return {
            "weight_layers": self.depth,
            "hidden_layers": self.depth + 1,
            "blocks": self.depth + 2,
        }[self.depth_kind]

    @property
    def num_hidden_layers(self) -> int:
        """H = L - 1: layers with a free activity."""
        return self.num_weight_layers - 1

    @property
    def scaled_depth(self) -> int:
        """The depth that depth exponents act on: residual blocks (depth-mup), else weight layers."""
        return self.depth if self.depth_kind == "blocks" else self.num_weight_layers


class Grid(Model):
    """A named part of an experiment: all its settings, of which those with a list of values are its axes."""

    title: str | None = None
    settings: dict[str, Any]


class MeasurementPlan(Model):
    """After how many updates a measurement is taken (`end`: all); steps past the end are left out."""

    steps: list[Annotated[int, Field(ge=0)] | Literal["end"]] = Field(min_length=1)


class Experiment(Model):
    """What has to be computed for one or more figures: the union of its grids, each a product of axes."""

    description: str
    grids: dict[str, Grid]
    measurements: dict[str, MeasurementPlan] = Field(default_factory=dict)


class Figure(Model):
    """One figure or table: the experiment whose cells it shows, how it is drawn, and what it claims.

    A table of the parameterisations shows no cells and has no experiment.
    """

    title: str
    caption: str
    plot: Plot
    claims: list[Claim] = Field(default_factory=list)
    experiment: str | None = None

    @property
    def judged_grids(self) -> list[str]:
        """The grids that its claims are judged on."""
        return [grid for claim in self.claims for grid in claim.all_grids]

    @property
    def grids(self) -> set[str]:
        """The grids of its experiment that it shows or that its claims are judged on."""
        return {*self.plot.grids, *self.judged_grids}


class Head(Model):
    """What a `paper.yaml` says of its paper."""

    title: str
    authors: str
    reference: str


OWN = "own"
"""What stands in the place of a paper for the experiments in `config/experiments/`."""


class Caps(Model):
    """Upper bounds by which a preset shrinks every experiment.

    `width`, `depth`, `num_steps` and `batch_size` bound the settings of that name (values of an axis above it are left
    out), `seeds` the number of seeds, `points` the number of values of any other axis.
    """

    width: int | None = Field(default=None, ge=1)
    depth: int | None = Field(default=None, ge=1)
    num_steps: int | None = Field(default=None, ge=1)
    batch_size: int | None = Field(default=None, ge=1)
    seeds: int | None = Field(default=None, ge=1)
    points: int | None = Field(default=None, ge=2)


class Preset(Model):
    """How large the axes are: caps for all experiments, datasets in place of others.

    What a preset changes of single experiments stands beside them.
    """

    description: str
    caps: Caps = Caps()
    substitutions: dict[str, str] = Field(
        default_factory=dict, description="dataset -> dataset used in its place"
    )
    job_seconds: float = Field(
        default=60.0, gt=0, description="estimated time of one core that a job should take"
    )


class Data(Model):
    """Where data comes from."""

    path: PurePath | None = Field(
        default=None, description="folder with copies already on this machine"
    )
    downloads: PurePath = Field(default=PurePath("data"), description="folder for downloads")
    datasets: dict[str, PurePath] = Field(
        default_factory=dict, description="own datasets: name -> .npz file"
    )


class Resources(Model):
    """What a job may use."""

    device: Literal["cpu", "gpu"] = "cpu"
    cells_per_batch: int = Field(
        default=1, ge=1, description="cells trained at once; 1 is fastest on a CPU"
    )
    mem_mb: int = Field(default=8000, ge=500)


class Main(Model):
    """`config/config.yaml` and what the command line adds to it."""

    preset: str
    papers: dict[str, Any] = Field(
        default_factory=dict, description="changes to papers, after the preset's"
    )
    data: Data = Data()
    audit: Literal["run", "stored"] = "run"
    accept_source: list[str] = Field(default_factory=list)
    parameterisations: list[Row] = Field(default_factory=list, description="own rows of the table")
    algorithms: dict[str, PurePath] = Field(
        default_factory=dict, description="own algorithms: name -> Python file"
    )
    resources: Resources = Resources()

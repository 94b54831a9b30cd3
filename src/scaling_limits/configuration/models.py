"""The typed models of the configuration. The JSON schemas in `workflow/schemas/` are generated from them."""

from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, field_validator

from scaling_limits.figures.claims import Claim
from scaling_limits.figures.plots import Plot
from scaling_limits.parameterisations.table import Row
from scaling_limits.strict import Strict

Axis = Annotated[list[Any], Field(min_length=1)]
Activation = Literal["linear", "tanh", "relu", "abs", "gelu", "erf"]


class Settings(Strict):
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


class Grid(Strict):
    """A named part of an experiment: its own axes and settings on top of the experiment's."""

    axes: dict[str, Axis] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)


class MeasurementPlan(Strict):
    """After how many updates a measurement is taken (`end`: all); steps past the end are left out."""

    steps: list[Annotated[int, Field(ge=0)] | Literal["end"]] = Field(min_length=1)


class Experiment(Strict):
    """What has to be computed for one or more figures: the union of its grids, each a product of axes."""

    description: str
    settings: dict[str, Any]
    axes: dict[str, Axis] = Field(default_factory=dict)
    grids: dict[str, Grid] = Field(min_length=1)
    measurements: dict[str, MeasurementPlan] = Field(default_factory=dict)


class Shown(Strict):
    """How cells are drawn, and what is claimed of them."""

    title: str
    caption: str
    plot: Plot
    claims: list[Claim] = Field(default_factory=list)

    @field_validator("claims")
    @classmethod
    def _unique(cls, claims: list[Any]) -> list[Any]:
        names = [claim.id for claim in claims]
        if len(names) != len(set(names)):
            raise ValueError("two claims have the same id")
        return claims


class Figure(Shown):
    """One figure or table: the experiment whose cells it shows, how it is drawn, and what it claims.

    A table of the parameterisations shows no cells and has no experiment.
    """

    experiment: str | None = None

    @property
    def judged_grids(self) -> list[str]:
        """The grids that its claims are judged on."""
        return [grid for claim in self.claims for grid in claim.all_grids]

    @property
    def grids(self) -> set[str]:
        """The grids of its experiment that it shows or that its claims are judged on."""
        return {*self.plot.grids, *self.judged_grids}


# as in the wildcards of the Snakefile
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]


class Paper(Strict):
    """A paper: its experiments at the paper's own scale, and its figures."""

    title: str
    authors: str
    reference: str
    experiments: dict[Name, Experiment]
    figures: dict[Name, Figure]


class Own(Shown):
    """An experiment of the user's own with its figure, as in `config/experiments/<figure>.yaml`."""

    experiment: Experiment | None = None


class Caps(Strict):
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


class Preset(Strict):
    """How large the axes are: caps for all experiments, datasets in place of others, changes to single experiments."""

    description: str
    caps: Caps = Caps()
    substitutions: dict[str, str] = Field(
        default_factory=dict, description="dataset -> dataset used in its place"
    )
    job_seconds: float = Field(
        default=60.0, gt=0, description="estimated time of one core that a job should take"
    )
    papers: dict[str, Any] = Field(
        default_factory=dict, description="changes merged into config/papers/<slug>.yaml"
    )


class Data(Strict):
    """Where data comes from."""

    path: PurePath | None = Field(
        default=None, description="folder with copies already on this machine"
    )
    downloads: PurePath = Field(default=PurePath("data"), description="folder for downloads")
    datasets: dict[str, PurePath] = Field(
        default_factory=dict, description="own datasets: name -> .npz file"
    )


class Resources(Strict):
    """What a job may use."""

    device: Literal["cpu", "gpu"] = "cpu"
    cells_per_batch: int = Field(
        default=1, ge=1, description="cells trained at once; 1 is fastest on a CPU"
    )
    mem_mb: int = Field(default=8000, ge=500)


class Main(Strict):
    """`config/config.yaml` and what the command line adds to it."""

    preset: str
    papers: dict[str, Any] = Field(
        default_factory=dict, description="changes merged in after the preset"
    )
    data: Data = Data()
    audit: Literal["run", "stored"] = "run"
    accept_source: list[str] = Field(default_factory=list)
    parameterisations: list[Row] = Field(default_factory=list, description="own rows of the table")
    algorithms: dict[str, PurePath] = Field(
        default_factory=dict, description="own algorithms: name -> Python file"
    )
    resources: Resources = Resources()


FILES: dict[str, type[BaseModel]] = {
    "config": Main,
    "own": Own,
    "paper": Paper,
    "preset": Preset,
    "settings": Settings,
}


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON schemas by file name, as written to `workflow/schemas/`."""
    return {name: TypeAdapter(model).json_schema() for name, model in FILES.items()}

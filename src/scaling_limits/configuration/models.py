"""The typed models of the configuration. The JSON schemas in `workflow/schemas/` are generated from them."""

from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, field_validator

from scaling_limits.figures.claims import Claim
from scaling_limits.figures.plots import Plot
from scaling_limits.parameterisations.table import Row
from scaling_limits.strict import Strict

Axis = Annotated[list[Any], Field(min_length=1)]


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
}


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON schemas by file name, as written to `workflow/schemas/`."""
    return {name: TypeAdapter(model).json_schema() for name, model in FILES.items()}

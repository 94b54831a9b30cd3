"""The typed models of the configuration. The JSON schema in `workflow/` is generated from them."""

import os.path
from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny, field_validator

from scaling_limits.claims.base import ClaimBase
from scaling_limits.parameterisations.table import Row
from scaling_limits.plots.options import Plot
from scaling_limits.strict import Strict

FIRST_CONFIRMING = 1000
"""The smallest seed of a confirmed run; exploratory seeds are smaller."""
UserPath = Annotated[PurePath, AfterValidator(lambda path: PurePath(os.path.expanduser(path)))]
"""A path as written by the user; `~` is expanded to the home folder."""


def _refuse_no_step(step: object) -> object:
    is_count = isinstance(step, int) and not isinstance(step, bool) and step >= 0
    # the command line passes numbers as text
    if is_count or step == "end" or (isinstance(step, str) and step.isdecimal()):
        return step
    raise ValueError("should be the number of updates before it, 0 or more, or 'end'")


class MeasurementPlan(Strict):
    """The numbers of updates after which a measurement is taken (`end`: all); steps after the end are ignored."""

    steps: list[
        Annotated[Annotated[int, Field(ge=0)] | Literal["end"], BeforeValidator(_refuse_no_step)]
    ] = Field(min_length=1)


class Grid(Strict):
    """A named part of an experiment: its settings. Settings with a list of values are its axes."""

    title: str | None = None
    settings: dict[str, object]
    measurements: dict[str, MeasurementPlan] = Field(default_factory=dict)


class Experiment(Strict):
    """The computations for one or more figures: the union of its grids, each a product of axes."""

    description: str
    grids: dict[str, Grid]


class Figure(Strict):
    """One figure or table: the experiment whose cells it shows, its plot, and its claims.

    `see` states in one sentence the effect that the picture should show. A table of parameterisations shows no cells
    and has no experiment.
    """

    title: str
    caption: str
    see: str = ""
    plot: Plot
    claims: list[SerializeAsAny[ClaimBase]] = Field(default_factory=list)
    experiment: str | None = None

    @property
    def judged_grids(self) -> list[str]:
        """The grids on which its claims are judged."""
        return [grid for claim in self.claims for grid in claim.all_grids]

    @property
    def grids(self) -> set[str]:
        """The grids of its experiment that it shows or on which its claims are judged."""
        return {*self.plot.grids, *self.judged_grids}


class Head(Strict):
    """Bibliographic data of a paper, from its `paper.yaml`; `authors` are last names separated by commas."""

    title: str
    authors: str
    year: int
    arxiv: str
    reference: str


class Caps(Strict):
    """Upper bounds with which a preset shrinks every experiment.

    `width`, `depth`, `num_steps` and `batch_size` bound the settings of these names (larger values of an axis are
    removed), `seeds` bounds the number of seeds, and `points` the number of values of any other axis.
    """

    width: int | None = Field(default=None, ge=1)
    depth: int | None = Field(default=None, ge=1)
    num_steps: int | None = Field(default=None, ge=1)
    batch_size: int | None = Field(default=None, ge=1)
    seeds: int | None = Field(default=None, ge=1)
    points: int | None = Field(default=None, ge=2)


class Seeds(Strict):
    """The seeds that the experiments of papers use.

    Choices are made on exploratory seeds, which start at 0. A confirmed run adds `first` to every seed, so that it
    shares none with them.
    """

    first: int = Field(default=0, ge=0, description="the number that is added to every seed")

    @field_validator("first")
    @classmethod
    def _exploratory_or_confirming(cls, first: int) -> int:
        if 0 < first < FIRST_CONFIRMING:
            raise ValueError(f"should be 0, or {FIRST_CONFIRMING} or more for a confirmed run")
        return first

    @property
    def confirming(self) -> bool:
        """Whether no choice was made on these seeds."""
        return self.first >= FIRST_CONFIRMING


class Preset(Strict):
    """The sizes of the axes: caps for all experiments, substitutes for datasets, and the seeds.

    A preset's changes to single experiments are in the files of these experiments.
    """

    description: str
    caps: Caps = Caps()
    seeds: Seeds = Seeds()
    substitutions: dict[str, str] = Field(
        default_factory=dict, description="dataset -> dataset used in its place"
    )
    job_seconds: float = Field(
        default=60.0, gt=0, description="estimated time of one core that a job should take"
    )


class OwnDatasets(Strict):
    """User-defined datasets: files by name."""

    datasets: dict[str, UserPath] = Field(
        default_factory=dict, description="own datasets: name -> .npz file"
    )


class Data(OwnDatasets):
    """Sources of data."""

    path: UserPath | None = Field(
        default=None, description="folder with copies already on this machine"
    )
    downloads: UserPath = Field(default=PurePath("data"), description="folder for downloads")


class Resources(Strict):
    """The resources that a job may use."""

    device: Literal["cpu", "gpu"] = "cpu"
    cells_per_batch: int = Field(
        default=1, ge=1, description="cells trained at once; 1 is fastest on a CPU"
    )
    mem_mb: int = Field(default=8000, ge=500, description="megabytes of memory")
    gpu_mem_mb: int = Field(
        default=16_000, ge=500, description="megabytes of a GPU's memory, with `device: gpu`"
    )
    max_hours: float | None = Field(
        default=None,
        ge=0.1,
        description="longest time that a job requests, in hours; null: no limit",
    )

    @property
    def memory(self) -> dict[str, int]:
        """The limits on a job's host and GPU memory in MB, as keyword arguments of functions in `costs.memory`."""
        return {"mem_mb": self.mem_mb, "gpu_mem_mb": self.gpu_mem_mb}


class Paths(Strict):
    """Folders that processes, clones and machines may share."""

    store: UserPath = Field(default=PurePath("results/cells"), description="computed cells")
    programs: UserPath = Field(
        default=PurePath("results/compiled"),
        description="compiled programs, in a folder for each kind of machine",
    )
    datasets: UserPath = Field(
        default=PurePath("results/datasets"), description="prepared datasets"
    )


class OwnNames(Strict):
    """User-defined parts, named in `config/config.yaml` or in the file of a user's experiment."""

    data: OwnDatasets = OwnDatasets()
    parameterisations: list[Row] = Field(default_factory=list, description="own rows of the table")
    algorithms: dict[str, UserPath] = Field(
        default_factory=dict, description="own algorithms: name -> Python file"
    )


class Main(OwnNames):
    """`config/config.yaml`, overridden by the command line."""

    preset: str
    papers: dict[str, object] = Field(
        default_factory=dict, description="changes to papers, after the preset's"
    )
    data: Data = Data()
    audit: Literal["run", "stored"] = Field(
        default="run",
        description="compute what is missing before claims are judged, or judge stored records only",
    )
    allow_missing: bool = Field(
        default=False, description="let an audit of stored records pass if figures have none"
    )
    page: Literal["full", "bare"] = Field(
        default="full", description="pictures with title, claims and notes, or without"
    )
    paths: Paths = Paths()
    resources: Resources = Resources()

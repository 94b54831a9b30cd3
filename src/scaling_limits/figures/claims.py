"""Claims of a paper as data, one model per kind; `judge` measures them on a figure's records.

A claim stands under its figure in `config/papers/<slug>/`. Quantities are minimised; for one
that should be large (an accuracy, a cosine), `complement` turns it over.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from scaling_limits.figures.quantities import Quantity
from scaling_limits.parameterisations.theory import DepthQuantity
from scaling_limits.strict import Strict

Names = tuple[str, ...]
Some = Annotated[Names, Field(min_length=1)]
# numbers on the command line may arrive as strings
Value = Annotated[int | float | str, Field(union_mode="left_to_right")]
Steps = Literal["all"] | tuple[int, ...]
QUARTER = 0.25
"""Half way from an exponent to one that is wrong by one half; of optima, in octaves a doubling."""
MARGIN = 0.02
"""By which share one value must lie below another to be better, if nothing else is said."""


class ClaimBase(Strict):
    """What all kinds share.

    `statement` is in our words, `source` names the paper's equation, figure or sentence. The
    records are those of `grids`, pooled, where the columns of `only` have the given values. On each
    grid of `control`, judged by itself, the same judgement must not come out as holding, else the
    claim is untested. `decided_at` names columns and the size that the records must reach for a
    verdict. A claim with `names_dataset` is untested on a substitute.
    """

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    statement: str = Field(min_length=1)
    source: str = Field(min_length=1)
    grids: Some
    control: Names = ()
    only: dict[str, Value] = Field(default_factory=dict)
    names_dataset: bool = False
    decided_at: dict[str, float] = Field(default_factory=dict)
    quantity: Quantity

    @property
    def compared(self) -> tuple[Names, ...]:
        """Further groups of grids whose records the judgement needs, each by itself."""
        return ()

    @property
    def quantities(self) -> dict[str, Quantity]:
        """Every quantity of the claim's cells that the judgement needs, by the key that names it."""
        return {"quantity": self.quantity}

    @property
    def columns(self) -> Names:
        """The columns that identify a point of the claim, besides the seed."""
        raise NotImplementedError

    @property
    def all_grids(self) -> Names:
        """Every grid that the claim names."""
        return (*self.grids, *self.control, *(grid for names in self.compared for grid in names))


class OptimumClaim(ClaimBase):
    """Of the best value of a hyperparameter along a size.

    `over` is the hyperparameter; at each of its values the best over the columns of `profile`
    counts. Where an optimum is not interior to its grid it still lies within bounds, which may decide the
    claim. With `within`, what is sought is the largest value
    at which a positive quantity is at most a factor 1 + `within` above the best: where a flat bowl
    ends, the largest stable learning rate.
    """

    along: str
    over: str
    profile: Names = ()
    within: float | None = Field(default=None, gt=0)
    control: Some

    @property
    def columns(self) -> Names:
        """The size, the hyperparameter, and those over which the best counts."""
        return (self.along, self.over, *self.profile)


class OptimumStays(OptimumClaim):
    """The best value of one hyperparameter moves by at most `max_shift` octaves along a size."""

    kind: Literal["optimum_stays"]
    max_shift: float = Field(ge=0)


class OptimumMoves(OptimumClaim):
    """From the smallest size to some larger one, the best value moves by at least `min_shift` octaves.

    The control is what it should stay in.
    """

    kind: Literal["optimum_moves"]
    direction: Literal["up", "down"]
    min_shift: float = Field(gt=0)


class TransferCost(ClaimBase):
    """The smallest size's best hyperparameters cost the others at most a factor 1 + `tolerance`."""

    kind: Literal["transfer_cost"]
    along: str
    over: Some
    tolerance: float = Field(gt=0)
    control: Some

    @property
    def columns(self) -> Names:
        """The size and the hyperparameters."""
        return (self.along, *self.over)


class ImprovesWith(ClaimBase):
    """The best value over the hyperparameters `over` falls along a size, by the share `margin` in all.

    No step up in size raises it by more than the factor 1 + `tolerance`.
    """

    kind: Literal["improves_with"]
    along: str
    over: Names = ()
    tolerance: float = Field(gt=0)
    margin: float = Field(default=MARGIN, gt=0, lt=1)

    @property
    def columns(self) -> Names:
        """The size and the hyperparameters."""
        return (self.along, *self.over)


class Region(Strict):
    """Where the ratio of two columns, or one of them, is `at_least` or `at_most` a number, or between two."""

    ratio: tuple[str, str] | tuple[str]
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _bounded(self) -> "Region":
        if self.at_least is None and self.at_most is None:
            raise ValueError("give at_least, at_most or both")
        return self


class Bound(ClaimBase):
    """The quantity is at least, or at most, a number at every point of a region.

    A point is one value of the columns `by`; its value is the mean over seeds, and the best over the
    hyperparameters `over`. With `at`, the bound must hold at each of the steps (`all`: those recorded), and the
    quantity's own `reduce` is not used. With `divergence: evidence` the claim says that training (or inference) fails:
    a cell that diverged keeps to `at_least`, also where every cell did.
    """

    kind: Literal["bound"]
    by: Some = ("width", "depth")
    over: Names = ()
    where: Region | None = None
    at: Steps | None = None
    at_least: float | None = None
    at_most: float | None = None
    divergence: Literal["evidence"] | None = None

    @property
    def columns(self) -> Names:
        """The columns `by`, and the hyperparameters."""
        return (*self.by, *self.over)

    @model_validator(mode="after")
    def _one_sided(self) -> "Bound":
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give either at_least or at_most")
        if self.divergence and self.at_least is None:
            raise ValueError(
                "divergence: what diverged is infinitely bad, so it is evidence for at_least only; "
                "for a quantity that should be small where training fails, as accuracy, use complement"
            )
        return self


class RankCorrelation(ClaimBase):
    """Spearman's correlation of the quantity with the ratio of two columns is at least `above`.

    A point is one value of the columns `by`; `at` as in `Bound`.
    """

    kind: Literal["rank_correlation"]
    by: Some = ("width", "depth")
    ratio: tuple[str, str]
    at: Steps | None = None
    above: float = Field(ge=-1, lt=1)

    @property
    def columns(self) -> Names:
        """The columns `by`."""
        return self.by


class Theory(Strict):
    """The power of depth that theory predicts for a quantity, from each cell's parameterisation and exponents.

    `exponent_changes` are no part of the prediction, so a control with a wrong exponent is compared with the right one.
    """

    theory: DepthQuantity


def _form(said: Any) -> str:
    """Which of two forms an expected exponent has, so that an error is about that one only."""
    return "mapping" if isinstance(said, Mapping | Theory) else "float"


Exponent = Annotated[
    Annotated[float, Tag("float")] | Annotated[Theory, Tag("mapping")], Discriminator(_form)
]


class Slope(ClaimBase):
    """The log-log slope of the quantity's mean over seeds along a size.

    Either within `tolerance` of `expected`, at most half way to an exponent that is wrong by one half, or
    `at_most` or `at_least` a number; for every value of the columns `each` that has two sizes, counting
    only points in the region `where`. `expected` is a number or what `Theory` predicts along the depth; where that
    is faster than any power, the slope is at least `tolerance`.
    """

    kind: Literal["slope"]
    along: str
    each: Names = ()
    where: Region | None = None
    expected: Exponent | None = None
    tolerance: float = Field(default=QUARTER, gt=0, le=QUARTER)
    at_most: float | None = None
    at_least: float | None = None
    control: Some

    @property
    def columns(self) -> Names:
        """The size, and what there is a slope for each value of."""
        return (*self.each, self.along)

    @model_validator(mode="after")
    def _one_rule(self) -> "Slope":
        rules = [rule is not None for rule in (self.expected, self.at_most, self.at_least)]
        if sum(rules) != 1:
            raise ValueError("give one of expected, at_most and at_least")
        if isinstance(self.expected, Theory) and self.along != "depth":
            raise ValueError(
                f"expected: theory predicts powers of depth, and the slope is along {self.along}; take along: depth"
            )
        return self


class AgreesWith(ClaimBase):
    """A quantity tends to that of its limit, the grids `reference`, as a size grows.

    A limit has no size; networks as a reference are compared at their own, where they have several.
    At the largest size along which networks grow, its mean over seeds is within the share
    `tolerance` of the reference's at every point, a value of the columns `by`, and at each of the
    steps `at` (as in `Bound`). With `slope_at_most`, the root mean square of the relative errors of
    single networks, over points, steps and seeds, has at most this log-log slope along the size.
    """

    kind: Literal["agrees_with"]
    reference: Some
    along: str
    by: Names = ()
    at: Steps | None = None
    tolerance: float = Field(gt=0)
    slope_at_most: float | None = None
    control: Some

    @property
    def columns(self) -> Names:
        """The size, and what the points are by."""
        return (self.along, *self.by)

    @property
    def compared(self) -> tuple[Names, ...]:
        """The reference."""
        return (self.reference,)


class Gap(ClaimBase):
    """At the largest size, the best value over the hyperparameters `over` lies below that of the grids
    `reference` by the share `margin`; if it `grows`, by that more than at the smallest size; with
    `reference_quantity`, by that more than by this quantity, such as the loss earlier in training.
    """

    kind: Literal["gap"]
    reference: Some
    along: str
    over: Names = ()
    margin: float = Field(default=MARGIN, gt=0, lt=1)
    grows: bool = False
    reference_quantity: Quantity | None = None

    @property
    def columns(self) -> Names:
        """The size and the hyperparameters."""
        return (self.along, *self.over)

    @property
    def compared(self) -> tuple[Names, ...]:
        """The reference."""
        return (self.reference,)

    @property
    def quantities(self) -> dict[str, Quantity]:
        """The quantity, and the one by which the gap is compared."""
        other = self.reference_quantity
        return super().quantities | ({"reference_quantity": other} if other else {})

    @model_validator(mode="after")
    def _one_comparison(self) -> "Gap":
        if self.grows and self.reference_quantity is not None:
            raise ValueError("give grows or reference_quantity: the gap is compared with one other")
        return self


class NoGain(ClaimBase):
    """The best value over the hyperparameters `over` gains nothing along a size.

    At the largest size it is at least 1 - `tolerance` times the best value at the smallest size or, where larger
    networks are worse, at least 1 + `margin` times. Without a gain anywhere the first says nothing, so it needs a
    control that gains.
    """

    kind: Literal["no_gain"]
    along: str
    over: Names = ()
    tolerance: float | None = Field(default=None, gt=0, lt=1)
    margin: float | None = Field(default=None, gt=0)

    @property
    def columns(self) -> Names:
        """The size and the hyperparameters."""
        return (self.along, *self.over)

    @property
    def bound(self) -> float:
        """The smallest allowed ratio of the best value at the largest size to that at the smallest."""
        return 1 + self.margin if self.margin is not None else 1 - (self.tolerance or 0.0)

    @model_validator(mode="after")
    def _one_rule(self) -> "NoGain":
        if (self.tolerance is None) == (self.margin is None):
            raise ValueError("give either tolerance (no gain) or margin (larger is worse)")
        if self.tolerance is not None and not self.control:
            raise ValueError("with tolerance, name a control: a grid that does gain along the size")
        return self


class Flatter(ClaimBase):
    """The quantity depends less on one hyperparameter than on another over the same number of octaves.

    The spread over a hyperparameter is the largest less the smallest value, over the smallest, where each value is the
    best over the other hyperparameter and the columns of `profile`. Over `over` it is at most 1/`factor` of
    the spread over `than`, for every value of the columns `each`.
    """

    kind: Literal["flatter"]
    over: str
    than: str
    profile: Names = ()
    each: Names = ()
    factor: float = Field(default=3.0, gt=1)

    @property
    def columns(self) -> Names:
        """The columns `each`, both hyperparameters, and those over which the best counts."""
        return (*self.groups, self.over, self.than, *self.profile)

    @property
    def groups(self) -> Names:
        """The columns that have a comparison for each of their values."""
        return self.each


class SlopeDifference(ClaimBase):
    """A log-log slope along a size less another one is `at_least` or `at_most` a number.

    The other slope is that of the grids `reference`, that of `reference_quantity` in the same cells or, with
    `growing_along`, that at the smallest value of this column, while the first is that at its largest. Differences are
    formed seed by seed, for every value of the columns `each`, counting only points in the region `where`. A
    comparison with other grids needs a control, a third grid that is compared with the same reference.
    """

    kind: Literal["slope_difference"]
    along: str
    each: Names = ()
    where: Region | None = None
    reference: Names = ()
    reference_quantity: Quantity | None = None
    growing_along: str | None = None
    at_most: float | None = None
    at_least: float | None = None

    @property
    def columns(self) -> Names:
        """The size, and the columns that have a slope for each of their values."""
        return (*self.groups, self.along)

    @property
    def groups(self) -> Names:
        """The columns that have a slope for each of their values."""
        return (*self.each, self.growing_along) if self.growing_along else self.each

    @property
    def quantities(self) -> dict[str, Quantity]:
        """The quantity, and the one that its slope is compared with."""
        other = self.reference_quantity
        return super().quantities | ({"reference_quantity": other} if other else {})

    @property
    def compared(self) -> tuple[Names, ...]:
        """The reference grids."""
        return (self.reference,) if self.reference else ()

    @model_validator(mode="after")
    def _one_rule(self) -> "SlopeDifference":
        others = [
            bool(self.reference),
            self.reference_quantity is not None,
            bool(self.growing_along),
        ]
        if sum(others) != 1:
            raise ValueError("give one of reference, reference_quantity and growing_along")
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give either at_least or at_most")
        if self.reference and not self.control:
            raise ValueError(
                "with reference, name a control: a third grid, compared with the same reference"
            )
        return self


class LevelSet(ClaimBase):
    """The slope d log y / d log x of a level set of the quantity over two hyperparameters `over` = [x, y].

    The set lies on the side of small x and y: from the smallest values on, the first crossings at which the quantity
    falls below `level`. The slope is within `tolerance` of `expected`, or `at_most` or `at_least` a number, for
    every value of the columns `each`. With `growing_along`, `at_least` is about the slope at the largest value of
    this column less that at the smallest, and the slope falls at no step in between.
    """

    kind: Literal["level_set"]
    over: tuple[str, str]
    level: float = Field(gt=0)
    each: Names = ()
    growing_along: str | None = None
    expected: float | None = None
    tolerance: float = Field(default=QUARTER, gt=0, le=QUARTER)
    at_most: float | None = None
    at_least: float | None = None
    control: Some

    @property
    def columns(self) -> Names:
        """Both hyperparameters, and the columns that have a slope for each of their values."""
        return (*self.groups, *self.over)

    @property
    def groups(self) -> Names:
        """The columns that have a level set for each of their values."""
        return (*self.each, self.growing_along) if self.growing_along else self.each

    @model_validator(mode="after")
    def _one_rule(self) -> "LevelSet":
        rules = [rule is not None for rule in (self.expected, self.at_most, self.at_least)]
        if sum(rules) != 1:
            raise ValueError("give one of expected, at_most and at_least")
        if self.growing_along and self.at_least is None:
            raise ValueError("growing_along: give at_least, by how much the slope grows")
        return self


Claim = Annotated[
    OptimumStays
    | OptimumMoves
    | TransferCost
    | ImprovesWith
    | Bound
    | RankCorrelation
    | Slope
    | AgreesWith
    | Gap
    | NoGain
    | Flatter
    | SlopeDifference
    | LevelSet,
    Field(discriminator="kind"),
]

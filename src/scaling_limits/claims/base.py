"""Claims of a paper as data: the base classes that all kinds of claims share.

A kind derives its model from one of these classes and defines `measure` and `simulation`. Claims are listed with their
figure in `config/papers/<slug>/`. Quantities are minimised; for a quantity that should be large (an accuracy, a
cosine), `complement` replaces the value x by 1 − x.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from scaling_limits.claims.checks import Problem, numbers, size_problems, values_of
from scaling_limits.claims.measurement import RatioRow, RatioTo
from scaling_limits.figures.needs import Grids, listed
from scaling_limits.figures.quantities import Quantity
from scaling_limits.strict import Strict

if TYPE_CHECKING:
    from scaling_limits.claims.intervals import Bounds
    from scaling_limits.claims.measurement import Evidence, Measurement
    from scaling_limits.claims.simulation import Recorded, Simulation
    from scaling_limits.records import Results

Names = tuple[str, ...]
Some = Annotated[Names, Field(min_length=1)]
# the command line may pass numbers as strings
Value = Annotated[int | float | str, Field(union_mode="left_to_right")]
Steps = Literal["all"] | tuple[int, ...]
QUARTER = 0.25
"""Half the distance from an exponent to one that is wrong by one half; for optima, octaves per doubling of the size."""
MARGIN = 0.02
"""Default fraction by which one value must lie below another to count as better."""


class ClaimBase(Strict, ABC):
    """A claim of a paper, with the fields that all kinds share.

    `statement` is in our words, and `source` names the paper's equation, figure or sentence. The claim is judged on the
    pooled records of `grids`, restricted to cells with the values `only` of other columns. Each grid in `control` is
    judged separately; the claim must fail on it, otherwise the verdict is inconclusive. `decided_at` names columns and
    the size that the records must reach for a verdict. A claim with `names_dataset` has no verdict on a substitute
    dataset. A claim with `all_of` is the conjunction of these claims of the same figure: their verdicts decide it, and
    its own rule is not measured.
    """

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    kind: str
    statement: str = Field(min_length=1)
    source: str = Field(min_length=1)
    grids: Some
    control: Names = ()
    only: dict[str, Value] = Field(default_factory=dict)
    names_dataset: bool = False
    decided_at: dict[str, float] = Field(default_factory=dict)
    all_of: Names = ()
    quantity: Quantity

    @property
    def compared(self) -> tuple[Names, ...]:
        """The groups of grids with which the claim's grids are compared, each group separately."""
        return ()

    @property
    def quantities(self) -> dict[str, Quantity]:
        """The quantities of the claim's cells that the judgement needs, by field name."""
        return {"quantity": self.quantity}

    @property
    def steps(self) -> Steps | None:
        """The training steps at which the claim is judged; None to use the quantity's reduction over steps."""
        return None

    @property
    @abstractmethod
    def columns(self) -> Names:
        """The columns that identify a point of the claim, besides the seed."""

    @property
    def groups(self) -> Names:
        """The columns that group points; within a group, all points share the effect of a seed."""
        return ()

    @property
    def points(self) -> Names:
        """The columns that identify a point within its group."""
        return tuple(column for column in self.columns if column not in self.groups)

    @property
    def competing(self) -> bool:
        """Whether the points of a group compete, so that only the best value counts."""
        return False

    @property
    def all_grids(self) -> Names:
        """All grids that the claim names."""
        return (*self.grids, *self.control, *(grid for names in self.compared for grid in names))

    def key(self, name: str | None = None) -> str:
        """Return the dotted key of the claim, or of its key `name`, below the figure."""
        key = f"claims.{self.id}.{self.kind}"
        return key if name is None else f"{key}.{name}"

    def problems(self, grids: Grids) -> Iterator[Problem]:
        """Yield the problems of the claim that the configured cells reveal before anything is computed.

        Args:
            grids: the cells of all grids by name.
        """
        for key, names in (("control", self.control), *(("reference", n) for n in self.compared)):
            for grid in names:
                if grid in self.grids:
                    yield Problem((key,), f"'{grid}' is judged itself; take another grid")
        named = " and ".join(self.grids)
        for column, needed in self.decided_at.items():
            sizes = numbers(values_of(self, column, self.grids, grids))
            if sizes and max(sizes) < needed:
                problem = f"{needed:g} is more than any {column} of {named}; at most {max(sizes):g}"
                yield Problem(("decided_at", column), problem)
        for column, value in self.only.items():
            values = set().union(*(grids[name].values(column) for name in self.grids))
            if values and value not in values:
                problem = f"no cell of {named} has {value}; valid: {listed(values)}"
                yield Problem(("only", column), problem)

    @abstractmethod
    def measure(self, results: Results, *compared: Results) -> Measurement:
        """Measure the claim.

        Args:
            results: the cells of the judged grids, with their records.
            compared: the cells of each group of grids in the property `compared`.

        Raises:
            UndecidedError: the records do not decide the claim.
        """

    @property
    def shown(self) -> Literal["optima", "slopes", "ratios"] | None:
        """The evidence that pictures show; None for nothing.

        Optima are shown against the size `along` for the hyperparameter `over`. Slopes are shown next to lines over
        `along`, relative errors on lines of errors, and ratios on lines of ratios.
        """
        return None

    def evidence(self, results: Results, *compared: Results) -> Evidence:
        """Return the rows that pictures show, if the claim is `shown`.

        Args:
            results: the cells of the judged grids, or of a control, with their records.
            compared: the cells of each group of grids in the property `compared`.

        Raises:
            UndecidedError: the records contain no evidence.
        """
        return ()

    def claimed(self, evidence: Evidence) -> Bounds | None:
        """Return the range that the claim allows and pictures shade; None for no range.

        If its low end is above its high end, the claim allows what lies outside.

        Args:
            evidence: the rows that `evidence` returns.
        """
        return None

    @abstractmethod
    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of values for which the claim is true, wrong or void.

        Raises:
            UndecidedError: the records contain no values to start from.
        """


class SteppedClaim(ClaimBase):
    """A claim about a quantity that may be judged at several training steps.

    With `at`, the claim is judged at each of these steps (`all`: every recorded step), and the quantity's `reduce` is
    ignored.
    """

    at: Steps | None = None

    @property
    def steps(self) -> Steps | None:
        """The steps `at`."""
        return self.at


class SizeClaim(ClaimBase):
    """A claim about values along a size; at each size, all points share the effect of a seed."""

    along: str

    @property
    def groups(self) -> Names:
        """The size."""
        return (self.along,)

    def problems(self, grids: Grids) -> Iterator[Problem]:
        """Yield problems of the claim, including those of its sizes."""
        yield from super().problems(grids)
        yield from size_problems(self, "along", self.along, grids)


class BestClaim(SizeClaim):
    """A claim about the best value over the hyperparameters `over`, along a size."""

    over: Names = ()
    ratio_to: ClassVar[RatioTo] = "smallest"
    """The denominator of the measured ratio."""

    @property
    def columns(self) -> Names:
        """The size and the hyperparameters."""
        return (self.along, *self.over)

    @property
    def competing(self) -> bool:
        """Whether there are hyperparameters."""
        return bool(self.over)

    @property
    def shown(self) -> Literal["ratios"]:
        """The measured ratio."""
        return "ratios"

    def evidence(self, results: Results, *compared: Results) -> list[RatioRow]:
        """Return the measured ratio, if it has a size.

        Raises:
            UndecidedError: see `measure`.
        """
        found = self.measure(results, *compared)
        if found.size is None or not math.isfinite(found.value):
            return []
        return [RatioRow(self.ratio_to, float(found.size), found.value, found.interval)]


class Region(Strict):
    """A region in which a column, or a ratio of two columns, lies above, below or between given numbers.

    `ratio` names one column or two; `at_least` and `at_most` are the bounds. One bound may be absent.
    """

    ratio: tuple[str, str] | tuple[str]
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Region:
        if self.at_least is None and self.at_most is None:
            raise ValueError("give at_least, at_most or both")
        return self

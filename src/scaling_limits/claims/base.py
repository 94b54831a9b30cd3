"""Claims of a paper as data: what all kinds share. A kind derives its model from these and defines `measure`.

A claim is listed under its figure in `config/papers/<slug>/`. Quantities are minimised; for one
that should be large (an accuracy, a cosine), `complement` turns it over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from scaling_limits.claims.checks import Problem, numbers, size_problems, values_of
from scaling_limits.figures.needs import Grids, listed
from scaling_limits.figures.quantities import Quantity
from scaling_limits.strict import Strict

if TYPE_CHECKING:
    from scaling_limits.claims.measurement import Measurement
    from scaling_limits.claims.simulation import Recorded, Simulation
    from scaling_limits.records import Results

Names = tuple[str, ...]
Some = Annotated[Names, Field(min_length=1)]
# numbers on the command line may arrive as strings
Value = Annotated[int | float | str, Field(union_mode="left_to_right")]
Steps = Literal["all"] | tuple[int, ...]
QUARTER = 0.25
"""Half way from an exponent to one that is wrong by one half; of optima, in octaves a doubling."""
MARGIN = 0.02
"""By which share one value must lie below another to be better, if nothing else is said."""


class ClaimBase(Strict, ABC):
    """A claim of a paper, with what all kinds share.

    `statement` is in our words, `source` names the paper's equation, figure or sentence. The
    records are those of `grids`, pooled, where the columns of `only` have the given values. On each
    grid of `control`, judged by itself, the same judgement must fail, else the
    claim is inconclusive. `decided_at` names columns and the size that the records must reach for a
    verdict. A claim with `names_dataset` has no verdict on a substitute.
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
    quantity: Quantity

    @property
    def compared(self) -> tuple[Names, ...]:
        """The groups of grids that the claim's own are compared with, each by itself."""
        return ()

    @property
    def quantities(self) -> dict[str, Quantity]:
        """The quantities of the claim's cells that the judgement needs, by the key that names each."""
        return {"quantity": self.quantity}

    @property
    def steps(self) -> Steps | None:
        """The training steps at each of which the claim is judged; None for the quantity's own."""
        return None

    @property
    @abstractmethod
    def columns(self) -> Names:
        """The columns that identify a point of the claim, besides the seed."""

    @property
    def groups(self) -> Names:
        """The columns by whose values points are grouped: within a group the effect of a seed is shared."""
        return ()

    @property
    def points(self) -> Names:
        """The columns that identify a point of a group."""
        return tuple(column for column in self.columns if column not in self.groups)

    @property
    def competing(self) -> bool:
        """Whether the points of a group compete for the best value, which alone counts."""
        return False

    @property
    def all_grids(self) -> Names:
        """Every grid that the claim names."""
        return (*self.grids, *self.control, *(grid for names in self.compared for grid in names))

    def problems(self, grids: Grids) -> Iterator[Problem]:
        """Yield problems of the claim that the cells of all `grids`, by name, show before anything runs."""
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
            results: the cells of the grids to judge, with their records.
            compared: those of each group of grids in `compared`.

        Raises:
            UndecidedError: the records decide nothing.
        """

    @abstractmethod
    def simulation(self, recorded: Recorded) -> Simulation:
        """Return the simulation of values with which the claim is true, wrong or void.

        Raises:
            UndecidedError: the records give no values to start from.
        """


class SteppedClaim(ClaimBase):
    """A claim about a quantity that may be judged at several training steps.

    With `at`, each of the steps (`all`: those recorded) is judged, and the quantity's own `reduce` is not used.
    """

    at: Steps | None = None

    @property
    def steps(self) -> Steps | None:
        """The steps `at`."""
        return self.at


class SizeClaim(ClaimBase):
    """A claim about values along a size; at each size the effect of a seed is shared."""

    along: str

    @property
    def groups(self) -> Names:
        """The size."""
        return (self.along,)

    def problems(self, grids: Grids) -> Iterator[Problem]:
        """Yield problems of the sizes as well."""
        yield from super().problems(grids)
        yield from size_problems(self, "along", self.along, grids)


class BestClaim(SizeClaim):
    """A claim about the best value over the hyperparameters `over` along a size."""

    over: Names = ()

    @property
    def columns(self) -> Names:
        """The size and the hyperparameters."""
        return (self.along, *self.over)

    @property
    def competing(self) -> bool:
        """Whether there are hyperparameters."""
        return bool(self.over)


class Region(Strict):
    """A region where the ratio of two columns, or one column, is `at_least` or `at_most` a number, or between two."""

    ratio: tuple[str, str] | tuple[str]
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Region:
        if self.at_least is None and self.at_most is None:
            raise ValueError("give at_least, at_most or both")
        return self

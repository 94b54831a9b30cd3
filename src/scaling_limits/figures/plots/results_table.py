"""Tables of results."""

from typing import Literal

from pydantic import Field, model_validator

from scaling_limits.figures.plots.parts import Best
from scaling_limits.figures.quantities import Quantity
from scaling_limits.strict import Strict

ENTRY = "entry"
"""What stands among `rows` or `columns` for the entries themselves."""


class ResultsEntry(Strict):
    """The quantity of a grid; with `minus`, by how much it is larger there than in that grid, seed by seed.

    Commas in the `title` part its headings, the outermost first, as in `ResNet, K-FAC, SP`.
    """

    grid: str
    minus: str | None = None
    title: str = Field(min_length=1)

    @property
    def headings(self) -> tuple[str, ...]:
        """The parts of the title."""
        return tuple(self.title.split(", "))


class ResultsTablePlot(Strict):
    """Means over seeds of a quantity, with the standard deviation where there are several seeds.

    `rows` and `columns` name what lies down and across the table, the outermost first: columns of the cells, the axis
    that the quantity keeps (`step`, `layer`, `index`), and `entry` for the entries. Points that a preset leaves out
    are not there. `over` names columns of the cells of which every number is that of the best combination; `best`
    says which values are. `symbols` maps a column of the cells to the paper's symbol.
    """

    kind: Literal["results_table"] = "results_table"
    quantity: Quantity
    entries: tuple[ResultsEntry, ...] = Field(min_length=1)
    rows: tuple[str, ...] = Field(min_length=1)
    columns: tuple[str, ...] = Field(min_length=1)
    over: tuple[str, ...] = ()
    best: Best | None = "min"
    symbols: dict[str, str] = Field(default_factory=dict)

    @property
    def grids(self) -> list[str]:
        """The grids that the table shows."""
        return [
            *(entry.grid for entry in self.entries),
            *(entry.minus for entry in self.entries if entry.minus),
        ]

    @property
    def settings(self) -> list[str]:
        """The columns that tell the points of an entry apart."""
        return [name for name in (*self.rows, *self.columns) if name != ENTRY]

    @model_validator(mode="after")
    def _every_number_has_one_place(self) -> "ResultsTablePlot":
        names = [*self.rows, *self.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} stands twice among `rows` and `columns`")
        if len(self.entries) > 1 and ENTRY not in names:
            raise ValueError(f"several entries need `{ENTRY}` among `rows` or `columns`")
        titles = [entry.title for entry in self.entries]
        if len(set(titles)) < len(titles):
            raise ValueError("two entries have the same title")
        if len({len(entry.headings) for entry in self.entries}) > 1:
            raise ValueError("the titles of all entries have as many headings, between commas")
        if self.over and self.best is None:
            raise ValueError("`over` shows the best: the quantity needs `best`")
        return self

"""A table of parameterisations, typeset from the rows of exponents that training uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from scaling_limits.plots.options import PlotOptions
from scaling_limits.strict import Strict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from scaling_limits.plots import parameterisation_table
    from scaling_limits.plots.contract import Kind
    from scaling_limits.plots.figure_folder import FigureFolder
    from scaling_limits.plots.tables import GridResults

    _: Kind[Options] = parameterisation_table


class TableEntry(Strict):
    """A row of the table of exponents, shown as one column or line of the printed table.

    `gauge` (form `output_scaled`) is the exponent a_l of the hidden layers. The depth exponents (form `depth_scaling`)
    select the exponents of the row. The learning rate of an entry that is not `transferable` is tuned at every depth.
    """

    title: str
    scheme: str
    update_rule: Literal["sgd", "adam", "kfac", "foof", "shampoo"] = "sgd"
    gauge: float | None = None
    depth_exponent: float | None = None
    depth_lr_exponent: float | None = None
    transferable: bool = True


class Options(PlotOptions):
    """Rows of the table of parameterisations, in the form that a paper prints.

    - `init_and_rate` (pc-tp Table 1): width exponents (b, c) of each layer at a = 0, with the e_A and e_B of the update
      rule (second-order Tables 1 and S.3);
    - `output_scaled` (pcn-limits Table 2): width exponents (a, b, c, d);
    - `depth_scaling` (depth-mup Table 1): branch multiplier and learning rate against depth;
    - `width_scaling` (depth-mup Table 2): variance of the initial weights and exponent c of the learning rate in width,
      for a single row with Adam;
    - `premultipliers` (mupc Table 1): multipliers of each layer and variance of the weights.
    """

    kind: Literal["parameterisation_table"] = "parameterisation_table"
    form: Literal[
        "init_and_rate", "output_scaled", "depth_scaling", "width_scaling", "premultipliers"
    ]
    entries: tuple[TableEntry, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _options_belong_to_the_form(self) -> Options:
        owners = {
            "gauge": "output_scaled",
            "depth_exponent": "depth_scaling",
            "depth_lr_exponent": "depth_scaling",
        }
        for entry in self.entries:
            for name, form in owners.items():
                if (getattr(entry, name) is None) == (form == self.form):
                    verb = "needs" if form == self.form else "has no"
                    raise ValueError(f"the form {self.form} {verb} {name} ('{entry.title}')")
        if self.form == "width_scaling" and len(self.entries) > 1:
            raise ValueError(f"the form width_scaling shows one row, not {len(self.entries)}")
        return self


def table(plot: Options, grids: GridResults) -> pd.DataFrame:
    """Return a table without rows, since the plot shows no cells."""
    from scaling_limits.plots.tables import no_rows

    return no_rows()


def text(figure: FigureFolder[Options], table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the table of parameterisations as text, in the paper's form."""
    from scaling_limits.plots.parameterisation_table.entries import entries

    return entries(figure.plot)


def draw(figure: FigureFolder[Options], table: pd.DataFrame) -> Figure:
    """Draw the table of parameterisations."""
    from scaling_limits.plots.typeset import typeset

    entries = text(figure, table)
    return typeset(figure, entries)

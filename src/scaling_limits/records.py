"""Records: the tidy tables that training writes and that figures and claims read.

`cells.parquet` has one row per (grid, cell): `grid`, `cell_id` and the settings as the user wrote them (`width`,
`depth`, `learning_rate`, `seed`, ...). `records.parquet` has the columns `cell_id, metric, step, inference_step, layer,
index, value`; axes that a metric does not have are missing (<NA>).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from scaling_limits.figures.quantities import Quantity

GROWN = 10.0
"""Factor by which the final training loss of a diverged cell exceeds its first one."""
AXES = ("step", "inference_step", "layer", "index")


@dataclass(frozen=True)
class Results:
    """The cells and records of a figure."""

    cells: pd.DataFrame
    records: pd.DataFrame

    @classmethod
    def read(cls, folder: Path | str) -> "Results":
        """Read `cells.parquet` and `records.parquet` of a figure's folder."""
        folder = Path(folder)
        return cls(
            pd.read_parquet(folder / "cells.parquet"), pd.read_parquet(folder / "records.parquet")
        )

    def grids(self, names: Sequence[str]) -> "Results":
        """Return the cells of the named grids, with their records."""
        return self._of(self.cells[self.cells["grid"].isin(list(names))])

    def only(self, values: Mapping[str, object]) -> "Results":
        """Return the cells with the given values in the given columns, with their records."""
        cells = self.cells
        for column, value in values.items():
            cells = cells[cells[column] == value]
        return self._of(cells)

    def _of(self, cells: pd.DataFrame) -> "Results":
        return Results(cells, self.records[self.records["cell_id"].isin(cells["cell_id"])])

    def steps(self, metric: str) -> list[int]:
        """Return the training steps at which a metric was recorded, in increasing order."""
        steps = self.records.loc[self.records["metric"] == metric, "step"]
        return sorted({int(step) for step in steps.dropna()})

    @cached_property
    def diverged(self) -> pd.Series:
        """The diverged cells, with the first step at which their training loss was not finite or too large.

        A cell has diverged if its training loss is not finite at some step, or if its last training loss exceeds
        `GROWN` times the first. The step is the first with a loss that is not finite or exceeds this limit.
        """
        losses = self.records[self.records["metric"] == "train_loss"].sort_values("step")
        # other records of this metric have a layer or index
        whole = losses["step"].notna() & losses.filter(["layer", "index"]).isna().all(axis=1)
        losses = losses[whole]
        by_cell = losses.groupby("cell_id")["value"]
        limit = GROWN * by_cell.transform("first").clip(lower=0)
        infinite = ~np.isfinite(losses["value"])
        ended = losses.loc[infinite | (by_cell.transform("last") > limit), "cell_id"]
        beyond = losses[infinite | (losses["value"] > limit)]
        first: pd.Series = beyond[beyond["cell_id"].isin(ended)].groupby("cell_id")["step"].min()
        return first.astype(int)

    @cached_property
    def _lengths(self) -> pd.Series:
        """The number of updates of each cell."""
        cells = self.cells.drop_duplicates("cell_id").set_index("cell_id")
        return cells["num_steps"].astype(float)

    def quantity(self, quantity: Quantity) -> pd.DataFrame:
        """Return the columns of the cells with the `value` of a quantity.

        If the metric has several inference steps, and none is chosen and the axis is not kept, the last one is used.
        For diverged cells, the last value, the values `per` step from divergence on, and means `during` a part of
        training that ends after divergence are not finite. The value at a chosen step is returned as recorded. `min`
        and `max` consider finite records only, and are +inf and -inf if there are none.

        Args:
            quantity: the metric, and how its records are reduced to one value.

        Returns:
            A table with one row per (grid, cell), and per value of the axes that are kept. A kept index is
            also given relative to the depth, and a kept layer relative to the cell's last one, in a column
            `relative_<axis>`.
        """
        key = ["cell_id", *quantity.kept_axes]
        values = _reduced(self._selected(quantity, key), quantity, key)
        if quantity.complement:
            values = 1.0 - values
        values = self._without_lost(values, quantity)
        table = self.cells.merge(values.rename("value").reset_index(), on="cell_id", how="inner")
        if "index" in quantity.kept_axes:
            table["relative_index"] = table["index"] / table["depth"]
        if "layer" in quantity.kept_axes:
            last = table.groupby("cell_id")["layer"].transform("max")
            table["relative_layer"] = table["layer"] / last
        return table

    def _selected(self, quantity: Quantity, key: list[str]) -> pd.DataFrame:
        """Return the records that a quantity reduces, sorted by cell and step.

        Args:
            quantity: the quantity.
            key: the columns that distinguish its values.
        """
        records = self.records[self.records["metric"] == quantity.metric].sort_values(
            ["cell_id", "step"]
        )
        for axis in ("layer", "index", "inference_step"):
            chosen = getattr(quantity, axis)
            if axis == "inference_step" and axis not in quantity.kept_axes and chosen is None:
                chosen = -1 if records.get(axis, pd.Series()).notna().any() else None
            if chosen is not None:
                beyond = records.groupby("cell_id")[axis].transform("max") + 1
                records = records[records[axis] == chosen + (beyond if chosen < 0 else 0)]
        if quantity.relative_to is not None:
            records = self._ratios(records, quantity.relative_to)
        if quantity.growth:
            apart = records.groupby([name for name in key if name != "step"])["value"]
            records = records.assign(value=records["value"] / apart.transform("first"))
        if quantity.reduce == "at":
            records = records[records["step"] == quantity.step]
        if quantity.during is not None:
            start, end = (
                share * self._lengths.reindex(records["cell_id"]).to_numpy()
                for share in quantity.during
            )
            steps = records["step"].to_numpy(float)
            records = records[(start <= steps) & (steps < end)]
        return records

    def _without_lost(self, values: pd.Series, quantity: Quantity) -> pd.Series:
        """Return the values of a quantity without those of diverged cells, as described in `quantity`."""
        ids = values.index.get_level_values("cell_id")
        lost = self.diverged.reindex(ids).to_numpy(float)
        if "step" in quantity.kept_axes:
            steps = values.index.get_level_values("step").to_numpy(float)
            return values.mask(steps >= lost)
        if quantity.during is not None:
            return values.mask(lost < quantity.during[1] * self._lengths.reindex(ids).to_numpy())
        return values.mask(~np.isnan(lost)) if quantity.reduce == "last" else values

    def _ratios(self, records: pd.DataFrame, metric: str) -> pd.DataFrame:
        """Return records divided by those of another metric, at the steps at which both were recorded."""
        others = self.records[self.records["metric"] == metric]
        key = ["cell_id", *(axis for axis in AXES if others.get(axis, pd.Series()).notna().any())]
        divisors = others[[*key, "value"]].rename(columns={"value": "divisor"})
        paired = records.merge(divisors, on=key)
        return paired.assign(value=paired["value"] / paired.pop("divisor"))


def _reduced(records: pd.DataFrame, quantity: Quantity, key: list[str]) -> pd.Series:
    """Return the value to which a quantity reduces the records with the same values of the columns `key`."""
    if quantity.below is not None:
        below = records["value"] < quantity.below
        records = records.assign(reached=records["step"].astype(float).where(below, np.inf))
        return records.groupby(key, sort=True)["reached"].min()
    if quantity.window == 1 and quantity.during is None and quantity.reduce not in ("min", "max"):
        # records are in the order of steps; groups are slow where a quantity keeps every step
        keep: Literal["first", "last"] = "first" if quantity.reduce == "first" else "last"
        ends = records.dropna(subset=key).drop_duplicates(key, keep=keep)
        return ends.set_index(key)["value"].sort_index()
    values: pd.Series = records.groupby(key, sort=True)["value"].apply(
        lambda v: _reduce(v.to_numpy(), quantity)
    )
    return values


def _reduce(values: np.ndarray, quantity: Quantity) -> float:
    if quantity.during is not None:
        return float(values.mean())
    window = min(quantity.window, len(values))
    if window > 1:
        values = np.convolve(values, np.full(window, 1.0 / window), mode="valid")
    if quantity.reduce in ("min", "max"):
        finite = values[np.isfinite(values)]
        if quantity.reduce == "min":
            return float(finite.min(initial=np.inf))
        return float(finite.max(initial=-np.inf))
    return float(values[0] if quantity.reduce == "first" else values[-1])

"""Figures of which nothing is left to draw: every number is infinite or none from the first step on."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from figure_reading import legend, lines

from scaling_limits.plotting.figure_folder import FigureFolder
from scaling_limits.plotting.kinds import curves, maps, scaling, transfer

DRAW = {
    "transfer": maps.draw,
    "cosine": maps.draw,
    "curves": curves.draw,
    "scaling": scaling.draw,
    "along": scaling.draw,
    "rates": transfer.draw,
}


def spoil(folder: Path, values: list[float], *, grid: str | None = None) -> FigureFolder:
    """Replace all records of a figure, or of one grid."""
    records, cells = (pd.read_parquet(folder / f"{n}.parquet") for n in ("records", "cells"))
    chosen = records["cell_id"].isin(cells.loc[cells["grid"] == (grid or cells["grid"]), "cell_id"])
    records.loc[chosen, "value"] = np.resize(values, chosen.sum())
    records.to_parquet(folder / "records.parquet")
    return FigureFolder.open(folder)


@pytest.mark.parametrize("values", [[np.nan], [np.inf, np.nan, -np.inf]], ids=str)
@pytest.mark.parametrize("name", DRAW)
def test_a_figure_is_drawn_where_everything_diverged(
    name: str, values: list[float], request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(name)
    figure = DRAW[name](spoil(path, values))
    figure.canvas.draw()
    assert "diverged (at least one seed)" in legend(figure)
    panels = [ax for ax in figure.axes if ax.get_title()]
    for ax in panels:
        assert lines(ax, "diverged") or ax.patches, ax.get_title()
        assert np.isfinite(ax.get_ylim()).all()
    assert len(panels) > 1


def test_a_panel_in_which_everything_diverged_leaves_the_common_axis_alone(rates: Path) -> None:
    before = transfer.draw(FigureFolder.open(rates)).axes[0].get_ylim()
    folder = spoil(rates, [np.nan], grid="control")
    alone, control, *_ = transfer.draw(folder).axes
    assert alone.get_ylim() == control.get_ylim()
    assert alone.get_ylim()[0] == pytest.approx(before[0], rel=0.2)
    assert len(lines(control, "diverged")) == 3

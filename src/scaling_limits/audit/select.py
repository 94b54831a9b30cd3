"""Selection of the cells and records on which a claim is judged."""

from collections.abc import Sequence

import numpy as np

from scaling_limits.claims.base import ClaimBase
from scaling_limits.claims.measurement import UndecidedError, setting
from scaling_limits.claims.points import require_column
from scaling_limits.records import Results


def select(claim: ClaimBase, results: Results, grids: Sequence[str]) -> Results:
    """Return the cells and records of some grids on which a claim is judged.

    Raises:
        UndecidedError: there are none, or inference of a cell did not reach the equilibrium that the claim is about.
    """
    chosen = results.grids(grids)
    for column in claim.only:
        require_column(claim, "only", column, chosen.cells)
    selected = chosen.only(claim.only)
    if selected.cells.empty:
        raise UndecidedError(f"no cell of {' or '.join(grids)} was run")
    _require_equilibria(selected)
    return selected


def measured_on(claim: ClaimBase, results: Results, grids: Sequence[str]) -> list[Results]:
    """Return the results on which a claim is measured: those of some grids, then those of the grids compared with them.

    Raises:
        UndecidedError: as in `select`.
    """
    return [select(claim, results, names) for names in (grids, *claim.compared)]


def _require_equilibria(results: Results) -> None:
    """Reject cells whose inference did not reach the equilibrium; diverged cells are left to the claim.

    Raises:
        UndecidedError: at some step a sample's residual stayed above the tolerance, or is not a number.
    """
    records = results.records
    residuals = records[records["metric"].isin(["inference_unreached", "inference_residual"])]
    if residuals.empty:
        return
    residuals = residuals[~residuals["cell_id"].isin(results.diverged.index)]
    is_share = residuals["metric"] == "inference_unreached"
    # fractions and residuals that are not finite mean that no equilibrium was reached
    reached = np.where(is_share, residuals["value"] == 0, np.isfinite(residuals["value"]))
    short = residuals.loc[~reached, "cell_id"]
    if len(short):
        values = residuals.loc[~is_share & residuals["cell_id"].isin(short), "value"]
        finite = np.isfinite(values).all()
        left = f"up to {setting(values.max())}" if finite else "not finite"
        raise UndecidedError(
            f"in {short.nunique()} of {results.cells['cell_id'].nunique()} cells inference did not reach the "
            f"equilibrium of all samples at every step: the residual is {left}"
        )

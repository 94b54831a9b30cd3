"""Values of a reference, such as a limit, with which claims compare networks and lines show errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def comparison_key(
    rows: pd.DataFrame, references: pd.DataFrame, columns: Sequence[str]
) -> list[str]:
    """Return the columns at which rows are compared with a reference: also the seed if it has all seeds of the rows."""
    # a reference that was computed for each seed used the same data as the network with this seed
    paired = set(rows["seed"]) <= set(references["seed"])
    return [*columns, "seed"] if paired else list(columns)


def reference_values(
    rows: pd.DataFrame, references: pd.DataFrame, key: Sequence[str]
) -> pd.Series[float]:
    """Return the mean `value` of the reference at the `key` of each row, NaN where it has none.

    Args:
        rows: the rows to compare, with the columns `key`.
        references: the rows of the reference, with the columns `key` and `value`.
        key: the columns from `comparison_key`; without any, all rows are compared with one mean.
    """
    import pandas as pd

    if not key:
        return pd.Series(references["value"].mean(), rows.index)
    means = references.groupby(list(key))["value"].mean().rename("reference")
    return rows[list(key)].join(means, on=list(key))["reference"]

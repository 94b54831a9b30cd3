"""What computing a cell gives: arrays with named axes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Measured:
    """One measured array with the names of its axes (of `records.AXES`) and the labels along them.

    Along an axis without `labels` the numbers 0, 1, ... do.
    """

    values: np.ndarray
    axes: tuple[str, ...]
    labels: Mapping[str, tuple[int, ...]]

"""The results of computing a cell: arrays with named axes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Measured:
    """One measured array, with the names of its axes (from `records.AXES`) and the labels along them.

    An axis without `labels` is numbered 0, 1, ...
    """

    values: np.ndarray
    axes: tuple[str, ...]
    labels: Mapping[str, tuple[int, ...]]

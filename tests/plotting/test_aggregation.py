"""What figures show of several seeds, by hand."""

import numpy as np
import pandas as pd
import pytest

from scaling_limits.errors import ScalingLimitsError
from scaling_limits.figures.quantities import Quantity
from scaling_limits.plotting.aggregation import best_over, matrix, seed_means, seed_values
from scaling_limits.records import Results

LOSS = Quantity(metric="loss")
VALUES = {
    # width, rate: of three seeds
    (8, 0.1): (1.0, 2.0, 6.0),
    (8, 0.2): (2.0, 2.0, 2.0),
    (16, 0.1): (5.0, np.nan, 1.0),
    (16, 0.2): (np.inf, 4.0, 4.0),
}


def results() -> Results:
    cells, records = [], []
    for (width, rate), values in VALUES.items():
        for seed, value in enumerate(values):
            name = f"{width} {rate} {seed}"
            cell = {"width": width, "learning_rate": rate, "seed": seed, "depth": 2}
            cells.append({"grid": "main", "cell_id": name, **cell})
            records.append({"cell_id": name, "metric": "loss", "step": 0, "value": value})
    return Results(pd.DataFrame(cells), pd.DataFrame(records))


def test_the_mean_over_seeds_is_infinite_where_one_diverged() -> None:
    means = seed_means(results(), "main", LOSS, ["width", "learning_rate"])
    assert means["value"].tolist() == [3.0, 2.0, np.inf, np.inf]
    table = matrix(means, "learning_rate", "width", [0.1, 0.2, 0.4], [16, 8])
    np.testing.assert_array_equal(table, [[np.inf, np.inf, np.nan], [3.0, 2.0, np.nan]])


def test_the_best_of_a_column_is_that_of_the_mean() -> None:
    values = seed_values(results(), "main", LOSS, ["width", "learning_rate"])
    narrow = values[values["width"] == 8]
    found = {
        best: best_over(narrow, ["width"], ["learning_rate"], best)["learning_rate"].unique()
        for best in ("min", "max")
    }
    # the least of all values is one of rate 0.1
    assert found["min"].tolist() == [0.2]
    assert found["max"].tolist() == [0.1]
    wide = best_over(values, ["depth"], ["width", "learning_rate"], "max")
    # a rate that diverged is none, neither for the least nor for the largest
    assert wide["value"].tolist() == [1.0, 2.0, 6.0]


def test_a_mean_over_different_experiments_is_refused() -> None:
    with pytest.raises(
        ScalingLimitsError, match="varies not only over width and seed: learning_rate"
    ):
        seed_means(results(), "main", LOSS, ["width"])

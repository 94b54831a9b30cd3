"""The optima that `figure.json` has of a claim, for pictures to show."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from claim_examples import STAYS

from scaling_limits.pipeline.figures import _judged as judged
from toys import parsed_claim

RATES = tuple(2.0**k for k in range(-6, 3))
Tables = Callable[..., Any]
CLAIM = {"id": "c", "statement": "It is so.", "source": "Fig 1", "grids": ["main"], **STAYS}


def rows(grid: str, drift: float, seeds: int = 3, lost: tuple[int, ...] = ()) -> list[dict]:
    """Bowls over octaves of the rate around 2^-2 at the smallest width, `drift` octaves lower for each doubling."""
    found = []
    for width in (8, 32):
        for rate in RATES:
            for seed in range(seeds):
                away = np.log2(rate) + 2 + drift * np.log2(width / 8) + 0.01 * seed
                value = np.inf if width in lost else 1 + 0.1 * away**2
                cell = {"grid": grid, "width": width, "learning_rate": rate, "seed": seed}
                found.append(cell | {"value": value})
    return found


def arms(tabulate: Tables, table: list[dict], **claim: Any) -> list[dict[str, Any]]:
    read = parsed_claim({**CLAIM, "quantity": {"metric": "train_loss"}, **claim})
    said: Mapping[str, Any] = judged(read, tabulate(table))
    assert (said["over"], said["along"], said["within"]) == ("learning_rate", "width", None)
    assert said["quantity"]["metric"] == "train_loss"
    assert "grids" not in said
    return said["arms"]


def test_the_claims_own_grids_are_one_arm_and_each_control_another(tabulate: Tables) -> None:
    table = [*rows("main", 0.0), *rows("control", 1.0), *rows("other", 0.5)]
    found = arms(tabulate, table, control=["control", "other"])
    assert [arm["grids"] for arm in found] == [["main"], ["control"], ["other"]]
    for arm, drift in zip(found, (0.0, 1.0, 0.5), strict=True):
        assert [point[0] for point in arm["optima"]] == [8.0, 32.0]
        octaves = [np.log2(point[1]) for point in arm["optima"]]
        assert octaves == pytest.approx([-2.0, -2.0 - 2 * drift], abs=0.1)
        for _, at, low, high in arm["optima"]:
            assert low <= at <= high


def test_an_optimum_at_the_edge_of_its_grid_has_an_open_interval(tabulate: Tables) -> None:
    found = arms(tabulate, rows("main", 0.0) + rows("control", 3.0))
    (_, (size, _, low, high)) = found[1]["optima"]
    assert size == 32
    # the rate may be anywhere below the smallest
    assert low is None
    assert high is None or high >= RATES[0]


def test_an_arm_in_which_training_diverged_has_no_optima(tabulate: Tables) -> None:
    found = arms(tabulate, rows("main", 0.0) + rows("control", 1.0, lost=(8, 32)))
    assert len(found[0]["optima"]) == 2
    assert found[1] == {"grids": ["control"], "optima": []}


def test_an_arm_of_one_size_has_no_optima(tabulate: Tables) -> None:
    small = [row for row in rows("control", 1.0) if row["width"] == 8]
    assert arms(tabulate, rows("main", 0.0) + small)[1]["optima"] == []

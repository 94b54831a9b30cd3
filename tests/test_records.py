"""Quantities of records written out by hand."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from scaling_limits.figures.quantities import Quantity
from scaling_limits.records import AXES, Results

LOSS = {
    "one": {0: 9.0, 2: 4.0, 4: 1.0, 6: 2.0, 8: 7.0},
    "other": {0: 8.0, 2: 6.0, 4: 13.0, 6: 3.0, 8: 5.0},
}
"""Of two seeds, by step: neither the first, nor the last, nor in the order of size."""
SHUFFLED = (6, 0, 8, 4, 2)


def rows(cell: str, metric: str, step: int, value: float, **axes: int) -> dict[str, Any]:
    return {"cell_id": cell, "metric": metric, "step": step, "value": value} | axes


@pytest.fixture
def results() -> Results:
    """Records that do not stand in the order of steps, and another metric between them."""
    records = []
    for step in SHUFFLED:
        for cell in ("other", "one"):
            records.append(rows(cell, "train_loss", step, LOSS[cell][step]))
            records.append(rows(cell, "test_loss", step, 100.0))
            for layer in (1, 2, 3):
                records.append(rows(cell, "size", step, 10 * layer + step / 2, layer=layer))
    table = pd.DataFrame(records)
    axes = {axis: pd.array([pd.NA] * len(table), "Int32") for axis in ("inference_step", "index")}
    table = table.assign(**axes).astype({"step": "Int32", "layer": "Int32"})
    cells = pd.DataFrame({"grid": "main", "cell_id": ["one", "other"], "seed": [0, 1], "depth": 4})
    cells["num_steps"] = 10
    return Results(cells, table)


def of_seeds(results: Results, **words: Any) -> list[float]:
    table = results.quantity(Quantity(metric="train_loss", **words))
    return table.sort_values("seed")["value"].tolist()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"reduce": "first"}, [9, 8]),
        ({"reduce": "last"}, [7, 5]),
        ({}, [7, 5]),
        ({"reduce": "min"}, [1, 3]),
        ({"reduce": "at", "step": 4}, [1, 13]),
        ({"reduce": "last", "complement": True}, [-6, -4]),
        ({"growth": True}, [7 / 9, 5 / 8]),
        ({"during": [0, 1]}, [23 / 5, 35 / 5]),
        ({"during": (0.2, 0.5)}, [5 / 2, 19 / 2]),
        ({"during": (0.8, 1), "growth": True}, [7 / 9, 5 / 8]),
        ({"growth": True, "reduce": "min", "window": 2}, [3 / 18, 4 / 8]),
        ({"growth": True, "reduce": "at", "step": 4, "complement": True}, [8 / 9, -5 / 8]),
        ({"reduce": "first", "window": 2}, [13 / 2, 7]),
        ({"reduce": "last", "window": 2}, [9 / 2, 4]),
        ({"reduce": "min", "window": 2}, [3 / 2, 4]),
        ({"reduce": "max"}, [9, 13]),
        ({"reduce": "max", "window": 2}, [13 / 2, 19 / 2]),
        ({"reduce": "first", "window": 3}, [14 / 3, 9]),
        ({"reduce": "last", "window": 3}, [10 / 3, 7]),
        ({"reduce": "min", "window": 3}, [7 / 3, 7]),
        ({"reduce": "min", "window": 5}, [23 / 5, 7]),
        ({"below": 8.5}, [2, 0]),
        ({"below": 5}, [2, 6]),
        ({"below": 2}, [4, np.inf]),
        ({"below": 0.55, "growth": True}, [2, 6]),
        ({"reduce": "first", "window": 99}, [23 / 5, 7]),
        ({"reduce": "last", "window": 99}, [23 / 5, 7]),
    ],
)
def test_steps_are_reduced(results: Results, words: dict[str, Any], expected: list[float]) -> None:
    """Windows are of consecutive records, whole ones only; all records where there are fewer."""
    assert of_seeds(results, **words) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"reduce": "min"}, [1 / 100, 3 / 100]),
        ({"complement": True}, [93 / 100, 95 / 100]),
        ({"growth": True}, [7 / 9, 5 / 8]),
        ({"below": 0.085}, [2, 0]),
        ({"reduce": "max", "window": 2}, [13 / 200, 19 / 200]),
    ],
)
def test_records_relative_to_another_metric(
    results: Results, words: dict[str, Any], expected: list[float]
) -> None:
    """The other metric is 100 everywhere."""
    assert of_seeds(results, relative_to="test_loss", **words) == pytest.approx(expected, rel=1e-12)


def test_ratios_are_of_one_step_and_one_layer(results: Results) -> None:
    size = Quantity(metric="size", relative_to="train_loss", layer=2, reduce="at", step=4)
    assert results.quantity(size)["value"].tolist() == pytest.approx([22 / 1, 22 / 13])
    same = results.quantity(Quantity(metric="size", relative_to="size", per=("layer", "step")))
    assert same["value"].tolist() == [1.0] * 2 * 3 * 5
    # steps at which only one of the two was recorded have no ratio
    last = (results.records["metric"] == "test_loss") & (results.records["step"] == 8)
    fewer = Results(results.cells, results.records[~last])
    assert of_seeds(fewer, relative_to="test_loss") == pytest.approx([2 / 100, 3 / 100])


def test_a_cell_that_diverged_has_the_least_of_its_finite_records(results: Results) -> None:
    chosen = (results.records["metric"] == "train_loss") & (results.records["cell_id"] == "one")
    results.records.loc[chosen & (results.records["step"] == 8), "value"] = np.nan
    assert of_seeds(results, reduce="min") == [1, 3]
    assert not np.isfinite(of_seeds(results, reduce="last")[0])
    # the last two are no number with it; the first are as they were
    assert of_seeds(results, reduce="min", window=2)[0] == pytest.approx(3 / 2)
    results.records.loc[chosen, "value"] = np.inf
    assert of_seeds(results, reduce="min") == [np.inf, 3]


def test_a_layer_is_chosen_or_kept(results: Results) -> None:
    one = results.quantity(Quantity(metric="size", layer=2, reduce="first"))
    assert one["value"].tolist() == [20, 20]
    kept = results.quantity(Quantity(metric="size", per="layer", reduce="last"))
    first = kept[kept["seed"] == 0]
    assert first["value"].tolist() == [14, 24, 34]
    assert first["relative_layer"].tolist() == [1 / 3, 2 / 3, 1]
    assert len(kept) == 6


def test_steps_may_be_kept(results: Results) -> None:
    kept = results.quantity(Quantity(metric="train_loss", per="step"))
    assert kept[kept["seed"] == 1]["value"].tolist() == list(LOSS["other"].values())
    assert results.steps("train_loss") == [0, 2, 4, 6, 8]


def test_several_axes_may_be_kept(results: Results) -> None:
    kept = results.quantity(Quantity(metric="size", per=("layer", "step")))
    assert len(kept) == len(results.records[results.records["metric"] == "size"])
    one = kept[(kept["seed"] == 0) & (kept["layer"] == 2)].set_index("step")["value"]
    alone = results.quantity(Quantity(metric="size", layer=2, per="step"))
    assert one.to_dict() == alone[alone["seed"] == 0].set_index("step")["value"].to_dict()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"metric": "distance"}, [8, 17]),
        ({"metric": "distance", "inference_step": 0}, [9, 19]),
        ({"metric": "distance", "reduce": "first"}, [9, 18]),
        ({"metric": "distance", "reduce": "min"}, [8, 17]),
        ({"metric": "norm", "layer": 2}, [80, 170]),
        ({"metric": "norm", "layer": -1, "inference_step": -2}, [90, 180]),
        ({"metric": "norm", "layer": -2, "inference_step": -2}, [45, 90]),
        ({"metric": "norm", "layer": 2, "inference_step": 1}, [80, 180]),
    ],
)
def test_a_step_of_inference_is_chosen_or_the_last_counts(words, expected) -> None:
    """Two seeds with two and three values along inference; those of the second training step are one less."""
    found = traced().quantity(Quantity(**words))
    assert found.sort_values("seed")["value"].tolist() == expected


def traced() -> Results:
    records = []
    for cell, start, count in (("one", 10.0, 2), ("other", 20.0, 3)):
        for step in (1, 0):
            for at in range(count):
                value = start - at - step
                records.append(rows(cell, "distance", step, value, inference_step=at))
                records += [
                    rows(cell, "norm", step, 5 * layer * value, inference_step=at, layer=layer)
                    for layer in (1, 2)
                ]
    table = pd.DataFrame(records).assign(index=pd.array([pd.NA] * len(records), "Int32"))
    table = table.astype(dict.fromkeys(AXES, "Int32"))
    cells = pd.DataFrame({"grid": "main", "cell_id": ["one", "other"], "seed": [0, 1], "depth": 4})
    return Results(cells, table)


def test_steps_of_inference_may_be_kept() -> None:
    words = {"metric": "norm", "reduce": "first", "per": ("layer", "inference_step")}
    kept = traced().quantity(Quantity(**words))
    second = kept[(kept["seed"] == 1) & (kept["layer"] == 2)].sort_values("inference_step")
    assert second["value"].tolist() == [200, 190, 180]
    assert len(kept) == 2 * (2 + 3)


def of_losses(**losses: dict[int, float]) -> Results:
    """Cells with these training losses by step, and an accuracy of a half at each."""
    steps = [(cell, step, loss) for cell, said in losses.items() for step, loss in said.items()]
    records = [rows(cell, "train_loss", step, loss) for cell, step, loss in steps]
    records += [rows(cell, "accuracy", step, 0.5) for cell, step, _ in steps]
    table = pd.DataFrame(records).astype({"step": "Int32", "value": float})
    axes = {axis: pd.array([pd.NA] * len(table), "Int32") for axis in AXES if axis != "step"}
    cells = pd.DataFrame({"grid": "main", "cell_id": list(losses), "seed": 0, "depth": 4})
    return Results(cells, table.assign(**axes))


RUNS = {
    "steady": {0: 1.0, 1: 2.0, 2: 0.5},
    "grown": {0: 1.0, 1: 11.0, 2: 12.0},
    "at_ten": {0: 1.0, 1: 5.0, 2: 10.0},
    "spike": {0: 1.0, 1: 99.0, 2: 0.5},
    "no_number": {0: 1.0, 1: np.nan, 2: 0.5},
    "infinite": {0: 1.0, 1: 2.0, 2: np.inf},
    "never": {0: np.nan, 1: np.nan, 2: np.nan},
}


def test_what_has_diverged_and_at_which_step() -> None:
    """A loss that is no number anywhere, or ends at more than ten times its first; not one that recovers."""
    found = of_losses(**RUNS).diverged
    assert found.to_dict() == {"grown": 1, "no_number": 1, "infinite": 2, "never": 0}
    assert of_losses(steady=RUNS["steady"], spike=RUNS["spike"]).diverged.empty


@pytest.mark.parametrize("names", [["steady", "spike"], list(RUNS)])
def test_the_last_of_what_diverged_is_no_number(names: list[str]) -> None:
    results = of_losses(**{name: RUNS[name] for name in names})
    lost = results.diverged

    def found(**words: Any) -> dict[Any, Any]:
        table = results.quantity(Quantity(metric="accuracy", **words))
        return table.set_index(["cell_id", "step"] if "per" in words else "cell_id")[
            "value"
        ].to_dict()

    last = found()
    assert {name for name, value in last.items() if np.isnan(value)} == set(lost.index)
    assert {value for value in last.values() if not np.isnan(value)} == {0.5}
    # as recorded
    for words in ({"reduce": "at", "step": 2}, {"reduce": "min"}, {"reduce": "first"}):
        assert set(found(**words).values()) == {0.5}
    kept = found(per="step")
    assert len(kept) == 3 * len(names)
    for (name, step), value in kept.items():
        assert np.isnan(value) == (step >= lost.get(name, np.inf)), (name, step)


def test_a_part_of_training_is_no_number_once_training_has_diverged() -> None:
    """Parts that end before are as recorded."""
    losses = [1.0, 2.0, 3.0, np.nan, np.nan]
    records = pd.DataFrame(
        [rows("one", "train_loss", step, loss) for step, loss in enumerate(losses)]
    )
    missing = {
        axis: pd.array([pd.NA] * 5, "Int32") for axis in ("inference_step", "index", "layer")
    }
    cells = pd.DataFrame({"grid": ["main"], "cell_id": ["one"], "seed": [0], "depth": [4]})
    results = Results(cells.assign(num_steps=5), records.assign(**missing))

    def part(start: float, end: float) -> float:
        table = results.quantity(Quantity(metric="train_loss", during=(start, end)))
        return float(table["value"].item())

    assert part(0.2, 0.6) == 2.5
    assert np.isnan([part(0.2, 0.8), part(0.6, 1.0)]).all()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"during": [0.5, 0.2]}, "rising fractions"),
        ({"during": [0.5, 1.2]}, "from 0 to 1"),
        ({"during": [0, 0]}, "rising fractions"),
        ({"during": [0, 1], "window": 2}, "no `per: step`, `reduce`"),
        ({"during": [0, 1], "per": "step"}, "no `per: step`, `reduce`"),
        ({"during": [0, 1], "below": 2}, "no `per: step`, `reduce`"),
        ({"reduce": "at", "step": 4, "window": 2}, "no `window`"),
    ],
)
def test_parts_that_contradict_another_word(words: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Quantity(metric="train_loss", **words)

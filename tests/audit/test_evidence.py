"""The optima and slopes that `figure.json` has of a claim, for pictures to show."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import pytest
from claim_examples import STAYS

from scaling_limits.claims.base import ClaimBase
from scaling_limits.claims.measurement import Measurement, SlopeRow, UndecidedError
from scaling_limits.claims.simulation import Recorded, Simulation
from scaling_limits.pipeline.evidence import shown
from scaling_limits.records import Results
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
    assert read.shown == "optima"
    said: Mapping[str, Any] = shown(read, tabulate(table))
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


@pytest.mark.parametrize(
    ("rule", "claimed"),
    [
        # two doublings: half an octave, less than the largest shift
        ({"kind": "optimum_stays", "max_shift": 1.0}, [-0.5, 0.5]),
        ({"kind": "optimum_stays", "max_shift": 0.25}, [-0.25, 0.25]),
        ({"kind": "optimum_moves", "direction": "up", "min_shift": 2.0}, [2.0, None]),
        ({"kind": "optimum_moves", "direction": "down", "min_shift": 2.0}, [None, -2.0]),
        # in either direction: outside of the two
        ({"kind": "optimum_moves", "min_shift": 2.0}, [2.0, -2.0]),
    ],
)
def test_arms_have_the_claimed_range_of_shifts(
    tabulate: Tables, rule: dict[str, Any], claimed: list[float | None]
) -> None:
    claim = {key: value for key, value in CLAIM.items() if key != "max_shift"} | rule
    read = parsed_claim({**claim, "quantity": {"metric": "train_loss"}})
    said: Mapping[str, Any] = shown(read, tabulate(rows("main", 0.0) + rows("control", 1.0)))
    judged, control = said["arms"]
    assert judged["claimed"] == claimed
    assert "claimed" not in control


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


def slope_arms(tabulate: Tables, **claim: Any) -> list[dict[str, Any]]:
    """Of losses depth / width in the grid `main`, and the same at all widths in the control."""
    table = [
        {"grid": grid, "width": width, "depth": depth, "seed": seed, "value": value}
        for grid, power in (("main", -1.0), ("control", 0.0))
        for width in (8, 32, 128)
        for depth in (2, 4)
        for seed in (0, 1)
        for value in (depth * width**power * (1 + 0.01 * seed * (width == 128)),)
    ]
    rule = {"along": "width", "expected": -1.0, "control": ["control"], **claim}
    said = {
        "id": "c",
        "statement": "It is so.",
        "source": "Fig 1",
        "grids": ["main"],
        "kind": "slope",
    }
    read = parsed_claim({**said, "quantity": {"metric": "train_loss"}, **rule})
    return shown(read, tabulate(table))["arms"] if read.shown == "slopes" else []


def test_slopes_are_those_of_each_group_in_each_arm(tabulate: Tables) -> None:
    own, control = slope_arms(tabulate, each=["depth"])
    assert (own["grids"], control["grids"]) == (["main"], ["control"])
    assert [fit["group"] for fit in own["fits"]] == [{"depth": 2}, {"depth": 4}]
    for fit in own["fits"]:
        assert fit["slope"] == pytest.approx(-1.0, abs=0.01)
        assert fit["interval"][0] < -1.0 < fit["interval"][1]
    assert [fit["slope"] for fit in control["fits"]] == pytest.approx([0.0, 0.0], abs=0.01)


def test_a_slope_names_its_values_and_its_sizes(tabulate: Tables) -> None:
    own, _ = slope_arms(tabulate, only={"depth": 4})
    assert [fit["group"] for fit in own["fits"]] == [{"depth": 4}]
    assert own["fits"][0]["sizes"] == (8, 128)
    region = {"ratio": ["width"], "at_least": 32}
    own, _ = slope_arms(tabulate, each=["depth"], where=region)
    assert [fit["sizes"] for fit in own["fits"]] == [(32, 128), (32, 128)]


def test_a_claim_about_a_reference_has_its_error_and_its_slope(tabulate: Tables) -> None:
    table = [
        {"grid": grid, "width": width, "seed": seed, "value": 1 + error * (1 - 0.1 * seed)}
        for grid, power in (("main", -1.0), ("control", 0.0))
        for width in (8, 32, 128)
        for seed in (0, 1)
        for error in (8 * float(width) ** power,)
    ]
    table += [{"grid": "limit", "width": 1, "seed": seed, "value": 1.0} for seed in (0, 1)]
    said = {key: CLAIM[key] for key in ("id", "statement", "source", "grids", "control")}
    rule = {"kind": "agrees_with", "reference": ["limit"], "along": "width", "tolerance": 0.1}
    claim = {**said, **rule, "quantity": {"metric": "train_loss"}}
    content: Mapping[str, Any] = shown(
        parsed_claim({**claim, "slope_at_most": -0.5}), tabulate(table)
    )
    assert content["reference"] == ["limit"]
    own, control = content["arms"]
    size, error, interval = own["error"]
    assert (size, error) == (128.0, pytest.approx(0.95 * 8 / 128))
    assert interval[0] < error < interval[1]
    assert own["fits"][0]["slope"] == pytest.approx(-1.0)
    assert control["error"][1] == pytest.approx(0.95 * 8)
    # without a slope a picture has nothing to fit
    assert parsed_claim(claim).shown is None


@pytest.mark.parametrize(
    ("rule", "to", "size", "ratio"),
    [
        ({"kind": "gap", "reference": ["other"], "control": []}, "reference", 32, 2 / 3),
        ({"kind": "improves_with", "tolerance": 0.1, "control": []}, "smallest", 32, 0.5),
        ({"kind": "no_gain", "tolerance": 0.05}, "smallest", 32, 0.5),
        # the best rate of the smaller width is two octaves too large
        ({"kind": "transfer_cost", "tolerance": 0.1}, "best", 32, 1.4),
    ],
)
def test_claims_about_the_best_value_have_what_they_judge_relative_to_another(
    tabulate: Tables, rule: dict[str, Any], to: str, size: float, ratio: float
) -> None:
    table = [
        row | {"value": row["value"] * factor * (16 / row["width"]) ** 0.5}
        for grid, factor in (("main", 1.0), ("other", 1.5), ("control", 1.0))
        for row in rows(grid, 1.0)
    ]
    said = {key: CLAIM[key] for key in ("id", "statement", "source", "grids", "control")}
    claim = {**said, "along": "width", "over": ["learning_rate"], **rule}
    read = parsed_claim({**claim, "quantity": {"metric": "train_loss"}})
    assert read.shown == "ratios"
    content: Mapping[str, Any] = shown(read, tabulate(table))
    judged = content["arms"][0]["ratio"]
    assert (judged["to"], judged["size"]) == (to, size)
    assert judged["value"] == pytest.approx(ratio, rel=0.01)
    low, high = judged["interval"]
    assert low <= judged["value"] <= high


def test_a_change_of_a_gap_and_a_step_of_sizes_are_relative_to_nothing_drawn(
    tabulate: Tables,
) -> None:
    """The second claim is decided by the ratio of two neighbouring sizes, not of the smallest and the largest."""
    table = [
        row | {"grid": grid, "value": row["value"] * factor}
        for grid, factor in (("main", 1.0), ("control", 0.9))
        for row in rows("main", 0.0)
    ]
    said = {key: CLAIM[key] for key in ("id", "statement", "source", "grids")}
    claim = {**said, "along": "width", "over": ["learning_rate"]}
    grows = {"kind": "gap", "reference": ["control"], "grows": True}
    improves = {"kind": "improves_with", "tolerance": 0.1}
    shapes = {8: 1.0, 16: 0.5, 32: 0.9}
    cells = rows("main", 0.0)
    middle = [row | {"width": 16} for row in cells if row["width"] == 8]
    stepped = [row | {"value": row["value"] * shapes[row["width"]]} for row in cells + middle]
    for rule, given in ((grows, table), (improves, stepped)):
        read = parsed_claim({**claim, **rule, "quantity": {"metric": "train_loss"}})
        content: Mapping[str, Any] = shown(read, tabulate(given))
        assert content["arms"] == [{"grids": ["main"], "fits": []}]


class Own(ClaimBase):
    """A package's kind of claim, derived from none of the project's kinds, whose controls decide nothing."""

    kind: Literal["own"]
    along: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.along,)

    @property
    def shown(self) -> Literal["slopes"]:
        return "slopes"

    def evidence(self, results: Results, *_: Results) -> list[SlopeRow]:
        if set(results.cells["grid"]) != set(self.grids):
            raise UndecidedError("there is only one width")
        return [SlopeRow({"depth": np.int64(4)}, -1.0, None)]

    def measure(self, results: Results, *_: Results) -> Measurement:
        raise NotImplementedError

    def simulation(self, recorded: Recorded) -> Simulation:
        raise NotImplementedError


def test_a_package_s_own_kind_shows_what_it_returns(tabulate: Tables) -> None:
    rule = {"kind": "own", "along": "width", "control": ["control"], "only": {"seed": 0}}
    said = {key: CLAIM[key] for key in ("id", "statement", "source", "grids")}
    claim = Own.model_validate({**said, **rule, "quantity": {"metric": "train_loss"}})
    content = shown(claim, tabulate(rows("main", 0.0) + rows("control", 1.0)))
    assert content["along"] == "width"
    assert content["arms"] == [
        {
            "grids": ["main"],
            "fits": [
                {"group": {"seed": 0, "depth": 4}, "slope": -1.0, "interval": None, "sizes": None}
            ],
        },
        {"grids": ["control"], "fits": []},
    ]


def test_optima_that_are_best_over_further_columns_name_these(tabulate: Tables) -> None:
    claim = {**CLAIM, "quantity": {"metric": "train_loss"}, "profile": ["depth"]}
    table = [row | {"depth": depth} for depth in (2, 4) for row in rows("main", 0.0)]
    table += [row | {"depth": 2} for row in rows("control", 1.0)]
    said: Mapping[str, Any] = shown(parsed_claim(claim), tabulate(table))
    assert said["profile"] == ["depth"]
    assert [len(arm["optima"]) for arm in said["arms"]] == [2, 2]

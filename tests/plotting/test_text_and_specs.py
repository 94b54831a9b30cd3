"""Numbers and lines of text on figures, and the options of plots."""

import math
import subprocess
import sys
from importlib import import_module

import pytest
from plotting_records import (
    ALONG_PLOT,
    BETAS,
    COSINE_PLOT,
    CURVES_PLOT,
    RATE_PLOT,
    SCALING_PLOT,
    TRANSFER_PLOT,
)
from pydantic import ValidationError

from scaling_limits.plotting import specs, text


def test_short_numbers() -> None:
    numbers = [64, 0.05, 1000, 1e-5, 5e-4, 2e6, 0]
    assert [text.short(n) for n in numbers] == [
        "64",
        "0.05",
        "1000",
        "$10^{-5}$",
        r"$5{\cdot}10^{-4}$",
        r"$2{\cdot}10^{6}$",
        "0",
    ]
    assert text.log_ticks(0.02, 30.0) == [0.1, 1, 10]
    assert text.value_labels([0.25, 0.5, 1]) == ["$2^{-2}$", "$2^{-1}$", "$2^{0}$"]
    assert text.value_labels([0.5, 1, 1.5]) == ["0.5", "1", "1.5"]


def test_values_that_can_stand_on_an_axis() -> None:
    assert text.are_short([16, 64, 2048])
    assert text.are_short([2.0**-10, 0.25])
    assert text.are_short([0.01, 0.05, 1e-5])
    assert not text.are_short([0.000125, 0.00025])
    assert not text.are_short(range(1, 30))


def test_labels_are_thinned_to_powers_of_ten_until_they_fit() -> None:
    extents = [0.2] * len(BETAS)

    def shown(spacing: float) -> list[float]:
        return [
            BETAS[i] for i in text.readable_subset(BETAS, extents, [i * spacing for i in range(11)])
        ]

    assert shown(0.3) == list(BETAS)
    assert shown(0.15) == [0.01, 0.1, 1, 10, 100, 1000]
    assert shown(0.1) == [0.01, 1, 100]
    assert shown(0.001) == [0.01]


def test_powers_of_ten_are_preferred_where_they_look_as_on_a_logarithmic_axis() -> None:
    uneven = [0.01, 0.1, 1, 5, 10, 20, 50, 100, 1000]

    def shown(places: list[float]) -> list[float]:
        return [uneven[i] for i in text.readable_subset(uneven, [0.2] * 9, places)]

    assert shown([0.15 * i for i in range(9)]) == [0.01, 1, 10, 50, 1000]
    assert shown([0.3 * math.log10(v) for v in uneven]) == [0.01, 0.1, 1, 10, 100, 1000]


def test_wrapped_lines_fit_and_keep_mathematics_together() -> None:
    words = "the output multiplier $N^{-1/2} \\cdot 3$ instead of another one"
    lines = text.wrap(words, 7.0, 1.2)
    assert " ".join(lines) == words
    assert len(lines) > 1
    assert all(line.count("$") % 2 == 0 for line in lines)
    assert all(text.width_of(line, 7.0) <= 1.2 for line in lines)


def test_options_of_plots_are_strict() -> None:
    specs.parse("hyperparameter_map", TRANSFER_PLOT)
    specs.parse("width_depth_map", COSINE_PLOT)
    with pytest.raises(ValidationError, match="rows"):
        specs.parse("hyperparameter_map", TRANSFER_PLOT | {"rows": []})
    with pytest.raises(ValidationError, match="limits must increase"):
        specs.parse("width_depth_map", COSINE_PLOT | {"limits": [1, 0]})
    reduced = COSINE_PLOT["quantity"] | {"reduce": "min"}
    with pytest.raises(ValidationError, match="give `steps`"):
        specs.parse("width_depth_map", COSINE_PLOT | {"quantity": reduced})


def test_options_of_charts_are_strict() -> None:
    plot = specs.parse("curves", CURVES_PLOT)
    assert plot.grids == ["main", "main", "main", "limit"]
    assert specs.parse("scaling", SCALING_PLOT).grids == ["main"] * 4 + ["control"] * 2
    assert specs.parse("transfer", RATE_PLOT).grids == ["main", "control"]
    assert specs.parse("width_depth_map", COSINE_PLOT).grids == ["main", "control"]
    rescaling, energy = CURVES_PLOT["panels"]
    with pytest.raises(ValidationError, match="limits must increase"):
        specs.parse("curves", {"panels": [rescaling | {"limits": [1, 1]}]})
    relabelled = [line | {"label": "loss"} for line in energy["lines"]]
    with pytest.raises(ValidationError, match="'loss' stands for lines of two styles"):
        specs.parse("curves", {"panels": [energy | {"lines": relabelled}]})
    width, *others = SCALING_PLOT["panels"]
    with pytest.raises(ValidationError, match="on logarithmic axes only"):
        specs.parse("scaling", {"panels": [width | {"scale": "linear"}]})
    solid = others[0] | {"lines": [line | {"style": "solid"} for line in width["lines"]]}
    with pytest.raises(ValidationError, match=r"'\$L/N\$' stands for lines of two styles"):
        specs.parse("scaling", {"panels": [width, solid]})
    towards, along = ALONG_PLOT["panels"]
    with pytest.raises(ValidationError, match="one that is not `across`"):
        specs.parse("scaling", {"panels": [towards | {"lines": towards["lines"][1:]}]})
    with pytest.raises(ValidationError, match="it has no first value"):
        specs.parse("scaling", {"panels": [along | {"lines": towards["lines"]}]})
    row = RATE_PLOT["rows"][0] | {"limits": [2, 1]}
    with pytest.raises(ValidationError, match="limits must increase"):
        specs.parse("transfer", RATE_PLOT | {"rows": [row]})


def test_each_kind_has_a_module_that_draws() -> None:
    assert all(callable(import_module(plot.module).draw) for plot in specs.PLOTS.values())


def test_options_are_checked_without_matplotlib() -> None:
    code = "import sys, scaling_limits.plotting.specs; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

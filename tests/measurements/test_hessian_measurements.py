"""Condition numbers and spectra of cells, beside those of dense matrices."""

from typing import Any

import numpy as np
import pytest

from scaling_limits.costs import memory
from scaling_limits.datasets.loading import Arrays
from scaling_limits.training.loop import compile_shard
from toys import cell

CELL: dict[str, Any] = {
    "num_steps": 0,
    "learning_rate": None,
    "dtype": "float64",
    "depth": 4,
    "measure": {"conditioning": [0], "hessian_spectrum": [0]},
}


def measured(**changes: Any) -> dict[str, np.ndarray]:
    own = cell(**CELL | changes)
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(64, n)) for n in (own.network.input_dim, own.network.output_dim))
    labels = y.argmax(axis=1).astype(np.int32)
    found = compile_shard(own, Arrays(x, y, labels, x, y, labels))([own])[0]
    return {name: values.values[0] for name, values in found.items()}


@pytest.mark.parametrize(
    "changes",
    [
        {"activation": "linear", "parameterisation": "sp_gaussian"},
        {"activation": "relu"},
        # large weights and targets of the first sample bend it
        {"activation": "tanh", "parameterisation": "sp_gaussian", "init_scale": 2.0, "skip": False},
    ],
    ids=["linear", "relu", "tanh"],
)
def test_extremes_and_count_are_those_of_the_spectrum(changes: dict[str, Any]) -> None:
    values = measured(**changes)
    spectrum = values["hessian_eigenvalue"]
    assert len(spectrum) == 4 * 8
    np.testing.assert_allclose(values["hessian_largest"], spectrum[-1], rtol=1e-8)
    np.testing.assert_allclose(values["hessian_smallest"], spectrum[0], rtol=1e-6)
    sizes = np.abs(spectrum)
    np.testing.assert_allclose(values["condition_number"], sizes.max() / sizes.min(), rtol=1e-6)
    assert values["hessian_negative"] == (spectrum < 0).sum()
    if changes["activation"] == "tanh":
        assert spectrum[0] < 0


def test_the_spectrum_is_that_of_both_parts() -> None:
    """The traces of D and H are equal, and O has none; D has no eigenvalue below one (mupc Eq. 20, 21)."""
    found = measured(activation="linear", skip=False, parameterisation="sp_gaussian")
    whole, diagonal, coupling = (
        found[f"{part}_eigenvalue"] for part in ("hessian", "diagonal", "coupling")
    )
    np.testing.assert_allclose(diagonal.sum(), whole.sum(), rtol=1e-10)
    np.testing.assert_allclose(coupling, -coupling[::-1], atol=1e-12)
    assert diagonal[0] > 1 - 1e-12
    # Weyl's inequality
    assert whole[-1] <= diagonal[-1] + coupling[-1]
    assert (np.diff(diagonal) >= 0).all()


def test_a_decay_shifts_the_smallest_eigenvalue() -> None:
    given = {"activation": "linear", "measure": {"conditioning": [0]}}
    less, more = (measured(**given, activity_decay=decay) for decay in (0.5, 1.0))
    np.testing.assert_allclose(more["hessian_smallest"] - less["hessian_smallest"], 0.5, rtol=1e-8)


def test_a_dense_spectrum_is_planned_for() -> None:
    small, large = (
        memory.cell_bytes(cell(**CELL | {"width": 64, "depth": depth})) for depth in (4, 64)
    )
    assert large > 4 * 8 * (64 * 64) ** 2 > small


@pytest.mark.parametrize("activation", ["linear", "tanh"])
def test_a_hessian_that_is_not_finite_has_no_count(activation: str) -> None:
    found = measured(activation=activation, measure={"conditioning": [0]}, init_scale=1e200)
    assert np.isnan(found["condition_number"])
    assert np.isnan(found["hessian_negative"])

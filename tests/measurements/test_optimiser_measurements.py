"""Directions, factors and distances of a network in training, against a step taken by hand."""

from typing import Any

import numpy as np
import pytest

from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.networks import layers_of
from scaling_limits.training.loop import compile_shard
from toys import BACKPROPAGATION, TRANSFORMER, cell

ALL = {name: [0, 1, 2] for name in ("preconditioning", "weight_changes")}


def trained(measure: Any, **changes: Any) -> dict[str, np.ndarray]:
    given = {**BACKPROPAGATION, "skip": False, "depth": 3, "width": 8, "dtype": "float64"}
    given |= {"optimiser": "sgd", "parameterisation": "sp_gaussian", "num_steps": 2}
    own = cell(**given | changes, measure=measure)
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(64, n)) for n in (own.network.input_dim, own.network.output_dim))
    labels = y.argmax(axis=1).astype(np.int32)
    found = compile_shard(own, Arrays(x, y, labels, x, y, labels))([own])[0]
    return {name: measured.values for name, measured in found.items()}


def test_under_sgd_directions_are_gradients_and_distances_add_up() -> None:
    found = trained(ALL, momentum=0.5, learning_rate=0.1)
    np.testing.assert_allclose(found["preconditioned_ratio"], 1.0, rtol=1e-12)
    for metric in ("weight_change", "weight_change_spectral"):
        assert np.all(found[metric][0] == 0)
        assert np.all(found[metric][1:] > 0)
    double = trained(ALL, momentum=0.5, learning_rate=0.2)
    np.testing.assert_allclose(
        double["weight_change"][1], 2 * found["weight_change"][1], rtol=1e-10
    )


@pytest.mark.parametrize(
    "accumulation", [{}, {"accumulation": "averaged", "averaging_weight": 0.5}]
)
def test_kfac(accumulation: Any) -> None:
    """One step moves the weights by the rate times the direction, whose size is measured before it."""
    given = {"optimiser": "kfac", "damping": 1.0, "learning_rate": 0.1, "base_width": 4}
    found = trained({**ALL, "curvature": [0, 1]}, **given, momentum=0.9, **accumulation)
    plain = trained(ALL, learning_rate=0.1, base_width=4)
    # the first step's is rate times ratio times the gradient, as SGD's is rate times the gradient
    expected = found["preconditioned_ratio"][0] * plain["weight_change"][1]
    np.testing.assert_allclose(found["weight_change"][1], expected, rtol=1e-9)
    # (15) at twice the base width, rho' times the trace over the size at the base width
    sizes = {"input": [64, 4, 4, 4], "output": [4, 4, 4, 10]}
    for side, size in sizes.items():
        ratio = found[f"{side}_damping"] / found[f"{side}_trace"]
        np.testing.assert_allclose(ratio, np.broadcast_to(1.0 / np.array(size), (2, 4)), rtol=1e-9)


def test_factors_are_those_of_optimisers_that_have_both() -> None:
    given = {**BACKPROPAGATION, "skip": False, "parameterisation": "sp_gaussian"}
    for changes in ({"optimiser": "sgd"}, {"optimiser": "foof", "damping": 1.0}):
        with pytest.raises(ConfigurationError, match="requires optimiser: kfac or shampoo"):
            cell(**given, **changes, measure={"curvature": [0]})


def test_weights_of_nodes_stand_in_the_order_of_layers() -> None:
    """K-FAC's damping over the trace is one over the layer's size; the rate of keys is as good as 0."""
    changes = {"key": {"learning_rate": {"depth": -60.0}}}
    given = {"parameterisation": "sp_gaussian", "optimiser": "kfac", "depth_exponent": None}
    own = cell(
        **BACKPROPAGATION | TRANSFORMER | given,
        damping=1.0,
        base_width=8,
        exponent_changes=changes,
        num_train=32,
        batch_size=8,
        num_steps=1,
        measure={"curvature": [0], "weight_changes": [1], "preconditioning": [0]},
    )
    layers = [layer for layer in layers_of(own.network) for _ in range(layer.count)]
    rng, tokens = np.random.default_rng(0), own.dataset.sequence_length
    x = rng.integers(15, size=(32, tokens))
    found = compile_shard(own, Arrays(x, x, x, x, x, x))([own])[0]
    for side, size in (("input", "inputs"), ("output", "outputs")):
        ratios = found[f"{side}_damping"].values[0] / found[f"{side}_trace"].values[0]
        expected = [1.0 / getattr(layer, size) for layer in layers]
        np.testing.assert_allclose(ratios, expected, rtol=1e-5)
    assert found["preconditioned_ratio"].values.shape == (1, len(layers))
    still = found["weight_change"].values[0] < 1e-10
    assert still.tolist() == [layer.name == "key" for layer in layers]

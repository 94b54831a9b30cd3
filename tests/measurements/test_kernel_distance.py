"""The distance from kernel regression, against steps of the output weights by hand and frozen networks."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.training.loop import compile_shard
from toys import BACKPROPAGATION, cell

GIVEN: dict[str, Any] = {
    **BACKPROPAGATION,
    "skip": False,
    "depth": 2,
    "width": 24,
    "base_width": 8,
    "parameterisation": "preconditioned_mup",
    "output_init_exponent": 64,
    "optimiser": "kfac",
    "damping": 0.4,
    # factors below an output that is next to zero would be damped by next to nothing
    "smallest_damping": 1e-7,
    "learning_rate": 0.7,
    "batch_size": 64,
    "num_steps": 4,
    "dtype": "float64",
}
STEPS = [0, 1, 2, 4]


@cache
def arrays(size: int = 64) -> Arrays:
    rng = np.random.default_rng(2)
    x, test = rng.normal(size=(64, size)), rng.normal(size=(16, size))
    y, tested = rng.normal(size=(64, 10)), rng.normal(size=(16, 10))
    return Arrays(x, y, y.argmax(axis=1), test, tested, tested.argmax(axis=1))


def chosen(**changes: Any) -> Cell:
    return cell(**{**GIVEN, **changes}, measure={"kernel_distance": STEPS})


def distances(size: int = 64, **changes: Any) -> np.ndarray:
    own = chosen(**changes)
    return np.asarray(compile_shard(own, arrays(size))([own])[0]["kernel_distance"].values)


@pytest.mark.parametrize(
    "changes",
    [
        {"momentum": 0.5, "activation": "relu", "width": 100},
        {"optimiser": "foof", "smallest_damping": 1e-3},
        {"damping_rule": "heuristic"},
        {"damping_rule": "fixed", "damping": 0.1, "output_damping": 0.6},
        {"accumulation": "averaged", "averaging_weight": 0.3},
    ],
)
def test_a_network_with_frozen_features_is_kernel_regression(changes: Any) -> None:
    """At all steps; one whose features move is after the first."""
    frozen = distances(frozen=["input", "hidden"], **changes)
    assert not np.isfinite(frozen[0])
    assert np.all(frozen[1:] < 1e-9)
    moving = distances(**changes)
    assert moving[1] < 1e-9
    assert np.all(moving[2:] > 1e-4)


def test_convolutions_have_features_as_well() -> None:
    image = {"input_shape": [16, 16], "depth_kind": "weight_layers", "skip": None, "depth": 3}
    found = distances(256, **image, network="cnn", width=2, base_width=1)
    assert found[1] < 1e-9
    assert found[2] > 1e-4


def test_it_is_the_distance_from_the_regression_with_its_ridge() -> None:
    """(17), written out, of a network that is no step from it: output weights as muP has them, which move at rate 0."""
    rate = 1e-9
    measure = {"kernel_distance": [1]}
    given = {**GIVEN, "learning_rate": rate, "output_init_exponent": 1, "damping": 0.5}
    own = cell(**{**given, "depth": 1, "activation": "linear", "num_steps": 1}, measure=measure)
    data = arrays()
    found = compile_shard(own, data)([own])[0]["kernel_distance"].values[0]
    import jax

    from scaling_limits import networks

    network, scaling = networks.build(own.network), own.traced()["scaling"]
    params = network.init(jax.random.key(0), scaling, "normal", np.float64)
    first, last = (np.asarray(jax.tree.leaves(stack)[0][0]) for stack in (params[0], params[-1]))
    hidden, tested = data.x_train @ first.T, data.x_test @ first.T
    kernel = hidden @ hidden.T
    # rho' times the trace over the size at the base width; the second factor is the identity, of ten outputs
    ridge = 0.5 * np.trace(kernel) / GIVEN["base_width"]
    regression = tested @ hidden.T @ np.linalg.solve(kernel + ridge * np.eye(64), data.y_train)
    expected = rate / 1.5 * regression
    outputs = tested @ last.T
    distance = np.linalg.norm(outputs - expected) / np.linalg.norm(expected)
    assert found == pytest.approx(distance, rel=1e-6)


REFUSED = [
    ({"optimiser": "sgd", "damping": None, "smallest_damping": None}, "optimiser: 'kfac' or 'foof', not 'sgd'"),
    ({"loss": "cross_entropy"}, "loss: 'mean_squared_error', not 'cross_entropy'"),
    ({"batch_size": 16}, "batch_size: 64, not 16"),
    ({"learning_rate_schedule": "cosine"}, "learning_rate_schedule: 'constant', not 'cosine'"),
    ({"kl_clip": 0.1}, "kl_clip: unset, not 0.1"),
    ({"frozen": ["output"]}, "requires trained output weights"),
    (
        {"network": "vgg", "depth": 6, "skip": None, "depth_kind": "weight_layers", "input_shape": [32, 32]},
        "network 'vgg' has batch norm",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_refusals(changes: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"measurements.kernel_distance: .*{message}"):
        chosen(**changes)

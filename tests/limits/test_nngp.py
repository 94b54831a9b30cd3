"""The infinitely wide network whose output weights K-FAC trains from zero: its kernel, its steps, and wide networks."""

from functools import cache, partial
from typing import Any

import jax
import numpy as np
import pytest

from scaling_limits import networks
from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.limits import nngp
from scaling_limits.measured import Measured
from scaling_limits.networks.nodes import ACTIVATIONS
from scaling_limits.training.loop import compile_shard
from toys import BACKPROPAGATION, cell

NAMES = ["linear", "relu", "abs", "erf", "tanh", "gelu"]
ALL = {"performance": [0, 1, 3, 5], "training_performance": [1, 5]}
SETTINGS: dict[str, Any] = {
    **BACKPROPAGATION,
    "skip": False,
    "depth": 3,
    "parameterisation": "preconditioned_mup",
    "base_width": 8,
    "output_init_exponent": 64,
    "optimiser": "kfac",
    "damping": 0.5,
    "momentum": 0.3,
    "learning_rate": 0.6,
    "frozen": ["input", "hidden"],
    "batch_size": 64,
    "num_steps": 5,
    "dtype": "float64",
}


@cache
def arrays() -> Arrays:
    rng = np.random.default_rng(1)
    x, test = rng.normal(size=(64, 64)), rng.normal(size=(16, 64))
    labels, tested = rng.integers(0, 10, 64), rng.integers(0, 10, 16)
    one_hot = np.eye(10)
    return Arrays(x, one_hot[labels], labels, test, one_hot[tested], tested)


def described(**changes: Any) -> Cell:
    return cell(**{**SETTINGS, **changes}, measure=ALL)


def limit(**changes: Any) -> dict[str, Measured]:
    return nngp.compute(described(limit="nngp", **{"width": 64, **changes}), arrays())


def trained(**changes: Any) -> dict[str, Measured]:
    own = described(**changes)
    return compile_shard(own, arrays())([own])[0]


def features(own: Cell, x: np.ndarray, seeds: list[int]) -> np.ndarray:
    """What enters the output weights, `[seeds, samples, width]`, at the start of a cell."""
    network, scaling = networks.build(own.network), own.traced()["scaling"]
    phi = ACTIVATIONS[network.segments[-1].node.before]  # type: ignore[attr-defined]

    # drawing wide networks takes three times as long where it is not optimised, which takes longer for narrow ones
    @partial(
        jax.jit, compiler_options={"xla_backend_optimization_level": int(own.network.width > 100)}
    )
    def hidden(seed: Any) -> Any:
        drawn = network.init(jax.random.key(seed), scaling, own.init_distribution, np.float64)
        return phi(network.activities(drawn, scaling, x)[-2][-1])

    return np.array([hidden(np.uint32(seed)) for seed in seeds])


@pytest.mark.parametrize("activation", NAMES)
def test_moments_are_integrals(activation: str) -> None:
    """Of two Gaussians with these variances and this covariance."""
    phi = ACTIVATIONS[activation]
    left, right, pairs = np.array([0.6]), np.array([2.3]), np.array([[-0.7]])
    # the trapezoidal rule, which is exact but for kinks
    a, step = np.linspace(-9, 9, 1201, retstep=True)
    rho = pairs[0, 0] / (left[0] * right[0]) ** 0.5
    u = left[0] ** 0.5 * a[:, None]
    v = right[0] ** 0.5 * (rho * a[:, None] + (1 - rho**2) ** 0.5 * a)
    density = np.exp(-(a[:, None] ** 2 + a**2) / 2) / (2 * np.pi)
    expected = float((np.asarray(phi(u) * phi(v)) * density).sum() * step**2)
    found = nngp.activated(nngp.Covariance(pairs, left, right), activation)
    kinks = 2e-5 if activation in ("relu", "abs") else 1e-10
    assert found.pairs[0, 0] == pytest.approx(expected, abs=kinks)
    # of units with themselves, the variances
    same = nngp.activated(nngp.Covariance(left[None], left, left), activation)
    assert same.pairs[0, 0] == pytest.approx(same.left[0], rel=1e-7)
    assert same.left[0] == pytest.approx(found.left[0], rel=1e-12)


@pytest.mark.parametrize(
    ("activation", "position"),
    [*((name, "before_weight") for name in NAMES), ("relu", "after_weight")],
)
def test_kernels_of_random_networks_tend_to_it(activation: str, position: str) -> None:
    """With errors of order M^-1/2, through three hidden layers."""
    widths, errors = (32, 512), []
    x = arrays().x_train[:12]
    for width in widths:
        own = described(activation=activation, activation_position=position, width=width)
        expected = nngp.hidden_kernel(own, x, x)
        hidden = features(own, x, list(range(24)))
        differences = hidden @ hidden.swapaxes(1, 2) / width - expected
        errors.append(np.sqrt(np.mean(np.square(differences))) / np.diag(expected).mean())
    slope = np.polyfit(np.log(widths), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.15)
    assert errors[-1] < 0.2


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimiser": "foof", "activation": "relu"},
        {"damping_rule": "fixed", "output_damping": 0.2, "activation": "erf"},
        {"accumulation": "averaged", "averaging_weight": 0.2},
    ],
)
def test_training_is_regression_with_the_kernel_of_its_features(
    changes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(17), step by step: with the kernel of a network's own features in place of the limit, all metrics are its."""
    given = {"width": 48, **changes}
    own = described(**given)
    run = trained(**given)

    def kernel(_: Cell, x: np.ndarray, other: np.ndarray) -> np.ndarray:
        (ours,), (theirs,) = features(own, x, [0]), features(own, other, [0])
        return np.asarray(ours @ theirs.T / own.network.width)

    monkeypatch.setattr(nngp, "hidden_kernel", kernel)
    result = limit(**given)
    assert result.keys() == run.keys()
    for metric, measured in run.items():
        # outputs of zero are of no class; the network's are not quite
        some = np.asarray(measured.labels["step"]) > (0 if metric == "test_accuracy" else -1)
        np.testing.assert_allclose(result[metric].values[some], measured.values[some], rtol=1e-8)
        assert (result[metric].axes, result[metric].labels) == (measured.axes, measured.labels)


def test_one_step_at_rate_one_is_kernel_regression() -> None:
    """f = K (K + ridge)^-1 y, also of a network whose other weights are trained."""
    changes = {"optimiser": "foof", "learning_rate": 1.0, "momentum": 0.0}
    own = described(limit="nngp", width=64, **changes)
    x, y = arrays().x_train, arrays().y_train
    kernel, tested = (nngp.hidden_kernel(own, samples, x) for samples in (x, arrays().x_test))
    # rho' times the trace over the size at the base width
    ridge = 0.5 * np.trace(kernel) / SETTINGS["base_width"]
    outputs = tested @ np.linalg.solve(kernel + ridge * np.eye(len(x)), y)
    expected = 0.5 * ((arrays().y_test - outputs) ** 2).sum(axis=1).mean()
    assert limit(**changes)["test_loss"].values[1] == pytest.approx(expected, rel=1e-10)
    moving = {**changes, "frozen": None, "num_steps": 1}
    first = limit(**moving)["test_loss"].values
    np.testing.assert_allclose(first, limit(**changes)["test_loss"].values[:2], rtol=1e-12)
    networks_own = trained(**moving, width=1024)["test_loss"].values
    np.testing.assert_allclose(networks_own, first, rtol=0.01)


def test_networks_tend_to_it() -> None:
    """With errors of order M^-1/2: of the outputs' loss in training and in tests."""
    expected, widths, errors = limit(activation="relu"), (32, 512), []
    for width in widths:
        cells = [described(activation="relu", width=width, seed=seed) for seed in range(6)]
        train = compile_shard(cells[0], arrays())
        runs = [train([own])[0] for own in cells]
        differences = [
            run[metric].values[1:] / expected[metric].values[1:] - 1
            for run in runs
            for metric in ("train_loss", "test_loss")
        ]
        errors.append(np.sqrt(np.mean(np.square(np.concatenate(differences)))))
    assert np.polyfit(np.log(widths), np.log(errors), 1)[0] < -0.35
    assert errors[-1] < 0.03
    # beside which the limit moves far
    losses = expected["train_loss"].values
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize("rule", ["rescaled", "fixed"])
def test_it_has_no_width(rule: str) -> None:
    expected = limit(damping_rule=rule)
    found = limit(damping_rule=rule, width=4096)
    for metric, measured in expected.items():
        np.testing.assert_allclose(found[metric].values, measured.values, rtol=1e-9)


CNN: dict[str, Any] = {
    "network": "cnn",
    "depth": 3,
    "skip": None,
    "depth_kind": "weight_layers",
    "input_shape": [16, 16],
}
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("network: limit nngp requires 'mlp'", CNN),
    ("skip: limit nngp requires False, not True", {"skip": True}),
    ("loss: .* requires 'mean_squared_error', not 'cross_entropy'", {"loss": "cross_entropy"}),
    ("optimiser: .* requires 'foof' or 'kfac', not 'sgd'", {"optimiser": "sgd", "damping": None}),
    ("fisher: .* requires None or 'exact', not 'sampled'", {"fisher": "sampled"}),
    ("kl_clip: .* requires None, not 0.1", {"kl_clip": 0.1}),
    ("smallest_damping: .* requires 0.0, not 1e-07", {"smallest_damping": 1e-7}),
    ("batch_size: .* requires 64, not 16", {"batch_size": 16}),
    ("learning_rate_schedule: .* requires 'constant'", {"learning_rate_schedule": "cosine"}),
    ("damping_rule: .* requires 'rescaled' or 'fixed', not 'heuristic'", {"damping_rule": "heuristic"}),
    ("output_init_exponent: .* use 64 and a width above", {"output_init_exponent": 1}),
    ("frozen: .* or num_steps: 1, not 5", {"frozen": None}),
    ("frozen: .* requires trained output weights", {"frozen": ["input", "hidden", "output"], "num_steps": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("message", "changes"), REFUSED)
def test_refusals(message: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=message):
        described(limit="nngp", **{"width": 64, **changes})


def test_units_of_other_draws_are_no_gaussians() -> None:
    own = described(limit="nngp", width=64)
    with pytest.raises(
        ConfigurationError, match=r"init_distribution: .* requires 'normal', not 'uni"
    ):
        nngp.refuse(own.model_copy(update={"init_distribution": "uniform"}))


def test_divergence_is_recorded() -> None:
    result = limit(learning_rate=1e200)
    assert np.isfinite(result["train_loss"].values[0])
    assert not np.isfinite(result["train_loss"].values[-1])
    assert np.isnan(result["test_accuracy"].values[-1])

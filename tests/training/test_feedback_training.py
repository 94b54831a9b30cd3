"""Networks with feedback weights in the training loop and in the configuration."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from test_cell_numbers import assert_same_bits, train

from scaling_limits import networks
from scaling_limits.algorithms.problem import Problem
from scaling_limits.algorithms.target_propagation import computation as target_propagation
from scaling_limits.algorithms.target_propagation.reconstruction import reconstruction_losses
from scaling_limits.cells import Cell
from scaling_limits.configuration import load
from scaling_limits.datasets.loading import load as load_arrays
from scaling_limits.datasets.order import batch_indices
from scaling_limits.errors import ConfigurationError
from scaling_limits.limits.linear_feedback import feedback_weights, ridge_for
from scaling_limits.measured import Measured
from scaling_limits.networks.draws import layer_key
from toys import BACKPROPAGATION, PAPER, cell, gradients, merged, write_project

TP: dict[str, Any] = {
    **BACKPROPAGATION,
    "algorithm": "target_propagation",
    "feedback": "tanh",
    "difference_correction": True,
    "activation_position": "after_weight",
    "skip": False,
    "parameterisation": "tp_mup",
    "base_width": 4,
    "normalisation": "standardise",
    "optimiser": "sgd",
    "momentum": 0.9,
    "learning_rate": 1.0,
    "feedback_learning_rate": 0.3,
    "dtype": "float64",
}
EVERY_STEP = {"feedback_reconstruction": [0, "end"], "feature_changes": [0, "end"]}


def by_hand(c: Cell, folder: Path) -> tuple[list[float], np.ndarray]:
    """Losses before each update, and the reconstruction losses on the batch after the last, in Python."""
    data, numbers = load_arrays(c.dataset, folder / "digits.npz", c.dtype), c.traced()
    network = networks.build(c.network)
    scaling, key = numbers["scaling"], jax.random.key(c.seed)
    weights = {
        "forward": network.init(key, scaling, c.init_distribution, jnp.float64),
        "back": network.init_feedback(key, scaling, c.init_distribution, jnp.float64),
    }
    o = c.optimiser
    segments = {"forward": network.segments, "back": network.feedback}
    rules = {
        part: [
            (optax.sgd if o.name == "sgd" else optax.adam)(
                c.scaling[segment.role].learning_rate,
                **({"momentum": o.momentum} if o.name == "sgd" else {"eps": o.epsilon}),
            )
            for segment in segments[part]
        ]
        for part in weights
    }
    states = {
        part: [rule.init(w) for rule, w in zip(rules[part], weights[part], strict=True)]
        for part in weights
    }
    before = c.num_feedback_steps or 0
    order = batch_indices(
        seed=c.seed,
        dataset=c.dataset.name,
        num_samples=c.dataset.num_train,
        batch_size=c.batch_size,
        num_steps=max(c.num_steps + 1, before),
    )

    @jax.jit
    def computed(weights: Any, x: Any, y: Any, step: Any) -> Any:
        """Both gradients, the loss and the reconstruction losses."""
        traced = {**numbers["algorithm"], "seed": c.seed, "step": step}
        forward, feedback = weights["forward"], weights["back"]
        now = Problem(network, forward, scaling, x, y, c.algorithm, traced, feedback)
        back = jax.tree.map(
            lambda g, q: g + o.feedback_weight_decay * q,
            target_propagation.feedback_gradients(now),
            now.feedback,
        )
        grads, metrics = gradients(target_propagation, now)
        both = {"forward": grads, "back": back}
        return both, metrics["train_loss"], reconstruction_losses(now, None)

    def at(step: int) -> Any:
        chosen = order[step if step >= 0 else step + before]
        return computed(weights, data.x_train[chosen], data.y_train[chosen], jnp.int32(step))

    @partial(jax.jit, static_argnames="part")
    def updated(part: str, grads: Any, states: Any, weights: Any) -> Any:
        found = [
            rule.update(*given)
            for rule, *given in zip(rules[part], grads, states, weights, strict=True)
        ]
        moved = [
            optax.apply_updates(w, change) for w, (change, _) in zip(weights, found, strict=True)
        ]
        return tuple(moved), [state for _, state in found]

    losses = []
    for step in range(-before, c.num_steps):
        grads, loss, _ = at(step)
        for part in ("forward", "back") if step >= 0 else ("back",):
            weights[part], states[part] = updated(part, grads[part], states[part], weights[part])
        if step >= 0:
            losses.append(float(loss))
    return losses, np.asarray(at(c.num_steps)[2])


@pytest.mark.parametrize(
    "changes",
    [
        {"num_feedback_steps": 5, "feedback_weight_decay": 0.1},
        {"num_feedback_steps": 2, "feedback_noise": 0.2, "difference_correction": False},
        {
            "num_feedback_steps": 2,
            "feedback_loss": "difference_reconstruction",
            "feedback_noise": 0.2,
            "optimiser": "adam",
            "momentum": None,
            "parameterisation": "sp_gaussian",
            "learning_rate": 0.01,
        },
    ],
    ids=["decay", "noise", "difference reconstruction"],
)
def test_the_loop_is_plain_training_of_both(datasets_folder: Path, changes: Any) -> None:
    """Feedback weights alone first, for longer than the rest, then one update of each at the same weights."""
    c = cell(**TP | changes, num_steps=2, measure=EVERY_STEP)
    (result,) = train([c], datasets_folder)
    losses, reconstruction = by_hand(c, datasets_folder)
    np.testing.assert_allclose(result["train_loss"].values, losses, rtol=1e-9)
    measured = result["feedback_reconstruction"]
    assert measured.labels == {"step": (0, 2), "layer": (2, 3)}
    np.testing.assert_allclose(measured.values[1], reconstruction, rtol=1e-9)


def trained(folder: Path, **changes: Any) -> dict[str, Measured]:
    return train([cell(**TP | changes, num_steps=40, measure=EVERY_STEP)], folder)[0]


def test_feedback_alone_leaves_the_weights_as_they_are(datasets_folder: Path) -> None:
    before, after = (trained(datasets_folder, num_feedback_steps=n) for n in (0, 60))
    assert before["train_loss"].values[0] == after["train_loss"].values[0]
    for result in (before, after):
        np.testing.assert_array_equal(result["activity_change"].values[0], 0.0)
        assert np.all(result["activity_change"].values[1] > 0.0)
    reconstruction = [r["feedback_reconstruction"].values[0] for r in (before, after)]
    assert np.all(reconstruction[1] < 0.5 * reconstruction[0])
    assert after["train_loss"].values[-1] < 0.5 * after["train_loss"].values[0]


def test_feedback_weights_converge_to_the_closed_form(datasets_folder: Path) -> None:
    """(S.120), with the weight decay as ridge."""
    decay = 0.05
    linear = {"activation": "linear", "feedback": "linear", "feedback_weight_decay": decay}
    rates = {"parameterisation": "sp_gaussian", "feedback_learning_rate": 0.5}
    c = cell(
        **TP | linear | rates,
        num_feedback_steps=2000,
        num_steps=1,
        batch_size=64,
        measure={"feedback_reconstruction": [0]},
    )
    (result,) = train([c], datasets_folder)
    data = load_arrays(c.dataset, datasets_folder / "digits.npz", c.dtype)
    network = networks.build(c.network)
    scaling = c.traced()["scaling"]
    params = network.init(jax.random.key(c.seed), scaling, c.init_distribution, jnp.float64)
    stacks = network.activities(params, scaling, jnp.asarray(data.x_train))
    h = [np.asarray(z) for stack in stacks for z in stack]
    ridges = [ridge_for(decay, len(below), below.shape[1]) for below in h[:-1]]
    weights = feedback_weights(h, ridges)
    known = [
        0.5 * ((above @ q.T - below) ** 2).mean()
        for below, above, q in zip(h[:-1], h[1:], weights, strict=True)
    ]
    np.testing.assert_allclose(result["feedback_reconstruction"].values[0], known, rtol=1e-7)


def test_cells_of_one_shard_keep_their_own_numbers(datasets_folder: Path) -> None:
    """The rates, the decay and the step of the target are traced."""
    changes: list[dict[str, Any]] = [
        {},
        {"feedback_learning_rate": 0.1},
        {"feedback_weight_decay": 0.1},
        {"target_step": 0.1},
    ]
    cells = [cell(**TP | {"num_feedback_steps": 2} | change) for change in changes]
    assert len({c.shard() for c in cells}) == 1
    results = train(cells, datasets_folder)
    losses = {r["train_loss"].values[-1] for r in results}
    assert len(losses) == len(cells)
    assert_same_bits(train([cells[3]], datasets_folder, anew=True)[0], results[3])


def test_the_rest_of_a_cell_does_not_know_of_feedback() -> None:
    text = json.dumps([cell().canonical(), cell(**BACKPROPAGATION).canonical()])
    for word in ("feedback", "target_step", "difference_correction"):
        assert word not in text


def test_draws_of_feedback_weights_depend_on_seed_and_layer_only() -> None:
    deep = cell(**TP | {"depth": 4, "width": 16})
    network, scaling = networks.build(deep.network), deep.traced()["scaling"]
    key = jax.random.key(5)
    hidden, output = network.init_feedback(key, scaling, "normal", jnp.float64)
    for kernels, first, shape, role in (
        (hidden["linear"]["kernel"], 2, (16, 16), "feedback_hidden"),
        (output["linear"]["kernel"], 5, (16, 10), "feedback_output"),
    ):
        for layer, kernel in enumerate(kernels, start=first):
            own = layer_key(key, "feedback['linear']['kernel']", layer)
            known = scaling[role]["init_std"] * jax.random.normal(own, shape, jnp.float64)
            np.testing.assert_allclose(kernel, known, rtol=1e-14)
    without = networks.build(deep.network.model_copy(update={"feedback": None}))
    assert without.init_feedback(key, scaling, "normal", jnp.float64) == ()
    for a, b in zip(
        jax.tree.leaves(network.init(key, scaling, "normal", jnp.float64)),
        jax.tree.leaves(without.init(key, scaling, "normal", jnp.float64)),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


REFUSED = [
    ({"feedback": None}, "feedback: is needed with algorithm: target_propagation"),
    (
        {"feedback_learning_rate": None},
        "feedback_learning_rate: is needed with algorithm: target_propagation",
    ),
    ({"skip": True}, "feedback: .* require network: mlp with skip: false"),
    ({"activation_position": "before_weight"}, "feedback: .* after_weight"),
    (
        {"feedback_loss": "difference_reconstruction"},
        "feedback_noise: required by feedback_loss: difference_rec",
    ),
    ({"parameterisation": "mup"}, "mup defines no feedback weights for sgd; use sp_gaussian"),
    ({"optimiser": "adam", "momentum": None}, "update rule of tp_mup 'adam'"),
    ({"exponent_changes": {"feedback_hiden": {}}}, "did you mean 'feedback_hidden'"),
    (
        {"algorithm": "backpropagation"},
        "feedback: tanh acts only with algorithm: target_propagation",
    ),
    ({"inference": "exact"}, "inference: exact acts only with algorithm: predictive_coding"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_refusals(changes: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        cell(**TP | changes)


@pytest.mark.parametrize(
    "key",
    ["target_step", "feedback_noise", "feedback_weight_decay", "num_feedback_steps"],
)
def test_settings_of_feedback_are_refused_without_it(key: str) -> None:
    with pytest.raises(
        ConfigurationError, match=f"{key}: 1 acts only with algorithm: target_propagation"
    ):
        cell(**{key: 1})


def test_an_algorithm_of_a_file_may_train_feedback_weights(
    tmp_path: Path, datasets_folder: Path
) -> None:
    names = "errors, init, update"
    (tmp_path / "own.py").write_text(
        f"from scaling_limits.algorithms.target_propagation.computation import {names}\n"
        "from scaling_limits.algorithms.target_propagation import Options, Settings\n"
    )
    settings = {**TP, "algorithm": "copy"}
    changed = {**settings, "learning_rate": 1.0, "seed": 0}
    paper = merged(PAPER, {"transfer": changed})
    main = {"preset": "whole", "algorithms": {"copy": "own.py"}}
    own = load(write_project(tmp_path, main=main, paper=paper)).cells("toy", "transfer")[0]
    known = own.model_copy(
        update={
            "algorithm": own.algorithm.model_copy(
                update={"name": "target_propagation", "file": None}
            )
        }
    )
    first, second = (train([c], datasets_folder)[0]["train_loss"].values for c in (own, known))
    np.testing.assert_array_equal(first, second)

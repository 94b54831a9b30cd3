"""The training loop: steps, measurements, divergence, precision."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from test_cell_numbers import train

from scaling_limits import networks
from scaling_limits.algorithms.backpropagation import computation as backpropagation
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import Cell
from scaling_limits.costs import count
from scaling_limits.datasets.loading import load
from scaling_limits.datasets.order import batch_indices
from scaling_limits.datasets.preparation import prepare
from scaling_limits.errors import ConfigurationError
from scaling_limits.measured import Measured
from scaling_limits.training.loop import compile_shard
from toys import BACKPROPAGATION, EXACT, cell, gradients

COSINE: dict[str, Any] = {"learning_rate_schedule": "cosine"}
UNTRAINED: dict[str, Any] = {"num_steps": 0, "learning_rate": None}
LINEAR_EXACT = {**EXACT, "activation": "linear"}


@pytest.mark.parametrize("changes", [{}, BACKPROPAGATION, LINEAR_EXACT])
def test_divergence_is_recorded(datasets_folder: Path, changes: Any) -> None:
    c = cell(learning_rate=1e30, measure={"gradient_alignment": [0, 3]}, **changes)
    (result,) = train([c], datasets_folder)
    loss = result["train_loss"].values
    assert loss.shape == (6,)
    assert np.isfinite(loss[0])
    assert not np.isfinite(loss[-1])
    assert np.isfinite(result["gradient_cosine"].values[0])
    assert not np.isfinite(result["gradient_cosine"].values[-1])


def test_steps_of_inference_are_recorded_where_there_is_a_tolerance(datasets_folder: Path) -> None:
    """One each with a tolerance that any gradient meets, all with one that none does; several share a program."""
    changes = {"num_inference_steps": 5, "dtype": "float64"}
    cells = [cell(inference_tolerance=tolerance, **changes) for tolerance in (1e9, 1e-30)]
    short, long = train(cells, datasets_folder)
    assert short["inference_steps"].axes == ("step",)
    assert short["inference_steps"].values.tolist() == [1.0] * 6
    assert long["inference_steps"].values.tolist() == [5.0] * 6
    (plain,) = train([cell(**changes)], datasets_folder)
    assert set(long) - set(plain) == {"inference_steps"}
    for name in plain:
        np.testing.assert_allclose(long[name].values, plain[name].values, rtol=1e-12)


def test_real_targets_have_a_loss_and_no_accuracy(tmp_path: Path) -> None:
    """Of a line with noise, learnt down to the noise: half its variance."""
    output = tmp_path / "scalar_regression.npz"
    prepare("scalar_regression", data_path=None, downloads=tmp_path, output=output, user={})
    data = {"dataset": "scalar_regression", "targets": "real", "normalisation": "none"}
    c = cell(
        **{**BACKPROPAGATION, **data, "num_train": 1024, "num_test": 256, "batch_size": 256},
        activation="linear",
        num_steps=60,
        learning_rate=0.05,
        measure={"performance": [0, 60]},
    )
    (result,) = compile_shard(c, load(c.dataset, output, c.dtype))([c])
    assert result["test_loss"].values[-1] == pytest.approx(0.25, rel=0.15)
    assert "test_accuracy" not in result


def test_a_diverged_cell_leaves_its_neighbours_alone(datasets_folder: Path) -> None:
    good, bad = cell(cells_per_batch=4), cell(cells_per_batch=4, learning_rate=1e30)
    beside_bad = train([good, bad], datasets_folder)[0]
    beside_good = train([good, good], datasets_folder)[0]
    np.testing.assert_array_equal(beside_bad["train_loss"].values, beside_good["train_loss"].values)


@pytest.fixture(scope="module")
def measured_everywhere(datasets_folder: Path) -> dict[str, Measured]:
    c = cell(measure={"gradient_alignment": list(range(7))}, dtype="float64")
    return train([c], datasets_folder)[0]


@pytest.mark.parametrize("steps", [[3, 1, 3, 99], ["end", 2]])
def test_measurements_are_taken_at_the_steps_asked_for(
    datasets_folder: Path, measured_everywhere: dict[str, Measured], steps: list[Any]
) -> None:
    c = cell(measure={"gradient_alignment": steps}, dtype="float64")
    (result,) = train([c], datasets_folder)
    kept = tuple(sorted({step for step in (6 if s == "end" else s for s in steps) if step <= 6}))
    for name in ("gradient_cosine", "gradient_relative_error"):
        assert result[name].labels == {"step": kept}
        wanted = measured_everywhere[name].values[list(kept)]
        np.testing.assert_allclose(result[name].values, wanted, rtol=1e-9)


def test_measuring_does_not_disturb_training(
    datasets_folder: Path, measured_everywhere: dict[str, Measured]
) -> None:
    (result,) = train([cell(dtype="float64")], datasets_folder)
    wanted = measured_everywhere["train_loss"].values
    np.testing.assert_allclose(result["train_loss"].values, wanted, rtol=1e-12)


def test_measurements_all_past_the_end_are_left_out() -> None:
    late = cell(measure={"gradient_alignment": [7, 8]})
    assert late == cell()


def test_numbers_have_the_dtype_asked_for(
    datasets_folder: Path, measured_everywhere: dict[str, Measured]
) -> None:
    (single,) = train([cell(measure={"gradient_alignment": [0, 3]})], datasets_folder)
    assert {m.values.dtype for m in single.values()} == {np.dtype("float32")}
    assert {m.values.dtype for m in measured_everywhere.values()} == {np.dtype("float64")}


def by_hand(c: Cell, folder: Path) -> tuple[list[float], list[float], list[float]]:
    """Plain training in Python, with an optimiser per role: its losses, the accuracies of training and test set at its
    end, and by how much each layer's activities of the next batch have moved since the weights were drawn.
    """
    data = load(c.dataset, folder / "digits.npz", c.dtype)
    network, numbers = networks.build(c.network), c.traced()
    params = network.init(
        jax.random.key(c.seed), numbers["scaling"], c.init_distribution, jnp.float64
    )
    drawn, rules = params, []
    for segment in network.segments:
        role, o = c.scaling[segment.role], c.optimiser
        rate: Any = role.learning_rate
        if c.learning_rate_schedule:
            rate = (
                optax.cosine_decay_schedule(rate, c.num_steps)
                if c.warmup_steps is None
                else optax.warmup_cosine_decay_schedule(0.0, rate, c.warmup_steps, c.num_steps)
            )
        rules.append(
            optax.adam(rate, o.beta1, o.beta2, o.epsilon * role.epsilon)
            if o.name == "adam"
            else optax.sgd(rate, o.momentum)
        )
    states = [rule.init(p) for rule, p in zip(rules, params, strict=True)]
    order = batch_indices(
        seed=c.seed,
        dataset=c.dataset.name,
        num_samples=c.dataset.num_train,
        batch_size=c.batch_size,
        num_steps=c.num_steps + 1,
    )
    losses = []
    for chosen in order[:-1]:
        x, y = jnp.asarray(data.x_train[chosen]), jnp.asarray(data.y_train[chosen])
        if c.label_smoothing:
            y = jnp.where(y == 1, 1 - 0.9 * c.label_smoothing, 0.1 * c.label_smoothing)
        grads, metrics = gradients(
            backpropagation, Problem(network, params, numbers["scaling"], x, y, c.algorithm, {})
        )
        losses.append(float(metrics["train_loss"]))
        updated = []
        for i, rule in enumerate(rules):
            updates, states[i] = rule.update(grads[i], states[i], params[i])
            updated.append(optax.apply_updates(params[i], updates))
        params = tuple(updated)
    accuracies = []
    for samples, labels in (
        (data.x_train, data.labels_train),
        (data.x_test, data.labels_test),
    ):
        outputs = network.forward(params, numbers["scaling"], jnp.asarray(samples))
        accuracies.append(float((np.argmax(outputs, axis=1) == labels).mean()))
    first, now = (
        network.activities(weights, numbers["scaling"], jnp.asarray(data.x_train[order[-1]]))
        for weights in (drawn, params)
    )
    changes = [
        a - b for new, old in zip(now, first, strict=True) for a, b in zip(new, old, strict=True)
    ]
    return losses, accuracies, [float(jnp.sqrt((change**2).mean())) for change in changes]


@pytest.mark.parametrize(
    "changes",
    [
        {"parameterisation": "mup", "base_width": 4},
        {"parameterisation": "mean_field", "depth_exponent": 0.5},
        {"parameterisation": "mup", "base_width": 4, "optimiser": "sgd", "momentum": 0.9},
        {"parameterisation": "sp_uniform", "optimiser": "sgd", "learning_rate": 0.3, "depth": 1},
        {"loss": "cross_entropy", "frozen": ["output", "input"], "learning_rate": 0.1},
        {"loss": "cross_entropy", "label_smoothing": 0.3, "learning_rate_schedule": "cosine"},
        {**COSINE, "optimiser": "sgd", "momentum": 0.9, "parameterisation": "sp_uniform"},
        {**COSINE, "warmup": 0.4, "outer_learning_rate": 0.003},
    ],
)
def test_the_loop_is_plain_training_with_a_rate_per_role(
    datasets_folder: Path, changes: Any
) -> None:
    plan = {
        "performance": ["end"],
        "training_performance": ["end"],
        "feature_changes": [0, "end"],
    }
    c = cell(**BACKPROPAGATION | changes, dtype="float64", num_steps=5, measure=plan)
    (result,) = train([c], datasets_folder)
    losses, accuracies, moved = by_hand(c, datasets_folder)
    np.testing.assert_allclose(result["train_loss"].values, losses, rtol=1e-9)
    at_first, at_end = result["activity_change"].values
    assert not at_first.any()
    np.testing.assert_allclose(at_end, moved, rtol=1e-8)
    found = [result[f"{which}_accuracy"].values.item() for which in ("train", "test")]
    np.testing.assert_allclose(found, accuracies, rtol=1e-12)


def test_a_rate_of_input_and_output_weights() -> None:
    """It is what the row's factors of both multiply; hidden weights keep theirs."""
    usual = cell(**BACKPROPAGATION, learning_rate=0.1)
    apart = cell(**BACKPROPAGATION, learning_rate=0.1, outer_learning_rate=0.3)
    ratios = {
        role: apart.scaling[role].learning_rate / usual.scaling[role].learning_rate
        for role in usual.scaling
    }
    assert ratios == pytest.approx({"input": 3.0, "hidden": 1.0, "output": 3.0})
    fixed = cell(**BACKPROPAGATION, outer_learning_rate=0.3, frozen=["input"])
    assert fixed.scaling["input"].learning_rate == 0


@pytest.mark.parametrize("parts", [1, 3, 4, 10])
def test_records_are_means_over_equal_parts_of_training(datasets_folder: Path, parts: int) -> None:
    """A mean carries the last step of its part; training and what is measured stay the same."""
    own = {**BACKPROPAGATION, "num_steps": 10, "measure": {"performance": [5, "end"]}}
    (every,) = train([cell(**own)], datasets_folder)
    (means,) = train([cell(**own, averaged_records=parts)], datasets_folder)
    steps = np.arange(10)
    groups = [
        steps[(steps / 10 >= k / parts) & (steps / 10 < (k + 1) / parts)] for k in range(parts)
    ]
    expected = [every["train_loss"].values[group].mean() for group in groups]
    np.testing.assert_allclose(means["train_loss"].values, expected, rtol=1e-6)
    assert means["train_loss"].labels["step"] == tuple(int(group[-1]) for group in groups)
    np.testing.assert_array_equal(means["test_loss"].values, every["test_loss"].values)


def test_the_test_loss_is_that_of_plain_labels(datasets_folder: Path) -> None:
    own = {**BACKPROPAGATION, "loss": "cross_entropy", "measure": {"performance": [0]}}
    plain, smooth = (
        train([cell(**own, label_smoothing=share)], datasets_folder)[0] for share in (0.0, 0.2)
    )
    assert plain["test_loss"].values == smooth["test_loss"].values
    assert plain["train_loss"].values[0] != smooth["train_loss"].values[0]


def test_no_smoothing_and_a_constant_rate_are_what_cells_have() -> None:
    own = {**BACKPROPAGATION, "loss": "cross_entropy"}
    assert cell(**own, label_smoothing=0.0) == cell(**own)
    assert cell(learning_rate_schedule="constant") == cell()


def test_networks_that_are_not_trained_are_measured_as_drawn(datasets_folder: Path) -> None:
    measure = {"performance": [0, 3], "gradient_alignment": [0]}
    (trained,) = train([cell(measure=measure)], datasets_folder)
    drawn = cell(measure={**measure, "feature_sizes": ["end"]}, **UNTRAINED)
    (untrained,) = train([drawn], datasets_folder)
    assert "train_loss" not in untrained
    for name in ("test_loss", "test_accuracy", "gradient_cosine", "activity_rms"):
        assert untrained[name].labels["step"] == (0,)
    np.testing.assert_allclose(
        untrained["test_loss"].values, trained["test_loss"].values[:1], rtol=1e-6
    )


def test_networks_that_are_not_trained_compile_no_training() -> None:
    measure = {"performance": [0]}
    counted = [count.counted(cell(measure=measure, **own)).amounts for own in ({}, UNTRAINED)]
    trained, untrained = (amounts["operations"] - count.PROGRAM for amounts in counted)
    assert untrained < 0.5 * trained


def test_what_is_compiled_quickly_is_a_shorter_program_for_the_same_numbers(
    datasets_folder: Path,
) -> None:
    quick = cell(depth=6, dtype="float64", measure={"feature_sizes": [3]})
    full = quick.model_copy(update={"compiled": None})
    assert quick.compiled == "quickly"
    operations = [
        count.counted(each.model_copy(update={"measurements": ()})).amounts["operations"]
        for each in (quick, full)
    ]
    # inference is one loop instead of four
    assert operations[1] - operations[0] >= 3
    partly = quick.model_copy(update={"compiled": "partly"})
    expected = train([full], datasets_folder)[0]
    for other in (quick, partly):
        for name, measured in train([other], datasets_folder)[0].items():
            values = expected[name].values
            np.testing.assert_allclose(measured.values, values, rtol=1e-10, err_msg=name)


def test_epochs_are_steps() -> None:
    """16 samples a batch: 50 training samples are three batches, and two are left out."""
    own = {"num_train": 50, "batch_size": 16}
    assert cell(num_epochs=3, num_steps=None, **own) == cell(num_steps=9, **own)
    whole = cell(num_epochs=3, num_steps=None, num_train=50, batch_size=500)
    assert (whole.num_steps, whole.batch_size) == (3, 50)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_epochs": 2}, "num_epochs: num_steps is set as well; remove one"),
        ({"num_steps": None}, "num_steps: required, unless num_epochs is set"),
        ({"num_steps": 0}, "learning_rate: has no effect with num_steps: 0; leave it out"),
        ({"learning_rate": None}, "learning_rate: required, a number > 0"),
        (
            UNTRAINED,
            "num_steps: with 0 nothing is trained, and nothing is measured at step 0: name",
        ),
        ({"label_smoothing": 0.1}, "label_smoothing: .* loss: cross_entropy, not mean_squared"),
        ({"label_smoothing": 1.0, "loss": "cross_entropy"}, "label_smoothing: .* less than 1"),
        ({"warmup": 0.1}, "warmup: acts only with learning_rate_schedule: cosine, not constant"),
        ({"warmup": 1.0, **COSINE}, "warmup: .*less than 1"),
        ({"warmup": 0.0, **COSINE}, "warmup: .*greater than 0"),
        (
            {"outer_learning_rate": 0.1, "frozen": ["input", "output"]},
            "outer_learning_rate: .* input and output weights are frozen",
        ),
        ({"averaged_records": 4, "num_steps": 3}, "averaged_records: 4 is more than the 3 updates"),
        ({"averaged_records": 0}, "averaged_records: .*at least 1|averaged_records: .*1"),
        ({"learning_rate_schedule": "cosin"}, "learning_rate_schedule: .*'cosine'"),
    ],
)
def test_refusals(changes: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        cell(**BACKPROPAGATION | changes)


def test_curves_are_losses_before_each_update(datasets_folder: Path) -> None:
    rates = (0.02, 0.03)
    plan = {"gradient_alignment": [0, 3]}
    cells = [cell(learning_rate=rate, measure=plan) for rate in rates]
    slow, fast = (r["train_loss"].values for r in train(cells, datasets_folder))
    assert slow[0] == fast[0]
    assert slow[1] != fast[1]
    assert slow[-1] < slow[0]

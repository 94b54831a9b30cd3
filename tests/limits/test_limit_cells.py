"""Limits that stand for a training run: against the functions behind them, and against trained networks."""

import functools
import subprocess
import sys

import numpy as np
import pytest

from scaling_limits.algorithms.predictive_coding import Options as PredictiveCoding
from scaling_limits.cells import (
    AlgorithmSpec,
    Cell,
    DatasetSpec,
    MeasurementSpec,
    NetworkSpec,
    RoleScaling,
)
from scaling_limits.datasets.loading import Arrays
from scaling_limits.datasets.order import batch_indices
from scaling_limits.errors import ConfigurationError
from scaling_limits.limits import depth_recursion, linear_dmft, registry
from scaling_limits.optimisers.moments import Moments
from scaling_limits.parameterisations import table
from scaling_limits.training.loop import compile_shard

INPUT_DIM, OUTPUT_DIM, NUM_TRAIN = 6, 2, 12
BLOCKS, STEPS = 8, 10
EXACT = PredictiveCoding(name="predictive_coding", inference="exact")


def row(scheme, width, depth, *, skip, output_scale=1.0, **exponents):
    """The numbers of the table of parameterisations."""
    return table.resolve(
        scheme,
        "sgd",
        width=width,
        depth=depth,
        input_dim=INPUT_DIM,
        base_width=1,
        base_depth=1,
        skip=skip,
        factors=table.Factors(output_scale=output_scale),
        exponents=table.Exponents(**exponents),
        exponent_changes={},
    ).scaling


@functools.cache
def arrays():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(NUM_TRAIN, INPUT_DIM)).astype(np.float32)
    y = np.sign(rng.normal(size=(NUM_TRAIN, OUTPUT_DIM))).astype(np.float32)
    labels = np.zeros(NUM_TRAIN, np.int32)
    return Arrays(x, y, labels, x[:1], y[:1], labels[:1])


def role(init_std=1.0, multiplier=1.0, branch=1.0, learning_rate=1.0, energy_weight=1.0):
    return RoleScaling(
        init_std=init_std,
        multiplier=multiplier,
        branch=branch,
        learning_rate=learning_rate,
        epsilon=1.0,
        energy_weight=energy_weight,
    )


def depth_mup(width, alpha=0.5, gamma=0.5):
    """depth-mup Tables 1 and 2."""
    return {
        "input": role(INPUT_DIM**-0.5),
        "hidden": role(width**-0.5, 1.0, BLOCKS**-alpha, BLOCKS ** (alpha - gamma)),
        "output": role(1 / width),
    }


def mean_field(width, gamma0=1.0, alpha=0.5, num_weight_layers=4):
    """pcn-limits Table 2, Eq. 95-98; the branch is that of residual networks."""
    rate = gamma0**2 * width
    return {
        "input": role(1.0, INPUT_DIM**-0.5, 1.0, rate),
        "hidden": role(1.0, width**-0.5, num_weight_layers**-alpha, rate),
        "output": role(1.0, 1 / (gamma0 * width), 1.0, rate),
    }


def rescaled(scaling, **factors):
    """The same training with weights that are smaller by a factor and multipliers that are larger."""
    return {
        name: numbers.model_copy(
            update={
                "init_std": numbers.init_std / factors.get(name, 1.0),
                "multiplier": numbers.multiplier * factors.get(name, 1.0),
                "learning_rate": numbers.learning_rate / factors.get(name, 1.0) ** 2,
            }
        )
        for name, numbers in scaling.items()
    }


def cell(scaling, *, rate=0.1, **changes):
    """A cell of a linear network on the arrays above; `rate` is what the roles' factors multiply."""
    network = {
        "name": "mlp",
        "input_dim": INPUT_DIM,
        "output_dim": OUTPUT_DIM,
        "width": 1,
        "num_hidden_layers": 3,
        "activation": "linear",
        "activation_position": "before_weight",
        "skip": False,
        "mean_subtraction": False,
    }
    network |= {k: changes.pop(k) for k in list(changes) if k in NetworkSpec.model_fields}
    dataset = DatasetSpec(
        name="toy",
        checksum="",
        input_shape=(INPUT_DIM,),
        num_classes=2,
        num_train=NUM_TRAIN,
        num_test=1,
        normalisation="none",
        targets="gaussian",
        target_dim=OUTPUT_DIM,
    )
    settings = {
        "limit": None,
        "dataset": dataset,
        "network": NetworkSpec(**network),
        "init_distribution": "normal",
        "scaling": {
            name: numbers.model_copy(update={"learning_rate": rate * numbers.learning_rate})
            for name, numbers in scaling.items()
        },
        "algorithm": AlgorithmSpec(name="backpropagation"),
        "optimiser": Moments(name="sgd"),
        "frozen": (),
        "seed": 0,
        "num_steps": STEPS,
        "batch_size": NUM_TRAIN,
        "measurements": (),
        "dtype": "float32",
        "cells_per_batch": 1,
        "device": "cpu",
    }
    return Cell(**{**settings, **changes})


def residual(width, *, scaling=None, **changes):
    """A sample a step through frozen ends and eight blocks."""
    settings = {
        "num_hidden_layers": BLOCKS + 1,
        "skip": True,
        "frozen": ("input", "output"),
        "batch_size": 1,
        "measurements": (
            MeasurementSpec(name="feature_increments", steps=(0, STEPS)),
            MeasurementSpec(name="feature_sizes", steps=(1, 5, STEPS)),
        ),
        "rate": 0.25,
    }
    return cell(scaling or depth_mup(width), width=width, **{**settings, **changes})


def computed(limit, described):
    module = registry.get(limit)
    described = described.model_copy(update={"limit": limit})
    module.refuse(described)
    return module.compute(described, arrays())


def trained(*cells):
    train = compile_shard(cells[0], arrays())
    return [train([described])[0] for described in cells]


def same(result, expected, **tolerance):
    assert result.keys() == expected.keys()
    for metric, measured in expected.items():
        np.testing.assert_allclose(result[metric].values, measured.values, **tolerance)
        assert (result[metric].axes, result[metric].labels) == (measured.axes, measured.labels)


def test_recursion_of_a_cell():
    """Order of samples, batch mean, widths of inputs and outputs, and what is measured of which step."""
    described = residual(64, seed=5, batch_size=3, scaling=depth_mup(64, 0.7, 0.4))
    order = batch_indices(
        seed=5, dataset="toy", num_samples=NUM_TRAIN, batch_size=3, num_steps=STEPS + 1
    )
    x, y = (np.asarray(a, float)[order] for a in (arrays().x_train, arrays().y_train))
    limit = depth_recursion.train(
        x / INPUT_DIM**0.5,
        lambda step, outputs: outputs - y[step],
        output_dim=OUTPUT_DIM,
        num_blocks=BLOCKS,
        branch_scale=BLOCKS**-0.7,
        learning_rate=0.25 * BLOCKS**0.3,
    )
    result = computed("depth_recursion", described)
    losses = 0.5 * ((y - limit.outputs) ** 2).sum(axis=2).mean(axis=1)
    np.testing.assert_allclose(result["train_loss"].values, losses[:STEPS], rtol=1e-12)
    sizes = result["activity_rms"].values
    assert sizes.shape == (3, 5)
    tokens = slice(5 * 3, 6 * 3)
    for index, layer in enumerate([0, 2, 4, 6, 8]):
        squares = np.diagonal(limit.forward[layer])[tokens]
        np.testing.assert_allclose(sizes[1, index], np.sqrt(squares.mean()), rtol=1e-12)
    for index, block in enumerate([1, 2, 4, 6, 8]):
        k = limit.across_layers[tokens]
        squares = k[:, block, block] + k[:, block - 1, block - 1] - 2 * k[:, block, block - 1]
        added = np.sqrt(squares.mean()) * BLOCKS**0.7
        np.testing.assert_allclose(result["block_rms"].values[1, index], added, rtol=1e-12)
    output = result["output_rms"].values[1]
    np.testing.assert_allclose(output, np.sqrt((limit.outputs[5] ** 2).mean()), rtol=1e-12)
    kernels = limit.across_layers[STEPS * 3 :]
    moved = [(k[6, 6] + k[2, 2] - 2 * k[2, 6]) for k in kernels]
    increments = result["feature_increment"]
    assert increments.labels == {"step": (0, STEPS), "index": (1, 2, 4)}
    np.testing.assert_allclose(increments.values[1, 2], np.sqrt(np.mean(moved)), rtol=1e-12)


def test_blocks_of_the_recursion_at_initialisation():
    """depth-mup D.1: h^l = W^l x^{l-1} has the size of x^{l-1}, at b^2 = 1/L that of x^0 times (1 + 1/L)^((l-1)/2)."""
    steps = (MeasurementSpec(name="feature_sizes", steps=(0,)),)
    found = computed("depth_recursion", residual(64, measurements=steps))
    growth = (1 + 1 / BLOCKS) ** ((np.array([1, 2, 4, 6, 8]) - 1) / 2)
    expected = found["activity_rms"].values[0, 0] * growth
    np.testing.assert_allclose(found["block_rms"].values[0], expected, rtol=1e-12)


@pytest.mark.parametrize("seed", [0, 1])
def test_recursion_cancels_width_and_gauge(seed):
    """What a limit takes from a cell are numbers that no width and no rescaling of weights changes."""
    expected = computed("depth_recursion", residual(64, seed=seed))
    narrow = residual(1, seed=seed, scaling=rescaled(depth_mup(1), hidden=3.0, output=0.2))
    same(computed("depth_recursion", narrow), expected, rtol=1e-9)


def test_recursion_is_recorded_as_training_is():
    (run,) = trained(residual(16))
    limit = computed("depth_recursion", residual(16))
    assert limit.keys() == run.keys()
    for metric, measured in run.items():
        assert limit[metric].values.shape == measured.values.shape
        assert (limit[metric].axes, limit[metric].labels) == (measured.axes, measured.labels)


def relative_errors(width):
    """Of trained networks to the recursion over the same samples, `[seeds, ...]`: root mean squares of features and of
    what blocks add, features' increments, and the output's root mean square.

    The latter is the size of f at one sample, which may be near zero: its error is taken relative to its typical size.
    """
    cells = [residual(width, seed=seed) for seed in range(2048 // width)]
    limits = [computed("depth_recursion", described) for described in cells]
    metrics = ("activity_rms", "block_rms", "feature_increment", "output_rms")
    (*features, output), (*exact_features, exact_output) = (
        [np.array([result[metric].values for result in results]) for metric in metrics]
        for results in (trained(*cells), limits)
    )
    typical = np.sqrt((exact_output**2).mean())
    relative = [found / exact - 1 for found, exact in zip(features, exact_features, strict=True)]
    return *relative, (output - exact_output) / typical


def test_networks_tend_to_the_recursion():
    """Note depth-mup (L3), Fig. 8: error of order n^-1/2, in features at n = 512 below 10% (mean over seeds).

    Before any training f is of size (<x^L x^L> / n)^1/2 already, at n = 512 a fifth of its typical size here.
    """
    widths = (64, 192, 512)
    errors = list(zip(*(relative_errors(width) for width in widths), strict=True))
    for by_width in errors:
        typical = [np.sqrt((error**2).mean()) for error in by_width]
        slope = np.polyfit(np.log(widths), np.log(typical), 1)[0]
        assert slope == pytest.approx(-0.5, abs=0.15)
    for *_, widest in errors[:-1]:
        assert abs(widest.mean(axis=0)).max() < 0.1


def test_recursion_records_divergence():
    result = computed("depth_recursion", residual(1, rate=1e30))
    assert np.isfinite(result["train_loss"].values[0])
    for metric in result.values():
        assert not np.isfinite(metric.values[-1]).any()


def curved(width, activation="erf", num_blocks=BLOCKS, **changes):
    """As `residual`, with an activation after the weight and mean subtraction."""
    scaling = depth_mup(width)
    branch = {"branch": num_blocks**-0.5}
    scaling["hidden"] = scaling["hidden"].model_copy(update=branch)
    network = {"activation": activation, "activation_position": "after_weight"}
    network |= {"mean_subtraction": True, "num_hidden_layers": num_blocks + 1}
    return residual(width, **{"scaling": scaling, **network, **changes})


def test_recursion_of_smooth_activations_is_recorded_as_training_is():
    (run,) = trained(curved(16, "gelu"))
    limit = computed("smooth_depth_recursion", curved(16, "gelu"))
    assert limit.keys() == run.keys()
    for metric, measured in run.items():
        assert limit[metric].values.shape == measured.values.shape
        assert (limit[metric].axes, limit[metric].labels) == (measured.axes, measured.labels)


def test_recursion_of_smooth_activations_cancels_width_and_gauge():
    """The size of initial weights is within the activation, that of branches outside of it."""
    wide, narrow = curved(64, num_steps=4), curved(1, num_steps=4)
    again = rescaled(narrow.scaling, hidden=3.0, output=0.2)
    expected = computed("smooth_depth_recursion", wide)
    same(
        computed("smooth_depth_recursion", narrow.model_copy(update={"scaling": again})),
        expected,
        rtol=1e-9,
    )
    larger = {"hidden": wide.scaling["hidden"].model_copy(update={"multiplier": 1.5})}
    stretched = wide.model_copy(update={"scaling": wide.scaling | larger})
    assert (
        computed("smooth_depth_recursion", stretched)["block_rms"].values
        > expected["block_rms"].values
    ).all()


def test_deep_networks_tend_to_the_recursion_of_their_activation():
    """Three steps at 48 blocks: sizes of features and of what blocks add, where linear networks' are far away."""
    steps = (MeasurementSpec(name="feature_sizes", steps=(0, 3)),)
    cells = [
        curved(256, "gelu", 48, seed=seed, num_steps=3, measurements=steps) for seed in range(4)
    ]
    runs = trained(*cells)
    limits = [computed("smooth_depth_recursion", described) for described in cells]
    for metric in ("activity_rms", "block_rms"):
        found, expected = (
            np.mean([result[metric].values for result in results], axis=0)
            for results in (runs, limits)
        )
        np.testing.assert_allclose(found, expected, rtol=0.1)
    linear = computed("depth_recursion", residual(1, num_steps=3, measurements=steps))
    far = linear["block_rms"].values / np.mean([r["block_rms"].values for r in runs], axis=0) - 1
    assert abs(far).min() > 0.2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation": "relu"}, "activation: .* requires 'erf' or 'gelu' or 'tanh', not 'relu'"),
        ({"activation": "abs"}, "activation: .* not 'abs'"),
        ({"activation": "linear"}, "activation: .* not 'linear'"),
        ({"mean_subtraction": False}, "mean_subtraction: .* requires True, not False"),
        (
            {"activation_position": "before_weight"},
            "activation_position: .* requires 'after_weight', not 'before_weight'",
        ),
        ({"block_depth": 2}, "block_depth: .* requires 1, not 2"),
        ({"layer_norm": True}, "layer_norm: .* requires False, not True"),
        ({"optimiser": Moments(name="adam")}, "optimiser: .* requires 'sgd', not 'adam'"),
        ({"frozen": ()}, "frozen: "),
    ],
)
def test_recursion_of_smooth_activations_refuses(changes, message):
    with pytest.raises(ConfigurationError, match=message):
        computed("smooth_depth_recursion", curved(8, **changes))


def test_recursion_of_smooth_activations_records_divergence():
    result = computed("smooth_depth_recursion", curved(1, "gelu", rate=1e200, num_steps=4))
    assert np.isfinite(result["train_loss"].values[0])
    assert not np.isfinite(result["train_loss"].values[-1])


@pytest.mark.parametrize("skip", [False, True])
def test_dmft_of_a_cell(skip):
    plan = (MeasurementSpec(name="rescaling", steps=(0,)),)
    described = cell(mean_field(1, 1.7), skip=skip, measurements=plan)
    trajectory = linear_dmft.gradient_descent(
        arrays().x_train,
        arrays().y_train,
        num_weight_layers=4,
        num_steps=STEPS,
        learning_rate=0.1,
        output_scale=1.7,
        hidden_scale=0.5 if skip else 1.0,
        skip=skip,
    )
    result = computed("linear_dmft", described)
    assert list(result) == ["train_loss"]
    np.testing.assert_allclose(result["train_loss"].values, trajectory.losses, rtol=1e-9)
    assert result["train_loss"].labels == {"step": tuple(range(STEPS))}
    # the muP row of pcn-limits Table 2 is the same training
    scaling = rescaled(mean_field(64, 1.7), input=8.0, hidden=8.0, output=8.0)
    mup = cell(scaling, width=64, skip=skip, algorithm=EXACT)
    same(computed("linear_dmft", mup), result, rtol=1e-9)
    assert mup.scaling["hidden"].learning_rate == pytest.approx(0.1 * 1.7**2)


def test_dmft_of_one_hidden_layer():
    """It has no hidden weights, so that nothing is asked of them."""
    scaling = {**mean_field(64), "hidden": role(3.0)}
    result = computed("linear_dmft", cell(scaling, width=64, num_hidden_layers=1))
    trajectory = linear_dmft.gradient_descent(
        arrays().x_train, arrays().y_train, num_weight_layers=2, num_steps=STEPS, learning_rate=0.1
    )
    np.testing.assert_allclose(result["train_loss"].values, trajectory.losses, rtol=1e-9)


@pytest.mark.parametrize("algorithm", [AlgorithmSpec(name="backpropagation"), EXACT])
def test_networks_tend_to_dmft(algorithm):
    """pcn-limits Corollary 3.2, Fig. 2, T20: networks of width 512, within the noise over seeds and 0.02."""
    cells = [
        cell(mean_field(512), width=512, algorithm=algorithm, seed=seed, num_steps=40)
        for seed in range(8)
    ]
    losses = np.array([run["train_loss"].values for run in trained(*cells)])
    limit = computed("linear_dmft", cells[0])["train_loss"].values
    richer = computed("linear_dmft", cell(mean_field(1, 1.5), num_steps=40))["train_loss"].values
    distance = abs(losses.mean(axis=0) - limit)
    assert (distance < 2 * losses.std(axis=0, ddof=1)).all()
    assert distance.max() < 0.02
    assert abs(losses.mean(axis=0) - richer).max() > 0.05


@pytest.mark.parametrize("width", [1, 100])
def test_rows_of_the_table(width):
    """They have these limits at any width."""
    scaling = row(
        "depth_mup", width, BLOCKS, skip=True, depth_exponent=0.75, depth_lr_exponent=0.25
    )
    expected = computed("depth_recursion", residual(64, scaling=depth_mup(64, 0.75, 0.25)))
    same(computed("depth_recursion", residual(width, scaling=scaling)), expected, rtol=1e-9)
    for skip, exponents in ((False, {}), (True, {"depth_exponent": 0.5})):
        scaling = row("mean_field", width, 4, skip=skip, output_scale=1.7, **exponents)
        result = computed("linear_dmft", cell(scaling, width=width, skip=skip))
        same(result, computed("linear_dmft", cell(mean_field(1, 1.7), skip=skip)), rtol=1e-9)
    # the learning rate of inputs is D times that of mean_field, by Tensor Programs V as in standard parameterisation
    for scheme in ("mup", "sp_gaussian"):
        with pytest.raises(ConfigurationError, match="the same learning rate of all weights"):
            computed("linear_dmft", cell(row(scheme, width, 4, skip=False), width=width))


REFUSED = {
    "activation: limit .* requires 'linear', not 'tanh'": {"activation": "tanh"},
    "mean_subtraction: .* requires False, not True": {"skip": True, "mean_subtraction": True},
    "block_depth: .* requires 1, not 2": {"skip": True, "block_depth": 2},
    "layer_norm: .* requires False, not True": {"skip": True, "layer_norm": True},
    "init_distribution: .* requires 'normal' or 'uniform', not 'orthogonal'": {
        "init_distribution": "orthogonal"
    },
    "loss: .* requires 'mean_squared_error', not 'cross_entropy'": {
        "algorithm": AlgorithmSpec(name="backpropagation", loss="cross_entropy")
    },
    "optimiser: .* requires 'sgd', not 'adam'": {"optimiser": Moments(name="adam")},
    "augmentation: .* requires 'none', not \\('flip',\\)": {"augmentation": ("flip",)},
    "learning_rate_schedule: .* requires 'constant', not 'cosine'": {
        "learning_rate_schedule": "cosine"
    },
    "momentum: .* requires 0.0, not 0.9": {"optimiser": Moments(name="sgd", momentum=0.9)},
}
OF_DMFT = {
    "inference: .* requires None or 'exact', not 'adam'": {
        "algorithm": PredictiveCoding(name="predictive_coding", inference="adam")
    },
    "algorithm: .* not 'target_propagation'": {
        "algorithm": AlgorithmSpec(name="target_propagation")
    },
    "frozen: .* requires \\(\\), not \\('input',\\)": {"frozen": ("input",)},
    "batch_size: .* requires 12, not 4": {"batch_size": 4},
    "energy_weight: .* requires {1.0}, not": {
        "scaling": {**mean_field(1), "output": role(energy_weight=0.5)}
    },
    # standard parameterisation, or a rate one half in the width's exponent off
    "the learning rates are input 0.6, hidden 1.6, output 1.6": {
        "width": 16,
        "scaling": {"input": role(INPUT_DIM**-0.5), "hidden": role(0.25), "output": role(0.25)},
    },
    "the learning rates are input 1.6, hidden 1.6, output 0.4": {
        "width": 16,
        "scaling": {**mean_field(16), "output": role(1.0, 1 / 16, 1.0, 4.0)},
    },
}
OF_RECURSION = {
    "algorithm: .* requires 'backpropagation', not 'predictive_coding'": {"algorithm": EXACT},
    "skip: .* requires True, not False": {"skip": False},
    "frozen: .* not {'input'}": {"frozen": ("input",)},
    "at least one residual block": {"num_hidden_layers": 1},
    "deviation 1 / width, not 0.25 at width 16": {
        "width": 16,
        "scaling": {**depth_mup(16), "output": role(0.25)},
    },
}


@pytest.mark.parametrize("message", [*REFUSED, *OF_DMFT])
def test_dmft_refuses(message):
    changes = {"limit": "linear_dmft", "scaling": mean_field(1), **(REFUSED | OF_DMFT)[message]}
    with pytest.raises(ConfigurationError, match=message):
        linear_dmft.refuse(cell(**changes))


@pytest.mark.parametrize("message", [*REFUSED, *OF_RECURSION])
def test_recursion_refuses(message):
    changes = {"limit": "depth_recursion", "width": 1, **(REFUSED | OF_RECURSION)[message]}
    with pytest.raises(ConfigurationError, match=message):
        depth_recursion.refuse(residual(**changes))


def test_limits_need_no_jax():
    """Configurations are read without it."""
    modules = ", ".join(registry.modules.values())
    code = f"import sys, {modules}; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Small networks for images, and the same written out window by window."""

import jax
import jax.numpy as jnp
import numpy as np

from scaling_limits.cells import Cell
from scaling_limits.configuration.models import MeasurementPlan, Resources
from scaling_limits.configuration.resolve import Resolver

DEPTHS = {"cnn": 3, "vgg5": 7}


def cell(**changes) -> Cell:
    """A resolved cell: a small cnn, trained by backpropagation, if nothing else is said."""
    network = changes.get("network", "cnn")
    plans = {
        name: MeasurementPlan(steps=steps) for name, steps in changes.pop("measure", {}).items()
    }
    settings = {
        "dataset": "digits",
        "input_shape": [16, 16],
        "network": "cnn",
        "width": 1,
        "depth": DEPTHS.get(network, 3),
        "depth_kind": "weight_layers",
        "activation": "tanh",
        "parameterisation": "sp_gaussian",
        "algorithm": "backpropagation",
        "optimiser": "sgd",
        "learning_rate": 1.0,
        "num_steps": 1,
        "batch_size": 4,
    }
    return Resolver(Resources(), {}).resolve(settings | changes, plans).cell


def scaling_of(cell: Cell) -> dict[str, dict[str, float]]:
    return {name: numbers.model_dump() for name, numbers in cell.scaling.items()}


def drawn(network, scaling, seed=0):
    """Normal weights of the scaling's size, by numpy: nothing to compile."""
    rng = np.random.default_rng(seed)
    shapes = jax.eval_shape(lambda: network.init(jax.random.key(0), scaling, "normal", jnp.float64))
    return tuple(
        {
            "linear": {
                "kernel": jnp.asarray(
                    scaling[s.role]["init_std"] * rng.normal(size=p["linear"]["kernel"].shape)
                )
            }
        }
        for s, p in zip(network.segments, shapes, strict=True)
    )


def images(shape, batch=2):
    return np.random.default_rng(1).normal(size=(batch, int(np.prod(shape))))


def effective(network, params, scaling):
    """The weights times their multipliers, in numpy."""
    return [
        scaling[s.role]["multiplier"] * np.asarray(p["linear"]["kernel"][0])
        for s, p in zip(network.segments, params, strict=True)
    ]


def plain_windows(images, size, stride=1):
    """[batch, rows, columns, size, size, channels]: every window, looked up pixel by pixel."""
    starts = [np.arange((length - size) // stride + 1) * stride for length in images.shape[1:3]]
    rows, columns = (start[:, None] + np.arange(size) for start in starts)
    return images[:, rows[:, None, :, None], columns[None, :, None, :]]


def plain_pool(images):
    """Maxima over 2 x 2."""
    return plain_windows(images, 2, stride=2).max(axis=(3, 4))


CONVOLUTIONS = {"cnn": [(5, 0)] * 2, "vgg5": [(3, 1)] * 4}
"""Size and padding of every convolution."""


def plain_inputs(name, number, u, shape, phi):
    """What the weight of layer `number` (from 0) is applied to, `[batch, ..., fan_in]`.

    `u` are the preactivations of the layer below, images if that is a convolution, or for the first
    layer the data. In numpy if they are.
    """
    convolutions = CONVOLUTIONS[name]
    if number == 0:
        entering = u.reshape(len(u), *shape)
    elif number <= len(convolutions):
        entering = plain_pool(phi(u))
    else:
        entering = phi(u)
    if number >= len(convolutions):
        return entering.reshape(len(u), -1)
    size, padding = convolutions[number]
    pad = jnp.pad if isinstance(entering, jax.Array) else np.pad
    padded = pad(entering, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    windows = plain_windows(padded, size)
    return windows.reshape(*windows.shape[:3], -1)


def plain_forward(name, weights, x, shape, phi):
    """The inputs of all weights and the preactivations that they make, the last f(x)."""
    inputs, u = [], [x]
    for number, weight in enumerate(weights):
        inputs.append(plain_inputs(name, number, u[-1], shape, phi))
        u.append(inputs[-1] @ weight.T)
    return inputs, u[1:]

"""Small networks with a batch, for what optimisers observe of them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scaling_limits import networks
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import Cell
from toys import BACKPROPAGATION, IMAGES, cell

NETWORKS: dict[str, dict[str, Any]] = {
    "skips": {"depth": 4, "activation": "gelu"},
    "one hidden layer": {"depth": 1},
    "after weight": {"depth": 3, "activation_position": "after_weight", "mean_subtraction": True},
    "blocks": {"depth": 3, "depth_kind": "blocks", "block_depth": 2, "layer_norm": True},
    "cnn": {**IMAGES, "network": "cnn", "depth": 3},
    "vgg5": {**IMAGES, "network": "vgg5", "depth": 7},
    "resnet": {
        **IMAGES,
        "network": "resnet_bottleneck",
        "input_shape": [8, 8],
        "depth": 8,
        "depth_kind": "blocks",
    },
    "residual cnn": {
        **IMAGES,
        "network": "residual_cnn",
        "input_shape": [8, 8],
        "depth": 4,
        "width": 9,
    },
    "transformer": {
        "network": "transformer",
        "dataset": "sentences",
        "normalisation": "none",
        "sequence_length": 4,
        "num_heads": 2,
        "skip": None,
        "activation": "gelu",
        "depth_kind": "blocks",
        "loss": "cross_entropy",
        "parameterisation": "sp_gaussian",
    },
}


def chosen(**changes: Any) -> Cell:
    return cell(**BACKPROPAGATION | {"dtype": "float64", "batch_size": 6} | changes)


def problem_of(own: Cell) -> Problem:
    rng = np.random.default_rng(0)
    network, scaling = networks.build(own.network), own.traced()["scaling"]
    params = network.init(jax.random.key(0), scaling, "normal", jnp.float64)
    x = jnp.asarray(rng.normal(size=(6, own.network.input_dim)))
    y = jnp.asarray(rng.normal(size=(6, own.network.output_dim)))
    numbers, tokens = {"seed": 0, "step": 0}, own.dataset.sequence_length or 1
    return Problem(network, params, scaling, x, y, own.algorithm, numbers, tokens=tokens)

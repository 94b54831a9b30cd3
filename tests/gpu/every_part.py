"""A small cell of every algorithm, network and optimiser, computed on the device of the command line.

`python every_part.py cpu FOLDER` trains them in float64, each alone and in a batch, and writes their losses.
"""

import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    from scaling_limits import runtime

    runtime.configure(dtype="float64", device=sys.argv[1])
    sys.path.insert(0, str(Path(__file__).parents[1]))

from toys import BACKPROPAGATION, CBOW, EQUILIBRIUM, IMAGES, RESIDUAL_CNN, TRANSFORMER, cell

CONVOLUTIONAL: dict[str, Any] = {**BACKPROPAGATION, **IMAGES, "width": 2}
BLOCKS = {**CONVOLUTIONAL, "input_shape": [8, 8], "depth_kind": "blocks", "width": 1}
PLAIN: dict[str, Any] = {
    "skip": False,
    "depth_kind": "weight_layers",
    "depth": 3,
    "optimiser": "sgd",
}
TARGETS = {
    **PLAIN,
    **BACKPROPAGATION,
    "activation_position": "after_weight",
    "parameterisation": "tp_mup",
    "algorithm": "target_propagation",
    "target_step": 0.1,
    "feedback": "linear",
    "feedback_learning_rate": 0.01,
    "output_scale": 1.0,
}
PRECONDITIONED = {**BACKPROPAGATION, **PLAIN, "parameterisation": "sp_gaussian", "damping": 0.1}
BY_ERRORS = {"algorithm": "predictive_coding", **EQUILIBRIUM}

CELLS: dict[str, dict[str, Any]] = {
    "descent": {},
    "adam": {"inference": "adam"},
    "exact": {**BACKPROPAGATION, "algorithm": "predictive_coding", "inference": "exact"}
    | {"activation": "linear"},
    "equilibrium": BY_ERRORS,
    "sequential": {**PLAIN, "parameterisation": "pc_mup", "energy_weight_exponent": 0}
    | {
        "num_inference_steps": 3,
        "activity_gradient": "per_sample",
        "inference_order": "sequential",
    },
    "backpropagation": BACKPROPAGATION,
    "blocks": {**BACKPROPAGATION, "depth_kind": "blocks", "block_depth": 2, "layer_norm": True},
    "words": CBOW,
    "gauss-newton": {**BACKPROPAGATION, **PLAIN, "algorithm": "gauss_newton_target"}
    | {"parameterisation": "gnt_mup"},
    "target propagation": TARGETS,
    "kfac": {**PRECONDITIONED, "optimiser": "kfac", "fisher": "sampled"},
    "foof": {**PRECONDITIONED, "optimiser": "foof"},
    "shampoo": {**PRECONDITIONED, "optimiser": "shampoo"},
    "cnn": {**CONVOLUTIONAL, "network": "cnn", "depth": 3},
    "vgg5": {**CONVOLUTIONAL, "network": "vgg5", "depth": 7},
    "vgg": {**CONVOLUTIONAL, "network": "vgg", "depth": 6, "width": 1} | {"input_shape": [32, 32]},
    "myrtle5": {**CONVOLUTIONAL, "network": "myrtle5", "depth": 5},
    "resnet, basic": {**BLOCKS, "network": "resnet_basic", "depth": 4},
    "resnet, bottleneck": {**BLOCKS, "network": "resnet_bottleneck", "depth": 8},
    "residual cnn": {**RESIDUAL_CNN, **BY_ERRORS, "width": 9},
    "transformer": {**TRANSFORMER, **BY_ERRORS},
}
"""Settings by name: what differs from the toy's."""


def cells(name: str, count: int = 1, device: str = "cpu") -> list[Any]:
    """So many seeds of a cell, computed together."""
    given = {**CELLS[name], "dtype": "float64", "device": device, "cells_per_batch": count}
    return [cell(**given, seed=seed) for seed in range(count)]


def main(device: str, folder: Path) -> None:
    """Write `losses.npz`: the training losses of each, those of the batch below `NAME, batch`."""
    import numpy as np

    from scaling_limits.datasets.loading import load
    from scaling_limits.datasets.preparation import prepare
    from scaling_limits.training.loop import compile_shard

    losses = {}
    for name in CELLS:
        for count, suffix in ((1, ""), (3, ", batch")):
            group = cells(name, count, device)
            dataset = group[0].dataset
            file = folder / f"{dataset.name}.npz"
            if not file.exists():
                prepare(dataset.name, data_path=None, downloads=folder, output=file, user={})
            found = compile_shard(group[0], load(dataset, file, "float64"))(group)
            losses[name + suffix] = np.stack([each["train_loss"].values for each in found])
    np.savez(folder / "losses.npz", **losses)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

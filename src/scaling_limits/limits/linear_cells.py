"""Requirements of limits of linear networks on cells, and the numbers that they read from cells."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scaling_limits.cells import Cell
from scaling_limits.errors import ConfigurationError
from scaling_limits.measured import Measured


@dataclass(frozen=True)
class Weights:
    """The weights of one role as c Z, with Z of unit variance: `scale` is c, and `rate` is SGD's learning rate of Z.

    Rescalings of parameters, multipliers and learning rates that do not change training do not change these numbers.
    """

    scale: float
    rate: float


def weights(cell: Cell, role: str) -> Weights:
    """Return the weights of a role, including the multiplier of their residual branch."""
    numbers = cell.scaling[role]
    branch = numbers.branch if role == "hidden" and cell.network.skip else 1.0
    return Weights(
        scale=numbers.multiplier * branch * numbers.init_std,
        rate=numbers.learning_rate / numbers.init_std**2,
    )


def require(cell: Cell, **own: tuple[object, Sequence[object]] | None) -> None:
    """Reject cells other than linear mlps with independent weights, trained by plain SGD on the mean squared error.

    `own` maps the further requirements of a limit to (actual value, allowed values), and what may have any value to
    None.

    Raises:
        ConfigurationError: naming the first difference.
    """
    network, optimiser = cell.network, cell.optimiser
    facts: dict[str, tuple[object, Sequence[object]] | None] = {
        "network": (network.name, ["mlp"]),
        "activation": (network.activation, ["linear"]),
        "mean_subtraction": (network.mean_subtraction, [False]),
        "block_depth": (network.block_depth, [1]),
        "layer_norm": (network.layer_norm, [False]),
        "init_distribution": (cell.init_distribution, ["normal", "uniform"]),
        "loss": (cell.algorithm.loss, ["mean_squared_error"]),
        "optimiser": (optimiser.name, ["sgd"]),
        "augmentation": (cell.augmentation or "none", ["none"]),
        "learning_rate_schedule": (cell.learning_rate_schedule or "constant", ["constant"]),
        "momentum": (getattr(optimiser, "momentum", None), [0.0]),
        **own,
    }
    for name, fact in facts.items():
        if fact is None:
            continue
        value, allowed = fact
        if value not in allowed:
            valid = " or ".join(repr(value) for value in allowed)
            raise ConfigurationError(name, f"limit {cell.limit} requires {valid}, not {value!r}")


def curve(cell: Cell, losses: np.ndarray) -> dict[str, Measured]:
    """Return `train_loss` of the batches before every update, as training records it."""
    steps = tuple(range(cell.num_steps))
    return {"train_loss": Measured(losses[: cell.num_steps], ("step",), {"step": steps})}

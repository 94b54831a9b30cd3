"""Transfer: whether the optimum of a hyperparameter of a user's model stays in place over the width and depth."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from scaling_limits.claims import optimum_stays
from scaling_limits.claims.measurement import Measurement, UndecidedError
from scaling_limits.errors import ConfigurationError
from scaling_limits.figures.quantities import Quantity
from scaling_limits.model_check.models import model_of
from scaling_limits.model_check.sweep import (
    Size,
    Sweep,
    losses_of,
    models_of,
    optimiser_at,
    sweep_of,
)
from scaling_limits.model_check.training import step
from scaling_limits.model_check.verdicts import Axis
from scaling_limits.records import Results
from scaling_limits.training.loop import options

if TYPE_CHECKING:
    import pandas as pd
    from jax import Array
    from jaxtyping import PyTree
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from scaling_limits.model_check.training import Loss, LossFunction, OptimiserBySize

TransferVerdict = Literal["moves", "inconclusive", "transfers"]
RESERVED = ("width", "depth", "seed", "rngs")


@dataclass(frozen=True)
class TransferReport:
    """What a sweep of a hyperparameter shows. Printed, it is the verdict with reasons.

    Attributes:
        hyperparameter: its name.
        judged: the measurement of the claim `optimum_stays` over the width and over the depth.
        losses: columns `width`, `depth`, `seed`, the hyperparameter, `first` and `last` (training loss before the first
            and after the last update).
    """

    hyperparameter: str
    judged: Mapping[Axis, Measurement]
    losses: pd.DataFrame

    @property
    def verdict(self) -> TransferVerdict:
        """`moves` if the optimum moves over the width or depth, else `inconclusive` if that is open for one of them."""
        holds = [measurement.holds for measurement in self.judged.values()]
        if False in holds:
            return "moves"
        return "inconclusive" if None in holds else "transfers"

    @property
    def reason(self) -> str:
        """How far the optimum moves, with its interval."""
        return "; ".join(measurement.detail for measurement in self.judged.values())

    def plot(self) -> Figure:
        """Draw the loss against the hyperparameter for each width and depth, with a ring at each optimum."""
        from scaling_limits.model_check.transfer_picture import draw

        return draw(self)

    def __repr__(self) -> str:
        return f"verdict: {self.verdict}\nreason: {self.reason}"


def check_transfer(
    build: Callable[..., object],
    optimiser: OptimiserBySize,
    hyperparameter: str,
    values: Sequence[float],
    *,
    data: tuple[ArrayLike, ArrayLike],
    loss: Loss,
    widths: Sequence[int],
    depths: Sequence[int],
    seeds: int,
    steps: int,
    max_shift: float,
) -> TransferReport:
    """Judge whether an optimum transfers; see `scaling_limits.check_transfer`."""
    import pandas as pd

    sweep = sweep_of(data, widths, depths, seeds, steps)
    _require_values(build, optimiser, hyperparameter, values)
    first = {hyperparameter: values[0]}
    models = models_of(build, sweep, **_taken(build, first))
    parts = []
    for size, _, _, function in losses_of(loss, sweep, models):
        trained = _sweep_values(build, optimiser, function, sweep, size, hyperparameter, values)
        parts += list(_rows(trained, size, hyperparameter, values))
    losses = pd.DataFrame(parts)
    axes: dict[Axis, list[Size]] = {"width": sweep.over_width, "depth": sweep.over_depth}
    judged = {
        axis: _judged(losses, axis, sizes, hyperparameter, steps, max_shift)
        for axis, sizes in axes.items()
        if sizes
    }
    return TransferReport(hyperparameter, judged, losses)


def _takes(function: Callable[..., object], name: str) -> bool:
    return name in inspect.signature(function).parameters


def _taken(function: Callable[..., object], values: Mapping[str, object]) -> dict[str, object]:
    """Return the hyperparameters that a function has a parameter for."""
    return {name: value for name, value in values.items() if _takes(function, name)}


def _require_values(
    build: Callable[..., object],
    optimiser: Callable[..., object],
    name: str,
    values: Sequence[float],
) -> None:
    """Refuse a hyperparameter that nothing takes, and values without an optimum between them.

    Raises:
        ConfigurationError: naming the hyperparameter.
    """
    if name in RESERVED:
        raise ConfigurationError(name, f"is no hyperparameter; reserved are {', '.join(RESERVED)}")
    if not (_takes(build, name) or _takes(optimiser, name)):
        raise ConfigurationError(
            name,
            f"neither build nor optimiser has a parameter '{name}'; write optimiser(width, depth, {name})",
        )
    if len(set(values)) < 3 or min(values) <= 0 or len(set(values)) < len(values):
        raise ConfigurationError(
            name, f"{list(values)}; valid are at least three different positive numbers"
        )


def _sweep_values(
    build: Callable[..., object],
    optimiser: OptimiserBySize,
    loss: LossFunction,
    sweep: Sweep,
    size: Size,
    hyperparameter: str,
    values: Sequence[float],
) -> np.ndarray:
    """Train at all values and seeds in one program.

    Args:
        build: see `check_transfer`.
        optimiser: see `check_transfer`.
        loss: of outputs and targets.
        sweep: the seeds, steps and data.
        size: width and depth.
        hyperparameter: see `check_transfer`.
        values: see `check_transfer`.

    Returns:
        The training loss [values, seeds, 2] before the first and after the last update.
    """
    import jax
    import jax.numpy as jnp

    def trained(value: Array, key: Array, data: tuple[Array, Array]) -> Array:
        width, depth = size
        fixed = {hyperparameter: value}
        model = model_of(build, width, depth, **_taken(build, fixed))
        transformation = optimiser_at(optimiser, size, **_taken(optimiser, fixed))
        params, state = model.init(key, data[0])
        rule = transformation(params)

        def body(carry: PyTree, _: None) -> tuple[PyTree, Array]:
            carry, before, _captured = step(model, loss, rule, carry, data)
            return carry, before

        carry = params, state, rule.init(params)
        # the loss after the last update is that before one more
        _, curve = jax.lax.scan(body, carry, length=sweep.steps + 1)
        return jnp.stack([curve[0], curve[-1]])

    def at(data: tuple[Array, Array], keys: Array, values: Array) -> Array:
        of_seeds = jax.vmap(trained, in_axes=(None, 0, None))
        losses: Array = jax.lax.map(lambda value: of_seeds(value, keys, data), values)
        return losses

    run = jax.jit(at, compiler_options=options("partly"))
    return np.asarray(run(sweep.data, sweep.keys(size), jnp.asarray(values, _precision(sweep))))


def _precision(sweep: Sweep) -> np.dtype:
    """Return the precision of the hyperparameter: that of real inputs, else the default."""
    import jax.numpy as jnp

    x = sweep.data[0]
    return x.dtype if jnp.issubdtype(x.dtype, jnp.floating) else jnp.zeros(0).dtype


def _rows(
    trained: np.ndarray, size: Size, hyperparameter: str, values: Sequence[float]
) -> Iterator[dict[str, float]]:
    """Yield the rows of `TransferReport.losses` of a size."""
    for value, at_value in zip(values, trained, strict=True):
        for seed, (first, last) in enumerate(at_value):
            sizes = {"width": size[0], "depth": size[1], "seed": seed}
            yield {
                **sizes,
                hyperparameter: float(value),
                "first": float(first),
                "last": float(last),
            }


def _judged(
    losses: pd.DataFrame,
    axis: Axis,
    sizes: Sequence[Size],
    hyperparameter: str,
    steps: int,
    max_shift: float,
) -> Measurement:
    """Measure the claim that the optimum stays over an axis, as the claims of the project's figures are measured.

    Args:
        losses: see `TransferReport.losses`.
        axis: `width` or `depth`.
        sizes: those over the axis.
        hyperparameter: its name.
        steps: the number of updates.
        max_shift: in octaves.
    """
    import pandas as pd

    pairs = pd.MultiIndex.from_frame(losses[["width", "depth"]])
    cells = losses[pairs.isin(sizes)].reset_index(drop=True)
    cells = cells.assign(grid="check", num_steps=steps, cell_id=[f"c{k}" for k in cells.index])
    records = pd.concat(
        pd.DataFrame(
            {"cell_id": cells["cell_id"], "metric": "train_loss", "step": at, "value": cells[name]}
        )
        for at, name in ((0, "first"), (steps, "last"))
    )
    claim = optimum_stays.Claim(
        id="transfer",
        kind="optimum_stays",
        statement="The optimum stays.",
        source="scaling_limits.check_transfer",
        grids=("check",),
        control=("none",),
        quantity=Quantity(metric="train_loss"),
        along=axis,
        over=hyperparameter,
        max_shift=max_shift,
    )
    try:
        return claim.measure(Results(cells.drop(columns=["first", "last"]), records))
    except UndecidedError as error:
        return Measurement(None, np.nan, None, "", str(error))

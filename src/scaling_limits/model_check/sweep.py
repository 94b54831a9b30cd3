"""The sizes of a check: models, data and optimisers at each, and what is refused before anything is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scaling_limits.errors import ConfigurationError
from scaling_limits.model_check.capture import ModelShape, require_comparable, shape_of
from scaling_limits.model_check.models import Model, model_of
from scaling_limits.model_check.training import (
    Loss,
    LossFunction,
    OptimiserBySize,
    loss_of,
    transformation_of,
)

if TYPE_CHECKING:
    import optax
    from jax import Array
    from jaxtyping import PyTree
    from numpy.typing import ArrayLike

Size = tuple[int, int]
"""Width and depth."""


@dataclass(frozen=True)
class Sweep:
    """Models over the width at the smallest depth, and over the depth at the largest width."""

    widths: tuple[int, ...]
    depths: tuple[int, ...]
    seeds: int
    steps: int
    data: tuple[Array, Array]
    first_seed: int = 0

    @property
    def over_width(self) -> list[Size]:
        """The sizes over the width; empty if there is one width."""
        return [(width, self.depths[0]) for width in self.widths] if len(self.widths) > 1 else []

    @property
    def over_depth(self) -> list[Size]:
        """The sizes over the depth; empty if there is one depth."""
        return [(self.widths[-1], depth) for depth in self.depths] if len(self.depths) > 1 else []

    @property
    def sizes(self) -> list[Size]:
        """All sizes, each once."""
        return list(dict.fromkeys([*self.over_width, *self.over_depth]))

    def keys(self, size: Size) -> Array:
        """Random keys of the initial weights, one for each seed."""
        import jax

        width, depth = size
        return jax.vmap(
            lambda seed: jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), width), depth)
        )(self.first_seed + jax.numpy.arange(self.seeds))


def sweep_of(
    data: tuple[ArrayLike, ArrayLike],
    widths: Sequence[int],
    depths: Sequence[int],
    seeds: int,
    steps: int,
) -> Sweep:
    """Return the sizes of a check.

    Raises:
        ConfigurationError: a number is invalid, there is one size, or the data are not two arrays of the same length.
    """
    import jax.numpy as jnp

    for name, values in (("widths", widths), ("depths", depths)):
        if (
            any(int(v) != v or v < 1 for v in values)
            or len(set(values)) < len(values)
            or not values
        ):
            raise ConfigurationError(name, f"{list(values)}; valid are different positive integers")
    if len(widths) < 2 and len(depths) < 2:
        raise ConfigurationError(
            "widths",
            f"{list(widths)} and depths {list(depths)} are one size, which has no exponent; give at least two widths "
            "or two depths",
        )
    for name, number, least in (("seeds", seeds, 1), ("steps", steps, 2)):
        if number < least:
            raise ConfigurationError(name, f"{number}; valid is at least {least}")
    if not (isinstance(data, tuple | list) and len(data) == 2):
        raise ConfigurationError("data", f"{type(data).__name__}; valid is a pair of arrays (x, y)")
    x, y = (jnp.asarray(array) for array in data)
    if x.ndim < 1 or y.ndim < 1 or len(x) != len(y):
        raise ConfigurationError(
            "data",
            f"x has shape {x.shape} and y {y.shape}; both must have one entry for each sample",
        )
    return Sweep(tuple(sorted(widths)), tuple(sorted(depths)), seeds, steps, (x, y))


def models_of(
    build: Callable[..., object], sweep: Sweep, **values: object
) -> dict[Size, tuple[Model, ModelShape]]:
    """Build and trace the model of each size.

    Args:
        build: see `scaling_limits.check`.
        sweep: the sizes.
        **values: of hyperparameters that `build` takes by name.

    Raises:
        ConfigurationError: models cannot be built or compared; names the layer.
    """
    models = {}
    for width, depth in sweep.sizes:
        model = model_of(build, width, depth, **values)
        models[width, depth] = model, shape_of(model, sweep.data[0])
    require_comparable({size[0]: models[size][1] for size in sweep.over_width})
    return models


def losses_of(
    loss: Loss, sweep: Sweep, models: dict[Size, tuple[Model, ModelShape]]
) -> Iterator[tuple[Size, Model, ModelShape, LossFunction]]:
    """Yield each size with its model, layers and loss function."""
    for size, (model, shape) in models.items():
        yield size, model, shape, loss_of(loss, shape.output.shape, sweep.data[1])


def optimiser_at(
    optimiser: OptimiserBySize, size: Size, **values: object
) -> Callable[[PyTree], optax.GradientTransformation]:
    """Return the function that gives the transformation of all parameters of a size."""
    width, depth = size
    return lambda params: transformation_of(optimiser(width, depth, **values), params)

"""The contract of an optimiser: the function that its module defines."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import optax
from jaxtyping import PyTree


class Optimiser(Protocol):
    """An optimiser computes the direction of one role's updates, which `groups` multiplies by minus the learning rate.

    A module may also declare `NEEDS`, further arguments of its transformation: `inputs`, `cotangents` and `fisher` of
    every linear operation, laid out as the weights are. An optimiser that preconditions gradients supplies named
    exponents of rows in `exponents(settings)`. The fields of its `Spec` without a setting of the same name are supplied
    by `options(settings)`.
    """

    def build(
        self, numbers: Mapping[str, PyTree], factors: Mapping[str, PyTree], /
    ) -> optax.GradientTransformation:
        """Build the transformation of gradients to directions.

        Args:
            numbers: the numbers of the cell's optimiser: traced fields of its `Spec` as arrays, others as they are.
            factors: the factors that the parameterisation assigns to the role.
        """


if TYPE_CHECKING:
    from scaling_limits.optimisers import adam, foof, kfac, sgd
    from scaling_limits.optimisers.shampoo import computation as shampoo

    _CHECKED: tuple[Optimiser, ...] = (adam, foof, kfac, sgd, shampoo)

"""The contract of an optimiser: what its module defines."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import optax
from jaxtyping import PyTree


class Optimiser(Protocol):
    """Computes the direction of one role's updates, which `groups` multiplies by minus the learning rate.

    A module may also declare `NEEDS`, further arguments of its transformation: `inputs`, `cotangents` and `fisher` of
    every linear operation, laid out as the weights are. One that preconditions gradients supplies named exponents of
    rows in `exponents(settings)`, and the fields of its `Spec` that no setting of the same name has in
    `options(settings)`.
    """

    def build(
        self, numbers: Mapping[str, PyTree], factors: Mapping[str, PyTree], /
    ) -> optax.GradientTransformation:
        """The transformation of gradients to directions.

        Args:
            numbers: the traced numbers of the cell's optimiser.
            factors: the factors that the parameterisation assigns to the role.
        """


if TYPE_CHECKING:
    from scaling_limits.optimisers import adam, foof, kfac, sgd
    from scaling_limits.optimisers.shampoo import computation as shampoo

    _CHECKED: tuple[Optimiser, ...] = (adam, foof, kfac, sgd, shampoo)

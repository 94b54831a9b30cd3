"""Expectations of a smooth activation and its derivatives under bivariate Gaussians.

For Gaussians u and w of zero mean, they are computed by the trapezoidal rule in two independent unit Gaussians x and y,
`u = a^(1/2) x` and `w = (c / a^(1/2)) x + (b - c^2 / a)^(1/2) y`, with a = E u^2, b = E w^2 and c = E u w. Its error
decreases exponentially with the number of nodes, also for a singular covariance. The spacing of the nodes depends on
the largest variance v: for tanh, whose poles are close to the real axis, a spacing of `SPACING` / v^(1/2) keeps the
error below 1e-8 up to v = 50. For larger variances, there are `MOST_NODES` nodes.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Array = np.ndarray
Function = Callable[[Array], Array]
SPACING, MOST_NODES = 0.25, 512
_END, _LARGEST_SPACING = 9.0, 0.2


class Activation(NamedTuple):
    """An activation phi with its first three derivatives."""

    value: Function
    first: Function
    second: Function
    third: Function

    def scaled(self, size: float) -> "Activation":
        """Return u -> phi(size u)."""
        return Activation(
            *(
                lambda u, function=function, power=power: size**power * function(size * u)
                for power, function in enumerate(self)
            )
        )


class ActivationMoments(NamedTuple):
    """Expectations for each pair of u and w.

    Attributes:
        values: the covariance of phi(u) and phi(w).
        derivatives: E phi'(u) phi'(w).
        curvatures: E phi''(u) phi''(w).
        curvature_values: E phi''(u) (phi(w) - E phi(w)).
        third_derivatives: E phi'''(u) phi'(w).
    """

    values: Float[Array, "rows columns"]
    derivatives: Float[Array, "rows columns"]
    curvatures: Float[Array, "rows columns"]
    curvature_values: Float[Array, "rows columns"]
    third_derivatives: Float[Array, "rows columns"]


def smooth(name: str) -> Activation:
    """Return one of `SMOOTH` with its derivatives."""
    return SMOOTH[name]()


def moments(
    activation: Activation,
    covariances: Float[Array, "rows columns"],
    rows: Float[Array, " rows"],
    columns: Float[Array, " columns"],
) -> ActivationMoments:
    """Compute the moments of each pair of Gaussians.

    Args:
        activation: phi and its derivatives.
        covariances: E u w, `[rows, columns]`.
        rows: E u^2.
        columns: E w^2.

    Returns:
        The moments, each `[rows, columns]`; NaN if a variance is not finite.
    """
    largest = float(max(rows.max(), columns.max()))
    if not np.isfinite(largest):
        return ActivationMoments(*[np.full(covariances.shape, np.nan)] * 5)
    spacing = min(_LARGEST_SPACING, SPACING / max(largest, 1.0) ** 0.5)
    x = np.linspace(-_END, _END, min(round(2 * _END / spacing) + 1, MOST_NODES))
    result = [_row(activation, x, *each, columns) for each in zip(rows, covariances, strict=True)]
    return ActivationMoments(*(np.array(part) for part in zip(*result, strict=True)))


def _row(
    activation: Activation, x: Array, variance: float, covariances: Array, columns: Array
) -> tuple[Array, ...]:
    """Compute the moments of one u with each w, at the nodes x."""
    weights = np.exp(-(x**2) / 2)
    weights /= weights.sum()
    size = np.sqrt(variance)
    along = covariances / size if size > 0 else np.zeros_like(covariances)
    across = np.sqrt(np.maximum(columns - along**2, 0.0))
    # w at all nodes of x and y
    w = along[:, None, None] * x[:, None] + across[:, None, None] * x
    values, first, second = (
        function(w) @ weights
        for function in (activation.value, activation.first, activation.second)
    )
    values = values - (values @ weights)[:, None]
    u = size * x
    return (
        values @ (weights * activation.value(u)),
        first @ (weights * activation.first(u)),
        second @ (weights * activation.second(u)),
        values @ (weights * activation.second(u)),
        first @ (weights * activation.third(u)),
    )


def _tanh() -> Activation:
    def first(u: Array) -> Array:
        derivative: Array = 1.0 - np.tanh(u) ** 2
        return derivative

    return Activation(
        value=np.tanh,
        first=first,
        second=lambda u: -2.0 * np.tanh(u) * first(u),
        third=lambda u: (6.0 * np.tanh(u) ** 2 - 2.0) * first(u),
    )


def _erf() -> Activation:
    # imported only when needed, because the import takes a third of a second
    from scipy.special import erf

    def first(u: Array) -> Array:
        derivative: Array = 2.0 / np.pi**0.5 * np.exp(-(u**2))
        return derivative

    return Activation(
        value=erf,
        first=first,
        second=lambda u: -2.0 * u * first(u),
        third=lambda u: (4.0 * u**2 - 2.0) * first(u),
    )


def _gelu() -> Activation:
    from scipy.special import ndtr

    def density(u: Array) -> Array:
        result: Array = np.exp(-(u**2) / 2) / (2.0 * np.pi) ** 0.5
        return result

    return Activation(
        value=lambda u: u * ndtr(u),
        first=lambda u: ndtr(u) + u * density(u),
        second=lambda u: (2.0 - u**2) * density(u),
        third=lambda u: (u**3 - 4.0 * u) * density(u),
    )


SMOOTH: dict[str, Callable[[], Activation]] = {"erf": _erf, "gelu": _gelu, "tanh": _tanh}
"""Activations with three derivatives."""

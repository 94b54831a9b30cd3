"""Predictive coding of linear networks at the equilibrium of its activities, with explicit
matrices.

Weights are lists W_1..W_L, multipliers lists c_1..c_L (with 1/gamma in c_L); with `skip`, layers
2..L-1 add their input. In the notation of the docstrings A_l = c_l W_l (+ I) and B_l = A_L ...
A_{l+1}, B_L = I. Data are rows: x `[B, D]`, y `[B, C]`. Sources: pcn-limits Eq. 5, 24, 104, 48,
109; mupc Eq. 30, 31.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

Matrices = list[Array]


def layer_matrices(
    params: Sequence[Any], scaling: Mapping[str, Mapping[str, Any]], roles: Sequence[str]
) -> tuple[Matrices, list[Array]]:
    """Weights W_1..W_L and their multipliers from parameters stacked by segment, and each segment's
    role.
    """
    weights, multipliers = [], []
    for stacked, role in zip(params, roles, strict=True):
        (kernels,) = jax.tree.leaves(stacked)
        weights += list(kernels)
        multipliers += [jnp.asarray(scaling[role]["multiplier"], kernels.dtype)] * len(kernels)
    return weights, multipliers


def effective_matrices(
    weights: Sequence[Array], multipliers: Sequence[Array | float], *, skip: bool
) -> Matrices:
    """A_1..A_L."""
    matrices = [c * w for c, w in zip(multipliers, weights, strict=True)]
    if skip:
        for index in range(1, len(matrices) - 1):
            matrices[index] += jnp.eye(len(matrices[index]), dtype=matrices[index].dtype)
    return matrices


def downstream(matrices: Sequence[Array]) -> Matrices:
    """B_0..B_L, the map from each layer's activity to the output."""
    products = [jnp.eye(len(matrices[-1]), dtype=matrices[-1].dtype)]
    for matrix in reversed(matrices):
        products.insert(0, products[0] @ matrix)
    return products


def rescaling_matrix(matrices: Sequence[Array]) -> Float[Array, "out out"]:
    """S = I + sum_{l=1}^{L-1} B_l B_l^T (mupc Eq. 31); for one output it is s (pcn-limits Eq. 6,
    25, 104).
    """
    return jnp.stack([b @ b.T for b in downstream(matrices)[1:]]).sum(axis=0)


def loss(matrices: Sequence[Array], x: Array, y: Array) -> Array:
    """Mean squared error 1/(2B) sum ||r||^2, with r = y - B_0 x."""
    residual = _residual(matrices, x, y)
    return 0.5 * jnp.vdot(residual, residual) / len(x)


def equilibrium_energy(matrices: Sequence[Array], x: Array, y: Array) -> Array:
    """F* = 1/(2B) sum r^T S^{-1} r (mupc Eq. 30, pcn-limits Eq. 5)."""
    residual = _residual(matrices, x, y)
    whitened = jnp.linalg.solve(rescaling_matrix(matrices), residual.T).T
    return 0.5 * jnp.vdot(residual, whitened) / len(x)


def equilibrium_activities(matrices: Sequence[Array], x: Array, y: Array) -> Matrices:
    """z*_1..z*_{L-1}: z*_l = A_l z*_{l-1} + B_l^T S^{-1} r."""
    output_error = jnp.linalg.solve(rescaling_matrix(matrices), _residual(matrices, x, y).T).T
    activities, z = [], x
    for matrix, b in zip(matrices[:-1], downstream(matrices)[1:], strict=False):
        z = z @ matrix.T + output_error @ b
        activities.append(z)
    return activities


def predictive_coding_gradients(
    weights: Sequence[Array],
    multipliers: Sequence[Array | float],
    x: Array,
    y: Array,
    *,
    skip: bool,
) -> Matrices:
    """dF*/dW_l = -(c_l/B) sum (B_l^T S^{-1} r) z*_{l-1}^T."""
    matrices = effective_matrices(weights, multipliers, skip=skip)
    output_error = jnp.linalg.solve(rescaling_matrix(matrices), _residual(matrices, x, y).T).T
    inputs = [x, *equilibrium_activities(matrices, x, y)]
    return _outer_products(matrices, multipliers, output_error, inputs)


def backpropagation_gradients(
    weights: Sequence[Array],
    multipliers: Sequence[Array | float],
    x: Array,
    y: Array,
    *,
    skip: bool,
) -> Matrices:
    """dL/dW_l = -(c_l/B) sum (B_l^T r) h_{l-1}^T."""
    matrices = effective_matrices(weights, multipliers, skip=skip)
    inputs = [x]
    for matrix in matrices[:-1]:
        inputs.append(inputs[-1] @ matrix.T)
    return _outer_products(matrices, multipliers, _residual(matrices, x, y), inputs)


def rescaling_gradients(
    weights: Sequence[Array], multipliers: Sequence[Array | float], *, skip: bool
) -> Matrices:
    """ds/dW_l of a network with one output (pcn-limits Eq. 48, 109); that of W_1 is zero.

    The sum over k <= l of (B_l)^T B_{k-1} (A_{l-1} ... A_k)^T is accumulated from the input up.
    """
    matrices = effective_matrices(weights, multipliers, skip=skip)
    products = downstream(matrices)
    gradients = [jnp.zeros_like(weights[0])]
    paths = jnp.zeros((1, weights[1].shape[1]), weights[1].dtype)
    for index in range(1, len(weights)):
        if index > 1:
            paths = paths @ matrices[index - 1].T
        paths = paths + products[index]
        gradients.append(2.0 * multipliers[index] * products[index + 1].T @ paths)
    return gradients


def _residual(matrices: Sequence[Array], x: Array, y: Array) -> Array:
    return y - x @ downstream(matrices)[0].T


def _outer_products(
    matrices: Sequence[Array],
    multipliers: Sequence[Array | float],
    output_error: Array,
    inputs: Sequence[Array],
) -> Matrices:
    products = downstream(matrices)[1:]
    return [
        -c / len(output_error) * (output_error @ b).T @ h
        for c, b, h in zip(multipliers, products, inputs, strict=True)
    ]

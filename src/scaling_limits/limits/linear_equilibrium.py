"""Predictive coding of linear networks at the equilibrium of its activities, with explicit matrices.

Weights are lists W_1..W_L, multipliers lists c_1..c_L (with 1/gamma in c_L); with `skip`, layers 2..L-1 add their
input. In the notation of the docstrings, A_l = c_l W_l (+ I) and B_l = A_L ... A_{l+1}, B_L = I. Data are rows: x `[B,
D]`, y `[B, C]`. The weights of the errors in the energy are lists g_1..g_L (pc-tp gamma_l), all one if they are not
given. The output's activity is clamped to y or, with a finite `nudging` beta, attracted to it by the term beta/2 ||y -
z_L||^2. Sources: pcn-limits Eq. 5, 24, 104, 48, 109; mupc Eq. 30, 31; pc-tp Theorems 4.2 and B.3.
"""

import math
from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PyTree

Matrices = list[Array]
Weights = Sequence[Array | float]


def layer_matrices(
    params: Sequence[PyTree],
    scaling: Mapping[str, Mapping[str, PyTree]],
    roles: Sequence[str],
    *,
    skip: bool,
) -> tuple[Matrices, list[Array]]:
    """List the weights W_1..W_L and their multipliers.

    Args:
        params: the weights stacked by segment, each a tree with one leaf `[count, out, in]`.
        scaling: the numbers of the parameterisation, role -> quantity -> number; `multiplier` and `branch` are used.
        roles: the role of each segment.
        skip: whether hidden layers are residual branches; their multipliers then include the branch multiplier.

    Returns:
        W_1..W_L, each `[out_l, in_l]`, and c_1..c_L, scalars.
    """
    weights, multipliers = [], []
    for stacked, role in zip(params, roles, strict=True):
        (kernels,) = jax.tree.leaves(stacked)
        branch = scaling[role]["branch"] if skip and role == "hidden" else 1.0
        multiplier = jnp.asarray(scaling[role]["multiplier"] * branch, kernels.dtype)
        weights += list(kernels)
        multipliers += [multiplier] * len(kernels)
    return weights, multipliers


def effective_matrices(
    weights: Sequence[Array], multipliers: Sequence[Array | float], *, skip: bool
) -> Matrices:
    """Return A_1..A_L."""
    matrices = [c * w for c, w in zip(multipliers, weights, strict=True)]
    if skip:
        for index in range(1, len(matrices) - 1):
            matrices[index] += jnp.eye(len(matrices[index]), dtype=matrices[index].dtype)
    return matrices


def downstream(matrices: Sequence[Array]) -> Matrices:
    """Return B_0..B_L, the map from each layer's activity to the output."""
    products = [jnp.eye(len(matrices[-1]), dtype=matrices[-1].dtype)]
    for matrix in reversed(matrices):
        products.insert(0, products[0] @ matrix)
    return products


def rescaling_matrix(
    matrices: Sequence[Array],
    energy_weights: Weights | None = None,
    *,
    nudging: Array | float = math.inf,
) -> Float[Array, "out out"]:
    """Return S = (1 + g_L/beta) I + sum_{l=1}^{L-1} (g_L/g_l) B_l B_l^T.

    This is mupc Eq. 31, pc-tp I + C_gamma and, with nudging, S.104. For one clamped output and unit weights it is s
    (pcn-limits Eq. 6, 25, 104).
    """
    ratios = _ratios(matrices, energy_weights)
    terms = [ratio * b @ b.T for ratio, b in zip(ratios, downstream(matrices)[1:], strict=True)]
    nudged = _output_weight(energy_weights) / nudging * jnp.eye(len(terms[-1]))
    return jnp.stack([*terms, nudged.astype(terms[-1].dtype)]).sum(axis=0)


def loss(matrices: Sequence[Array], x: Array, y: Array) -> Array:
    """Compute the mean squared error 1/(2B) sum ||r||^2, with r = y - B_0 x."""
    residual = _residual(matrices, x, y)
    return 0.5 * jnp.vdot(residual, residual) / len(x)


def equilibrium_energy(
    matrices: Sequence[Array],
    x: Array,
    y: Array,
    energy_weights: Weights | None = None,
    *,
    nudging: Array | float = math.inf,
) -> Array:
    """Return the batch-mean energy at equilibrium, F* = g_L/(2B) sum r^T S^{-1} r (mupc Eq. 30, pcn-limits Eq. 5).

    The nudging term is included.

    Args:
        matrices: A_1..A_L, each `[out_l, in_l]` (`effective_matrices`).
        x: inputs `[B, D]`.
        y: targets `[B, C]`.
        energy_weights: g_1..g_L; all one if None.
        nudging: beta; infinite if the output is clamped to y.

    Returns:
        F*, a scalar.
    """
    output_error = equilibrium_errors(matrices, x, y, energy_weights, nudging=nudging)[-1]
    weight = _output_weight(energy_weights)
    return 0.5 * weight * jnp.vdot(_residual(matrices, x, y), output_error) / len(x)


def equilibrium_errors(
    matrices: Sequence[Array],
    x: Array,
    y: Array,
    energy_weights: Weights | None = None,
    *,
    nudging: Array | float = math.inf,
) -> Matrices:
    """Return the errors e*_1..e*_L at equilibrium, e*_l = (g_L/g_l) B_l^T S^{-1} r, with e*_L = z*_L - A_L z*_{L-1}.

    This is pc-tp Eq. 15 with the sign of its derivation, S.92. The main text prints the errors of -r, and so does S.104
    for a nudged output.

    Args:
        matrices: A_1..A_L, each `[out_l, in_l]` (`effective_matrices`).
        x: inputs `[B, D]`.
        y: targets `[B, C]`.
        energy_weights: g_1..g_L; all one if None.
        nudging: beta; infinite if the output is clamped to y.

    Returns:
        The errors, each `[B, out_l]`.
    """
    rescaling = rescaling_matrix(matrices, energy_weights, nudging=nudging)
    output_error = jnp.linalg.solve(rescaling, _residual(matrices, x, y).T).T
    ratios = _ratios(matrices, energy_weights)
    return [
        ratio * output_error @ b for ratio, b in zip(ratios, downstream(matrices)[1:], strict=True)
    ]


def equilibrium_activities(
    matrices: Sequence[Array],
    x: Array,
    y: Array,
    energy_weights: Weights | None = None,
    *,
    nudging: Array | float = math.inf,
) -> Matrices:
    """Return the activities z*_1..z*_L at equilibrium, z*_l = A_l z*_{l-1} + e*_l.

    The last is y if the output is clamped. Written out, this is pc-tp Eq. 16 with a sum up to l; the paper prints l -
    1.

    Args:
        matrices: A_1..A_L, each `[out_l, in_l]` (`effective_matrices`).
        x: inputs `[B, D]`.
        y: targets `[B, C]`.
        energy_weights: g_1..g_L; all one if None.
        nudging: beta; infinite if the output is clamped to y.

    Returns:
        The activities, each `[B, out_l]`.
    """
    errors = equilibrium_errors(matrices, x, y, energy_weights, nudging=nudging)
    activities, z = [], x
    for matrix, error in zip(matrices, errors, strict=True):
        z = z @ matrix.T + error
        activities.append(z)
    return activities


def predictive_coding_gradients(
    weights: Sequence[Array],
    multipliers: Sequence[Array | float],
    x: Array,
    y: Array,
    *,
    skip: bool,
    energy_weights: Weights | None = None,
) -> Matrices:
    """Return predictive coding's gradients at equilibrium, -(c_l/B) sum e*_l z*_{l-1}^T.

    They equal (1/g_l) dF*/dW_l (pc-tp S.33). The output is clamped to y.

    Args:
        weights: W_1..W_L, each `[out_l, in_l]`.
        multipliers: c_1..c_L.
        x: inputs `[B, D]`.
        y: targets `[B, C]`.
        skip: whether layers 2..L-1 add their input.
        energy_weights: g_1..g_L; all one if None.

    Returns:
        The gradients with respect to W_1..W_L, each `[out_l, in_l]`.
    """
    matrices = effective_matrices(weights, multipliers, skip=skip)
    errors = equilibrium_errors(matrices, x, y, energy_weights)
    inputs = [x, *equilibrium_activities(matrices, x, y, energy_weights)[:-1]]
    return _outer_products(multipliers, errors, inputs)


def backpropagation_gradients(
    weights: Sequence[Array],
    multipliers: Sequence[Array | float],
    x: Array,
    y: Array,
    *,
    skip: bool,
) -> Matrices:
    """Return the gradients of the mean squared error, dL/dW_l = -(c_l/B) sum (B_l^T r) h_{l-1}^T.

    Args:
        weights: W_1..W_L, each `[out_l, in_l]`.
        multipliers: c_1..c_L.
        x: inputs `[B, D]`.
        y: targets `[B, C]`.
        skip: whether layers 2..L-1 add their input.

    Returns:
        The gradients with respect to W_1..W_L, each `[out_l, in_l]`.
    """
    matrices = effective_matrices(weights, multipliers, skip=skip)
    inputs = [x]
    for matrix in matrices[:-1]:
        inputs.append(inputs[-1] @ matrix.T)
    residual = _residual(matrices, x, y)
    errors = [residual @ b for b in downstream(matrices)[1:]]
    return _outer_products(multipliers, errors, inputs)


def rescaling_gradients(
    weights: Sequence[Array], multipliers: Sequence[Array | float], *, skip: bool
) -> Matrices:
    """Return ds/dW_l of a network with one output (pcn-limits Eq. 48, 109); the gradient for W_1 is zero.

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


def _ratios(matrices: Sequence[Array], energy_weights: Weights | None) -> list[Array | float]:
    if energy_weights is None:
        return [1.0] * len(matrices)
    return [energy_weights[-1] / weight for weight in energy_weights]


def _output_weight(energy_weights: Weights | None) -> Array | float:
    return 1.0 if energy_weights is None else energy_weights[-1]


def _outer_products(
    multipliers: Sequence[Array | float], errors: Sequence[Array], inputs: Sequence[Array]
) -> Matrices:
    return [-c / len(e) * e.T @ h for c, e, h in zip(multipliers, errors, inputs, strict=True)]

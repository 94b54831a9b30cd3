"""Gradients multiplied by inverse roots of their second moments (second-order 3).

With `G [out, in]` the batch's gradient, `L = G G^T` and `R = G^T G` (S.45), each damped by a fraction of its largest
eigenvalue, the direction is

    (L + rho_L)^(-e/2) G (R + rho_R)^(-e/2)

The moments of one batch have the same eigenvalues, and `f(L) G = G f(R)`, so it suffices to decompose the smaller one
(S.51). If `G = C^T X` has fewer rows (samples and positions) than both sizes, `X X^T = K K^T` gives `G = (C^T K)(K^-1
X)`. The second factor has orthonormal rows, and the moment of the first has as many rows as X.
"""

from collections.abc import Mapping

import jax.numpy as jnp
import optax
from jax import Array
from jax.scipy.linalg import solve_triangular
from jaxtyping import Float, PyTree

from scaling_limits.optimisers.layers import (
    Layer,
    Matrices,
    Operations,
    Preconditioned,
    accumulate,
    layer_by_layer,
    over,
    periodic,
    rows,
    smallest,
)

_SIDES = ("input", "output")


def build(
    numbers: Mapping[str, PyTree], factors: Mapping[str, PyTree]
) -> optax.GradientTransformationExtraArgs:
    """Build the transformation of gradients to preconditioned gradients with momentum."""
    rho, exponent = numbers["damping"], numbers["preconditioner_exponent"]

    def layer(
        gradient: Array, operations: Operations, kept: Matrices, count: Array
    ) -> Preconditioned:
        # the gradient with respect to the weight in the forward pass, `multiplier` times the kernel
        gradient = gradient / factors["multiplier"]
        if kept:
            batch = _moments(gradient)
            kept = {s: accumulate(kept[s], batch[s], count, numbers) for s in _SIDES}
            left, trace_l, rho_l = _root(kept["output"], rho, exponent / 2)
            right, trace_r, rho_r = _root(kept["input"], rho, exponent / 2)
            direction = left @ gradient @ right
        else:
            c = rows(operations["cotangents"]) / factors["multiplier"]
            direction, trace_l, rho_l = _of_batch(
                gradient, c, rows(operations["inputs"]), rho, exponent
            )
            trace_r, rho_r = trace_l, rho_l
        seen = {"input_trace": trace_r, "output_trace": trace_l}
        seen |= {"input_damping": rho_r, "output_damping": rho_l}
        return Preconditioned(factors["multiplier"] * direction, kept, seen)

    def accumulated(gradient: Array, _: Operations, kept: Matrices, count: Array) -> Matrices:
        batch = _moments(gradient / factors["multiplier"])
        return {s: accumulate(kept[s], batch[s], count, numbers) for s in kept}

    def renew(gradient: Array, _: Operations, kept: Matrices) -> tuple[Matrices, Matrices]:
        moments = kept or _moments(gradient / factors["multiplier"])
        roots: Matrices = {}
        seen: Matrices = {}
        for side in _SIDES:
            roots[side], trace, damping = _root(moments[side], rho, exponent / 2)
            seen |= {f"{side}_trace": trace, f"{side}_damping": damping}
        return roots, seen

    def apply(gradient: Array, roots: Matrices, _: Matrices) -> Array:
        return roots["output"] @ gradient @ roots["input"]

    chosen: Layer = layer
    if "preconditioner_interval" in numbers:
        interval = numbers["preconditioner_interval"]
        chosen = periodic(interval, _SIDES, accumulated=accumulated, renew=renew, apply=apply)
    return layer_by_layer(chosen, _SIDES, numbers)


def _moments(gradient: Float[Array, "out in"]) -> Matrices:
    return {"input": gradient.T @ gradient, "output": gradient @ gradient.T}


def _of_batch(
    gradient: Float[Array, "out in"],
    c: Float[Array, "rows out"],
    x: Float[Array, "rows in"],
    rho: Array,
    exponent: Array,
) -> tuple[Float[Array, "out in"], Array, Array]:
    """Return the direction of one batch, and the trace and damping of both moments."""
    if len(x) >= min(gradient.shape):
        return _of_gradient(gradient, rho, exponent)
    squares = (x**2).sum()
    gram = over(x @ x.T, squares) + smallest(x.dtype) * jnp.eye(len(x), dtype=x.dtype)
    k = jnp.linalg.cholesky(gram)
    orthonormal = solve_triangular(k, over(x, jnp.sqrt(squares)), lower=True)
    direction, trace, damping = _of_gradient(jnp.sqrt(squares) * (c.T @ k), rho, exponent)
    return direction @ orthonormal, trace, damping


def _of_gradient(
    gradient: Float[Array, "rows columns"], rho: Array, exponent: Array
) -> tuple[Float[Array, "rows columns"], Array, Array]:
    """Return the same as `_of_batch`, computed from the moment of the smaller size."""
    if gradient.shape[0] > gradient.shape[1]:
        direction, trace, damping = _of_gradient(gradient.T, rho, exponent)
        return direction.T, trace, damping
    root, trace, damping = _root(gradient @ gradient.T, rho, exponent)
    return root @ gradient, trace, damping


def _root(
    moment: Float[Array, "size size"], rho: Array, power: Array
) -> tuple[Float[Array, "size size"], Array, Array]:
    """Return `(moment + damping)^-power`, the trace and the damping.

    The power of a zero moment is zero. The damping is `rho`, or at least `smallest`, times the largest eigenvalue.
    """
    trace = jnp.trace(moment)
    # the decomposition of a matrix with NaN or infinity need not terminate; the trace carries them on
    scaled = jnp.where(jnp.isfinite(trace), over(moment, trace), 0.0)
    values, vectors = jnp.linalg.eigh(scaled)
    values = jnp.maximum(values, 0.0)
    damping = jnp.maximum(rho, smallest(values.dtype)) * values[-1]
    damped = values + damping
    powers = jnp.where(trace == 0, 0.0, damped**-power * trace**-power)
    return (vectors * powers[None]) @ vectors.T, trace, damping * trace

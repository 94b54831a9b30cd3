"""Gradients between roots of the inverses of their own second moments (second-order 3).

With `G [out, in]` the batch's gradient, `L = G G^T` and `R = G^T G` (S.45), damped by a share of their largest
eigenvalue:

    (L + rho_L)^(-e/2) G (R + rho_R)^(-e/2)

For one batch both have the same eigenvalues, and `f(L) G = G f(R)`: decomposing the smaller one suffices (S.51). If
`G = C^T X` has fewer rows, samples and positions, than both sizes, `X X^T = K K^T` makes it `(C^T K)(K^-1 X)`, the
second with orthonormal rows, and the moment of the first of its own size.
"""

from collections.abc import Mapping

import jax.numpy as jnp
import optax
from jax import Array
from jax.scipy.linalg import solve_triangular
from jaxtyping import Float, PyTree

from scaling_limits.optimisers.layers import (
    Matrices,
    Operations,
    Preconditioned,
    accumulate,
    layer_by_layer,
    over,
    rows,
    smallest,
)

_SIDES = ("input", "output")


def build(
    numbers: Mapping[str, PyTree], factors: Mapping[str, PyTree]
) -> optax.GradientTransformationExtraArgs:
    """The sum of past preconditioned gradients, each step's times `momentum` at the next."""
    rho, exponent = numbers["damping"], numbers["preconditioner_exponent"]

    def layer(
        gradient: Array, operations: Operations, kept: Matrices, count: Array
    ) -> Preconditioned:
        # of the weight in the forward pass, `multiplier` times the kernel
        gradient = gradient / factors["multiplier"]
        if kept:
            batch = {"input": gradient.T @ gradient, "output": gradient @ gradient.T}
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

    return layer_by_layer(layer, _SIDES, numbers)


def _of_batch(
    gradient: Float[Array, "out in"],
    c: Float[Array, "rows out"],
    x: Float[Array, "rows in"],
    rho: Array,
    exponent: Array,
) -> tuple[Float[Array, "out in"], Array, Array]:
    """The direction of one batch, and the trace and damping of both moments."""
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
    """The same by the moment of the smaller size."""
    if gradient.shape[0] > gradient.shape[1]:
        direction, trace, damping = _of_gradient(gradient.T, rho, exponent)
        return direction.T, trace, damping
    root, trace, damping = _root(gradient @ gradient.T, rho, exponent)
    return root @ gradient, trace, damping


def _root(
    moment: Float[Array, "size size"], rho: Array, power: Array
) -> tuple[Float[Array, "size size"], Array, Array]:
    """`(moment + damping)^-power`, zero for a moment of zero; its trace; and the damping, `rho` or at least `smallest`
    times its largest eigenvalue.
    """
    trace = jnp.trace(moment)
    # the decomposition of what is not finite need not end; the trace says it
    scaled = jnp.where(jnp.isfinite(trace), over(moment, trace), 0.0)
    values, vectors = jnp.linalg.eigh(scaled)
    values = jnp.maximum(values, 0.0)
    damping = jnp.maximum(rho, smallest(values.dtype)) * values[-1]
    damped = values + damping
    powers = jnp.where(trace == 0, 0.0, damped**-power * trace**-power)
    return (vectors * powers[None]) @ vectors.T, trace, damping * trace

"""Gradients between the damped inverses of Kronecker factors (second-order 2, S.74).

A layer's gradient is `G = C^T X`, X `[rows, in]` what enters it at all samples and positions and C `[rows, out]`
the derivative of the loss by what leaves it. Its factors are `A = X^T X / rows` and `B = D^T D / batch`, D being the
derivatives of the log-likelihood by what the weight in the forward pass, `multiplier` times the kernel, gives. So A
is a mean over positions and B a sum, whose product is that of KFC (Grosse & Martens 2016). Then

    (B + rho_B)^-1 G (A + rho_A)^-1

is found in the smaller of weight space and sample space, by `C^T X (X^T X + rho)^-1 = C^T (X X^T + rho)^-1 X` (Eq. 10)
and by Woodbury's identity, as C need not be in the span of D.
"""

from collections.abc import Mapping
from typing import NamedTuple

import jax.numpy as jnp
import optax
from jax import Array
from jax.lax.linalg import cholesky, triangular_solve
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


class Factor(NamedTuple):
    """A positive semi-definite matrix of `size` as its trace and, over that, the `matrix` itself or, of `rows^T rows`,
    the matrix `rows rows^T`, with the same nonzero eigenvalues. `squares` are the sum of those of the rows.
    """

    trace: Float[Array, ""]
    size: int
    matrix: Float[Array, "n n"]
    squares: Float[Array, ""]
    rows: Float[Array, "n size"] | None = None

    @classmethod
    def of(cls, rows: Float[Array, "rows size"], scale: PyTree) -> "Factor":
        """`scale rows^T rows`, by its rows if these are fewer than its size."""
        size = rows.shape[1]
        kept = rows if len(rows) < size else None
        matrix = rows.T @ rows if kept is None else rows @ rows.T
        squares = jnp.trace(matrix)
        return cls(scale * squares, size, over(matrix, squares), squares, kept)

    @classmethod
    def of_matrix(cls, matrix: Float[Array, "size size"]) -> "Factor":
        """A matrix."""
        trace = jnp.trace(matrix)
        return cls(trace, len(matrix), over(matrix, trace), trace)

    def mean(self) -> Float[Array, ""]:
        """The mean eigenvalue."""
        return self.trace / self.size

    def damped(self, damping: Float[Array, ""]) -> "Damped":
        """The factor plus `damping`, which is at least `smallest` of the trace."""
        scale = jnp.maximum(self.trace, damping)
        # the pi-rule's damping is infinite where the other factor is zero
        rho = jnp.where(jnp.isinf(damping), 1.0, over(damping, scale))
        return Damped(self, scale, over(self.trace, scale), jnp.maximum(rho, smallest(rho.dtype)))


class Damped(NamedTuple):
    """`scale (share F + rho)`, F being a factor over its trace.

    The scale is the larger one of trace and damping, so that a factor of zero leaves its damping.
    """

    factor: Factor
    scale: Float[Array, ""]
    share: Float[Array, ""]
    rho: Float[Array, ""]

    def solved(self, left: Float[Array, "rows n"]) -> Float[Array, "rows n"]:
        """`left (share matrix + rho)^-1`, the matrix being the one that the factor holds."""
        matrix = self.share * self.factor.matrix
        matrix = matrix + self.rho * jnp.eye(len(matrix), dtype=matrix.dtype)
        # from the right: on a CPU what is solved for would be transposed otherwise, which takes as long
        root = cholesky(matrix, symmetrize_input=False)
        half = triangular_solve(root, left, left_side=False, lower=True, transpose_a=True)
        return triangular_solve(root, half, left_side=False, lower=True)

    def times_inverse(self, left: Float[Array, "rows size"]) -> Float[Array, "rows size"]:
        """`left (share F + rho)^-1`."""
        if self.factor.rows is None:
            return self.solved(left)
        explained = over(self.solved(left @ self.factor.rows.T), self.factor.squares)
        return (left - self.share * explained @ self.factor.rows) / self.rho


def preconditioned(
    numbers: Mapping[str, PyTree], factors: Mapping[str, PyTree], *, exponents: tuple[int, int]
) -> optax.GradientTransformationExtraArgs:
    """Gradients times A to the power -e_A and B to -e_B, `exponents` (e_A, e_B) being 0 or 1, then momentum.

    It takes `inputs`, `cotangents`, and with e_B `fisher`, of all weights. `numbers` are those of a `KroneckerSpec`,
    `factors` a role's.
    """
    sides = [side for side, power in zip(("input", "output"), exponents, strict=True) if power]

    def layer(
        gradient: Array, operations: Operations, kept: Matrices, count: Array
    ) -> Preconditioned:
        roots = _roots(operations, factors, sides)
        if kept:
            batch = {side: scale * root.T @ root for side, (root, scale) in roots.items()}
            kept = {s: accumulate(kept[s], batch[s], count, numbers) for s in sides}
            result = {side: Factor.of_matrix(kept[side]) for side in sides}
        else:
            result = {side: Factor.of(*root) for side, root in roots.items()}
        damping = dampings(numbers, factors, {s: f.mean() for s, f in result.items()})
        seen = {f"{side}_damping": damping[side] for side in sides}
        seen |= {f"{side}_trace": result[side].trace for side in sides}
        return Preconditioned(_direction(gradient, operations, result, damping), kept, seen)

    return layer_by_layer(layer, sides, numbers)


def dampings(
    numbers: Mapping[str, PyTree], factors: Mapping[str, PyTree], means: Mapping[str, Array]
) -> dict[str, Array]:
    """rho_A and rho_B by side, `means` being the mean eigenvalues m: `c factor m^p m_other^q`, or the smallest one.

    (7), (14) and (15) of second-order differ in these numbers alone.
    """

    def of(side: str, other: str) -> Array:
        own: Array = numbers[f"{side}_damping"] * factors[f"{side}_damping"]
        own = own * means[side] ** numbers["own_power"]
        if other in means:
            own = own * means[other] ** numbers["other_power"]
        return jnp.maximum(own, numbers["smallest_damping"])

    others = {"input": "output", "output": "input"}
    return {side: of(side, others[side]) for side in means}


def _roots(
    operations: Operations, factors: Mapping[str, PyTree], sides: list[str]
) -> dict[str, tuple[Array, PyTree]]:
    """For each side, rows and a number whose `number rows^T rows` is the batch's factor."""
    result: dict[str, tuple[Array, PyTree]] = {}
    if "input" in sides:
        entering = rows(operations["inputs"])
        result["input"] = entering, 1.0 / len(entering)
    if "output" in sides:
        batch = len(operations["inputs"])
        result["output"] = rows(operations["fisher"]), 1.0 / (factors["multiplier"] ** 2 * batch)
    return result


def _direction(
    gradient: Float[Array, "out in"],
    operations: Operations,
    result: Mapping[str, Factor],
    damping: Mapping[str, Array],
) -> Float[Array, "out in"]:
    """(B + rho_B)^-1 G (A + rho_A)^-1."""
    damped = {side: factor.damped(damping[side]) for side, factor in result.items()}
    # what becomes of G is `left right`: C^T X, or G itself as `left` alone
    left, right = gradient, None
    if "input" in damped:
        if result["input"].rows is not None:
            left, right = rows(operations["cotangents"]).T, rows(operations["inputs"])
        left = damped["input"].solved(left)
    if "output" in damped:
        left = damped["output"].times_inverse(left.T).T
    direction = left if right is None else left @ right
    for each in damped.values():
        direction = over(direction, each.scale)
    return direction

"""Gradients multiplied by the damped inverses of Kronecker factors (second-order 2, S.74).

A layer's gradient is `G = C^T X`, with X `[rows, in]` the layer's input at all samples and positions, and C `[rows,
out]` the derivative of the loss with respect to the layer's output. Its factors are `A = X^T X / rows` and `B = D^T D /
batch`, with D the derivatives of the log-likelihood with respect to the output of the weight in the forward pass,
`multiplier` times the kernel. A is a mean over positions and B a sum, so their product is the KFC approximation (Grosse
& Martens 2016). The direction

    (B + rho_B)^-1 G (A + rho_A)^-1

is computed in the smaller of weight space and sample space: for A by `C^T X (X^T X + rho)^-1 = C^T (X X^T + rho)^-1 X`
(Eq. 10), and for B by Woodbury's identity, because C need not be in the span of D.
"""

from collections.abc import Mapping
from typing import NamedTuple

import jax.numpy as jnp
import optax
from jax import Array
from jax.lax.linalg import cholesky, triangular_solve
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


class Factor(NamedTuple):
    """A positive semi-definite matrix of size `size`, given by its trace and a normalised matrix.

    Without `rows`, `matrix` is the factor divided by its trace. Otherwise the factor is proportional to `rows^T rows`,
    and `matrix` is `rows rows^T` divided by its trace, with the same non-zero eigenvalues. `squares` is the divisor of
    `matrix`: the sum of the squared entries of `rows`, or the trace.
    """

    trace: Float[Array, ""]
    size: int
    matrix: Float[Array, "n n"]
    squares: Float[Array, ""]
    rows: Float[Array, "n size"] | None = None

    @classmethod
    def of(cls, rows: Float[Array, "rows size"], scale: PyTree) -> "Factor":
        """Build `scale rows^T rows`, represented by its rows if there are fewer rows than columns."""
        size = rows.shape[1]
        kept = rows if len(rows) < size else None
        matrix = rows.T @ rows if kept is None else rows @ rows.T
        squares = jnp.trace(matrix)
        return cls(scale * squares, size, over(matrix, squares), squares, kept)

    @classmethod
    def of_matrix(cls, matrix: Float[Array, "size size"]) -> "Factor":
        """Build a factor from a matrix."""
        trace = jnp.trace(matrix)
        return cls(trace, len(matrix), over(matrix, trace), trace)

    def mean(self) -> Float[Array, ""]:
        """Return the mean eigenvalue."""
        return self.trace / self.size

    def damped(self, damping: Float[Array, ""]) -> "Damped":
        """Add `damping`, which is at least `smallest` times the trace."""
        scale = jnp.maximum(self.trace, damping)
        # the damping of the heuristic (pi) rule is infinite if the other factor is zero
        rho = jnp.where(jnp.isinf(damping), 1.0, over(damping, scale))
        return Damped(self, scale, over(self.trace, scale), jnp.maximum(rho, smallest(rho.dtype)))


class Damped(NamedTuple):
    """The matrix `scale (fraction F + rho)`, with F a factor divided by its trace.

    The scale is the larger one of trace and damping, so that a factor of zero leaves its damping.
    """

    factor: Factor
    scale: Float[Array, ""]
    fraction: Float[Array, ""]
    rho: Float[Array, ""]

    def solved(self, left: Float[Array, "rows n"]) -> Float[Array, "rows n"]:
        """Compute `left (fraction matrix + rho)^-1` with the `matrix` of the factor."""
        matrix = self.fraction * self.factor.matrix
        matrix = matrix + self.rho * jnp.eye(len(matrix), dtype=matrix.dtype)
        # solved from the right, because on a CPU the right-hand side would otherwise be transposed, which takes as long
        root = cholesky(matrix, symmetrize_input=False)
        half = triangular_solve(root, left, left_side=False, lower=True, transpose_a=True)
        return triangular_solve(root, half, left_side=False, lower=True)

    def times_inverse(self, left: Float[Array, "rows size"]) -> Float[Array, "rows size"]:
        """Compute `left (fraction F + rho)^-1`."""
        if self.factor.rows is None:
            return self.solved(left)
        explained = over(self.solved(left @ self.factor.rows.T), self.factor.squares)
        return (left - self.fraction * explained @ self.factor.rows) / self.rho

    def inverse(self) -> Float[Array, "size size"]:
        """Compute `(fraction F + rho)^-1`."""
        return self.times_inverse(jnp.eye(self.factor.size, dtype=self.factor.matrix.dtype))


def preconditioned(
    numbers: Mapping[str, PyTree], factors: Mapping[str, PyTree], *, exponents: tuple[int, int]
) -> optax.GradientTransformationExtraArgs:
    """Build the transformation to gradients times A to the power -e_A and B to the power -e_B, then momentum.

    Args:
        numbers: the numbers of a `KroneckerSpec`.
        factors: the factors of a role.
        exponents: (e_A, e_B), each 0 or 1.

    Returns:
        A transformation with the extra arguments `inputs`, `cotangents` and, with e_B, `fisher` of all weights.
    """
    sides = [side for side, power in zip(("input", "output"), exponents, strict=True) if power]
    own = _Layer(numbers, factors, sides)
    layer: Layer = own.decomposed
    if "preconditioner_interval" in numbers:
        layer = periodic(
            numbers["preconditioner_interval"],
            sides,
            accumulated=own.accumulated,
            renew=own.inverses,
            apply=_reused,
        )
    return layer_by_layer(layer, sides, numbers)


class _Layer(NamedTuple):
    """The computation of any layer, with the numbers of the optimiser, the factors of a role, and the used sides."""

    numbers: Mapping[str, PyTree]
    factors: Mapping[str, PyTree]
    sides: list[str]

    def decomposed(
        self, gradient: Array, operations: Operations, kept: Matrices, count: Array
    ) -> Preconditioned:
        """Precondition a gradient by the factors of this update."""
        kept = self.accumulated(gradient, operations, kept, count)
        result, damping, seen = self._damped(operations, kept)
        return Preconditioned(_direction(gradient, operations, result, damping), kept, seen)

    def accumulated(
        self, _: Array, operations: Operations, kept: Matrices, count: Array
    ) -> Matrices:
        """Return the accumulated factors after this update; none without accumulation."""
        if not kept:
            return {}
        roots = _roots(operations, self.factors, self.sides)
        batch = {side: scale * root.T @ root for side, (root, scale) in roots.items()}
        return {s: accumulate(kept[s], batch[s], count, self.numbers) for s in self.sides}

    def inverses(
        self, _: Array, operations: Operations, kept: Matrices
    ) -> tuple[Matrices, Matrices]:
        """Return the inverses of the factors, each multiplied by its scale, and the traces and dampings."""
        result, damping, seen = self._damped(operations, kept)
        return {side: result[side].damped(damping[side]).inverse() for side in self.sides}, seen

    def _damped(
        self, operations: Operations, kept: Matrices
    ) -> tuple[dict[str, Factor], dict[str, Array], Matrices]:
        """Return the factors (accumulated, or of the batch) by side, their dampings, and what the state records."""
        if kept:
            result = {side: Factor.of_matrix(kept[side]) for side in self.sides}
        else:
            roots = _roots(operations, self.factors, self.sides)
            result = {side: Factor.of(*root) for side, root in roots.items()}
        damping = dampings(self.numbers, self.factors, {s: f.mean() for s, f in result.items()})
        seen = {f"{side}_damping": damping[side] for side in self.sides}
        seen |= {f"{side}_trace": result[side].trace for side in self.sides}
        return result, damping, seen


def dampings(
    numbers: Mapping[str, PyTree], factors: Mapping[str, PyTree], means: Mapping[str, Array]
) -> dict[str, Array]:
    """Compute rho_A and rho_B by side: `c factor m^p m_other^q`, but at least the smallest damping.

    (7), (14) and (15) of second-order differ only in c, p and q. `means` are the mean eigenvalues m.
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
    """Return for each side rows and a number such that `number rows^T rows` is the factor of the batch."""
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
    """Compute (B + rho_B)^-1 G (A + rho_A)^-1."""
    damped = {side: factor.damped(damping[side]) for side, factor in result.items()}
    # the direction is the product `left right`: C^T X, or G itself as `left` alone
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


def _reused(
    gradient: Float[Array, "out in"], inverses: Matrices, seen: Matrices
) -> Float[Array, "out in"]:
    """Compute the direction from stored inverses `(fraction F + rho)^-1`, and divide it by the scales."""
    direction = gradient
    if "input" in inverses:
        direction = direction @ inverses["input"]
    if "output" in inverses:
        direction = inverses["output"] @ direction
    for side in inverses:
        scale = jnp.maximum(seen[f"{side}_trace"], seen[f"{side}_damping"])
        direction = over(direction, scale)
    return direction

r"""The Hessian of predictive coding's energy with respect to the hidden activities of one sample.

With B_l the Jacobian of node l at z_{l-1}, the energy gamma_l/2 ||z_l - p_l(z_{l-1})||^2 of every node and the loss at
the output, it is block-tridiagonal (mupc Eq. 5, 24): blocks

    (l, l)      gamma_l I + gamma_{l+1} B_{l+1}^T B_{l+1} + K_l
    (l, l - 1)  -gamma_l B_l

where the loss replaces gamma_L/2 ||...||^2 in the last one, and K_l is what bent activations add, -sum_i (gamma
e)_{l+1,i} d2p_i, and a decay of the activities.

*Elimination from the output down.* H = U^T P U with U unit lower block-bidiagonal, blocks -gamma_l P_l^{-1} B_l, and
pivots P_l = gamma_l I + C_l, C_{l-1} = gamma_l B_l^T C_l P_l^{-1} B_l + K_{l-1}. What grows with the depth is in U
alone, whose condition number is about the square root of that of H; P_l stays well conditioned. In networks that are
linear piece by piece (K = 0) C_l = c_l^T c_l with as many rows as outputs, c_{l-1} = (I + c_l c_l^T/gamma_l)^{-1/2} c_l
B_l: this rank is kept exactly, so that condition numbers far beyond 1e16 come out in float64. If K fills it, they do
up to about 1e13.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import cho_solve
from jaxtyping import Float, Int, PyTree

from scaling_limits.algorithms.predictive_coding.inferred import energy_weight
from scaling_limits.algorithms.problem import Problem
from scaling_limits.losses.outputs import output_error
from scaling_limits.networks.network import Segment
from scaling_limits.networks.settings import PIECEWISE_LINEAR

Activities = Float[Array, "hidden units"]


class ActivityHessian(NamedTuple):
    """What the blocks are made of.

    `weights` are gamma_l of the hidden layers' own errors, `jacobians` B_l of the layers above the first, `output` is
    the last node's, times the root of the loss's curvature. `bend` is what a bent output node adds to the last layer's
    block, `shift` is added to the diagonal of all, as a decay does; they are None where there is none, which is
    another program.
    """

    weights: Float[Array, " hidden"]
    jacobians: Float[Array, "hidden_above_first units units"]
    output: Float[Array, "out units"]
    bend: Float[Array, "units units"] | None = None
    shift: Float[Array, ""] | None = None

    @property
    def like(self) -> Activities:
        """Zeros of the shape of the activities."""
        return jnp.zeros((len(self.weights), self.output.shape[1]), self.output.dtype)

    @property
    def identity(self) -> Float[Array, "units units"]:
        """A block of I."""
        return jnp.eye(self.output.shape[1], dtype=self.output.dtype)

    def shifted(self, by: Float[Array, ""]) -> "ActivityHessian":
        """H + by I."""
        return self._replace(shift=by if self.shift is None else self.shift + by)

    def product(self, z: Activities) -> Activities:
        """H z."""
        below = _each(self.jacobians, z[:-1])
        errors = self.weights[:, None] * z.at[1:].add(-below)
        pulled = jnp.einsum("lij,li->lj", self.jacobians, errors[1:])
        top = (self.output @ z[-1]) @ self.output
        if self.bend is not None:
            top += self.bend @ z[-1]
        result = errors.at[:-1].add(-pulled).at[-1].add(top)
        return result if self.shift is None else result + self.shift * z

    def diagonal(self) -> Float[Array, "hidden units units"]:
        """The blocks (l, l)."""
        own = self.weights if self.shift is None else self.weights + self.shift
        explained = jnp.einsum("l,lki,lkj->lij", self.weights[1:], self.jacobians, self.jacobians)
        top = self.output.T @ self.output
        if self.bend is not None:
            top += self.bend
        return (own[:, None, None] * self.identity[None]).at[:-1].add(explained).at[-1].add(top)

    def couplings(self) -> Float[Array, "hidden_above_first units units"]:
        """The blocks (l, l - 1) from l = 2."""
        return -self.weights[1:, None, None] * self.jacobians


class LowRank(NamedTuple):
    """The inverse of a pivot gamma I + c^T c: (I - rows^T rows) / gamma."""

    weight: Float[Array, ""]
    rows: Float[Array, "out units"]

    def times(self, v: Float[Array, " units"]) -> Float[Array, " units"]:
        """P^{-1} v."""
        return (v - (self.rows @ v) @ self.rows) / self.weight


class Full(NamedTuple):
    """The inverse of a pivot as a dense matrix."""

    inverse: Float[Array, "units units"]

    def times(self, v: Float[Array, " units"]) -> Float[Array, " units"]:
        """P^{-1} v."""
        return self.inverse @ v


class Elimination(NamedTuple):
    """H = U^T P U, and how many eigenvalues of H are negative. Inverse pivots are stacked over the hidden layers."""

    hessian: ActivityHessian
    inverse_pivots: LowRank | Full
    num_negative: Int[Array, ""]

    def solve(self, b: Activities) -> Activities:
        """z of H z = b."""
        h = self.hessian
        first, above = (
            jax.tree.map(lambda a, k=k: a[k], self.inverse_pivots) for k in (0, slice(1, None))
        )
        layers = (h.jacobians, h.weights[1:], above)

        def down(w: Array, entry: PyTree) -> tuple[Array, Array]:
            (jacobian, weight, pivot), own = entry
            divided = pivot.times(w)
            return own + (weight * divided) @ jacobian, divided

        def up(z: Array, entry: PyTree) -> tuple[Array, Array]:
            (jacobian, weight, pivot), own = entry
            z = own + weight * pivot.times(jacobian @ z)
            return z, z

        w, divided = jax.lax.scan(down, b[-1], (layers, b[:-1]), reverse=True)
        lowest = first.times(w)
        _, risen = jax.lax.scan(up, lowest, (layers, divided))
        return jnp.concatenate([lowest[None], risen])


def activity_hessian(problem: Problem) -> ActivityHessian:
    """Return the Hessian of a fully connected network at the forward pass of the batch's first sample.

    There the hidden errors are zero, so that of bent activations only the output node's adds to the curvature; a decay
    adds to all (mupc Sec. A.2.1).
    """
    x, y = problem.x[:1], problem.y[:1]
    activities = problem.network.activities(problem.params, problem.scaling, x)
    z = jnp.concatenate([stack[:, 0] for stack in activities[:-1]])
    *hidden, output = problem.network.segments
    nodes = [segment.node for segment in problem.network.segments]
    bent = any({node.before, node.after} - PIECEWISE_LINEAR for node in nodes)
    weights = jnp.concatenate(
        [jnp.full(segment.count, energy_weight(problem, segment.role)) for segment in hidden]
    )
    jacobians = _jacobians(problem, hidden[-1], z) if len(hidden) > 1 else _none(z)
    top = jax.tree.map(lambda leaf: leaf[0], problem.params[-1])

    def predict(z: Array) -> Array:
        return output.apply(top, problem.scaling, z[None])[0]

    weight, name, predicted = (
        energy_weight(problem, output.role),
        problem.options.loss,
        predict(z[-1]),
    )
    of_loss = jax.hessian(problem.sample_loss)(predicted, y[0])
    root = jnp.sqrt(weight) * _root(of_loss)
    result = ActivityHessian(weights, jacobians, root @ jax.jacrev(predict)(z[-1]))
    if bent:
        error = weight * output_error(name, predicted[None], y)[0]
        result = result._replace(bend=-jax.hessian(lambda z: error @ predict(z))(z[-1]))
    decay = problem.numbers.get("activity_decay")
    return result if decay is None else result.shifted(jnp.asarray(decay, z.dtype))


def eliminate(hessian: ActivityHessian) -> Elimination:
    """From the output down. Not a number in everything where a pivot is singular."""
    low_rank = hessian.bend is None and hessian.shift is None
    return _low_rank(hessian) if low_rank else _full(hessian)


def dense(diagonal: Float[Array, "hidden units units"], couplings: Array) -> Array:
    """The symmetric matrix [hidden * units, hidden * units] of these blocks."""
    hidden, units = diagonal.shape[:2]
    matrix = jnp.zeros((hidden, units, hidden, units), diagonal.dtype)
    layers = jnp.arange(hidden)
    matrix = matrix.at[layers, :, layers, :].set(diagonal)
    matrix = matrix.at[layers[1:], :, layers[:-1], :].set(couplings)
    matrix = matrix.at[layers[:-1], :, layers[1:], :].set(jnp.swapaxes(couplings, 1, 2))
    return matrix.reshape(hidden * units, hidden * units)


def _low_rank(hessian: ActivityHessian) -> Elimination:
    """C_l = c_l^T c_l."""

    def invert(c: Array, weight: Array) -> tuple[LowRank, Array]:
        """P^{-1} = (I - c^T (gamma I + c c^T)^{-1} c) / gamma, and (I + c c^T/gamma)^{-1/2}."""
        values, vectors = jnp.linalg.eigh(c @ c.T / weight)
        root = jnp.sqrt(1.0 + jnp.maximum(values, 0.0))
        rows = (vectors.T @ c) / (jnp.sqrt(weight) * root[:, None])
        return LowRank(weight, rows), (vectors / root[None]) @ vectors.T

    def step(c: Array, entry: tuple[Array, Array]) -> tuple[Array, LowRank]:
        jacobian, weight = entry
        pivot, shrink = invert(c, weight)
        return shrink @ c @ jacobian, pivot

    entries = (hessian.jacobians, hessian.weights[1:])
    c, above = jax.lax.scan(step, hessian.output, entries, reverse=True)
    first, _ = invert(c, hessian.weights[0])
    return Elimination(hessian, _on_top(first, above), jnp.int32(0))


def _full(hessian: ActivityHessian) -> Elimination:
    """C_l of full rank. Its eigenvalues are computed only where a pivot has negative ones."""
    identity = hessian.identity

    def positive(c: Array, weight: Array, factor: Array) -> tuple[Array, Array, Array]:
        inverse = cho_solve((factor, True), identity)
        return inverse, c @ inverse, jnp.int32(0)

    def indefinite(c: Array, weight: Array, _: Array) -> tuple[Array, Array, Array]:
        values, vectors = jnp.linalg.eigh(c)
        pivots = weight + values
        inverse = (vectors / pivots[None]) @ vectors.T
        explained = (vectors * (values / pivots)[None]) @ vectors.T
        return inverse, explained, (pivots < 0).sum(dtype=jnp.int32)

    def invert(c: Array, weight: Array) -> tuple[Array, Array, Array]:
        """P^{-1}, C P^{-1}, and the number of negative eigenvalues of P."""
        factor = jnp.linalg.cholesky(weight * identity + c)
        done = jnp.isfinite(factor[-1, -1])
        result: tuple[Array, Array, Array] = jax.lax.cond(
            done, positive, indefinite, c, weight, factor
        )
        return result

    def step(c: Array, entry: tuple[Array, Array]) -> tuple[Array, tuple[Full, Array]]:
        jacobian, weight = entry
        inverse, explained, negative = invert(c, weight)
        c = weight * jacobian.T @ explained @ jacobian + of_all
        return (c + c.T) / 2, (Full(inverse), negative)

    of_all = 0.0 if hessian.shift is None else hessian.shift * identity
    start = hessian.output.T @ hessian.output + of_all
    if hessian.bend is not None:
        start += hessian.bend
    entries = (hessian.jacobians, hessian.weights[1:])
    c, (above, negative) = jax.lax.scan(step, start, entries, reverse=True)
    first, _, lowest = invert(c, hessian.weights[0])
    return Elimination(hessian, _on_top(Full(first), above), negative.sum() + lowest)


def _on_top(first: PyTree, stacked: PyTree) -> PyTree:
    """The first layer's before those of the layers above it."""
    return jax.tree.map(lambda a, others: jnp.concatenate([a[None], others]), first, stacked)


def _jacobians(problem: Problem, segment: Segment, z: Activities) -> Array:
    """B_l of the layers above the first, at their inputs."""

    def of_node(entry: tuple[PyTree, Array]) -> Array:
        params, z = entry
        result: Array = jax.jacrev(lambda z: segment.apply(params, problem.scaling, z[None])[0])(z)
        return result

    # one after another: what a Jacobian is made of is larger than it
    result: Array = jax.lax.map(of_node, (problem.params[1], z[:-1]))
    return result


def _none(z: Activities) -> Array:
    return jnp.zeros((0, z.shape[-1], z.shape[-1]), z.dtype)


def _root(matrix: Array) -> Array:
    """Factor a symmetric matrix without negative eigenvalues."""
    values, vectors = jnp.linalg.eigh(matrix)
    root: Array = (vectors * jnp.sqrt(jnp.maximum(values, 0.0))[None]) @ vectors.T
    return root


def _each(blocks: Float[Array, "hidden units units"], z: Activities) -> Activities:
    return jnp.einsum("lij,lj->li", blocks, z)

"""Training of infinitely wide linear networks in the mean-field parameterisation, solved forward in training steps.

This is dynamical mean-field theory. For the theory curve in its Fig. 2, pcn-limits refers to Bordelon & Pehlevan
(2022b), Appendix F. Predictive coding and backpropagation share the curve, because the energy becomes the loss
(pcn-limits Corollary 3.2, 4.2).

Weight i maps the activity h_i `[N]` to skip * h_i + c_i W_i h_i / sqrt(N), with g_i the cotangent gamma_0 N df/d(output
of weight i). In a linear network, g_i does not depend on the sample, so after steps with index s, for outputs k, a
weight is

    W_i(t) = W_i(0) + c_i gamma_0 sum_a g_{i,a} m_{i,a}^T / sqrt(N),   a = (s, k), s < t,

where m_{i,a} = (eta_0 / P) sum_mu (y - f)_{mu k} h_{i,mu} collects the samples. At infinite width, W_i(0) acts on an
activity h as a Gaussian field u_h plus sum_a g_{i,a} dh/dr_{i,a}, and its transpose acts on a cotangent g as a Gaussian
field r_g plus sum_a m_{i,a} dg/du_{i,a}. The fields have the covariances <h h'> and <g g'>; fields of other weights, or
of the transpose, are independent. All activities and cotangents are therefore linear combinations of fields, which are
represented by their coefficients. Activities and cotangents of step t depend on fields of steps before t and on those
of step t, so no equation has to be solved. With drive_a = (1/gamma_0) dh_i/dr_{i,a} + c_i <h_i m_{i,a}>,

    h_{i+1} = skip * h_i + c_i (u_h + gamma_0 sum_a drive_a g_{i,a}),

and likewise backwards. Without skips, this is the usual solution (a fixed point over all steps) with drive = C forward,
E backward.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.limits.linear_cells import curve, require, weights
from scaling_limits.measured import Measured
from scaling_limits.networks.work import Count

Array = np.ndarray


@dataclass(frozen=True)
class Trajectory:
    """Outputs and losses of the network on its training data; entry t is after t updates."""

    outputs: Float[Array, "steps batch out"]
    losses: Float[Array, " steps"]


def refuse(cell: Cell) -> None:
    """Reject cells without this limit.

    It describes backpropagation, and predictive coding at equilibrium, with full batches, in any parameterisation in
    which all weights, scaled to unit variance, have the same learning rate (mean-field and equivalent ones). A single
    cell does not show whether output and learning rate scale with the width as in mean-field.

    Raises:
        ConfigurationError: naming what is different.
    """
    algorithm = cell.algorithm
    require(
        cell,
        algorithm=(algorithm.name, ["backpropagation", "predictive_coding"]),
        inference=(getattr(algorithm, "inference", None), [None, "exact"]),
        energy_weight=({numbers.energy_weight for numbers in cell.scaling.values()}, [{1.0}]),
        frozen=(cell.frozen, [()]),
        batch_size=(cell.batch_size, [cell.dataset.num_train]),
    )
    rates = [weights(cell, role).rate for role in _roles(cell)]
    if not np.allclose(rates, rates[0], rtol=1e-6, atol=0.0):
        named = ", ".join(
            f"{role} {rate:.4g}" for role, rate in zip(_roles(cell), rates, strict=True)
        )
        raise ConfigurationError(
            "parameterisation",
            f"limit {cell.limit} requires the same learning rate of all weights after they are scaled to unit "
            f"variance (as in mean_field); the learning rates are {named}",
        )


def compute(cell: Cell, arrays: Arrays) -> dict[str, Measured]:
    """Compute `train_loss`; other measurements are skipped."""
    width = cell.network.width
    first, last = weights(cell, "input"), weights(cell, "output")
    output_scale = 1.0 / (width * last.scale)
    trajectory = gradient_descent(
        first.scale * arrays.x_train.shape[1] ** 0.5 * np.asarray(arrays.x_train, np.float64),
        arrays.y_train,
        num_weight_layers=cell.network.num_hidden_layers + 1,
        num_steps=cell.num_steps,
        learning_rate=last.rate / (output_scale**2 * width),
        output_scale=output_scale,
        hidden_scale=weights(cell, "hidden").scale * width**0.5,
        skip=cell.network.skip,
    )
    return curve(cell, trajectory.losses)


def _roles(cell: Cell) -> list[str]:
    return ["input", *["hidden"] * (cell.network.num_hidden_layers > 1), "output"]


def gradient_descent(
    x: ArrayLike,
    y: ArrayLike,
    *,
    num_weight_layers: int,
    num_steps: int,
    learning_rate: float,
    output_scale: float = 1.0,
    hidden_scale: float = 1.0,
    skip: bool = False,
) -> Trajectory:
    """Train by full-batch gradient descent on 1/(2P) sum ||y - f||^2 at infinite width, in float64.

    All L weights are trained, of an MLP (Eq. 7-10 with the exponents of Table 2) or, with `skip`, of the residual
    network whose layers 2..L-1 are I + c W / sqrt(N) (Eq. 95-98). A learning rate that is too large leads to inf or
    NaN. The memory is 32 (L (P + C num_steps))^2 bytes.

    Args:
        x: inputs `[P, D]`.
        y: targets `[P, C]`.
        num_weight_layers: number L of weights, at least 2.
        num_steps: number of updates.
        learning_rate: eta_0 of eta = eta_0 gamma_0^2 N (pcn-limits Eq. 14).
        output_scale: gamma_0; 0 is the lazy limit.
        hidden_scale: c, the multiplier of layers 2..L-1; L^-alpha with skips.
        skip: whether layers 2..L-1 add their input.

    Returns:
        Outputs `[num_steps, P, C]` and losses `[num_steps]`; entry t is after t updates.

    Raises:
        ValueError: there are fewer than two weight layers, or x and y are not matrices of these shapes.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if num_weight_layers < 2:
        raise ValueError(f"num_weight_layers must be at least 2, not {num_weight_layers}")
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y):
        raise ValueError(f"x and y must be [P, D] and [P, C], not {x.shape} and {y.shape}")
    multipliers = np.ones(num_weight_layers)
    multipliers[1:-1] = hidden_scale
    fields = _Fields(x @ x.T / x.shape[1], y.shape[1], num_steps, multipliers, skip, output_scale)
    outputs = np.empty((num_steps, *y.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(num_steps):
            outputs[step] = fields.forward()
            fields.update(learning_rate / len(x) * (y - outputs[step]))
        losses = ((y - outputs) ** 2).sum(axis=(1, 2)) / (2 * len(x))
    return Trajectory(outputs, losses)


class _Fields:
    """Coefficients and second moments of all activities and cotangents so far.

    Rows of `h_u`, `h_r` `[weight i, row, weight j, field]` are h_i at the P samples of this step, then m_{i,a}, in the
    fields u_j and r_j; `g_u`, `g_r` are g_{i,a}. Coefficients of h in r and of g in u are divided by gamma_0. `h_h`
    `[i, row, row]` holds <h_i h_i>, the covariance of u_i, and `g_g` holds <g_i g_i>, the covariance of r_i.
    """

    def __init__(
        self,
        gram: Float[Array, "batch batch"],
        output_dim: int,
        num_steps: int,
        multipliers: Float[Array, " weights"],
        skip: bool,
        output_scale: float,
    ):
        weights, samples, past = len(multipliers), len(gram), num_steps * output_dim
        self.samples, self.output_dim, self.past = samples, output_dim, 0
        self.multipliers, self.gamma_squared = multipliers, output_scale**2
        self.skips = np.zeros(weights)
        self.skips[1:-1] = skip
        rows = samples + past
        self.h_u = np.zeros((weights, rows, weights, rows))
        self.h_r = np.zeros((weights, rows, weights, past))
        self.g_u = np.zeros((weights, past, weights, rows))
        self.g_r = np.zeros((weights, past, weights, past))
        self.h_h = np.zeros((weights, rows, rows))
        self.g_g = np.zeros((weights, past, past))
        self.h_h[0, :samples, :samples] = gram

    def forward(self) -> Float[Array, "batch out"]:
        """Compute the activities of the samples with the current weights, and return the outputs."""
        now, past = slice(self.samples), slice(self.past)
        rows = slice(self.samples + self.past)
        earlier = slice(self.samples, rows.stop)
        h_u, h_r, h_h = self.h_u[..., rows], self.h_r[..., past], self.h_h[:, rows, rows]
        g_g = self.g_g[:, past, past]
        for i, (c, carried) in enumerate(zip(self.multipliers[:-1], self.skips[:-1], strict=True)):
            drive = h_r[i, now, i] + c * h_h[i, now, earlier]
            h_u[i + 1, now] = carried * h_u[i, now] + c * self.gamma_squared * np.tensordot(
                drive, self.g_u[i, past, :, rows], 1
            )
            h_u[i + 1, range(self.samples), i, range(self.samples)] += c
            h_r[i + 1, now] = carried * h_r[i, now] + c * np.tensordot(
                drive, self.g_r[i, past, :, past], 1
            )
            moments = _overlap(h_u[i + 1, now], h_u[i + 1, rows], h_h)
            moments += self.gamma_squared * _overlap(h_r[i + 1, now], h_r[i + 1, rows], g_g)
            h_h[i + 1, now], h_h[i + 1, :, now] = moments, moments.T
        # the fields of the output weights are their initial values, which are the same at all steps
        drive = h_r[-1, now, -1] + h_h[-1, now, earlier]
        outputs: Array = drive.reshape(self.samples, -1, self.output_dim).sum(axis=1)
        return outputs

    def update(self, weighted_errors: Float[Array, "batch out"]) -> None:
        """Append this step's m_i, given (eta_0 / P) (y - f), then g_i from the output down."""
        self._collect(weighted_errors)
        past = slice(self.past)
        new, upto = (
            slice(self.past, self.past + self.output_dim),
            slice(self.past + self.output_dim),
        )
        m_past = slice(self.samples, self.samples + self.past)
        m_rows = slice(self.samples + upto.stop)
        h_h, g_g = self.h_h[:, m_rows, m_rows], self.g_g[:, upto, upto]
        g_u, g_r = self.g_u[..., m_rows], self.g_r[..., upto]
        outputs = np.arange(upto.stop) % self.output_dim
        g_g[-1] = outputs[:, None] == outputs
        for i in range(len(self.multipliers) - 1, 0, -1):
            c, carried = self.multipliers[i], self.skips[i]
            drive = g_u[i, new, i, m_past] + c * g_g[i, new, past]
            g_r[i - 1, new] = carried * g_r[i, new] + c * self.gamma_squared * np.tensordot(
                drive, self.h_r[i, m_past, :, upto], 1
            )
            g_r[i - 1, range(new.start, new.stop), i, range(new.start, new.stop)] += c
            g_u[i - 1, new] = carried * g_u[i, new] + c * np.tensordot(
                drive, self.h_u[i, m_past, :, m_rows], 1
            )
            moments = _overlap(g_r[i - 1, new], g_r[i - 1, upto], g_g)
            moments += self.gamma_squared * _overlap(g_u[i - 1, new], g_u[i - 1, upto], h_h)
            g_g[i - 1, new], g_g[i - 1, :, new] = moments, moments.T
        self.past = upto.stop

    def _collect(self, weighted_errors: Float[Array, "batch out"]) -> None:
        now, past = slice(self.samples), slice(self.past)
        earlier = slice(self.samples, self.samples + self.past)
        new = slice(earlier.stop, earlier.stop + self.output_dim)
        d = weighted_errors.T
        own = range(new.start, new.stop)
        for h_u, h_r, h_h in zip(self.h_u, self.h_r, self.h_h, strict=True):
            h_u[new, :, earlier] = np.tensordot(d, h_u[now, :, earlier], 1)
            for row in own:
                h_u[row, :, row] = h_u[0, :, 0]
            h_r[new, :, past] = np.tensordot(d, h_r[now, :, past], 1)
            h_h[new, : new.start] = d @ h_h[now, : new.start]
            h_h[: new.start, new] = h_h[new, : new.start].T
            h_h[new, new] = d @ h_h[now, new]


def _overlap(
    rows: Float[Array, "rows weights fields"],
    others: Float[Array, "others weights fields"],
    covariance: Float[Array, "weights fields fields"],
) -> Float[Array, "rows others"]:
    weighted = (rows.swapaxes(0, 1) @ covariance).swapaxes(0, 1)
    overlap: Array = np.tensordot(weighted, others, ((1, 2), (1, 2)))
    return overlap


def work(cell: Cell, count: Count) -> None:
    """Add, for each step and pair of weights, forward and backward, products with all fields so far."""
    depth, outputs = cell.network.num_hidden_layers + 1, cell.network.output_dim
    for step in range(cell.num_steps):
        past = step * outputs
        rows = cell.batch_size + past
        entries = depth**2 * (past * (rows + past) + 2 * (rows**2 + past**2))
        count.multiply_adds((cell.batch_size + outputs) * entries)
        count.traffic(8 * entries)
    count.python(depth * cell.num_steps, kernels=depth**2 * cell.num_steps)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of the coefficients of all pairs of rows and weights."""
    fields = cell.batch_size + cell.num_steps * cell.network.output_dim
    return {"bytes": 32.0 * ((cell.network.num_hidden_layers + 1) * fields) ** 2}

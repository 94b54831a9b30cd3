"""Training of linear residual networks at infinite width and finite depth: the Gamma-C recursion of depth-mup.

The recursion is Lemma 4.3 = Lemma C.1, and App. D.3 for other exponents.

The network x^0 = U xi, x^l = x^{l-1} + c W^l x^{l-1}, f = V^T x^L has L blocks with c = a L^{-alpha}. The entries of U
and V have variance 1 and n^-2 and are not trained, those of W^l have variance 1/n and are updated by SGD (Eq. 1, 4;
Program 1). Coordinates of x^l, and of dx^l = n dloss/dx^l, become linear combinations of Gaussian fields: of xi^T U; of
n V; and for each block m and token of W_0^m x^{m-1} and W_0^{mT} dx^m. A token is one sample at one step. Tokens are
numbered step by step. The coefficients of token tau in the fields of token rho are the paper's Gamma (here not
multiplied by sqrt(L)). The moments <x x'> and <dx dx'>, which are also the covariances of the fields, are its C. The
convergence to infinite depth is of order 1/L for alpha = gamma = 1/2, so 2 X_{2L} - X_L has an error of order 1/L^2.

Misprints of the paper, as corrected here: the sums over past steps begin at 0; the kernel of Theorem 4.1 is
C_{t,s,0}(1), the moment of x, not of dx; Lemma C.1 sets Gamma_{t,-1,0,0}(0, q).

`train` also accepts the moments of a smooth activation. It is then the recursion of `smooth_depth_recursion`, which
includes the recursion here as the case phi(h) = h.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.datasets.order import batch_indices
from scaling_limits.errors import ConfigurationError
from scaling_limits.limits.gaussian_moments import ActivationMoments
from scaling_limits.limits.linear_cells import curve, require, weights
from scaling_limits.measured import Measured
from scaling_limits.networks.blocks import distances, quarter_blocks, quarters
from scaling_limits.networks.work import Count

Array = np.ndarray

Moments = Callable[
    [Float[Array, "rows columns"], Float[Array, " rows"], Float[Array, " columns"]],
    ActivationMoments,
]
"""Maps covariances of pairs of Gaussians, and the variances of rows and columns, to moments of the activation."""
LossDerivative = Callable[[int, Float[Array, "batch out"]], Float[Array, "batch out"]]


@dataclass(frozen=True)
class Limit:
    """Outputs and second moments per coordinate; the index l = 0..L is the layer, and the token is step * B + b.

    `forward` is <x^l x^l> (the kernel of Theorem 4.1 at l = L), `backward` is <dx^l dx^l>, and `across_layers` is <x^l
    x^m> of each token with itself.
    """

    outputs: Float[Array, "steps batch out"]
    forward: Float[Array, "layers tokens tokens"]
    backward: Float[Array, "layers tokens tokens"]
    across_layers: Float[Array, "tokens layers layers"]

    @property
    def num_blocks(self) -> int:
        """The number of blocks L."""
        return len(self.forward) - 1

    @property
    def rms(self) -> Float[Array, "steps batch layers"]:
        """The root mean square of the coordinates of x^l."""
        squares = np.diagonal(self.forward, axis1=1, axis2=2).T
        rms: Array = np.sqrt(squares).reshape(*self.outputs.shape[:2], -1)
        return rms


def refuse(cell: Cell, **own: tuple[object, Sequence[object]]) -> None:
    """Reject cells without this limit.

    It describes residual networks with frozen input and output weights, trained by backpropagation, in which the output
    weights have the standard deviation 1/width.

    Raises:
        ConfigurationError: naming what is different.
    """
    require(
        cell,
        algorithm=(cell.algorithm.name, ["backpropagation"]),
        skip=(cell.network.skip, [True]),
        frozen=(set(cell.frozen), [{"input", "output"}]),
        **own,
    )
    if cell.network.num_hidden_layers < 2:
        raise ConfigurationError(
            "depth", f"limit {cell.limit} requires at least one residual block"
        )
    scale = weights(cell, "output").scale
    if not math.isclose(scale * cell.network.width, 1.0, rel_tol=1e-6):
        raise ConfigurationError(
            "parameterisation",
            f"limit {cell.limit} requires output weights of standard deviation 1 / width, not {scale:.4g} at "
            f"width {cell.network.width}",
        )


def compute(cell: Cell, arrays: Arrays) -> dict[str, Measured]:
    """Compute `train_loss` and the measurements `feature_sizes` and `feature_increments`; others are skipped."""
    return measured(cell, arrays, weights(cell, "hidden").scale * cell.network.width**0.5)


def measured(
    cell: Cell, arrays: Arrays, branch_scale: float, moments: Moments | None = None
) -> dict[str, Measured]:
    """Compute the measurements of a cell in the limit: `train_loss`, `feature_sizes` and `feature_increments`.

    Args:
        cell: the cell.
        arrays: its data; `x_train` `[num_train, D]` and `y_train` `[num_train, C]` are used.
        branch_scale: c = a L^-alpha, as in `train`.
        moments: the moments of a smooth activation, as in `train`; None for linear networks.

    Returns:
        The measured values by metric; other measurements are skipped.
    """
    plans = {spec.name: spec.steps for spec in cell.measurements if spec.name in _MEASURED}
    width, num_blocks = cell.network.width, cell.network.num_hidden_layers - 1
    # measurements after the last update need one more batch
    order = batch_indices(
        seed=cell.seed,
        dataset=cell.dataset.name,
        num_samples=cell.dataset.num_train,
        batch_size=cell.batch_size,
        num_steps=max([cell.num_steps, *(step + 1 for steps in plans.values() for step in steps)]),
    )
    x = weights(cell, "input").scale * np.asarray(arrays.x_train, np.float64)[order]
    y = np.asarray(arrays.y_train, np.float64)[order]
    limit = train(
        x,
        lambda step, outputs: outputs - y[step],
        output_dim=y.shape[-1],
        num_blocks=num_blocks,
        branch_scale=branch_scale,
        learning_rate=weights(cell, "hidden").rate / width,
        moments=moments,
    )
    with np.errstate(over="ignore", invalid="ignore"):
        losses = 0.5 * ((y - limit.outputs) ** 2).sum(axis=2).mean(axis=1)
        result = curve(cell, losses)
        for name, steps in plans.items():
            result |= _MEASURED[name](cell, limit, steps)
    return result


def _feature_sizes(cell: Cell, limit: Limit, steps: tuple[int, ...]) -> dict[str, Measured]:
    chosen = list(steps)
    squares = (limit.rms[chosen] ** 2).mean(axis=1)[:, quarters(limit.num_blocks)]
    outputs = (limit.outputs[chosen] ** 2).mean(axis=(1, 2))
    last = np.asarray(quarter_blocks(limit.num_blocks))
    blocks = np.sqrt(_increments(limit, steps, last - 1, last)) / cell.scaling["hidden"].branch
    return {
        "activity_rms": Measured(np.sqrt(squares), ("step", "index"), {"step": steps}),
        "block_rms": Measured(blocks, ("step", "index"), {"step": steps}),
        "output_rms": Measured(np.sqrt(outputs), ("step",), {"step": steps}),
    }


def _feature_increments(cell: Cell, limit: Limit, steps: tuple[int, ...]) -> dict[str, Measured]:
    index = distances(limit.num_blocks)
    first = np.full(len(index), limit.num_blocks // 4)
    squares = _increments(limit, steps, first, first + np.asarray(index))
    labels = {"step": steps, "index": index}
    return {"feature_increment": Measured(np.sqrt(squares), ("step", "index"), labels)}


def _increments(
    limit: Limit, steps: tuple[int, ...], first: Array, last: Array
) -> Float[Array, "steps pairs"]:
    """Compute mean squares over the batch of x^{last} - x^{first}, for pairs of layers."""
    kernels = limit.across_layers.reshape(*limit.outputs.shape[:2], *limit.across_layers.shape[1:])
    kernels = kernels[list(steps)].mean(axis=1)
    squares: Array = kernels[:, last, last] - 2 * kernels[:, first, last] + kernels[:, first, first]
    return squares


_MEASURED = {"feature_sizes": _feature_sizes, "feature_increments": _feature_increments}


def train(
    x: ArrayLike,
    loss_derivative: LossDerivative,
    *,
    output_dim: int,
    num_blocks: int,
    branch_scale: float,
    learning_rate: float,
    moments: Moments | None = None,
) -> Limit:
    """Train with SGD on the batch mean of a loss, in float64.

    A learning rate that is too large leads to inf or NaN. The memory is about 32 (T B L)^2 bytes. Depth-muP is alpha =
    gamma = 1/2.

    Args:
        x: the batch of every step `[T, B, D]`.
        loss_derivative: `loss_derivative(step, f)` maps outputs `[B, C]` to every sample's dloss/df `[B, C]`.
        output_dim: number C of outputs.
        num_blocks: number L of residual blocks, at least 1.
        branch_scale: c = a L^-alpha.
        learning_rate: learning rate of a finite network's W^l, eta L^(alpha - gamma) (Eq. 4).
        moments: the moments of a smooth activation after the weight, with mean subtraction; the network is linear if
            None.

    Returns:
        The outputs `[T, B, C]` before each update, and the second moments of features and their derivatives.

    Raises:
        ValueError: x does not have three axes, or there is no block.
    """
    x = np.asarray(x, np.float64)
    if x.ndim != 3:
        raise ValueError(f"x must be [T, B, D], not {x.shape}")
    if num_blocks < 1:
        raise ValueError(f"num_blocks must be at least 1, not {num_blocks}")
    steps, batch, _ = x.shape
    samples = x.reshape(steps * batch, -1)
    rate = learning_rate * branch_scale / batch
    kets = Kets(samples @ samples.T, output_dim, num_blocks, branch_scale, rate, moments)
    outputs = np.empty((steps, batch, output_dim))
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(steps):
            now = slice(step * batch, (step + 1) * batch)
            outputs[step] = kets.forward(now)
            kets.backward(now, loss_derivative(step, outputs[step]))
    return Limit(outputs, kets.x.moments, kets.dx.moments, kets.across_layers)


class _Coefficients:
    """Coefficients of x^l or dx^l, and second moments.

    `fields` are the coefficients in the fields of W (first) and W^T (second), `ends` those in the fields of U xi and n
    V.
    """

    def __init__(self, tokens: int, output_dim: int, num_blocks: int):
        layers = num_blocks + 1
        self.fields = np.zeros((layers, tokens, 2, num_blocks, tokens))
        self.ends = np.zeros((layers, tokens, tokens + output_dim))
        self.moments = np.zeros((layers, tokens, tokens))


class Kets:
    """x^l and dx^l of all tokens as linear combinations of fields.

    Block m has the fields phi(W_0^m x^{m-1}) of each token, minus their mean, and W_0^{mT} dh^m, with dh = phi'(h) dx.
    The former have the covariance Cov(phi, phi), the latter E[phi' phi'] <dx dx'>.

    Args:
        gram: inner products of all tokens' inputs `[tokens, tokens]`.
        output_dim: number C of outputs.
        num_blocks: number L of residual blocks.
        scale: branch scale c.
        rate: learning rate times c over the batch size.
        moments: the moments of a smooth activation; the network is linear if None.
    """

    def __init__(
        self,
        gram: Float[Array, "tokens tokens"],
        output_dim: int,
        num_blocks: int,
        scale: float,
        rate: float,
        moments: Moments | None = None,
    ):
        self.tokens, self.num_blocks, self.scale, self.rate = len(gram), num_blocks, scale, rate
        self.x = _Coefficients(self.tokens, output_dim, num_blocks)
        self.dx = _Coefficients(self.tokens, output_dim, num_blocks)
        self.ends = np.eye(self.tokens + output_dim)
        self.ends[: self.tokens, : self.tokens] = gram
        self.across_layers = np.zeros((self.tokens, num_blocks + 1, num_blocks + 1))
        self.moments = moments
        pairs = (num_blocks, self.tokens, self.tokens)
        self.activation = ActivationMoments(*(np.zeros(pairs) for _ in range(5)))
        # covariances of the fields of W and of W^T
        self.covariances = self.activation.values, np.zeros(pairs)
        # coefficients of past dx in preactivations
        self.drives = np.zeros(pairs)

    def forward(self, now: slice) -> Float[Array, "batch out"]:
        """Compute x^0..x^L of the tokens `now`, and return their outputs."""
        own = range(now.start, now.stop)
        self.x.ends[0, own, own] = 1.0
        self._moments(self.x, 0, now)
        for block in range(self.num_blocks):
            self._activate(block, now)
            past, moments = slice(now.start), self.x.moments[block]
            drive = self.x.fields[block, now, 1, block, past] - self.rate * moments[now, past]
            self.drives[block, now, past] = drive
            coefficients = np.zeros((now.stop - now.start, now.stop))
            coefficients[:, past] = drive * self.activation.derivatives[block, now, past]
            self._branch(self.x, self.dx, 0, block, (block, block + 1), now, coefficients)
            self._moments(self.x, block + 1, now)
        upto = slice(now.stop)
        for token in own:
            fields, ends = self.x.fields[:, token, ..., upto], self.x.ends[:, token]
            self.across_layers[token] = self._overlap(fields, fields, ends, ends)
        return self.x.ends[-1, now, self.tokens :]

    def backward(self, now: slice, loss_derivatives: Float[Array, "batch out"]) -> None:
        """Compute dx^L..dx^0 of the tokens `now`."""
        self.dx.ends[-1, now, self.tokens :] = loss_derivatives
        self._moments(self.dx, self.num_blocks, now)
        upto = slice(now.stop)
        for block in reversed(range(self.num_blocks)):
            covariances = self.activation.derivatives[block] * self.dx.moments[block + 1]
            self.covariances[1][block, now, upto] = covariances[now, upto]
            self.covariances[1][block, upto, now] = covariances[upto, now]
            coefficients = self.backward_coefficients(block, now)
            self._branch(self.dx, self.x, 1, block, (block + 1, block), now, coefficients)
            self._moments(self.dx, block, now)

    def backward_coefficients(self, block: int, now: slice) -> Float[Array, "batch tokens"]:
        """Return the coefficients of x^{l-1} of each token in W^T dh^l, which a block adds to dx^{l-1}.

        They are in units of the block's scale. Def. E.1 as printed lacks all but the first two terms.
        """
        past, upto = slice(now.start), slice(now.stop)
        moments, own = self.dx.moments[block + 1], self.dx.fields[block + 1, now, 0, block, upto]
        _, derivatives, curvatures, curvature_values, third_derivatives = (
            part[block, now, upto] for part in self.activation
        )
        coefficients = derivatives * own
        coefficients[:, past] -= self.rate * (derivatives * moments[now, upto])[:, past]
        if self.moments is not None:
            turned = moments[now, upto] * self.drives[block, now, upto]
            coefficients += curvatures * turned
            itself = (curvature_values * own + third_derivatives * turned).sum(axis=1)
            coefficients[range(len(coefficients)), range(now.start, now.stop)] += itself
        return coefficients

    def _activate(self, block: int, now: slice) -> None:
        """Compute the moments of the activation for the tokens `now` with all tokens up to them."""
        upto = slice(now.stop)
        covariances = self.x.moments[block]
        if self.moments is None:
            computed = ActivationMoments(
                covariances[now, upto], *np.ones((1, 1, 1)), *np.zeros((3, 1, 1))
            )
        else:
            variances = np.diagonal(covariances)
            computed = self.moments(covariances[now, upto], variances[now], variances[upto])
        for part, values in zip(self.activation, computed, strict=True):
            part[block, now, upto] = values
        for part in (self.activation.values, self.activation.derivatives):
            part[block, upto, now] = part[block, now, upto].T

    def _branch(
        self,
        kets: _Coefficients,
        others: _Coefficients,
        kind: int,
        block: int,
        layers: tuple[int, int],
        now: slice,
        coefficients: Float[Array, "batch tokens"],
    ) -> None:
        """Add a block: its field, and other kets with their coefficients."""
        source, target = layers
        upto, own = slice(now.stop), range(now.start, now.stop)
        for mine, theirs in ((kets.fields, others.fields), (kets.ends, others.ends)):
            added = np.tensordot(self.scale * coefficients, theirs[target, upto], 1)
            mine[target, now] = mine[source, now] + added
        kets.fields[target, own, kind, block, own] += self.scale

    def _moments(self, kets: _Coefficients, layer: int, now: slice) -> None:
        """Compute the second moments of the tokens `now` with all tokens up to them."""
        upto = slice(now.stop)
        fields, ends = kets.fields[layer, upto, ..., upto], kets.ends[layer, upto]
        moments = self._overlap(fields[now], fields, ends[now], ends)
        kets.moments[layer, now, upto], kets.moments[layer, upto, now] = moments, moments.T

    def _overlap(
        self,
        fields: Float[Array, "rows 2 blocks tokens"],
        other_fields: Float[Array, "others 2 blocks tokens"],
        ends: Float[Array, "rows ends"],
        other_ends: Float[Array, "others ends"],
    ) -> Float[Array, "rows others"]:
        upto = slice(fields.shape[-1])
        overlap: Array = ends @ self.ends @ other_ends.T
        for kind, covariance in enumerate(self.covariances):
            weighted = fields[:, kind].swapaxes(0, 1) @ covariance[:, upto, upto]
            overlap += np.tensordot(weighted, other_fields[:, kind], ((0, 2), (1, 2)))
        return overlap


def work(cell: Cell, count: Count) -> None:
    """Add, for each step and layer, forward and backward, products with all tokens' moments so far and their fields."""
    blocks, batch = cell.network.num_hidden_layers - 1, cell.batch_size
    tokens = num_tokens(cell)
    # two products with the moments and two with the fields, which are copied first
    entries = 4 * blocks**2 * tokens**3 / 3 / batch
    count.multiply_adds(2 * batch * entries)
    count.traffic(8 * 3 * entries)
    # the overlaps of all pairs of layers for each token
    count.multiply_adds(blocks**2 * tokens**2 * (2 * tokens / 3 + blocks))
    # NumPy starts one kernel for each block in a stack of moments
    count.python(blocks * tokens / batch, kernels=blocks**2 * tokens / batch)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of the fields and moments of all pairs of tokens and layers."""
    return {"bytes": 32.0 * (num_tokens(cell) * (cell.network.num_hidden_layers - 1)) ** 2}


def num_tokens(cell: Cell) -> int:
    """Return the number of samples over all steps; measurements after the last update need one more step."""
    measured = (step + 1 for spec in cell.measurements for step in spec.steps)
    return cell.batch_size * max(cell.num_steps, *measured, 0)

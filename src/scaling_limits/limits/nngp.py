"""K-FAC on the output weights of an infinitely wide network, from zero: kernel regression.

Source: second-order Sec. 4.3, Eq. 17. With h(x) [M] the units of the last hidden layer, the output is f(x) = c W h(x),
with c the multiplier. At infinite width, h(x) h(x') / M is the covariance K(x, x') of a Gaussian process (NNGP). Layer
by layer, it is `K_1 = E[phi(u) phi(u')]` for u with covariance s_1^2 x x', and `K_l = E[phi(u) phi(u')]` for u with
covariance M s_l^2 K_{l-1}, with s_l the standard deviation of the weights times their multiplier. For full batches and
the mean squared error, B = I and A = h h^T / n, so K-FAC moves the output in the span of the kernel: f_t(x) = K(x, X)
a_t with

    a_{t+1} - a_t = momentum (a_t - a_{t-1}) + r c^2 / (1 + rho_B) (K + n rho_A / M)^-1 (y - f_t(X)),

with r the learning rate. One step at rate 1 is kernel regression with the ridge n rho_A / M. The first step of a
network whose hidden weights are trained, too, is the same, because their gradient is zero at zero output weights.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.limits.linear_cells import curve, require
from scaling_limits.measured import Measured
from scaling_limits.networks.work import Count

Array = np.ndarray
LARGEST_OUTPUT = 1e-6
"""Largest initial output that counts as zero.

It is the standard deviation of the output, relative to the standard deviation of the last hidden units."""
_DEGREES, _NODES = 128, 256
# importing SciPy's takes a third of a second in every process that reads the configuration
_error_function = np.vectorize(math.erf, otypes=[float])
# expanded in Hermite polynomials
_SMOOTH: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "gelu": lambda u: 0.5 * u * (1.0 + _error_function(u / 2**0.5)),
}


class Covariance(NamedTuple):
    """The covariance of Gaussian units for two groups of samples `[n]` and `[m]`.

    `pairs` `[n, m]` are the covariances of pairs, `left` and `right` the variances of both groups.
    """

    pairs: Float[Array, "n m"]
    left: Float[Array, " n"]
    right: Float[Array, " m"]

    def scaled(self, factor: float) -> "Covariance":
        """Return the covariance of the units times the square root of a factor."""
        return Covariance(*(factor * part for part in self))


def refuse(cell: Cell) -> None:
    """Reject cells without this limit.

    It describes fully connected networks whose output weights alone are trained, from zero, with full batches of K-FAC
    or FOOF on the mean squared error. With the exponents of the table, rho_A grows like the width M, so that the
    ridge n rho_A / M has a limit. A `smallest_damping` does not grow, so cells with one are rejected.

    Raises:
        ConfigurationError: naming what is different.
    """
    optimiser = cell.optimiser
    start = _scale(cell, "output") * cell.network.width**0.5
    require(
        cell,
        activation=(cell.network.activation, sorted({*_CLOSED, *_SMOOTH})),
        skip=(cell.network.skip, [False]),
        init_distribution=(cell.init_distribution, ["normal"]),
        context_size=(cell.dataset.context_size, [None]),
        algorithm=(cell.algorithm.name, ["backpropagation"]),
        optimiser=(optimiser.name, ["foof", "kfac"]),
        momentum=None,
        fisher=(getattr(cell.algorithm, "fisher", None), [None, "exact"]),
        kl_clip=(getattr(optimiser, "kl_clip", None), [None]),
        # a floor that does not grow with the width gives a ridge that vanishes as 1 / M
        smallest_damping=(getattr(optimiser, "smallest_damping", None), [0.0]),
        batch_size=(cell.batch_size, [cell.dataset.num_train]),
    )
    if optimiser.other_power:
        raise ConfigurationError(
            "damping_rule",
            f"limit {cell.limit} requires 'rescaled' or 'fixed', not 'heuristic', whose damping of the output "
            "layer's input factor vanishes relative to that factor at infinite width",
        )
    if start > LARGEST_OUTPUT:
        raise ConfigurationError(
            "output_init_exponent",
            f"limit {cell.limit} requires an initial output of zero, but at width {cell.network.width} it is "
            f"{start:.3g} of the size of the hidden units; use 64 and a width above the base width",
        )
    _refuse_frozen(cell)


def _refuse_frozen(cell: Cell) -> None:
    """Reject cells that train other weights than those of the output."""
    hidden = {"input", *(["hidden"] if cell.network.num_hidden_layers > 1 else [])}
    if cell.num_steps > 1 and set(cell.frozen) != hidden:
        raise ConfigurationError(
            "frozen",
            f"limit {cell.limit} requires {sorted(hidden)}, not {sorted(cell.frozen)}, or num_steps: 1, not "
            f"{cell.num_steps}: after the first step, other weights change as well",
        )
    if "output" in cell.frozen:
        raise ConfigurationError(
            "frozen", f"limit {cell.limit} requires trained output weights; remove output"
        )


def compute(cell: Cell, arrays: Arrays) -> dict[str, Measured]:
    """Compute `train_loss` and the measurements `performance` and `training_performance`; others are skipped."""
    x, y, x_test, y_test = (
        np.asarray(part, np.float64)
        for part in (arrays.x_train, arrays.y_train, arrays.x_test, arrays.y_test)
    )
    kernel, kernel_test = hidden_kernel(cell, x, x), hidden_kernel(cell, x_test, x)
    rate, ridge = _step(cell, float(np.trace(kernel)) / len(x))
    momentum: float = getattr(cell.optimiser, "momentum", 0.0)
    coefficients = regression(
        kernel, y, ridge=len(x) * ridge, rate=rate, momentum=momentum, num_steps=_num_updates(cell)
    )
    with np.errstate(over="ignore", invalid="ignore"):
        outputs = np.einsum("nm,tmc->tnc", kernel, coefficients, optimize=True)
        result = curve(cell, _losses(outputs, y))
        for spec in cell.measurements:
            chosen, labels = list(spec.steps), {"step": spec.steps}
            if spec.name == "performance":
                outputs_test = np.einsum(
                    "nm,tmc->tnc", kernel_test, coefficients[chosen], optimize=True
                )
                result["test_loss"] = Measured(_losses(outputs_test, y_test), ("step",), labels)
                if cell.dataset.targets != "real":
                    accuracies = _accuracies(outputs_test, y_test)
                    result["test_accuracy"] = Measured(accuracies, ("step",), labels)
            elif spec.name == "training_performance":
                accuracies = _accuracies(outputs[chosen], y)
                result["train_accuracy"] = Measured(accuracies, ("step",), labels)
    return result


def _num_updates(cell: Cell) -> int:
    """Return the number of updates up to the end of training and up to the last measurement."""
    return max([cell.num_steps, *(step for spec in cell.measurements for step in spec.steps)])


def regression(
    kernel: Float[Array, "n n"],
    y: Float[Array, "n out"],
    *,
    ridge: float,
    rate: float,
    momentum: float,
    num_steps: int,
) -> Float[Array, "times n out"]:
    """Iterate K-FAC on the output weights from a_0 = 0 (second-order Eq. 17); f_t(x) is K(x, X) a_t.

    At rate 1 the first step, a_1, is kernel regression with this ridge.

    Args:
        kernel: K(X, X) of the training samples `[n, n]`.
        y: targets `[n, out]`.
        ridge: n rho_A / M.
        rate: r c^2 / (1 + rho_B), the learning rate r times the squared multiplier over the damped output factor.
        momentum: decay of the velocity.
        num_steps: number of updates.

    Returns:
        The coefficients a_0..a_num_steps, `[num_steps + 1, n, out]`.
    """
    values, vectors = np.linalg.eigh(kernel)
    values = np.maximum(values, 0.0)
    targets = vectors.T @ y
    coefficients = np.zeros((num_steps + 1, *y.shape))
    velocity = np.zeros_like(y)
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(num_steps):
            errors = targets - values[:, None] * coefficients[step]
            velocity = momentum * velocity + rate * errors / (values + ridge)[:, None]
            coefficients[step + 1] = coefficients[step] + velocity
        result: Array = np.einsum("nm,tmc->tnc", vectors, coefficients, optimize=True)
    return result


def hidden_kernel(
    cell: Cell, x: Float[Array, "n in"], other: Float[Array, "m in"]
) -> Float[Array, "n m"]:
    """Compute K of the last hidden layer between the samples `x` and `other`."""
    width = cell.network.width
    inputs = Covariance(x @ other.T, (x**2).sum(axis=1), (other**2).sum(axis=1))
    kernel = activated(inputs.scaled(_scale(cell, "input") ** 2), cell.network.activation)
    for _ in range(cell.network.num_hidden_layers - 1):
        kernel = activated(
            kernel.scaled(width * _scale(cell, "hidden") ** 2), cell.network.activation
        )
    return kernel.pairs


def activated(units: Covariance, activation: str) -> Covariance:
    """Compute the second moments of an activation of Gaussian units.

    They have closed forms except for tanh and gelu, which are expanded in Hermite polynomials: for unit Gaussians with
    correlation rho, E[He_k He_k'] is k! rho^k for k = k', else zero. The error of the expansion is its remainder beyond
    degree 127.
    """
    if activation in _CLOSED:
        moments = _CLOSED[activation]
        variances = (moments(v, v, v) for v in (units.left, units.right))
        return Covariance(moments(*_grid(units)), *variances)
    phi = _SMOOTH[activation]
    pairs, left, right = units
    sizes = np.sqrt(np.outer(left, right))
    correlation = np.clip(np.divide(pairs, sizes, out=np.zeros_like(pairs), where=sizes > 0), -1, 1)
    ours, theirs = _coefficients(phi, left), _coefficients(phi, right)
    products = np.zeros_like(pairs)
    for degree in reversed(range(_DEGREES)):
        products = products * correlation + np.outer(ours[:, degree], theirs[:, degree])
    return Covariance(products, _squares(phi, left), _squares(phi, right))


def _linear(pairs: ArrayLike, _left: ArrayLike, _right: ArrayLike) -> Array:
    return np.asarray(pairs)


def _relu(pairs: ArrayLike, left: ArrayLike, right: ArrayLike) -> Array:
    """Compute half of the arc-cosine kernel of degree 1 (Cho & Saul 2009)."""
    pairs, sizes = np.asarray(pairs), np.sqrt(np.multiply(left, right))
    cosine = np.clip(np.divide(pairs, sizes, out=np.zeros_like(sizes), where=sizes > 0), -1, 1)
    angle = np.arccos(cosine)
    moments: Array = sizes * (np.sin(angle) + (np.pi - angle) * cosine) / (2 * np.pi)
    return moments


def _abs(pairs: ArrayLike, left: ArrayLike, right: ArrayLike) -> Array:
    """Compute the moments of |u| = relu(u) + relu(-u)."""
    moments: Array = 2.0 * (_relu(pairs, left, right) + _relu(np.negative(pairs), left, right))
    return moments


def _erf(pairs: ArrayLike, left: ArrayLike, right: ArrayLike) -> Array:
    """Compute the arc-sine kernel (Williams 1997)."""
    sizes = np.sqrt(np.multiply(1 + 2 * np.asarray(left), 1 + 2 * np.asarray(right)))
    moments: Array = 2 / np.pi * np.arcsin(2 * np.asarray(pairs) / sizes)
    return moments


_CLOSED: dict[str, Callable[..., Array]] = {
    "linear": _linear,
    "relu": _relu,
    "abs": _abs,
    "erf": _erf,
}


def _grid(units: Covariance) -> tuple[Array, Array, Array]:
    return units.pairs, units.left[:, None], units.right[None]


def _coefficients(
    phi: Callable[[Array], Array], variances: Float[Array, " n"]
) -> Float[Array, "n degrees"]:
    """Compute E[phi(u) He_k(z)] / sqrt(k!) with u = sqrt(variance) z, by quadrature."""
    nodes, probabilities = _quadrature()
    basis = np.empty((_DEGREES, _NODES))
    basis[0], basis[1] = 1.0, nodes
    for k in range(1, _DEGREES - 1):
        basis[k + 1] = (nodes * basis[k] - k**0.5 * basis[k - 1]) / (k + 1) ** 0.5
    coefficients: Array = (phi(np.sqrt(variances)[:, None] * nodes) * probabilities) @ basis.T
    return coefficients


def _squares(phi: Callable[[Array], Array], variances: Float[Array, " n"]) -> Float[Array, " n"]:
    nodes, probabilities = _quadrature()
    squares: Array = phi(np.sqrt(variances)[:, None] * nodes) ** 2 @ probabilities
    return squares


def _quadrature() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return nodes, weights / weights.sum()


def _scale(cell: Cell, role: str) -> float:
    """Return the standard deviation of the weights of a role, times their multiplier."""
    numbers = cell.scaling[role]
    scale: float = numbers.multiplier * numbers.init_std
    return scale


def _step(cell: Cell, mean: float) -> tuple[float, float]:
    """Return r c^2 / (1 + rho_B) and rho_A / M, given the mean variance of the hidden units."""
    optimiser = cell.optimiser
    numbers, width = cell.scaling["output"], cell.network.width

    def damping(side: str, eigenvalue: float) -> float:
        own = getattr(optimiser, f"{side}_damping") * getattr(numbers, f"{side}_damping")
        rho: float = own * eigenvalue**optimiser.own_power
        return rho

    rate = numbers.learning_rate * numbers.multiplier**2
    if optimiser.name == "kfac":
        rate /= 1.0 + damping("output", 1.0)
    return rate, damping("input", mean) / width


def _losses(outputs: Float[Array, "times n out"], y: Float[Array, "n out"]) -> Array:
    losses: Array = 0.5 * ((y - outputs) ** 2).sum(axis=2).mean(axis=1)
    return losses


def _accuracies(outputs: Float[Array, "times n out"], y: Float[Array, "n out"]) -> Array:
    """Compute fractions of correctly classified samples, as in `losses.accuracy`; NaN if an output is not finite."""
    if y.shape[-1] == 1:
        right = (np.sign(outputs) == np.sign(y)).all(axis=2)
    else:
        right = outputs.argmax(axis=2) == y.argmax(axis=1)
    finite = np.isfinite(outputs).all(axis=(1, 2))
    accuracies: Array = np.where(finite, right.mean(axis=1), np.nan)
    return accuracies


def work(cell: Cell, count: Count) -> None:
    """Add the kernels of all pairs of samples, layer by layer, and the eigenvectors of the training set's kernel."""
    samples, tested = cell.dataset.num_train, cell.dataset.num_test
    pairs = samples * (samples + tested)
    series = 2 * _DEGREES if cell.network.activation in _SMOOTH else 40
    times = _num_updates(cell)
    number = pairs * (cell.network.input_dim + series * cell.network.num_hidden_layers)
    number += 20 * samples**3 + times * pairs * cell.network.output_dim
    count.multiply_adds(number)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of both kernels, of a few arrays like them, and of the outputs of all steps."""
    samples, tested = cell.dataset.num_train, cell.dataset.num_test
    times = cell.num_steps + 2
    return {
        "bytes": 8.0
        * (8 * samples * (samples + tested) + 3 * times * samples * cell.network.output_dim)
    }

"""Distance of a network trained by K-FAC from kernel regression with its initial features.

Source: second-order Sec. 4.3, Eq. 17, App. E.1 (Fig. S.3): from zero output weights, K-FAC's first step is kernel
regression with the kernel K = h h^T of the last hidden layer, and the network cannot leave this solution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits import networks
from scaling_limits.cells import Cell
from scaling_limits.measurements.requirements import lacking

if TYPE_CHECKING:
    from jaxtyping import Array, PyTree

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {"kernel_distance": ()}


def measure(context: Context) -> dict[str, Array]:
    """Compute `||f - g|| / ||g||` on test samples; not finite before the first update.

    f are the network's outputs. g are the outputs after as many updates of the output weights alone by the same
    optimiser, from zero, at the initial hidden units h. With the Fisher information of its outputs, which is the
    identity (in expectation if it is sampled), these are

        g_t(x) = h(x) h^T a_t,   a_{t+1} - a_t = momentum (a_t - a_{t-1}) + rate (h h^T + n rho_A)^-1 (y - g_t),

    with the learning rate divided by 1 + rho_B as `rate`. At rate 1, g_1 is kernel regression (Eq. 17).
    """
    import jax
    import jax.numpy as jnp
    from jax.scipy.linalg import cho_factor, cho_solve

    from scaling_limits.optimisers.kronecker import dampings
    from scaling_limits.optimisers.layers import smallest

    problem, numbers = context.problem, context.optimiser
    factors = problem.scaling["output"]
    trained, tested = (_hidden_units(context, x) for x in (context.x_train, context.x_test))
    kernel, count = trained @ trained.T, len(trained)
    trace = jnp.trace(kernel) / count
    means = {"input": trace / trained.shape[1]}
    if getattr(problem.options, "fisher", None) is not None:
        means["output"] = jnp.ones_like(trace)
    damping = dampings(numbers, factors, means)
    ridge = count * jnp.maximum(damping["input"], smallest(trace.dtype) * trace)
    rate = factors["learning_rate"] * factors["multiplier"] ** 2
    rate = rate / (1.0 + damping.get("output", 0.0))
    root = cho_factor(kernel + ridge * jnp.eye(count, dtype=kernel.dtype))

    def step(_: PyTree, state: tuple[Array, Array]) -> tuple[Array, Array]:
        coefficients, velocity = state
        errors = context.y_train - kernel @ coefficients
        velocity = numbers["momentum"] * velocity + rate * cho_solve(root, errors)
        return coefficients + velocity, velocity

    zeros = jnp.zeros_like(context.y_train)
    coefficients, _ = jax.lax.fori_loop(0, problem.numbers["step"], step, (zeros, zeros))
    expected = tested @ (trained.T @ coefficients)
    distance = jnp.linalg.norm(context.outputs(context.x_test) - expected)
    return {"kernel_distance": distance / jnp.linalg.norm(expected)}


def _hidden_units(context: Context, x: Array) -> Array:
    """Return the inputs of the output layer at the initial weights."""
    import jax

    network, scaling = context.problem.network, context.problem.scaling
    inputs = network.observed(context.initial, scaling, x, network.shifts(x))[1]
    (leaf,) = jax.tree.leaves(inputs[-1])
    units: Array = leaf[0]
    return units


def refuse(cell: Cell) -> None:
    """Reject cells whose training this kernel regression does not describe.

    It describes full-batch training by K-FAC or FOOF on the mean squared error.

    Raises:
        ConfigurationError: the message says for which cells the measurement is defined, and what differs.
    """
    optimiser = cell.optimiser
    facts: dict[str, tuple[PyTree, list[PyTree]]] = {
        "optimiser": (optimiser.name, ["kfac", "foof"]),
        "loss": (cell.algorithm.loss, ["mean_squared_error"]),
        "batch_size": (cell.batch_size, [cell.dataset.num_train]),
        "learning_rate_schedule": (cell.learning_rate_schedule or "constant", ["constant"]),
        "augmentation": (cell.augmentation or "none", ["none"]),
        "kl_clip": (getattr(optimiser, "kl_clip", None), [None]),
    }
    for name, (result, allowed) in facts.items():
        if result not in allowed:
            valid = " or ".join("unset" if value is None else repr(value) for value in allowed)
            raise lacking("kernel_distance", f"requires {name}: {valid}, not {result!r}")
    if cell.network.num_statistics is not None:
        raise lacking(
            "kernel_distance",
            f"requires features that do not depend on the batch; network '{cell.network.name}' has batch norm",
        )
    if "output" in cell.frozen:
        raise lacking(
            "kernel_distance", "requires trained output weights; remove output from frozen"
        )


def work(cell: Cell, count: Count) -> None:
    """Add features and outputs, the kernel and its decomposition, and half of all updates of its coefficients."""
    samples, tested = cell.dataset.num_train, cell.dataset.num_test
    count.forward(samples + 2 * tested)
    inputs = networks.layers_of(cell.network)[-1].inputs
    count.multiply_adds(samples**2 * (inputs + samples / 3))
    count.multiply_adds(1.5 * cell.num_steps * samples**2 * cell.network.output_dim)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of the activities of both sets, and of the initial weights."""
    return {"samples": cell.dataset.num_train + cell.dataset.num_test, "weights": 1}

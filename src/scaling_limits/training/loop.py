"""The training of one cell as a pure function, and its compilation for a shard.

Nothing here runs Python per step: a scan goes over the measured steps, a loop of the steps between them is inside.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jaxtyping import Array, Int

from scaling_limits import algorithms, measurements, networks
from scaling_limits.algorithms.problem import Problem
from scaling_limits.cells import Cell
from scaling_limits.datasets.loading import Arrays
from scaling_limits.datasets.order import batch_indices
from scaling_limits.measured import Measured
from scaling_limits.measurements.context import Context
from scaling_limits.networks.network import Params
from scaling_limits.training import optimiser


class Data(NamedTuple):
    """Training and test set, `[samples, input]` and `[samples, output]`."""

    inputs: Array
    targets: Array
    test_inputs: Array
    test_targets: Array


Program = Callable[[dict[str, Any], Array, Data], dict[str, dict[str, Array]]]


def cell_function(cell: Cell) -> Program:
    """The training of any cell of this cell's shard.

    The function takes the traced numbers, the batches' sample indices `[steps + 1, batch]` (the last one for what is
    measured after the last update; feedback weights that are trained alone take the first ones), and training and test
    set, and returns `{"curves": {metric: [steps]}, <measurement>: {metric: [measured steps, ...]}}`. Losses that are
    not finite are recorded as they are: divergence is a result.
    """
    network = networks.build(cell.network)
    algorithm = algorithms.get(cell.algorithm)
    plans = [
        (spec.name, measurements.registry.get(spec.name), set(spec.steps))
        for spec in cell.measurements
    ]
    stops = sorted(set().union(*(steps for _, _, steps in plans)) if plans else set())
    flags = [[stop in steps for stop in stops] for _, _, steps in plans]
    num_feedback_steps = cell.num_feedback_steps or 0

    def run(
        numbers: dict[str, Any],
        order: Int[Array, "steps batch"],
        data: Data,
    ) -> dict[str, dict[str, Array]]:
        scaling = numbers["scaling"]
        key = jax.random.key(numbers["seed"])
        kind = data.inputs.dtype
        params = network.init(key, scaling, cell.init_distribution, kind)
        update_rule = optimiser.build(
            cell.optimiser, numbers["optimiser"], scaling, network, cell.frozen
        )
        options = {**numbers.get("algorithm", {}), "seed": numbers["seed"]}

        def problem(params: Params, feedback: Params, step: Array, batch: Array) -> Problem:
            x, y = data.inputs[batch], data.targets[batch]
            current = {**options, "step": step}
            return Problem(network, params, scaling, x, y, cell.algorithm, current, feedback)

        def train_step(step: Array, state: Any) -> Any:
            forward, back, curves = state
            present = problem(forward[0], back[0], step, order[step])
            grads, metrics = algorithm.gradients(present)
            forward = _updated(update_rule, grads, *forward)
            if network.feedback:
                back = _updated(feedback_rule, algorithm.feedback_gradients(present), *back)
            curves = {name: curves[name].at[step].set(value) for name, value in metrics.items()}
            return forward, back, curves

        def feedback_step(index: Array, back: Any) -> Any:
            present = problem(params, back[0], index - num_feedback_steps, order[index])
            return _updated(feedback_rule, algorithm.feedback_gradients(present), *back)

        def interval(
            state: Any, stop_and_flags: tuple[Array, Array, list[Array]]
        ) -> tuple[Any, Any]:
            start, stop, due = stop_and_flags
            state = lax.fori_loop(start, stop, train_step, state)
            context = Context(
                problem(state[0][0], state[1][0], stop, order[stop]),
                params,
                data.test_inputs,
                data.test_targets,
                algorithm.gradients,
                algorithm.errors,
            )
            measured = {}
            for (name, module, _), flag in zip(plans, due, strict=True):
                zeros = jax.tree.map(
                    lambda s: jnp.zeros(s.shape, s.dtype),
                    jax.eval_shape(lambda m=module: m.measure(context)),
                )
                measured[name] = lax.cond(
                    flag, lambda m=module: m.measure(context), lambda z=zeros: z
                )
            return state, measured

        back: tuple[Params, Any] = ((), ())
        if network.feedback:
            feedback = network.init_feedback(key, scaling, cell.init_distribution, kind)
            feedback_rule = optimiser.build_feedback(
                cell.optimiser, numbers["optimiser"], scaling, network
            )
            back = (feedback, feedback_rule.init(feedback))
            back = lax.fori_loop(0, num_feedback_steps, feedback_step, back)

        shapes = jax.eval_shape(
            lambda: algorithm.gradients(problem(params, back[0], jnp.int32(0), order[0]))[1]
        )
        curves = {name: jnp.zeros(cell.num_steps, s.dtype) for name, s in shapes.items()}
        state = ((params, update_rule.init(params)), back, curves)
        measured: dict[str, dict[str, Array]] = {}
        if stops:
            starts = jnp.asarray([0, *stops[:-1]], jnp.int32)
            schedule = (starts, jnp.asarray(stops, jnp.int32), [jnp.asarray(row) for row in flags])
            state, measured = lax.scan(interval, state, schedule)
            for (name, _, _), row in zip(plans, flags, strict=True):
                kept = np.flatnonzero(row)
                measured[name] = {metric: values[kept] for metric, values in measured[name].items()}
        state = lax.fori_loop(stops[-1] if stops else 0, cell.num_steps, train_step, state)
        return {"curves": state[2], **measured}

    return run


def _updated(
    rule: optax.GradientTransformation, grads: Params, weights: Params, rule_state: Any
) -> tuple[Params, Any]:
    updates, rule_state = rule.update(grads, rule_state, weights)
    return jax.tree.map(lambda p, u: p + u.astype(p.dtype), weights, updates), rule_state


def compile_shard(cell: Cell, arrays: Arrays) -> Callable[[list[Cell]], list[dict[str, Measured]]]:
    """Compile the program of a cell's shard for its batch size of cells.

    Returns:
        A function of at most `cells_per_batch` cells of the shard that returns each one's measurements. A short
        batch is padded, so its numbers are those of a full one.
    """
    run = cell_function(cell)
    size = cell.cells_per_batch
    kind = jnp.float64 if cell.dtype == "float64" else jnp.float32
    parts = (arrays.x_train, arrays.y_train, arrays.x_test, arrays.y_test)
    data = Data(*(jnp.asarray(part, kind) for part in parts))
    program = jax.jit(run if size == 1 else jax.vmap(run, in_axes=(0, 0, None)))
    arguments = _arguments([cell], size)
    compiled = program.lower(*arguments, data).compile()

    def train(cells: list[Cell]) -> list[dict[str, Measured]]:
        outputs = jax.device_get(compiled(*_arguments(cells, size), data))
        if size == 1:
            return [_measured(cell, outputs)]
        return [
            _measured(cell, jax.tree.map(lambda v, i=i: v[i], outputs)) for i in range(len(cells))
        ]

    return train


def _arguments(cells: list[Cell], size: int) -> tuple[dict[str, Any], Array]:
    padded = cells + [cells[0]] * (size - len(cells))
    kind = np.float64 if cells[0].dtype == "float64" else np.float32
    numbers = [
        jax.tree.map(lambda v: np.uint32(v) if isinstance(v, int) else kind(v), cell.traced())
        for cell in padded
    ]
    orders = [
        batch_indices(
            seed=c.seed,
            dataset=c.dataset.name,
            num_samples=c.dataset.num_train,
            batch_size=c.batch_size,
            num_steps=max(c.num_steps + 1, c.num_feedback_steps or 0),
        )
        for c in padded
    ]
    if size == 1:
        return jax.tree.map(jnp.asarray, numbers[0]), jnp.asarray(orders[0])
    return jax.tree.map(lambda *v: jnp.asarray(np.stack(v)), *numbers), jnp.asarray(
        np.stack(orders)
    )


def _measured(cell: Cell, outputs: dict[str, dict[str, np.ndarray]]) -> dict[str, Measured]:
    steps = tuple(range(cell.num_steps))
    result = {
        name: Measured(np.asarray(values), ("step",), {"step": steps})
        for name, values in outputs["curves"].items()
    }
    for spec in cell.measurements:
        module = measurements.registry.get(spec.name)
        for metric, values in outputs[spec.name].items():
            axes = ("step", *module.AXES[metric])
            result[metric] = Measured(np.asarray(values), axes, measurements.labels(cell, spec))
    return result

"""The training of one cell as a pure function, and its compilation for a shard.

No Python runs per step: a scan goes over the measured steps, with a loop over the steps between them inside.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int, PyTree

from scaling_limits import measurements, networks
from scaling_limits.cells import Cell, Compiled
from scaling_limits.datasets.loading import Arrays
from scaling_limits.datasets.order import batch_indices
from scaling_limits.measured import Measured
from scaling_limits.measurements.context import Context
from scaling_limits.networks.network import Weights
from scaling_limits.training.state import State
from scaling_limits.training.step import Data, Training, data_of, initial_weights, numbers_of

if TYPE_CHECKING:
    from scaling_limits.measurements.contract import Measurement

Program = Callable[[dict[str, PyTree], Array, Weights, Data], dict[str, dict[str, Array]]]

# loops emitted through MLIR, for which each program creates a context, and programs split up for threads take more time
# to compile than a few cells save
_LESS_OPTIMISED: dict[str, str | bool] = {
    "xla_backend_optimization_level": "1",
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": "1",
}
OPTIONS: dict[Compiled, dict[str, str | bool] | None] = {
    None: None,
    "partly": _LESS_OPTIMISED,
    "quickly": _LESS_OPTIMISED
    | {"xla_backend_optimization_level": "0", "xla_llvm_disable_expensive_passes": True},
}
"""XLA's options for each kind of compilation."""


@cache
def options(compiled: Compiled) -> dict[str, str | bool] | None:
    """Return the `OPTIONS` that the installed XLA knows; with the versions of the lock file, it knows them all."""
    chosen = OPTIONS[compiled]
    return chosen and {name: value for name, value in chosen.items() if _known(name, value)}


@cache
def _known(name: str, value: str | bool) -> bool:
    program = jax.jit(lambda: 0).lower()
    try:
        program.compile({name: value})
    except jax.errors.JaxRuntimeError as error:
        if "No such compile option" not in str(error):
            raise
        return False
    return True


@dataclass(frozen=True)
class Schedule:
    """The steps at which training stops to measure, and for each measurement whether it is due at each stop."""

    modules: dict[str, "Measurement"]
    stops: list[int]
    due: dict[str, list[bool]]

    @classmethod
    def of(cls, cell: Cell) -> "Schedule":
        """Build the measurement schedule of `cell`."""
        specs = cell.measurements
        # the last steps form an interval like the others, so that a step is compiled only once
        stops = sorted({step for spec in specs for step in spec.steps} | {cell.num_steps})
        return cls(
            modules={spec.name: measurements.registry.get(spec.name) for spec in specs},
            stops=stops,
            due={spec.name: [stop in spec.steps for stop in stops] for spec in specs},
        )

    def intervals(self) -> tuple[Array, Array, dict[str, Array]]:
        """Return the begin and end of each interval between stops, and the measurements that are due at its end."""
        due = {name: jnp.asarray(flags) for name, flags in self.due.items()}
        starts = jnp.asarray([0, *self.stops[:-1]], jnp.int32)
        return starts, jnp.asarray(self.stops, jnp.int32), due

    def measure(self, context: Context, due: dict[str, Array]) -> dict[str, dict[str, Array]]:
        """Evaluate the measurements that are due; return zeros for the others."""
        measured = {}
        for name, module in self.modules.items():
            zeros = jax.tree.map(
                lambda s: jnp.zeros(s.shape, s.dtype),
                jax.eval_shape(lambda m=module: m.measure(context)),
            )
            measured[name] = lax.cond(
                due[name], lambda m=module: m.measure(context), lambda z=zeros: z
            )
        return measured

    def at_once(self, context: Context) -> dict[str, dict[str, Array]]:
        """Evaluate all measurements at the only stop, for cells without training."""
        return {
            name: jax.tree.map(lambda value: value[None], module.measure(context))
            for name, module in self.modules.items()
        }

    def kept(self, measured: dict[str, dict[str, Array]]) -> dict[str, dict[str, Array]]:
        """Keep only the entries of the stops at which each measurement was due."""
        return {
            name: {metric: v[np.flatnonzero(flags)] for metric, v in measured[name].items()}
            for name, flags in self.due.items()
        }


def cell_function(cell: Cell) -> Program:
    """Return the training of any cell of this cell's shard as a function.

    Its arguments are the traced numbers, the batches' sample indices `[steps + 1, batch]`, the initial weights, and the
    training and test set. The last batch of indices is used by measurements after the last update; feedback weights
    that are trained alone use the first batches. It returns `{"curves": {metric: [steps]}, <measurement>: {metric:
    [measured steps, ...]}}`. Losses that are not finite are recorded unchanged, because divergence is a result.
    """
    schedule = Schedule.of(cell)

    def run(
        numbers: dict[str, PyTree], order: Int[Array, "steps batch"], initial: Weights, data: Data
    ) -> dict[str, dict[str, Array]]:
        training = Training(cell, numbers, order, data)
        return _trained(training, schedule, initial, training.begin(initial))

    return run


def _trained(
    training: Training, schedule: Schedule, initial: Weights, state: State
) -> dict[str, dict[str, Array]]:
    """Train, and return the metrics before each step and the measurements."""
    if not training.cell.num_steps:
        return {"curves": {}, **schedule.at_once(_context(training, state, jnp.int32(0), initial))}
    # jit, so that it is traced once for the shapes of its metrics and for the loop
    advance = jax.jit(training.step)
    shapes = jax.eval_shape(advance, state, jnp.int32(0))[1]
    total, parts = training.cell.num_steps, training.cell.averaged_records
    curves = {name: jnp.zeros(parts or total, s.dtype) for name, s in shapes.items()}
    carried = (state, curves)

    def step(index: Array, carried: PyTree) -> PyTree:
        state, curves = carried
        state, metrics = advance(state, index)
        if parts is None:
            kept = {name: curves[name].at[index].set(value) for name, value in metrics.items()}
        else:
            part = _part(index, total, parts)
            kept = {name: curves[name].at[part].add(value) for name, value in metrics.items()}
        return state, kept

    def interval(
        carried: PyTree, entry: tuple[Array, Array, dict[str, Array]]
    ) -> tuple[PyTree, PyTree]:
        start, stop, due = entry
        carried = lax.fori_loop(start, stop, step, carried)
        context = _context(training, carried[0], stop, initial)
        return carried, schedule.measure(context, due)

    (_, curves), measured = lax.scan(interval, carried, schedule.intervals())
    if parts is not None:
        counts = np.bincount(_part(np.arange(total), total, parts))
        curves = {name: sums / counts.astype(sums.dtype) for name, sums in curves.items()}
    return {"curves": curves, **schedule.kept(measured)}


def _part(step: PyTree, total: int, parts: int) -> PyTree:
    """Return the index k of the equal part of training with step / total in [k, k + 1) / parts."""
    return step * parts // total


def _context(training: Training, state: State, step: Array, initial: Weights) -> Context:
    """Return the context of measurements after `step` updates; its batch is the one of the next update."""
    data = training.data
    # values that no measurement uses are not computed
    x_train, y_train = training.vectors(data.inputs, data.targets)
    x_test, y_test = training.vectors(data.test_inputs, data.test_targets)
    return Context(
        problem=training.problem(state.weights, step, training.order[step]),
        initial=initial.forward,
        x_train=x_train,
        y_train=y_train,
        x_test=x_test,
        y_test=y_test,
        analogies=data.analogies,
        algorithm=training.algorithm,
        state=state.algorithm,
        optimiser=training.numbers["optimiser"],
        direction=lambda: training.direction(state, step),
        reference=training.reference,
        has_classes=training.cell.dataset.targets != "real",
    )


def compile_shard(cell: Cell, arrays: Arrays) -> Callable[[list[Cell]], list[dict[str, Measured]]]:
    """Compile the program of a cell's shard for its batch size of cells.

    Returns:
        A function that takes at most `cells_per_batch` cells of the shard and returns the measurements of each cell. A
        short batch is padded, so its results equal those of a full one.
    """
    run = cell_function(cell)
    size = cell.cells_per_batch
    data = data_of(cell, arrays)
    draw = partial(initial_weights, cell, networks.build(cell.network))
    if size > 1:
        draw, run = jax.vmap(draw), jax.vmap(run, in_axes=(0, 0, 0, None))

    def arguments(cells: list[Cell]) -> tuple[PyTree, ...]:
        numbers, orders = _arguments(cells, size)
        # the draws are separate programs, because other cells have weights of these shapes, too
        return numbers, orders, draw(numbers), data

    compiled = jax.jit(run).lower(*arguments([cell])).compile(options(cell.compiled))

    def train(cells: list[Cell]) -> list[dict[str, Measured]]:
        outputs = jax.device_get(compiled(*arguments(cells)))
        if size == 1:
            return [_measured(cell, outputs)]
        return [
            _measured(cell, jax.tree.map(lambda v, i=i: v[i], outputs)) for i in range(len(cells))
        ]

    return train


def _arguments(cells: list[Cell], size: int) -> tuple[dict[str, PyTree], Array]:
    padded = cells + [cells[0]] * (size - len(cells))
    numbers = [numbers_of(cell) for cell in padded]
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
    steps = np.arange(cell.num_steps)
    if cell.averaged_records is not None:
        # a mean is labelled by the last step of its part
        parts = _part(steps, cell.num_steps, cell.averaged_records)
        steps = np.flatnonzero(np.diff(parts, append=cell.averaged_records))
    result = {
        name: Measured(np.asarray(values), ("step",), {"step": tuple(steps.tolist())})
        for name, values in outputs["curves"].items()
    }
    for spec in cell.measurements:
        module = measurements.registry.get(spec.name)
        for metric, values in outputs[spec.name].items():
            axes = ("step", *module.AXES[metric])
            result[metric] = Measured(np.asarray(values), axes, measurements.labels(cell, spec))
    return result

"""What a cell costs to compute, counted from its sizes alone.

Counted are operations of matrix products, bytes touched and moved, and kernels that are started one after the other; a
`Machine` says what each of these takes. Nothing here imports jax or asks the machine at hand, as jobs are packed by
these numbers while the Snakefile is read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from scaling_limits.cells import Cell
from scaling_limits.pipeline.machine import KERNELS_PER_LAYER, NOMINAL, Machine
from scaling_limits.pipeline.memory import program_bytes
from scaling_limits.pipeline.sizes import (
    Layer,
    above_input,
    item_size,
    layers,
    num_tokens,
    num_units,
    num_updates,
    num_weights,
    topmost,
    trained,
)

# Fitted to the times of some 150 compiled programs on one core; tests/configuration/test_costs.py compares.
SMALLEST_SIDE = 144
"""Bytes of the side of a matrix below which a product is no faster."""
ACTIVITY_PASSES = 2.5
"""How often units are touched beside each product that they enter or leave."""
WINDOW_PASSES = 40.0
"""How often the entries of all windows of a convolution are touched, and pooled before, beside each product."""
STACK_PASSES = 45.0
LAYER_PASSES = 2.0
"""How often a step of inference touches the units of a stack of layers, and of a single one."""
UPDATE_PASSES = {"sgd": 4.0, "adam": 8.0}
COMPARISON_PASSES = 4.0
"""How often an update, and a comparison of two gradients, touch as many numbers as there are weights."""
DRAW_PASSES = 120.0
DRAW_MOVES = 7.0
"""What a random number takes, in numbers touched and moved."""
LOAD_MOVES = 30.0
"""How often data are moved while they are read and normalised."""
DECOMPOSITION_FLOPS = 60.0
"""Of a singular value decomposition, for each entry and row."""
LOOPS_PER_IMAGE_LAYER = 6.0
"""What compiling a layer of a network for images takes, each of which is a program of its own, in loops."""
KERNELS_PER_INFERENCE_STEP = 4.0
KERNELS_PER_TRAINING_STEP = 25.0
KERNELS_PER_DECOMPOSITION = 30.0
IMPORTS_PER_CELL = 0.0053
IMPORTS_PER_LIMIT_STEP = 1.8e-4
"""What Python takes to hand a cell over and to store it, and for a layer and step of a limit, in imports of jax."""
CACHE_BYTES = 2e7
"""Memory of a cell from which on it is no longer read from the cache."""
NUM_STAGES = 4
"""As in `algorithms.activity_inference`."""


@dataclass(frozen=True)
class Work:
    """Operations of matrix products, and as many as they take the time of; bytes touched, and bytes that come from
    memory unless they are in the cache; kernels started one after the other; what Python does, in imports of jax.
    """

    flops: float = 0.0
    padded_flops: float = 0.0
    touched: float = 0.0
    moved: float = 0.0
    kernels: float = 0.0
    imports: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(
            self.flops + other.flops,
            self.padded_flops + other.padded_flops,
            self.touched + other.touched,
            self.moved + other.moved,
            self.kernels + other.kernels,
            self.imports + other.imports,
        )

    def __mul__(self, factor: float) -> "Work":
        return Work(
            self.flops * factor,
            self.padded_flops * factor,
            self.touched * factor,
            self.moved * factor,
            self.kernels * factor,
            self.imports * factor,
        )


def cell_flops(cell: Cell) -> float:
    """Operations of the matrix products of a cell."""
    return _cell_work(cell).flops


def cell_seconds(cell: Cell, machine: Machine = NOMINAL) -> float:
    """Seconds that a cell takes in a full batch of its `cells_per_batch`, compilation apart."""
    cells, work = cell.cells_per_batch, _cell_work(cell)
    fits = min(1.0, CACHE_BYTES / max(1.0, program_bytes(cell) * cells))
    return (
        work.padded_flops / machine.flops_per_second[cell.dtype]
        + work.touched / machine.cached_bytes_per_second
        + work.moved * (1.0 - fits) / machine.bytes_per_second
        + work.kernels * machine.kernel_seconds / cells
        + (work.imports + IMPORTS_PER_CELL) * machine.import_seconds
    )


def shard_seconds(shard: Sequence[Cell], machine: Machine = NOMINAL) -> float:
    """Seconds that cells of one shard take: their data, compilation, and batches, of which a short one is padded."""
    first = shard[0]
    batches = -(-len(shard) // first.cells_per_batch)
    return compile_seconds(first, machine) + batches * first.cells_per_batch * cell_seconds(
        first, machine
    )


def compile_seconds(cell: Cell, machine: Machine = NOMINAL) -> float:
    """Seconds before the first cell of a shard: reading data, and compiling what takes as long as some loops do."""
    data = cell.dataset
    moved = 4.0 * LOAD_MOVES * (data.num_train + data.num_test) * cell.network.input_dim
    seconds = moved / machine.bytes_per_second
    return seconds if cell.limit is not None else seconds + _loops(cell) * machine.compile_seconds


def _loops(cell: Cell) -> float:
    options = cell.algorithm
    found = layers(cell)
    stacked = any(layer.count > 1 for layer in found)
    if options.inference is None:
        own = 3.0
    elif options.inference == "exact":
        own = 7.0 if stacked else 3.0
    elif options.inference_order == "sequential":
        own = 2.0
    else:
        own = 4.0 + 2.0 * len(_stages(cell))
    if cell.network.feedback is not None:
        own += 4.0
    measured = sum(5.0 if spec.name == "error_alignment" else 1.5 for spec in cell.measurements)
    if any(layer.is_convolution for layer in found):
        own += LOOPS_PER_IMAGE_LAYER * len(found)
    return 5.0 + own + measured


def _cell_work(cell: Cell) -> Work:
    if cell.limit is not None:
        return _LIMITS[cell.limit](cell) if cell.limit in _LIMITS else Work()
    work = _draws(cell) + _training(cell)
    for spec in cell.measurements:
        # one that is not known here is taken for the commonest kind
        work += _MEASUREMENTS.get(spec.name, _gradient_alignment)(cell) * len(spec.steps)
    return work


def _training(cell: Cell) -> Work:
    feedback = _feedback_gradient(cell) + _update(cell, above_input(cell))
    before = feedback * (cell.num_feedback_steps or 0)
    updates = num_updates(cell)
    if not updates:
        return before + _errors(cell)
    step = _gradient(cell) + _update(cell, trained(cell))
    return before + (step + feedback if cell.network.feedback is not None else step) * updates


def _products(cell: Cell, chosen: Sequence[Layer], samples: float) -> Work:
    """A product of each of these layers' weights with so many vectors."""
    item = item_size(cell)
    side = SMALLEST_SIDE / item
    numbers = sum(
        layer.count * samples * (layer.inputs + layer.outputs * layer.positions) for layer in chosen
    )
    windows = samples * sum(
        layer.positions * layer.inputs for layer in chosen if layer.is_convolution
    )
    return Work(
        flops=sum(2.0 * samples * layer.positions * layer.weights for layer in chosen),
        padded_flops=sum(
            2.0
            * samples
            * layer.positions
            * layer.count
            * max(side, layer.inputs)
            * max(side, layer.outputs)
            for layer in chosen
        ),
        touched=item * (ACTIVITY_PASSES * numbers + WINDOW_PASSES * windows),
        moved=item * (num_weights(chosen) + numbers),
        kernels=KERNELS_PER_LAYER * sum(layer.count for layer in chosen),
    )


def _at_once(cell: Cell, chosen: Sequence[Layer], samples: float) -> Work:
    """The same for all layers of a stack at once: one kernel each."""
    work = _products(cell, chosen, samples)
    return work + Work(kernels=work.kernels / KERNELS_PER_LAYER - work.kernels)


def _elementwise(cell: Cell, passes: float, numbers: float, kernels: float) -> Work:
    size = item_size(cell) * passes * numbers
    return Work(touched=size, moved=size, kernels=kernels)


def _draws(cell: Cell) -> Work:
    chosen = layers(cell) + (above_input(cell) if cell.network.feedback is not None else [])
    size = item_size(cell) * num_weights(chosen)
    work = Work(
        touched=DRAW_PASSES * size, moved=DRAW_MOVES * size, kernels=KERNELS_PER_TRAINING_STEP
    )
    if cell.init_distribution == "orthogonal":
        flops = sum(4.0 * layer.weights * min(layer.inputs, layer.outputs) for layer in chosen)
        work += Work(flops, flops)
    return work


def _update(cell: Cell, chosen: Sequence[Layer]) -> Work:
    passes = UPDATE_PASSES[cell.optimiser.name]
    return _elementwise(cell, passes, num_weights(chosen), KERNELS_PER_TRAINING_STEP)


def _forward(cell: Cell, samples: float) -> Work:
    return _products(cell, layers(cell), samples)


def _backward(cell: Cell, samples: float) -> Work:
    return _products(cell, above_input(cell), samples)


def _backpropagation(cell: Cell) -> Work:
    batch = cell.batch_size
    return _forward(cell, batch) + _backward(cell, batch) + _products(cell, trained(cell), batch)


def _gradient(cell: Cell) -> Work:
    if cell.algorithm.name not in _ERRORS:
        return _backpropagation(cell)
    # the derivative of an activation after the weight needs that product itself
    times = 2 if cell.network.activation_position == "after_weight" else 1
    return _errors(cell) + _at_once(cell, trained(cell), times * cell.batch_size)


def _errors(cell: Cell) -> Work:
    forward = _forward(cell, cell.batch_size)
    if cell.algorithm.name in _ERRORS:
        return forward + _ERRORS[cell.algorithm.name](cell)
    return forward + _backward(cell, cell.batch_size)


def _predictive_coding(cell: Cell) -> Work:
    return _equilibrium(cell) if cell.algorithm.inference == "exact" else _inference(cell)


def _inference(cell: Cell) -> Work:
    options, batch = cell.algorithm, cell.batch_size
    moving = above_input(cell)
    fixed, sequential = options.fixed_predictions, options.inference_order == "sequential"
    stacked = any(layer.count > 1 for layer in moving)
    # the first predictions, which are the forward pass's own unless a stack is predicted at once, and the last ones
    work = _at_once(cell, moving, batch * (stacked + (not fixed)))
    for steps, reach in _stages(cell):
        reached = topmost(moving, reach)
        predicted = _at_once(cell, reached, batch)
        pulled = _products(cell, reached, batch) if sequential else predicted
        numbers = sum(
            (STACK_PASSES if layer.count > 1 else LAYER_PASSES) * layer.count * layer.inputs
            for layer in reached
        )
        beside = Work(touched=item_size(cell) * batch * numbers, kernels=KERNELS_PER_INFERENCE_STEP)
        work += (pulled + beside if fixed else predicted + pulled + beside) * steps
    return work


def _stages(cell: Cell) -> list[tuple[int, int]]:
    """(steps, topmost weights that are evaluated) of each stage of inference; see `algorithms.activity_inference`."""
    options, hidden = cell.algorithm, cell.network.num_hidden_layers
    steps = options.num_inference_steps or 0
    slow = options.activity_initialisation == "forward" and options.inference_order == "synchronous"
    if not slow or options.inference == "adam":
        return [(steps, hidden)]
    ramp = min(steps, hidden)
    count = min(NUM_STAGES, ramp)
    ends = [-(-stage * ramp // count) for stage in range(1, count + 1)]
    stages = [(end - begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
    if steps > hidden:
        stages[-1] = (stages[-1][0] + steps - hidden, hidden)
    return stages


def _jacobians(cell: Cell, samples: float) -> Work:
    return _backward(cell, samples * cell.network.output_dim)


def _equilibrium(cell: Cell) -> Work:
    outputs, batch = cell.network.output_dim, cell.batch_size
    numbers = float(num_units(layers(cell)) * (outputs + batch))
    flops = 2.0 * numbers * outputs + outputs**3
    closed = Work(flops, flops) + _elementwise(cell, 2.0, numbers, KERNELS_PER_INFERENCE_STEP)
    # the lowest activities are those of the forward pass, and their error on top
    return _jacobians(cell, 1) + closed + _backward(cell, batch)


def _least_squares(cell: Cell) -> Work:
    outputs, batch = cell.network.output_dim, cell.batch_size
    numbers = float(batch * num_units(layers(cell)) * outputs)
    flops = DECOMPOSITION_FLOPS * numbers * outputs
    count = batch * sum(layer.count for layer in layers(cell))
    return Work(flops, flops) + _elementwise(cell, 6.0, numbers, KERNELS_PER_DECOMPOSITION * count)


def _gauss_newton_target(cell: Cell) -> Work:
    return _jacobians(cell, cell.batch_size) + _least_squares(cell)


def _target_propagation(cell: Cell) -> Work:
    times = 2 if cell.algorithm.difference_correction else 1
    return _backward(cell, times * cell.batch_size)


def _feedback_gradient(cell: Cell) -> Work:
    """Of feedback weights: from noisy inputs of nodes to their outputs, back, and the gradient of that."""
    if cell.network.feedback is None:
        return Work()
    times = 2 if cell.algorithm.feedback_noise is None else 3
    if cell.algorithm.feedback_loss == "difference_reconstruction":
        # a copy for each layer goes up to the output and all the way back
        times = 4 * cell.network.num_hidden_layers
    return _backward(cell, times * cell.batch_size)


def _error_alignment(cell: Cell) -> Work:
    batch = cell.batch_size
    both = _jacobians(cell, batch) + _least_squares(cell) * 2
    return _errors(cell) + _forward(cell, batch) * 2 + _backward(cell, batch) + both


def _equilibrium_alignment(cell: Cell) -> Work:
    return _errors(cell) + _forward(cell, cell.batch_size) + _equilibrium(cell)


def _gradient_alignment(cell: Cell) -> Work:
    weights = num_weights(layers(cell))
    compared = _elementwise(cell, COMPARISON_PASSES, weights, KERNELS_PER_TRAINING_STEP)
    return _gradient(cell) + _backpropagation(cell) + compared


def _features(cell: Cell) -> Work:
    return _forward(cell, cell.batch_size)


def _changes(cell: Cell) -> Work:
    return _features(cell) * 2


def _performance(cell: Cell) -> Work:
    return _forward(cell, cell.dataset.num_test)


def _rescaling(cell: Cell) -> Work:
    return _forward(cell, 1) + _jacobians(cell, 1)


def _limit(flops: float, steps: float) -> Work:
    # in float64, of which NumPy does half as many
    return Work(flops, 2.0 * flops, imports=IMPORTS_PER_LIMIT_STEP * steps)


def _depth_recursion(cell: Cell) -> Work:
    blocks, tokens = cell.network.num_hidden_layers - 1, num_tokens(cell)
    return _limit(390.0 * blocks**2 * tokens**3, blocks * tokens / cell.batch_size)


def _linear_dmft(cell: Cell) -> Work:
    depth = cell.network.num_hidden_layers + 1
    fields = cell.batch_size + cell.num_steps * cell.network.output_dim
    return _limit(4.0 / 3.0 * depth**2 * fields**3, depth * cell.num_steps)


# What is not among these, as an algorithm of the user's own, is taken for backpropagation.
_ERRORS: Mapping[str, Callable[[Cell], Work]] = {
    "gauss_newton_target": _gauss_newton_target,
    "predictive_coding": _predictive_coding,
    "target_propagation": _target_propagation,
}
_MEASUREMENTS: Mapping[str, Callable[[Cell], Work]] = {
    "equilibrium_alignment": _equilibrium_alignment,
    "error_alignment": _error_alignment,
    "feature_changes": _changes,
    "feature_increments": _features,
    "feature_sizes": _features,
    "feedback_reconstruction": _changes,
    "gradient_alignment": _gradient_alignment,
    "output_alignment": _changes,
    "performance": _performance,
    "rescaling": _rescaling,
}
_LIMITS: Mapping[str, Callable[[Cell], Work]] = {
    "depth_recursion": _depth_recursion,
    "linear_dmft": _linear_dmft,
}

"""For the time being: what each part will declare in its own module, as `work(cell, count)` and `memory(cell)`.

To be pasted there; `part_work` and `part_memory` then look into the registries.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from scaling_limits.cells import Cell

if TYPE_CHECKING:
    from scaling_limits.configuration.costs.count import Count

Work = Callable[[Cell, "Count"], None]
Memory = Callable[[Cell], Mapping[str, float]]


# algorithms: from the data to the errors of all nodes, and what is beyond them for gradients


def backpropagation_work(cell: Cell, count: "Count") -> None:
    """Up to the output and down again."""
    count.backpropagation()


def gauss_newton_target_work(cell: Cell, count: "Count") -> None:
    """A decomposition of what every node does to the outputs, for each sample."""
    count.forward()
    count.jacobians()
    count.decompositions()
    count.weight_gradients()


def gauss_newton_target_memory(cell: Cell) -> dict[str, float]:
    """Samples' derivatives of the outputs by all nodes."""
    return {"units": 2 + 2 * cell.network.output_dim}


def target_propagation_work(cell: Cell, count: "Count") -> None:
    """Targets come down through the feedback nodes, which learn to give back what entered."""
    options: Any = cell.algorithm
    count.forward()
    count.backward()
    if options.difference_correction:
        count.backward()
    count.weight_gradients()
    with count.only_for("feedback"):
        if options.feedback_loss == "difference_reconstruction":
            # a copy for each layer goes up to the output and all the way back, and so does the gradient
            count.backward(4 * cell.network.num_hidden_layers * cell.batch_size)
            return
        # from noisy inputs of nodes to their outputs, back, and the gradient of that
        for _ in range(2 if options.feedback_noise is None else 3):
            count.at_once(count.above_input)


def predictive_coding_work(cell: Cell, count: "Count") -> None:
    """The closed form, or steps of inference."""
    options: Any = cell.algorithm
    count.forward()
    if options.inference == "exact":
        outputs, batch = cell.network.output_dim, cell.batch_size
        units = sum(layer.units for layer in count.layers)
        count.jacobians(1)
        # the rescaling matrix and its inverse, and the errors that it explains
        count.multiply_adds(units * (outputs + batch) * outputs + outputs**3)
        count.activities(2, count.layers)
        count.backward()
        count.weight_gradients()
        return
    sequential = options.inference_order == "sequential"
    count.at_once(count.above_input)
    done = 0
    for end, reach in _stages(options, cell.network.num_hidden_layers):
        reached = count.topmost(reach)
        with count.repeated(end - done):
            if not options.fixed_predictions:
                count.at_once(reached)
            if sequential:
                # the new activities of each layer pull at the layer below
                count.products(reached)
            else:
                count.at_once(reached)
                count.shifts(reached)
            count.activities(2, reached)
        done = end
    if not options.fixed_predictions:
        count.at_once(count.above_input)
    count.weight_gradients()


def _stages(options: Any, num_hidden: int) -> list[tuple[int, int]]:
    """Copy of `algorithms.activity_inference._stages`, to be replaced by `algorithms.predictive_coding.stages`."""
    slow = options.activity_initialisation == "forward" and options.inference_order == "synchronous"
    num_steps = options.num_inference_steps
    if not slow or options.inference == "adam":
        return [(num_steps, num_hidden)]
    ramp = min(num_steps, num_hidden)
    count = min(4, ramp)
    ends = [-(-stage * ramp // count) for stage in range(1, count + 1)]
    stages = [(end, end) for end in ends]
    if num_steps > num_hidden:
        stages[-1] = (num_steps, num_hidden)
    return stages


def predictive_coding_memory(cell: Cell) -> dict[str, float]:
    """What the loop over steps carries, or the closed form."""
    options: Any = cell.algorithm
    if options.inference == "exact":
        return {"units": 4}
    if options.inference_order == "sequential":
        return {"units": 2 if options.fixed_predictions else 6}
    return {"units": 8}


# optimisers: one update of `count.updated`


def sgd_work(cell: Cell, count: "Count") -> None:
    """Reads gradients, averages and weights; writes averages and weights."""
    count.weights(5)


def sgd_memory(cell: Cell) -> dict[str, float]:
    """Copies of the weights."""
    return {"weights": 5}


def adam_work(cell: Cell, count: "Count") -> None:
    """Reads gradients, two averages and weights; writes averages and weights."""
    count.weights(7)


def adam_memory(cell: Cell) -> dict[str, float]:
    """Copies of the weights."""
    return {"weights": 6}


# measurements: once


def equilibrium_alignment_work(cell: Cell, count: "Count") -> None:
    """The errors of the cell's own algorithm and those of exact inference."""
    count.errors()
    exact = {"name": "predictive_coding", "inference": "exact"}
    count.errors(cell.algorithm.model_copy(update=exact))


def error_alignment_work(cell: Cell, count: "Count") -> None:
    """The errors of three algorithms, the last one twice: undamped and damped."""
    count.errors()
    count.forward()
    count.backward()
    count.jacobians()
    count.decompositions()
    count.decompositions()


def error_alignment_memory(cell: Cell) -> dict[str, float]:
    """Samples' derivatives of the outputs by all nodes."""
    return {"units": 2 * cell.network.output_dim}


def feature_changes_work(cell: Cell, count: "Count") -> None:
    """Activities now and before training."""
    count.forward()
    count.forward()


def feature_changes_memory(cell: Cell) -> dict[str, float]:
    """The weights before training, and their activities."""
    return {"weights": 1, "units": 2}


def feature_increments_work(cell: Cell, count: "Count") -> None:
    """Activities."""
    count.forward()


def feedback_reconstruction_work(cell: Cell, count: "Count") -> None:
    """Activities, and through all feedback nodes at once."""
    count.forward()
    count.at_once(count.above_input)


def gradient_alignment_work(cell: Cell, count: "Count") -> None:
    """Two gradients, their product and three norms."""
    count.gradient()
    count.backpropagation()
    count.weights(8)


def gradient_alignment_memory(cell: Cell) -> dict[str, float]:
    """Both gradients."""
    return {"weights": 2, "units": 1}


def performance_work(cell: Cell, count: "Count") -> None:
    """The outputs of the test set."""
    count.forward(cell.dataset.num_test)


def performance_memory(cell: Cell) -> dict[str, float]:
    """Activities of the test set."""
    return {"samples": cell.dataset.num_test}


def rescaling_work(cell: Cell, count: "Count") -> None:
    """The derivatives of the outputs by all nodes, of any one sample."""
    count.forward(1)
    count.jacobians(1)


# limits: NumPy in float64


def depth_recursion_work(cell: Cell, count: "Count") -> None:
    """Of each step and layer, forward and backward, products with all tokens' moments so far and their fields."""
    blocks, batch = cell.network.num_hidden_layers - 1, cell.batch_size
    tokens = _num_tokens(cell)
    # two products with the moments and two with the fields, which are copied before
    entries = 4 * blocks**2 * tokens**3 / 3 / batch
    count.multiply_adds(2 * batch * entries, dtype="float64")
    count.traffic(8 * 3 * entries)
    # and of each token the overlaps of all pairs of layers
    count.multiply_adds(blocks**2 * tokens**2 * (2 * tokens / 3 + blocks), dtype="float64")
    # of a stack of moments each block is a kernel of its own
    count.python(blocks * tokens / batch, kernels=blocks**2 * tokens / batch)


def depth_recursion_memory(cell: Cell) -> dict[str, float]:
    """Fields and moments of all pairs of tokens and layers."""
    return {"bytes": 32.0 * (_num_tokens(cell) * (cell.network.num_hidden_layers - 1)) ** 2}


def _num_tokens(cell: Cell) -> int:
    """Samples that are followed, all steps together; what is measured after the last is one more."""
    measured = (step + 1 for spec in cell.measurements for step in spec.steps)
    return cell.batch_size * max(cell.num_steps, *measured, 0)


def linear_dmft_work(cell: Cell, count: "Count") -> None:
    """Of each step and pair of weights, forward and backward, products with all fields so far."""
    depth, outputs = cell.network.num_hidden_layers + 1, cell.network.output_dim
    for step in range(cell.num_steps):
        past = step * outputs
        rows = cell.batch_size + past
        entries = depth**2 * (past * (rows + past) + 2 * (rows**2 + past**2))
        count.multiply_adds((cell.batch_size + outputs) * entries, dtype="float64")
        count.traffic(8 * entries)
    count.python(depth * cell.num_steps, kernels=depth**2 * cell.num_steps)


def linear_dmft_memory(cell: Cell) -> dict[str, float]:
    """Coefficients of all pairs of rows and weights."""
    fields = cell.batch_size + cell.num_steps * cell.network.output_dim
    return {"bytes": 32.0 * ((cell.network.num_hidden_layers + 1) * fields) ** 2}


_WORK: Mapping[str, Mapping[str, Work]] = {
    "algorithm": {
        "backpropagation": backpropagation_work,
        "gauss_newton_target": gauss_newton_target_work,
        "predictive_coding": predictive_coding_work,
        "target_propagation": target_propagation_work,
    },
    "optimiser": {"sgd": sgd_work, "adam": adam_work},
    "measurement": {
        "equilibrium_alignment": equilibrium_alignment_work,
        "error_alignment": error_alignment_work,
        "feature_changes": feature_changes_work,
        "feature_increments": feature_increments_work,
        "feature_sizes": feature_increments_work,
        "feedback_reconstruction": feedback_reconstruction_work,
        "gradient_alignment": gradient_alignment_work,
        "output_alignment": feature_changes_work,
        "performance": performance_work,
        "rescaling": rescaling_work,
    },
    "limit": {"depth_recursion": depth_recursion_work, "linear_dmft": linear_dmft_work},
}
_MEMORY: Mapping[str, Mapping[str, Memory]] = {
    "algorithm": {
        "gauss_newton_target": gauss_newton_target_memory,
        "predictive_coding": predictive_coding_memory,
    },
    "optimiser": {"sgd": sgd_memory, "adam": adam_memory},
    "measurement": {
        "error_alignment": error_alignment_memory,
        "feature_changes": feature_changes_memory,
        "gradient_alignment": gradient_alignment_memory,
        "output_alignment": feature_changes_memory,
        "performance": performance_memory,
    },
    "limit": {"depth_recursion": depth_recursion_memory, "linear_dmft": linear_dmft_memory},
}


def part_work(kind: str, name: str) -> Work:
    """What a part says of its work; one that says nothing does what backpropagation does."""
    return _WORK[kind].get(name, backpropagation_work)


def part_memory(kind: str, name: str) -> Memory:
    """What a part says that it keeps; one that says nothing keeps what backpropagation does."""
    return _MEMORY[kind].get(name, lambda cell: {"units": 2} if kind == "algorithm" else {})

"""Estimated cost of a cell, by which shards are packed into jobs."""

from ..cells import Cell

FLOPS_PER_SECOND = 5e10
SECONDS_PER_SHARD = 2.0


def cell_flops(cell: Cell) -> float:
    """Floating-point operations of training a cell: matrix products only, measurements included as one gradient."""
    net, batch = cell.network, cell.batch_size
    hidden = (net.num_hidden_layers - 1) * net.width**2
    weights = net.input_dim * net.width + hidden + net.width * net.output_dim
    backpropagation = 6 * batch * weights
    gradient = backpropagation
    if cell.algorithm.inference in ("gradient_descent", "adam"):
        per_step = 4 * batch * (hidden + net.width * net.output_dim)
        gradient += per_step * (cell.algorithm.num_inference_steps or 0)
    elif cell.algorithm.inference == "exact":
        gradient += 2 * net.output_dim * hidden + 4 * batch * hidden
    measured = sum(len(spec.steps) for spec in cell.measurements)
    return float(gradient * cell.num_steps + (gradient + backpropagation) * measured)


def cell_seconds(cell: Cell) -> float:
    """Estimated seconds of one core for a cell, compilation apart."""
    return cell_flops(cell) / FLOPS_PER_SECOND

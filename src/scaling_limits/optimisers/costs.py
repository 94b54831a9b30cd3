"""What preconditioning costs, from a cell's sizes alone; without jax."""

from scaling_limits import networks
from scaling_limits.cells import Cell
from scaling_limits.networks.layers import Layer
from scaling_limits.networks.work import Count


def fisher_directions(cell: Cell) -> int:
    """How many rows each sample adds to a factor of the Fisher information."""
    options = cell.algorithm
    return cell.network.output_dim if options.fisher == "exact" else 1


def kronecker(cell: Cell, count: Count, directions: int) -> None:
    """Factors of A, and of B where there are `directions`: their products, decompositions and solutions."""
    options = cell.optimiser
    for layer in count.updated:
        rows = cell.batch_size * layer.positions
        size = _solved(rows, layer.inputs, options.accumulated)
        number = _factor(rows, layer.inputs, size) + _SOLVING * size**2 * layer.outputs
        if directions:
            own = _solved(rows * directions, layer.outputs, options.accumulated)
            left = rows if size < layer.inputs else layer.inputs
            number += _factor(rows * directions, layer.outputs, own) + _SOLVING * own**2 * left
            number += 2.0 * own * left * layer.outputs if own < layer.outputs else 0.0
        count.multiply_adds(layer.count * number)
    count.operations(_FACTORS_OPERATIONS * (2 if directions else 1) * len(count.updated))
    _read(cell, count, 3 if directions else 2)


def shampoo(cell: Cell, count: Count) -> None:
    """Both moments, or the smaller one, and its decomposition."""
    options = cell.optimiser
    for layer in count.updated:
        rows = cell.batch_size * layer.positions
        sizes = (layer.inputs, layer.outputs)
        if options.accumulated:
            number = sum(_EIGENVECTORS * size**3 for size in sizes)
            number += 2.0 * layer.inputs * layer.outputs * sum(sizes)
        else:
            size = min(rows, *sizes)
            number = _EIGENVECTORS * size**3 + 2.0 * size * layer.inputs * layer.outputs
            if rows < min(sizes):
                number += size**2 * (layer.inputs + layer.outputs) + _SOLVING * size**3
        count.multiply_adds(layer.count * number)
    count.operations(_MOMENTS_OPERATIONS * len(count.updated))
    _read(cell, count, 2)


def copies(cell: Cell, directions: int) -> float:
    """Memory in addition to gradients, in copies of the weights: operations, factors and their roots."""
    options = cell.optimiser
    layers = _layers(cell)
    numbers = 0.0
    for layer in layers:
        rows = cell.batch_size * layer.positions
        numbers += (
            layer.count * rows * (layer.inputs + (1 + _COTANGENTS * directions) * layer.outputs)
        )
        factors = [(rows, layer.inputs)]
        factors += [(rows * max(directions, 1), layer.outputs)]
        for each, size in factors:
            solved = _solved(each, size, options.accumulated)
            # stacked layers are solved for one after the other
            numbers += 3 * solved**2 + (layer.count * 2 * size**2 if options.accumulated else 0)
    return numbers / sum(layer.weights for layer in layers)


# at the rate of products: triangular solutions, Cholesky's decomposition, and eigenvectors over the cube of their size
_SOLVING = 3.0
_DECOMPOSING = 4.0 / 3.0
_EIGENVECTORS = 40.0
# what compiles as long: a factor with its decomposition and solutions, and moments with theirs
_FACTORS_OPERATIONS = 9.0
_MOMENTS_OPERATIONS = 5.0
# copies of what goes down through the network for each direction
_COTANGENTS = 2.0


def _layers(cell: Cell) -> list[Layer]:
    return [layer for layer in networks.layers_of(cell.network) if layer.count]


def _solved(rows: int, size: int, accumulated: bool) -> int:
    return size if accumulated else min(rows, size)


def _factor(rows: int, size: int, solved: int) -> float:
    """Its product and its Cholesky decomposition."""
    return solved**2 * float(max(rows, size) if solved < size else rows) + _DECOMPOSING * solved**3


def _read(cell: Cell, count: Count, passes: int) -> None:
    """Passes over operations, and the update of weights with momentum."""
    count.activities(passes, count.updated)
    count.weights(5)

"""Costs of preconditioning, computed from a cell's sizes alone, without JAX."""

from scaling_limits import networks
from scaling_limits.cells import Cell
from scaling_limits.networks.layers import Layer
from scaling_limits.networks.work import Count


def fisher_directions(cell: Cell) -> int:
    """Return the number of rows that each sample adds to a factor of the Fisher information."""
    options = cell.algorithm
    return cell.network.output_dim if options.fisher == "exact" else 1


def kronecker(cell: Cell, count: Count, directions: int) -> None:
    """Add the work of the factors A and, if there are `directions`, B: their products, decompositions and solutions."""
    options = cell.optimiser
    factors = 2 if directions else 1
    if options.preconditioner_interval is not None:
        _periodic(cell, count, directions)
        count.operations((_FACTORS_OPERATIONS + _REUSE_OPERATIONS) * factors * len(count.updated))
        _read(count, 1 + factors)
        return
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
    count.operations(_FACTORS_OPERATIONS * factors * len(count.updated))
    _read(count, 1 + factors)


def _periodic(cell: Cell, count: Count, directions: int) -> None:
    """Add the work of factors that are inverted once in `preconditioner_interval` steps.

    Every step multiplies its gradient by the stored inverses and updates accumulated factors. Factors of one batch are
    only computed where they are inverted.
    """
    options = cell.optimiser
    for layer in count.updated:
        rows = cell.batch_size * layer.positions
        sides = [(rows, layer.inputs, layer.outputs)]
        if directions:
            sides.append((rows * directions, layer.outputs, layer.inputs))
        always = renewed = 0.0
        for each, size, other in sides:
            always += float(size**2 * other)
            if options.accumulated:
                always += float(each * size**2)
                renewed += (_DECOMPOSING + _SOLVING) * size**3
            else:
                solved = min(each, size)
                renewed += _factor(each, size, solved) + _SOLVING * solved**2 * size
                # the products on both sides of Woodbury's identity
                renewed += 2.0 * solved * size**2 if solved < size else 0.0
        count.multiply_adds(layer.count * (always + renewed / options.preconditioner_interval))


def shampoo(cell: Cell, count: Count) -> None:
    """Add the work of both moments, or of the smaller one, and of their decompositions."""
    options = cell.optimiser
    for layer in count.updated:
        rows = cell.batch_size * layer.positions
        sizes = (layer.inputs, layer.outputs)
        interval = options.preconditioner_interval
        if options.accumulated or interval is not None:
            number = sum(_EIGENVECTORS * size**3 for size in sizes) / (interval or 1)
            moments = product = 1.0 * layer.inputs * layer.outputs * sum(sizes)
            # moments of one batch are only computed where they are decomposed
            number += product + (moments if options.accumulated else moments / (interval or 1))
        else:
            size = min(rows, *sizes)
            number = _EIGENVECTORS * size**3 + 2.0 * size * layer.inputs * layer.outputs
            if rows < min(sizes):
                number += size**2 * (layer.inputs + layer.outputs) + _SOLVING * size**3
        count.multiply_adds(layer.count * number)
    reused = _REUSE_OPERATIONS if options.preconditioner_interval is not None else 0.0
    count.operations((_MOMENTS_OPERATIONS + 2 * reused) * len(count.updated))
    _read(count, 2)


def copies(cell: Cell, directions: int) -> float:
    """Return the memory in addition to gradients, in copies of the weights: operations, factors and their roots."""
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
            reused = options.preconditioner_interval is not None
            solved = _solved(each, size, options.accumulated or reused)
            # accumulated factors and stored preconditioners, before and after the update
            kept = 2 * (options.accumulated + reused)
            # stacked layers are solved one after the other
            numbers += 3 * solved**2 + layer.count * kept * size**2
    return numbers / sum(layer.weights for layer in layers)


# in units of multiply-adds of matrix products: triangular solutions, Cholesky decompositions, and eigenvectors, each
# divided by the size cubed
_SOLVING = 3.0
_DECOMPOSING = 4.0 / 3.0
_EIGENVECTORS = 40.0
# equivalent numbers of operations by compilation time: a factor with its decomposition and solutions, and moments with
# theirs
_FACTORS_OPERATIONS = 9.0
_MOMENTS_OPERATIONS = 5.0
# and the condition with its branches, for each factor that is stored
_REUSE_OPERATIONS = 2.0
# copies of the cotangents for each direction
_COTANGENTS = 2.0


def _layers(cell: Cell) -> list[Layer]:
    return [layer for layer in networks.layers_of(cell.network) if layer.count]


def _solved(rows: int, size: int, accumulated: bool) -> int:
    return size if accumulated else min(rows, size)


def _factor(rows: int, size: int, solved: int) -> float:
    """Return the work of a factor's product and its Cholesky decomposition."""
    return solved**2 * float(max(rows, size) if solved < size else rows) + _DECOMPOSING * solved**3


def _read(count: Count, passes: int) -> None:
    """Add passes over the operations, and the update of weights with momentum."""
    count.activities(passes, count.updated)
    count.weights(5)

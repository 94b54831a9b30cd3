"""The key of a cell: the cell itself, the code its numbers come from, and the libraries that compute them."""

from collections.abc import Iterable
from functools import cache

from scaling_limits import algorithms, limits, losses, measurements, networks, optimisers, runtime
from scaling_limits.cells import Cell, digest
from scaling_limits.configuration import Configuration
from scaling_limits.datasets import catalogue, keras_npz
from scaling_limits.source import source_digest

# asking the installed packages takes milliseconds, and a sweep has thousands of keys
library_versions = cache(runtime.library_versions)


def cell_modules(cell: Cell) -> tuple[str, ...]:
    """The modules that decide a cell's numbers, with all that they import; the parameterisations' table is none."""
    if cell.limit is None:
        computation = [
            "scaling_limits.training.loop",
            algorithms.module(cell.algorithm),
            networks.registry.module(cell.network.name),
            losses.registry.module(cell.algorithm.loss),
            optimisers.registry.module(cell.optimiser.name),
            *(measurements.registry.module(spec.name) for spec in cell.measurements),
        ]
    else:
        computation = [limits.registry.module(cell.limit)]
    return (
        "scaling_limits.runtime",
        "scaling_limits.datasets.loading",
        _decoding(cell.dataset.name),
        *computation,
    )


def _decoding(dataset: str) -> str:
    """The module that decodes a dataset; a name that no registry has is a user's own file."""
    registry = catalogue.registry
    return registry.module(dataset) if dataset in registry.modules else keras_npz.__name__


def cell_source(cell: Cell) -> str:
    """The digest of the code that decides a cell's numbers."""
    return source_digest(cell_modules(cell))


def cell_key(cell: Cell) -> str:
    """16 hexadecimal digits under which a cell is stored."""
    return digest(
        {"cell": cell.canonical(), "source": cell_source(cell), "libraries": library_versions()}
    )


def job_digest(cells: Iterable[Cell]) -> str:
    """The digest of what a job's output depends on: the keys of its cells, and so their source."""
    return digest(sorted(cell_key(cell) for cell in cells))


def figure_digest(configuration: Configuration, paper: str, name: str) -> str:
    """What the files of `collect` depend on besides the jobs' records: configuration, cells and code."""
    figure = configuration.figure(paper, name)
    computed = figure.experiment
    experiment = None if computed is None else configuration.experiment(paper, computed)
    return digest(
        {
            "figure": figure.model_dump(mode="json"),
            "page": configuration.main.page,
            "experiment": experiment and experiment.model_dump(mode="json"),
            "cells": sorted(
                cell_key(cell) for cell in configuration.cells(paper, figure.experiment)
            ),
            "source": source_digest(("scaling_limits.pipeline.figures",)),
        }
    )

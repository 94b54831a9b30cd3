"""The key of a cell: the cell itself, the code its numbers come from, and the libraries that compute them."""

from .. import algorithms, limits, measurements, networks
from ..cells import Cell, digest
from ..configuration import Configuration
from ..datasets import catalogue, keras_npz
from ..runtime import library_versions
from ..source import source_digest


def cell_source(cell: Cell) -> str:
    """The digest of the code that decides a cell's numbers; the parameterisations' table is not part of it."""
    if cell.limit is None:
        computation = [
            "scaling_limits.training.loop",
            algorithms.registry.module(cell.algorithm.name),
            networks.registry.module(cell.network.name),
            *(measurements.registry.module(spec.name) for spec in cell.measurements),
        ]
    else:
        computation = [limits.registry.module(cell.limit)]
    return source_digest(
        [
            "scaling_limits.runtime",
            "scaling_limits.datasets.loading",
            catalogue.registry.modules.get(cell.dataset.name, keras_npz.__name__),
            *computation,
        ]
    )


def cell_key(cell: Cell, source: str | None = None) -> str:
    """16 hexadecimal digits under which a cell is stored; `source` stands for the current code if given."""
    source = cell_source(cell) if source is None else source
    return digest({"cell": cell.canonical(), "source": source, "libraries": library_versions()})


def figure_digest(configuration: Configuration, paper: str, name: str) -> str:
    """What the files of `collect` depend on besides the jobs' records: configuration, cells and code."""
    figure = configuration.figure(paper, name)
    experiment = configuration.paper(paper).experiments.get(figure.experiment or "")
    return digest(
        {
            "figure": figure.model_dump(mode="json"),
            "experiment": experiment and experiment.model_dump(mode="json"),
            "cells": sorted(
                cell_key(cell) for cell in configuration.cells(paper, figure.experiment)
            ),
            "source": source_digest(["scaling_limits.pipeline.figures"]),
        }
    )

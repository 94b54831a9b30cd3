# Functions with which the rules read the configuration. They are lazy, so that a single figure does not resolve all.
import os
import sys
from functools import cache, wraps
from pathlib import Path
from random import random

from scaling_limits.configuration import load
from scaling_limits.costs.asking import attempted_minutes, job_mb
from scaling_limits.costs.memory import refuse_too_large
from scaling_limits.costs.packing import pack
from scaling_limits.configuration.files import read_yaml
from scaling_limits.configuration.readable import refuse_unreadable
from scaling_limits.datasets import catalogue
from scaling_limits.errors import ConfigurationError, ScalingLimitsError
from scaling_limits.figures import OWN
from scaling_limits.files import require_writable
from scaling_limits.pipeline.keys import figure_digest, job_digest
from scaling_limits.plots import registry as kinds
from scaling_limits.source import source_digest


def refusing(function):
    """Return a function that ends Snakemake with the message of a user's error.

    If an input function raised the error, Snakemake would treat existing files as sources.
    """

    @wraps(function)
    def checked(*args):
        try:
            return function(*args)
        except ScalingLimitsError as error:
            sys.exit(f"error: {error}")

    return checked


# `load` reads config/config.yaml; a --configfile is read here to reject repeated keys, of which Snakemake uses the last
for path in workflow.configfiles:
    refusing(read_yaml)(path)
CONFIG = refusing(load)(".", config)
WARNED = set()


def warn(lines):
    """Print each warning once, in the main process only, since the processes of jobs read these files again."""
    for line in lines:
        if workflow.is_main_process and line not in WARNED:
            WARNED.add(line)
            print(f"warning: {line}", file=sys.stderr)


# an invalid experiment of the user stops only itself
if workflow.is_main_process:
    warn(f"left out: {fault}" for fault in refusing(lambda: CONFIG.faults)().values())
PRESET = CONFIG.main.preset
# for the report's first page, which names the preset even if it is not given on the command line
config["preset"] = PRESET
RESULTS = f"results/{PRESET}"
PATHS = CONFIG.main.paths
FOLDER = f"{RESULTS}/{{paper}}/{{figure}}"
WRITTEN = [
    Path(folder)
    for folder in (
        "results",
        PATHS.store,
        PATHS.programs,
        PATHS.datasets,
        RESULTS,
        "figures",
        "logs",
    )
]
EXTENSIONS = ["png", "pdf", "svg"]
COLLECTED = [
    "cells.parquet",
    "records.parquet",
    "figure.json",
    "verdicts.json",
    "provenance.json",
]
# for the processes of all rules: iteration over sets is reproducible, and caches of libraries are in the project, since
# the home folder may be read-only
os.environ.update(
    PYTHONHASHSEED="0",
    XDG_CACHE_HOME=os.path.abspath(".snakemake/cache"),
    MPLCONFIGDIR=os.path.abspath(".snakemake/cache/matplotlib"),
)


def in_folder(*files):
    """Return files in a figure's folder."""
    return [f"{FOLDER}/{file}" for file in files]


def figure_files(figures):
    """Return the published files of (paper, figure) pairs."""
    return expand(
        "figures/{figure}.{ext}",
        figure=[f"{paper}/{name}" for paper, name in figures],
        ext=EXTENSIONS,
    )


def asked_for(paper):
    """Return an input function for the published files of a paper, which reports all errors in its figures."""
    names = refusing(lambda _: CONFIG.figures(paper))
    return lambda wildcards: figure_files([(paper, name) for name in names(wildcards)])


@refusing
def figures_of(papers):
    """Return the (paper, figure) pairs of these papers, without invalid figures of the user."""
    pairs = [(paper, name) for paper in papers for name in CONFIG.sound_figures(paper)]
    return [pair for pair in pairs if pair[0] != OWN or is_readable(*pair)]


def is_readable(paper, name):
    """Return whether the texts of a figure can be drawn, and warn if not."""
    try:
        refuse_unreadable(CONFIG, paper, name)
    except ConfigurationError as error:
        warn([f"left out: {error}"])
        return False
    return True


def figure(wildcards):
    """Return the validated figure of a job."""
    return checked_figure(wildcards.paper, wildcards.figure)


@cache
@refusing
def checked_figure(paper, name):
    """Return a validated figure by paper and name."""
    refuse_unreadable(CONFIG, paper, name)
    warn(CONFIG.warnings(paper, name))
    return CONFIG.figure(paper, name)


def drawing_modules(wildcards):
    """Return the modules of the kinds of plots that draw a figure."""
    return [kinds.modules[kind] for kind in sorted(figure(wildcards).plot.kinds)]


def table_files(wildcards):
    """Return the CSV and LaTeX files of a figure that is a table (an input function)."""
    if not hasattr(kinds.part(figure(wildcards).plot.kind), "text"):
        return []
    return expand(f"{FOLDER}/table.{{ext}}", ext=["csv", "tex"], **wildcards)


@cache
@refusing
def jobs(paper, experiment):
    """Return the jobs of an experiment as lists of cells."""
    shards = CONFIG.shards(paper, experiment)
    refuse_too_large([shard[0] for shard in shards], **CONFIG.main.resources.memory)
    return pack(shards, CONFIG.preset.job_seconds)


def job_cells(wildcards):
    """Return the cells of a job."""
    return jobs(wildcards.paper, wildcards.experiment)[
        int(wildcards.job.removeprefix("job-"))
    ]


def job_datasets(wildcards):
    """Return the prepared datasets that a job reads."""
    return sorted(
        {f"{PATHS.datasets}/{cell.dataset.name}.npz" for cell in job_cells(wildcards)}
    )


def job_outputs(suffix):
    """Return an input function for the outputs of all jobs of a figure's experiment."""

    def outputs(wildcards):
        experiment = figure(wildcards).experiment
        if experiment is None:
            return []
        folder = f"{RESULTS}/{wildcards.paper}/experiments/{experiment}"
        return [
            f"{folder}/job-{index}.{suffix}"
            for index in range(len(jobs(wildcards.paper, experiment)))
        ]

    return outputs


def result_files(papers, *files):
    """Return files in the folders of these papers' figures."""
    return [
        f"{RESULTS}/{paper}/{name}/{file}"
        for paper, name in figures_of(papers)
        for file in files
    ]


def audited(papers, *files):
    """Return the input files of an audit; none if it judges stored records only."""
    if CONFIG.main.audit == "stored":
        return []
    return result_files(papers, *files)


def audited_as_stored(papers, *files):
    """Return the existing files that an audit of stored records reads, with modification times (a parameter)."""
    if CONFIG.main.audit != "stored":
        return []
    return [
        (path, os.stat(path).st_mtime_ns)
        for path in result_files(papers, *files)
        if os.path.exists(path)
    ]

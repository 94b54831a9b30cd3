# What the rules ask the configuration, lazily: a single figure does not pay for all of them.
import os
import sys
from functools import cache, wraps
from pathlib import Path

from scaling_limits.configuration import load
from scaling_limits.costs.asking import job_mb, job_minutes
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
    """End Snakemake with the message of a user's error.

    Left to itself, Snakemake takes files that are already there for sources when an input function fails.
    """

    @wraps(function)
    def checked(*args):
        try:
            return function(*args)
        except ScalingLimitsError as error:
            sys.exit(f"error: {error}")

    return checked


# `load` reads config/config.yaml itself; of a --configfile, Snakemake takes the last of two equal keys
for path in workflow.configfiles:
    refusing(read_yaml)(path)
CONFIG = refusing(load)(".", config)
WARNED = set()


def warn(lines):
    """Warn once, before work starts: the processes of jobs read these files again."""
    for line in lines:
        if workflow.is_main_process and line not in WARNED:
            WARNED.add(line)
            print(f"warning: {line}", file=sys.stderr)


# an experiment of the user's own that is wrong stops itself only
if workflow.is_main_process:
    warn(f"left out: {fault}" for fault in refusing(lambda: CONFIG.faults)().values())
PRESET = CONFIG.main.preset
# the report's first page names it, whether or not it stood on the command line
config["preset"] = PRESET
RESULTS = f"results/{PRESET}"
PATHS = CONFIG.main.paths
FOLDER = f"{RESULTS}/{{paper}}/{{figure}}"
WRITTEN = [
    Path(folder)
    for folder in (
        "results",
        PATHS.store,
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
# of the processes of all rules: what goes over a set in its order comes out the same; the home may be read-only, so
# libraries keep their caches in the project
os.environ.update(
    PYTHONHASHSEED="0",
    XDG_CACHE_HOME=os.path.abspath(".snakemake/cache"),
    MPLCONFIGDIR=os.path.abspath(".snakemake/cache/matplotlib"),
)


def in_folder(*files):
    """Files of a figure's folder."""
    return [f"{FOLDER}/{file}" for file in files]


def figure_files(figures):
    """The published files of (paper, figure) pairs."""
    return expand(
        "figures/{figure}.{ext}",
        figure=[f"{paper}/{name}" for paper, name in figures],
        ext=EXTENSIONS,
    )


def asked_for(paper):
    """The published files of a paper, as an input function: whoever asks for them is told of all that is wrong."""
    names = refusing(lambda _: CONFIG.figures(paper))
    return lambda wildcards: figure_files([(paper, name) for name in names(wildcards)])


@refusing
def figures_of(papers):
    """The (paper, figure) pairs of these papers, without the user's own that are wrong."""
    pairs = [(paper, name) for paper in papers for name in CONFIG.sound_figures(paper)]
    return [pair for pair in pairs if pair[0] != OWN or is_readable(*pair)]


def is_readable(paper, name):
    """Whether the texts of a figure can be drawn; warns if not."""
    try:
        refuse_unreadable(CONFIG, paper, name)
    except ConfigurationError as error:
        warn([f"left out: {error}"])
        return False
    return True


def figure(wildcards):
    """The figure that a job is about, validated."""
    return checked_figure(wildcards.paper, wildcards.figure)


@cache
@refusing
def checked_figure(paper, name):
    """The same, by names."""
    refuse_unreadable(CONFIG, paper, name)
    warn(CONFIG.warnings(paper, name))
    return CONFIG.figure(paper, name)


def drawing_modules(wildcards):
    """The modules that declare the kinds of plots by which a figure is drawn."""
    return [kinds.modules[kind] for kind in sorted(figure(wildcards).plot.kinds)]


def table_files(wildcards):
    """The files of a figure that is a table, as an input function."""
    if not hasattr(kinds.part(figure(wildcards).plot.kind), "text"):
        return []
    return expand(f"{FOLDER}/table.{{ext}}", ext=["csv", "tex"], **wildcards)


@cache
@refusing
def jobs(paper, experiment):
    """The jobs of an experiment: lists of cells."""
    shards = CONFIG.shards(paper, experiment)
    refuse_too_large([shard[0] for shard in shards], **CONFIG.main.resources.memory)
    return pack(shards, CONFIG.preset.job_seconds)


def job_cells(wildcards):
    """The cells of one job."""
    return jobs(wildcards.paper, wildcards.experiment)[
        int(wildcards.job.removeprefix("job-"))
    ]


def job_datasets(wildcards):
    """The prepared datasets that a job reads."""
    return sorted(
        {f"{PATHS.datasets}/{cell.dataset.name}.npz" for cell in job_cells(wildcards)}
    )


def job_outputs(suffix):
    """The outputs of all jobs of a figure's experiment, as an input function."""

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
    """Files in the folders of these papers' figures."""
    return [
        f"{RESULTS}/{paper}/{name}/{file}"
        for paper, name in figures_of(papers)
        for file in files
    ]


def audited(papers, *files):
    """What an audit reads as inputs: nothing if it is to judge what is there."""
    if CONFIG.main.audit == "stored":
        return []
    return result_files(papers, *files)


def audited_as_stored(papers, *files):
    """As a parameter, what it reads without its being an input: those that are there, and when they were written."""
    if CONFIG.main.audit != "stored":
        return []
    return [
        (path, os.stat(path).st_mtime_ns)
        for path in result_files(papers, *files)
        if os.path.exists(path)
    ]

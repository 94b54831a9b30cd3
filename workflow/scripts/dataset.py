"""Prepare a dataset: find or download, verify and convert it."""

from pathlib import Path

from scaling_limits.configuration import load
from scaling_limits.datasets.preparation import prepare
from scaling_limits.pipeline.scripting import logged

with logged(snakemake.log[0]):
    configuration = load(".", snakemake.config)
    prepare(
        snakemake.wildcards.dataset,
        data_path=configuration.data_path,
        downloads=Path(configuration.main.data.downloads),
        output=Path(snakemake.output[0]),
        user=configuration.user_datasets,
    )

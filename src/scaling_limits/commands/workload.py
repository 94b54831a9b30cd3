"""The cells that figures need: their number, and the cells that each job must compute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scaling_limits.configuration import Configuration
from scaling_limits.costs.packing import pack, shards
from scaling_limits.costs.rates import shard_seconds
from scaling_limits.pipeline.keys import cell_key
from scaling_limits.store import Store

Job = tuple[str, str, str]
"""Paper, experiment and `job-<n>`: the wildcards of the rule `run`."""


@dataclass(frozen=True)
class Workload:
    """The distinct cells of figures: their number `cells`, and the missing cells of each job.

    `missing` maps the key of a cell that is not stored to its estimated seconds, including its share of compilation.
    """

    cells: int = 0
    missing: Mapping[Job, Mapping[str, float]] = field(default_factory=dict)


def workload(
    configuration: Configuration, figures: Sequence[tuple[str, str]], store: Store
) -> Workload:
    """Look up the cells of figures in the store.

    Args:
        configuration: the configuration, which packs cells into jobs as the workflow does.
        figures: (paper, figure) of each figure.
        store: the store of computed cells.

    Returns:
        The cells of all figures, each counted once.

    Raises:
        ConfigurationError: a figure is unknown or invalid.
    """
    experiments = {(paper, configuration.figure(paper, name).experiment) for paper, name in figures}
    keys: set[str] = set()
    missing: dict[Job, dict[str, float]] = {}
    for paper, experiment in experiments:
        if experiment is None:
            continue
        packed = pack(configuration.shards(paper, experiment), configuration.preset.job_seconds)
        for number, cells in enumerate(packed):
            keys.update(map(cell_key, cells))
            left = [cell for cell in cells if cell_key(cell) not in store]
            missing[paper, experiment, f"job-{number}"] = {
                cell_key(cell): shard_seconds(shard) / len(shard)
                for shard in shards(left)
                for cell in shard
            }
    return Workload(len(keys), missing)

"""Cost and plan of the preset `paper`, in the experiments that take most of its time."""

import re
from collections import Counter
from pathlib import Path

import pytest

from published import on_published, published
from scaling_limits.commands.estimate import Estimates, beyond, estimate, summary
from scaling_limits.configuration import Configuration, load
from scaling_limits.costs.packing import pack
from scaling_limits.pipeline.keys import cell_key

ROOT = Path(__file__).parents[2]
PAPER = "second-order"
DEAREST = {
    "wide_image_networks",
    "wide_resnets",
    "wider_networks",
    "output_init_sweep_words",
    "bottleneck_rates",
    "learning_rate_transfer_full_data",
}
NEXT = {"learning_rate_transfer_shampoo", "damping_transfer_mlp"}
DAY = 86400.0
GPU = {"device": "gpu", "gpu_mem_mb": 200_000}


def estimated(configuration: Configuration, experiments: set[str] | None = None) -> Estimates:
    every = configuration.paper(PAPER).figures.items()
    names = [name for name, each in every if experiments is None or each in experiments]
    return estimate(configuration, [(PAPER, name) for name in names], store=None, limit=DAY)


def named(text: str) -> set[str]:
    return set(re.findall(rf"{PAPER}/(\w+)", text))


@pytest.mark.slow
@on_published
def test_six_experiments_cost_more_than_the_next_and_request_more_than_a_day() -> None:
    found = estimated(published("paper"), DEAREST | NEXT)
    seconds = {name.partition("/")[2]: each.seconds for name, each in found.experiments.items()}
    assert min(seconds[name] for name in DEAREST) > max(seconds[name] for name in NEXT)
    assert named("\n".join(beyond(found, DAY))) == DEAREST


@pytest.mark.slow
def test_on_a_gpu_six_experiments_take_most_of_the_time_of_second_order() -> None:
    found = estimated(load(ROOT, {"preset": "paper", "resources": GPU}))
    assert named(summary(found, device="gpu", cores=1)[-1]) == DEAREST
    # jobs of words are below a day
    assert named("\n".join(beyond(found, DAY))) == DEAREST - {"output_init_sweep_words"}


@on_published
def test_jobs_share_shards_but_no_cell_which_is_what_they_lock() -> None:
    configuration = published("paper")
    shards = configuration.shards(PAPER, "learning_rate_transfer_full_data")
    jobs = pack(shards, configuration.preset.job_seconds)
    sharing = Counter(shard for job in jobs for shard in {cell.shard() for cell in job})
    assert max(sharing.values()) > 10
    keys = [cell_key(cell) for job in jobs for cell in job]
    assert len(set(keys)) == len(keys)

"""What a job requests from a scheduler."""

import pytest

from scaling_limits.configuration.models import Resources
from scaling_limits.costs.asking import attempted_minutes, job_mb, job_minutes
from scaling_limits.costs.memory import cell_bytes, host_bytes
from scaling_limits.costs.rates import JOB_SECONDS, shard_seconds
from toys import cell

LONG = [cell(num_steps=500_000, width=256, seed=seed) for seed in range(2)]
LARGE = cell(width=8192)


def test_a_job_requests_twice_its_estimated_time_and_five_minutes() -> None:
    other = cell(num_steps=500_000, width=512)
    seconds = JOB_SECONDS + shard_seconds(LONG) + shard_seconds([other])
    assert seconds > 600
    assert job_minutes([*LONG, other]) == pytest.approx(5 + 2 * seconds / 60, abs=1)


def test_each_attempt_requests_more_time_up_to_a_limit() -> None:
    minutes = job_minutes(LONG)
    assert [attempted_minutes(LONG, attempt, None) for attempt in (1, 2, 3)] == [
        minutes,
        2 * minutes,
        3 * minutes,
    ]
    hours = Resources(max_hours=1.5 * minutes / 60).max_hours
    assert attempted_minutes(LONG, 1, hours) == minutes
    assert attempted_minutes(LONG, 2, hours) == int(1.5 * minutes)


def test_a_job_requests_the_memory_of_its_largest_cell() -> None:
    needed = host_bytes(LARGE) / 1e6
    assert host_bytes(LARGE) == cell_bytes(LARGE)
    assert needed > 1500
    assert 1.25 * needed <= job_mb([*LONG, LARGE]) < 1.25 * needed + 100
    assert job_mb([cell()]) == 1000


def test_on_a_gpu_the_host_holds_the_data_but_not_the_weights() -> None:
    large = LARGE.model_copy(update={"device": "gpu"})
    small = cell().model_copy(update={"device": "gpu"})
    assert cell_bytes(large) > 2 * cell_bytes(small)
    assert host_bytes(large) == pytest.approx(host_bytes(small), rel=0.01)
    assert host_bytes(small) > 4e9
    assert job_mb([large]) == pytest.approx(1.25 * host_bytes(large) / 1e6, abs=100)

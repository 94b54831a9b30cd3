"""What cells will record, as the configuration says before they are computed."""

from pathlib import Path
from typing import Any

import pytest

from scaling_limits.configuration.recorded import metrics
from scaling_limits.datasets.loading import load
from scaling_limits.training.loop import compile_shard
from toys import BACKPROPAGATION, EXACT, cell

EQUILIBRIUM = {**EXACT, "inference": "equilibrium", "inference_tolerance": 1e-4}
TARGETS = {**BACKPROPAGATION, "algorithm": "gauss_newton_target"}


@pytest.mark.parametrize(
    "settings",
    [
        {"measure": {"gradient_alignment": [0]}},
        {"inference_tolerance": 0.1},
        EQUILIBRIUM,
        BACKPROPAGATION | {"measure": {"performance": [2]}},
        TARGETS,
    ],
)
def test_it_is_what_training_records(datasets_folder: Path, settings: Any) -> None:
    own = cell(num_steps=2, **settings)
    (measured,) = compile_shard(own, load(own.dataset, datasets_folder / "digits.npz"))([own])
    assert metrics([own]) == set(measured)


def test_real_targets_have_no_accuracy() -> None:
    own = cell(**BACKPROPAGATION, measure={"performance": [2]})
    real = own.dataset.model_copy(update={"targets": "real"})
    assert metrics([own.model_copy(update={"dataset": real})]) == {"train_loss", "test_loss"}


def test_of_limits_it_is_not_known() -> None:
    known = cell(**BACKPROPAGATION)
    assert metrics([known, known.model_copy(update={"limit": "nngp"})]) is None


def test_without_training_only_measurements_are_there() -> None:
    idle = cell(num_steps=0, learning_rate=None, measure={"performance": [0]})
    assert metrics([idle]) == {"test_loss", "test_accuracy"}

"""The words of metrics."""

import pytest

from scaling_limits.figures.metrics import METRICS, MetricInfo, metric_info
from scaling_limits.figures.quantities import Quantity
from scaling_limits.measurements import registry


@pytest.mark.parametrize(
    ("quantity", "words"),
    [
        ({"metric": "train_loss", "window": 5}, MetricInfo("training loss", "log", "min")),
        (
            {"metric": "test_accuracy"},
            MetricInfo("test accuracy", "linear", "max", 1.0, "num_test"),
        ),
        (
            {"metric": "test_accuracy", "complement": True},
            MetricInfo("1 - test accuracy", "log", "min"),
        ),
        (
            {"metric": "error_cosine_bp", "complement": True},
            MetricInfo("1 - cosine similarity", "log", None),
        ),
        (
            {"metric": "energy", "relative_to": "train_loss"},
            MetricInfo("energy over training loss", "log", None),
        ),
        (
            {"metric": "energy", "relative_to": "train_loss", "complement": True},
            MetricInfo("1 - energy over training loss", "log", None),
        ),
        ({"metric": "train_loss", "label": "loss"}, MetricInfo("loss", "log", "min")),
        ({"metric": "of_my_own"}, MetricInfo("of my own", "log", "min")),
    ],
)
def test_words_of_a_quantity(quantity, words):
    assert metric_info(Quantity(**quantity)) == words


def test_each_metric_with_words_is_recorded():
    reached = {"inference_steps", "inference_residual", "inference_unreached"}
    curves = {"train_loss", "inferred_loss", "energy"} | reached
    recorded = {metric for name in registry.modules for metric in registry.get(name).AXES}
    assert not set(METRICS) - recorded - curves


@pytest.mark.parametrize(
    ("quantity", "percent"),
    [
        ({"metric": "test_accuracy"}, True),
        ({"metric": "test_accuracy", "complement": True}, False),
        ({"metric": "gradient_cosine"}, False),
        ({"metric": "train_loss"}, False),
    ],
)
def test_accuracies_are_written_in_percent(quantity, percent):
    assert metric_info(Quantity.model_validate(quantity)).percent == percent

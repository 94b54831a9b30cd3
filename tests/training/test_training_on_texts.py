"""Training on words is training on their counts."""

import numpy as np

from scaling_limits.datasets import attribute_words
from scaling_limits.datasets.loading import Arrays
from scaling_limits.training.loop import compile_shard
from toys import CBOW, cell


def test_words_are_trained_on_as_their_counts() -> None:
    samples = attribute_words.decode({})
    own = cell(
        **CBOW,
        dtype="float64",
        measure={"performance": ["end"], "analogies": [0, "end"]},
    )
    x, y, x_test, y_test = (
        array[:count].astype(np.int32)
        for array, count in (
            (samples.x_train, 64),
            (samples.y_train, 64),
            (samples.x_test, 16),
            (samples.y_test, 16),
        )
    )
    analogies = samples.analogies.astype(np.int32)
    found = compile_shard(own, Arrays(x, y, y, x_test, y_test, y_test, analogies))([own])[0]

    def counts(words: np.ndarray) -> np.ndarray:
        return np.array([np.bincount(row, minlength=96) for row in words], np.float64)

    plain = own.model_copy(
        update={
            "dataset": own.dataset.model_copy(update={"context_size": None}),
            "measurements": own.measurements[1:],
        }
    )
    assert [spec.name for spec in plain.measurements] == ["performance"]
    one_hot = np.eye(96)
    dense = Arrays(counts(x), one_hot[y], y, counts(x_test), one_hot[y_test], y_test)
    expected = compile_shard(plain, dense)([plain])[0]
    for metric in ("train_loss", "test_loss", "test_accuracy"):
        np.testing.assert_allclose(found[metric].values, expected[metric].values, rtol=1e-12)
    first, last = found["analogy_accuracy"].values
    assert first < 0.05
    assert np.isfinite(last)

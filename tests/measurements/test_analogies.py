"""Analogies by embeddings, against brute force, and what has none."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from scaling_limits.datasets import attribute_words
from scaling_limits.errors import ConfigurationError
from scaling_limits.measurements.analogies import answered
from toys import BACKPROPAGATION, CBOW, cell

QUESTIONS = attribute_words.decode({}).analogies.astype(np.int32)


def attributes() -> np.ndarray:
    """Embeddings [96, 16] that are the sum of a thing and of a form, where a word has them."""
    embeddings = np.zeros((96, 16))
    word = np.arange(48)
    embeddings[word, word // 4] = embeddings[word, 12 + word % 4] = 1.0
    return embeddings


def share(embeddings: np.ndarray) -> float:
    return float(answered(jnp.asarray(embeddings), jnp.asarray(QUESTIONS)))


def test_embeddings_that_are_sums_of_attributes_answer_all() -> None:
    generator = np.random.default_rng(0)
    rotation = np.linalg.qr(generator.standard_normal((16, 16)))[0]
    assert share(attributes() @ rotation) == 1.0
    # without the attribute that is asked for, a word is as good as three others
    assert share(attributes()[:, :12] @ rotation[:12]) < 0.5


def test_it_is_the_cosine_that_counts_and_none_of_the_three_is_an_answer() -> None:
    generator = np.random.default_rng(1)
    embeddings = attributes() @ generator.standard_normal((16, 16))
    embeddings *= generator.uniform(0.1, 2.0, (96, 1))
    right = 0
    for a, b, c, d in QUESTIONS:
        wanted = embeddings[b] - embeddings[a] + embeddings[c]
        sizes = np.linalg.norm(embeddings, axis=1)
        cosines = embeddings @ wanted / np.where(sizes == 0, 1.0, sizes)
        cosines[[a, b, c]] = -np.inf
        right += int(cosines.argmax() == d)
    assert 0 < right < len(QUESTIONS)
    assert share(embeddings) == pytest.approx(right / len(QUESTIONS))


def test_random_embeddings_answer_by_chance() -> None:
    generator = np.random.default_rng(2)
    shares = [share(generator.standard_normal((96, 64))) for _ in range(20)]
    assert np.mean(shares) == pytest.approx(1 / 93, abs=0.005)


def test_diverged_embeddings_answer_nothing() -> None:
    embeddings = attributes()
    embeddings[95, 0] = np.inf
    assert np.isnan(share(embeddings))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (BACKPROPAGATION, r"requires a text with analogies, which dataset 'digits'"),
        ({**CBOW, "depth": 3}, r"two linear layers .* and 3 weight layers"),
        ({**CBOW, "activation": "relu"}, r"two linear layers .* activation: relu"),
    ],
)
def test_what_has_none_is_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^measurements\.analogies: .*{problem}"):
        cell(**settings, measure={"analogies": [0]})

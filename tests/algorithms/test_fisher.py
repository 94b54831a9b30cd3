"""The Fisher information of sequences, a mean over their tokens."""

import jax
import jax.numpy as jnp
import numpy as np

from scaling_limits.algorithms.fisher import directions

TOKENS, CLASSES = 3, 4


def test_tokens_have_likelihoods_of_their_own() -> None:
    outputs = jnp.asarray(np.random.default_rng(0).normal(size=(2, TOKENS * CLASSES)))
    found = np.asarray(directions("exact", "cross_entropy", outputs, jax.random.key(0), TOKENS))
    for sample in range(2):
        expected = np.zeros((TOKENS * CLASSES, TOKENS * CLASSES))
        for token in range(TOKENS):
            own = slice(token * CLASSES, (token + 1) * CLASSES)
            sigma = np.asarray(jax.nn.softmax(outputs[sample, own]))
            expected[own, own] = (np.diag(sigma) - np.outer(sigma, sigma)) / TOKENS
        rows = found[:, sample]
        np.testing.assert_allclose(rows.T @ rows, expected, atol=1e-12)


def test_sampled_targets_are_of_every_token() -> None:
    outputs = jnp.zeros((500, TOKENS * CLASSES))
    found = directions("sampled", "cross_entropy", outputs, jax.random.key(0), TOKENS)
    assert found.shape == (1, 500, TOKENS * CLASSES)
    drawn = np.asarray(found[0]).reshape(500, TOKENS, CLASSES) * TOKENS**0.5 + 1 / CLASSES
    np.testing.assert_allclose(drawn.sum(axis=-1), 1.0, atol=1e-6)
    labels = drawn.argmax(axis=-1)
    for token in range(TOKENS):
        assert np.bincount(labels[:, token]).min() > 80
    assert (labels[:, 0] != labels[:, 1]).mean() > 0.6

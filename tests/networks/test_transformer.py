"""Transformers beside pcn-limits Eq. 126 to 129, written out."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from equation_networks import BATCH, backpropagated, check, problem_of, unstacked

from scaling_limits.costs.sizes import layers, num_weights
from scaling_limits.datasets import sentences
from scaling_limits.datasets.loading import Arrays
from scaling_limits.errors import ConfigurationError
from scaling_limits.training.loop import compile_shard
from toys import TRANSFORMER

TOKENS, VOCABULARY, WIDTH, HEADS, BLOCKS = 5, 15, 8, 2, 2


def energy(fan_ins: dict[str, float]) -> Any:
    """Eq. 126 to 129, token by token and head by head, with what weights of blocks are scaled by."""

    def attention(z: Any, w: Any) -> Any:
        size = WIDTH // HEADS
        mixed = []
        for head in range(HEADS):
            rows = slice(head * size, (head + 1) * size)
            query, key, value = (
                z @ w[name][rows].T / fan_ins[name] ** 0.5 for name in ("query", "key", "value")
            )
            out = []
            for t in range(TOKENS):
                shares = jax.nn.softmax(query[t] @ key[: t + 1].T / size)
                out.append(shares @ value[: t + 1])
            mixed.append(jnp.stack(out))
        return jnp.concatenate(mixed, axis=-1) @ w["attention"].T / WIDTH**0.5

    def mlp(z: Any, w: Any) -> Any:
        wide = z @ w["expansion"].T / fan_ins["expansion"] ** 0.5
        phi = jax.nn.gelu(wide, approximate=False)
        return phi @ w["contraction"].T / fan_ins["contraction"] ** 0.5

    def block(z: Any, w: Any) -> Any:
        mixed = attention(z, w) / BLOCKS
        return z + mixed + mlp(z + mixed, w) / BLOCKS

    def of_sample(x: Any, y: Any, weights: Any, hidden: Any) -> Any:
        x, y = (v.reshape(TOKENS, VOCABULARY) for v in (x, y))
        z = [each.reshape(TOKENS, WIDTH) for each in hidden]
        embedded = x @ weights[0]["token"].T + weights[0]["position"].T
        predictions = [embedded, *(block(z[i], weights[i + 1]) for i in range(BLOCKS))]
        errors = sum(((a - b) ** 2).sum() for a, b in zip(z, predictions, strict=True))
        outputs = z[-1] @ weights[-1]["linear"].T / WIDTH
        return errors / 2 - (y * jax.nn.log_softmax(outputs)).sum()

    def whole(x: Any, y: Any, weights: Any, hidden: Any) -> Any:
        each = jax.vmap(of_sample, in_axes=(0, 0, None, 0))(x, y, weights, hidden)
        return each.sum() / (TOKENS * BATCH)

    return whole


OWN = {"query": 8, "key": 8, "value": 8, "expansion": 8, "contraction": 32}
PRINTED = {"query": 4, "key": 4, "value": 4, "expansion": 32, "contraction": 8}


def test_it_is_the_equation_with_own_fan_ins() -> None:
    check(TRANSFORMER, energy(OWN))


def test_its_blocks_may_be_scaled_as_printed() -> None:
    problem = problem_of(backpropagated(TRANSFORMER, block_fan_ins="printed"))

    @jax.jit
    def losses() -> Any:
        hidden = [z for stack in problem.activities()[:-1] for z in stack]
        given = problem.x, problem.y, unstacked(problem), hidden
        return problem.loss(problem.forward()), energy(PRINTED)(*given), energy(OWN)(*given)

    found, expected, own = losses()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert abs(own - expected) > 0.01


def by_tokens() -> Any:
    """The largest derivative of any output at each token (rows) by any input at each token."""
    problem = problem_of(backpropagated(TRANSFORMER, layer_norm=True))
    sample = replace(problem, x=problem.x[:1], y=problem.y[:1])
    jacobian = jax.jit(jax.jacobian(lambda x: replace(sample, x=x).forward()))
    by_input = jacobian(sample.x)[0, :, 0]
    return np.abs(by_input).reshape(TOKENS, VOCABULARY, TOKENS, VOCABULARY).max(axis=(1, 3))


def is_causal(derivatives: Any) -> bool:
    return bool((derivatives[np.triu_indices(TOKENS, 1)] == 0).all())


def test_no_output_depends_on_later_tokens() -> None:
    derivatives = by_tokens()
    assert is_causal(derivatives)
    assert (derivatives[np.tril_indices(TOKENS)] > 1e-6).all()


def test_a_mask_that_looks_ahead_by_one_token_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    lower = jnp.tril
    monkeypatch.setattr(jnp, "tril", lambda ones: lower(ones, 1))
    derivatives = by_tokens()
    assert not is_causal(derivatives)
    assert (derivatives[np.arange(TOKENS - 1), np.arange(1, TOKENS)] > 1e-6).all()


def test_layer_norm_forgets_the_size_of_what_enters_a_node() -> None:
    problem = problem_of(backpropagated(TRANSFORMER, layer_norm=True))
    *_, head = problem.network.segments
    z = jnp.asarray(np.random.default_rng(2).normal(size=(BATCH, TOKENS * WIDTH)))
    weights = jax.tree.map(lambda leaf: leaf[0], problem.params[-1])
    one, other = (head.apply(weights, problem.scaling, scale * z) for scale in (1e3, 3e3))
    np.testing.assert_allclose(one, other, rtol=1e-8)


def test_layers_count_its_weights() -> None:
    own = backpropagated(TRANSFORMER)
    problem = problem_of(own)
    assert num_weights(layers(own)) == sum(leaf.size for leaf in jax.tree.leaves(problem.params))


def test_a_language_model_learns_what_stands_further_back() -> None:
    """Below the entropy of pairs of characters, so that it needs more than the last one."""
    own = backpropagated(
        TRANSFORMER,
        dtype="float32",
        sequence_length=16,
        width=32,
        num_heads=4,
        parameterisation="mup",
        depth_exponent=None,
        learning_rate=0.01,
        num_train=4096,
        num_test=64,
        batch_size=32,
        num_steps=250,
        measure={"performance": ["end"]},
    )
    text = sentences.decode({})
    parts = [v[: 4096 * 16] for v in (text.x_train, text.y_train)]
    parts += [v[: 64 * 16] for v in (text.x_test, text.y_test)]
    x, y, x_test, y_test = (v.reshape(-1, 16).astype(np.int32) for v in parts)
    arrays = Arrays(x, y, y, x_test, y_test, y_test)
    loss = float(compile_shard(own, arrays)([own])[0]["test_loss"].values[0])
    assert loss < _conditional_entropy(text.x_train, text.y_train) - 0.2


def _conditional_entropy(x: Any, y: Any) -> float:
    """Nats of a character, given the one before."""
    pairs = np.zeros((VOCABULARY, VOCABULARY))
    np.add.at(pairs, (x, y), 1 / len(x))
    marginal = pairs.sum(axis=1, keepdims=True)
    there = pairs > 0
    return float(-(pairs[there] * np.log((pairs / marginal)[there])).sum())


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"width": 10, "num_heads": 4},
            r"^width: 10 is not divisible by num_heads: 4; the nearest is 8",
        ),
        ({"depth_kind": "weight_layers"}, r"^depth_kind: .* use blocks"),
        ({"loss": "mean_squared_error"}, r"^loss: .* use cross_entropy"),
        (
            {"dataset": "digits", "sequence_length": None},
            r"^network: transformer requires sequences of tokens, which dataset 'digits'",
        ),
        (
            {"sequence_length": None},
            r"^sequence_length: required by dataset 'sentences', at most 8192",
        ),
        ({"sequence_length": 9000}, r"^sequence_length: 9000 is more than the 8192 tokens"),
        (
            {"network": "mlp", "num_heads": None, "depth_exponent": None},
            r"^network: mlp does not accept sequences of tokens, .* use transformer",
        ),
        (
            {
                "network": "residual_cnn",
                "num_heads": None,
                "width": 9,
                "depth": 4,
                "depth_kind": "weight_layers",
            },
            r"^network: residual_cnn does not accept sequences",
        ),
        (
            {"num_train": 20_000},
            r"^num_train: 20000 is more than the 13107 samples of dataset 'sentences'",
        ),
    ],
)
def test_what_it_is_not_for_is_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        backpropagated(TRANSFORMER, **settings)


def test_a_sequence_length_is_of_sequences() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^sequence_length: has no effect for dataset 'digits'"
    ):
        backpropagated({"sequence_length": 4})

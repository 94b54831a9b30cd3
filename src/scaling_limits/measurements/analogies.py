"""Fraction of analogies that a network's word embeddings answer.

Source: second-order Fig. 4 left and Fig. S.8, with the rule of Mikolov et al. (2013).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import Cell
from scaling_limits.measurements.requirements import lacking

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int

    from scaling_limits.measurements.context import Context
    from scaling_limits.networks.work import Count

AXES: dict[str, tuple[str, ...]] = {"analogy_accuracy": ()}


def measure(context: Context) -> dict[str, Array]:
    """Compute the fraction of analogy questions answered correctly.

    A question a : b :: c : d is answered correctly if, among all words but a, b and c, the embedding of d has the
    largest cosine with b - a + c. The result is NaN if an embedding is not finite. Embeddings are the columns of the
    input weights, one for each word. The chance level is one over the number of words minus three.
    """
    from jax import tree

    assert context.analogies is not None
    (kernel,) = tree.leaves(context.problem.params[0])
    return {"analogy_accuracy": answered(kernel[0].T, context.analogies)}


def answered(
    embeddings: Float[Array, "words width"], analogies: Int[Array, "questions 4"]
) -> Float[Array, ""]:
    """Compute the fraction of questions that these embeddings answer; for equal cosines the first word counts."""
    import jax.numpy as jnp

    size = jnp.linalg.norm(embeddings, axis=1, keepdims=True)
    unit = embeddings / jnp.where(size == 0, 1.0, size)
    a, b, c, d = analogies.T
    # the norm of b - a + c is the same for all words, so these products have the order of the cosines
    similarities = (embeddings[b] - embeddings[a] + embeddings[c]) @ unit.T
    questions = jnp.arange(len(analogies))
    for asked in (a, b, c):
        similarities = similarities.at[questions, asked].set(-jnp.inf)
    fraction = (similarities.argmax(axis=1) == d).mean()
    return jnp.where(jnp.isfinite(embeddings).all(), fraction, jnp.nan)


def refuse(cell: Cell) -> None:
    """Reject data without analogies, and networks whose input weights are not word embeddings.

    Raises:
        ConfigurationError: naming the key and what is valid.
    """
    if cell.dataset.context_size is None:
        raise lacking(
            "analogies",
            f"requires a text with analogies, which dataset '{cell.dataset.name}' does not have",
        )
    network = cell.network
    result = network.name, network.activation, network.num_hidden_layers
    if result != ("mlp", "linear", 1):
        raise lacking(
            "analogies",
            f"requires an mlp of two linear layers (CBOW), not network: {network.name}, activation: "
            f"{network.activation} and {network.num_hidden_layers + 1} weight layers",
        )


def work(cell: Cell, count: Count) -> None:
    """Add the products of all questions with all words, assuming ten questions per word.

    Their actual number is known only from the data.
    """
    vocabulary = cell.network.input_dim
    count.multiply_adds(10.0 * vocabulary**2 * cell.network.width)


def memory(cell: Cell) -> dict[str, float]:
    """Return the memory of these products."""
    return {"samples": 10.0 * cell.network.input_dim}

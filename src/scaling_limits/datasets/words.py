"""Conversion of words and characters: texts are stored as indices and become vectors when a batch is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import DatasetSpec

if TYPE_CHECKING:
    from jaxtyping import Array


def vectors(spec: DatasetSpec, x: Array, y: Array, dtype: str) -> tuple[Array, Array]:
    """Convert samples to the inputs and targets of a network.

    Texts of words become word counts and one-hot targets, sequences become concatenated one-hot rows of their tokens,
    and other data are not changed.

    Source: second-order B.1 (CBOW, Mikolov et al. 2013), with the sum of the embeddings instead of their mean;
    pcn-limits Eq. 126.

    Args:
        spec: the dataset of the cell.
        x: inputs: for a text of words `[n, context_size]` word indices, for sequences `[n, sequence_length]` token
            indices.
        y: targets: for a text of words `[n]` word indices, for sequences `[n, sequence_length]` token indices.
        dtype: floating-point type of the result for texts and sequences.

    Returns:
        Inputs and targets: for a text of words both `[n, num_classes]`, for sequences both `[n, sequence_length *
        num_classes]`.
    """
    import jax
    import jax.numpy as jnp

    if spec.sequence_length is not None:
        each = (jax.nn.one_hot(v, spec.num_classes, dtype=dtype) for v in (x, y))
        inputs, targets = (v.reshape(len(x), -1) for v in each)
        return inputs, targets
    if spec.context_size is None:
        return x, y
    samples = jnp.arange(len(x))[:, None]
    counts = jnp.zeros((len(x), spec.num_classes), dtype).at[samples, x].add(1)
    return counts, jax.nn.one_hot(y, spec.num_classes, dtype=dtype)

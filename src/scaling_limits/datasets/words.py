"""Words and characters as what networks take: texts are kept as indices, and become vectors when a batch is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import DatasetSpec

if TYPE_CHECKING:
    from jaxtyping import Array


def vectors(spec: DatasetSpec, x: Array, y: Array, dtype: str) -> tuple[Array, Array]:
    """Convert samples to the inputs and targets that a network takes.

    Texts become word counts and one-hot targets, sequences become concatenated one-hot rows of their tokens; other data
    stay as they are.

    Source: second-order B.1 (CBOW, Mikolov et al. 2013), with the sum of the embeddings in place of their mean;
    pcn-limits Eq. 126.

    Args:
        spec: the dataset of the cell.
        x: inputs: of a text `[n, context_size]` word indices, of sequences `[n, sequence_length]` token indices.
        y: targets: of a text `[n]` word indices, of sequences `[n, sequence_length]` token indices.
        dtype: floating-point type of the result for texts and sequences.

    Returns:
        Inputs and targets: of a text both `[n, num_classes]`, of sequences both `[n, sequence_length * num_classes]`.
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

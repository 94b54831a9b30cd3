"""Words and characters as what networks take: texts are kept as indices, and become vectors when a batch is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scaling_limits.cells import DatasetSpec

if TYPE_CHECKING:
    from jaxtyping import Array


def vectors(spec: DatasetSpec, x: Array, y: Array, dtype: str) -> tuple[Array, Array]:
    """Inputs and targets of samples: of a text, whose x are `[n, context_size]` and y `[n]`, how often each word of the
    vocabulary is among those of a sample, and one-hot rows; of sequences, both `[n, sequence_length]`, a one-hot row of
    every token, one after the other; of other data as they are.

    Source: second-order B.1 (CBOW, Mikolov et al. 2013), with the sum of the embeddings in place of their mean;
    pcn-limits Eq. 126.
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

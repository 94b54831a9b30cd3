"""The order of training samples, which depends only on seed, dataset, number of samples and batch size."""

import hashlib

import numpy as np


def batch_indices(
    *, seed: int, dataset: str, num_samples: int, batch_size: int, num_steps: int
) -> np.ndarray:
    """Return the sample indices of all batches, from shuffled epochs; an incomplete last batch is dropped.

    If the batch size is at least the number of samples, every batch consists of all samples in their original order.
    The order for fewer steps is a prefix of the order for more steps.

    Args:
        seed: seed of the order.
        dataset: name of the dataset.
        num_samples: number of training samples.
        batch_size: number of samples of a batch.
        num_steps: number of batches.

    Returns:
        Indices `[num_steps, min(batch_size, num_samples)]` in int32.
    """
    if batch_size >= num_samples:
        return np.tile(np.arange(num_samples, dtype=np.int32), (num_steps, 1))
    name = f"data order/{seed}/{dataset}/{batch_size}"
    key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "little")
    generator = np.random.Generator(np.random.Philox(key=key))
    per_epoch = num_samples // batch_size
    epochs = -(-num_steps // per_epoch)
    order = [generator.permutation(num_samples)[: per_epoch * batch_size] for _ in range(epochs)]
    return np.concatenate(order).astype(np.int32).reshape(-1, batch_size)[:num_steps]

"""The order of training samples: a function of seed, dataset, number of samples and batch size only."""

import hashlib

import numpy as np


def batch_indices(
    *, seed: int, dataset: str, num_samples: int, batch_size: int, num_steps: int
) -> np.ndarray:
    """Sample indices `[num_steps, batch_size]` of shuffled epochs; an incomplete last batch is dropped.

    A batch of all samples keeps their order; a larger one is cut to them, `[num_steps, num_samples]`. Fewer steps give
    a prefix of more steps' order.
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

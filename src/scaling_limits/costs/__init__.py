"""What cells cost: time and memory, from their sizes and from what their parts say that they do; without jax."""

"""Training: one compiled program per shard."""

"""Fully connected networks of H hidden layers without biases, with or without one-layer skips."""

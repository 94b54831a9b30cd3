"""Where an equilibrium's iterations are preconditioned by the derivatives of the outputs; without JAX."""

MOST_OUTPUTS = 64
"""Outputs of a sample; the derivatives of more, as of sequences, would fit no memory."""

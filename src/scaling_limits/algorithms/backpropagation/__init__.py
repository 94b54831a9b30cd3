"""Backpropagation of the loss."""

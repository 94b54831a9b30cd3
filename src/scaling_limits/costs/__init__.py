"""Estimated time and memory of cells, from their sizes and the work that their parts declare. Does not import jax."""

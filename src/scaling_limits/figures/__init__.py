"""The content of a figure: its plot, its quantities, the labels of its metrics, and its claims."""

OWN = "own"
"""The slug of the user's own figures, which replaces the slug of a paper."""

"""What a figure states: its plot, the quantities in it, the words of its metrics, the claims on it."""

OWN = "own"
"""The slug of the user's own figures, in place of a paper's."""

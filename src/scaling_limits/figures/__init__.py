"""What a figure states: its plot, the quantities in it, the words of its metrics, the claims on it."""

OWN = "own"
"""What stands in the place of a paper for the figures of a user's own."""

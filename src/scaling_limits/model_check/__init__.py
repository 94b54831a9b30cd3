"""Checks of a user's own model: whether its features and optima stay in place as it gets wider and deeper."""

"""Figures from records: kinds of plots, and what they are made of, from the page to its text."""

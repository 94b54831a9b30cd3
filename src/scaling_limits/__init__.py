"""Training dynamics at infinite width and depth: one pipeline for five papers."""

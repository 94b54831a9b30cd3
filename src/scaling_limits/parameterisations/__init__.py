"""Parameterisations: one table of scaling exponents, and predictions from the exponents alone."""

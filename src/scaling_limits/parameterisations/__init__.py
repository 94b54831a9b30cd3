"""Parameterisations: one table of scaling exponents, and what follows from the exponents alone."""

"""Closed forms that do not depend on the algorithms, and that these are tested against."""

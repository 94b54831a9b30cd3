"""The configuration: `load` reads and validates it, and a `Configuration` gives the cells of a figure."""

from scaling_limits.configuration.configuration import Configuration, Point, load

__all__ = ["Configuration", "Point", "load"]

"""The configuration: `load` reads and validates it, a `Configuration` says which cells a figure needs."""

from scaling_limits.configuration.configuration import Configuration, Point, load

__all__ = ["Configuration", "Point", "load"]

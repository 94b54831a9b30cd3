"""The configuration: `load` reads and validates it, a `Configuration` says which cells a figure needs."""

from .configuration import OWN, Configuration, Point, load

__all__ = ["OWN", "Configuration", "Point", "load"]

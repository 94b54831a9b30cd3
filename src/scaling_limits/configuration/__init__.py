"""The configuration: `load` reads and validates it, a `Configuration` says which cells a figure needs."""

from .configuration import Configuration, Point, load

__all__ = ["Configuration", "Point", "load"]

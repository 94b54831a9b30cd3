"""The configuration: `load` reads and validates it, a `Configuration` says which cells a figure needs."""

from .configuration import Configuration, Point, load
from .models import OWN

__all__ = ["OWN", "Configuration", "Point", "load"]

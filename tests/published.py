"""The project's own configuration, which takes long to resolve: once in each process of the tests."""

from functools import cache
from pathlib import Path

import pytest

from scaling_limits.configuration import Configuration, load

ROOT = Path(__file__).parents[1]

# one process resolves it for all of these tests
on_published = pytest.mark.xdist_group("published")


@cache
def published(preset: str) -> Configuration:
    return load(ROOT, {"preset": preset})

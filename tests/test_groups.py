"""Tests of one group run in one process, which pytest-xdist ignores without a word under versions of pytest it does not
know."""

import pytest

from published import on_published


@on_published
def test_groups_are_known(request: pytest.FixtureRequest):
    if not request.config.getoption("loadgroup", default=False):
        pytest.skip("only `pytest --dist loadgroup` keeps groups together")
    assert request.node.nodeid.endswith("@published")

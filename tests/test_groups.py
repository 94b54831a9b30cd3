"""Tests of one group run in one process, which pytest-xdist ignores without a word under versions of pytest it does not
know."""

import os

import pytest

from published import on_published


@on_published
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="tests run in one process")
def test_groups_are_known(request: pytest.FixtureRequest):
    assert request.node.nodeid.endswith("@published")

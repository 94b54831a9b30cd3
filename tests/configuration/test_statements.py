"""Statements of claims say what their rules decide."""

import pytest

from published import on_published, published
from scaling_limits.claims.measurement import octaves
from scaling_limits.claims.optimum_stays import Claim as OptimumStays


@on_published
@pytest.mark.parametrize("preset", ["laptop", "paper"])
def test_an_optimum_that_stays_does_so_within_what_the_statement_says(preset: str) -> None:
    configuration = published(preset)
    for slug in configuration.papers:
        for name in configuration.figures(slug):
            for claim in configuration.figure(slug, name).claims:
                if isinstance(claim, OptimumStays):
                    assert claim.max_shift == 1
                    within = f"within {octaves(1).replace('1', 'one')}"
                    size = claim.along
                    said = (f"{within} at all {size}s", f"{within} as {size} grows")
                    assert any(words in claim.statement for words in said), (slug, name, claim.id)

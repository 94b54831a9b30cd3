"""What the papers' figures say on their pictures, and whether they show what their claims judge."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from published import on_published, published
from scaling_limits.cells import digest
from scaling_limits.claims.base import ClaimBase
from scaling_limits.configuration.models import Figure
from scaling_limits.plots.options import Plot

ROOT = Path(__file__).parents[2]
pytestmark = on_published

PAPERS = sorted(path.parent.name for path in (ROOT / "config/papers").glob("*/paper.yaml"))
# Claims that judge or compare cells which their picture does not show. Draw these cells; add none.
NOT_DRAWN: dict[str, set[str]] = {
    "depth-mup": {
        "fig1/diverse-features",
        "fig1/redundant-features",
    },
}


def figures(paper: str) -> Iterator[tuple[str, Figure]]:
    for name in published("smoke").figures(paper):
        yield name, published("smoke").figure(paper, name)


@pytest.mark.parametrize("paper", PAPERS)
def test_no_two_figures_of_a_paper_have_one_title(paper: str) -> None:
    titles = Counter(figure.title for _, figure in figures(paper))
    assert [title for title, count in titles.items() if count > 1] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_every_picture_of_runs_says_what_to_see(paper: str) -> None:
    """In a sentence; a title is none."""
    for name, figure in figures(paper):
        assert not figure.title.endswith("."), name
        if figure.experiment is not None:
            assert figure.see.endswith("."), name


def is_elsewhere(claim: ClaimBase, plot: Plot, cells: pd.DataFrame) -> bool:
    """Whether a claim judges or compares cells, other than its controls, that the picture does not show."""
    ids = cells.groupby("grid")["cell_id"].agg(set)

    def of(grids: Iterable[str]) -> set[str]:
        return set().union(*ids.reindex(list(grids)).dropna())

    judged = of([*claim.grids, *(grid for names in claim.compared for grid in names)])
    # a panel shows the best over these columns, but the claim fixes one of their values
    tuned = {column for grid, column in plot.tuned_columns() if judged & of([grid])}
    return bool(judged - of(plot.grids) or tuned.intersection(claim.only))


@pytest.mark.parametrize("paper", PAPERS)
def test_what_claims_judge_is_drawn(paper: str) -> None:
    found = set()
    for name, figure in figures(paper):
        if figure.experiment is None or not figure.claims:
            continue
        points = published("smoke").points(paper, figure.experiment)
        rows = [(point.grid, digest(point.cell.canonical())) for point in points]
        cells = pd.DataFrame(rows, columns=["grid", "cell_id"])
        found |= {
            f"{name}/{claim.id}"
            for claim in figure.claims
            if is_elsewhere(claim, figure.plot, cells)
        }
    known = NOT_DRAWN.get(paper, set())
    assert sorted(found - known) == []
    assert sorted(known - found) == [], "drawn now: take them off the list"

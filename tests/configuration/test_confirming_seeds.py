"""Confirmed cells share no seed with exploratory ones, and nothing else of them differs."""

from pathlib import Path

import pytest

from published import on_published, published
from scaling_limits.configuration import Configuration, load
from scaling_limits.configuration.models import FIRST_CONFIRMING
from scaling_limits.errors import ConfigurationError
from toys import write_project


def cells(configuration: Configuration, slug: str) -> list[dict]:
    names = {configuration.figure(slug, name).experiment for name in configuration.figures(slug)}
    return [
        {"grid": point.grid, **point.cell.canonical()}
        for name in sorted(filter(None, names))
        for point in configuration.points(slug, name)
    ]


@pytest.mark.parametrize("first", [1000, 5000])
def test_every_seed_is_a_fresh_one(tmp_path: Path, first: int) -> None:
    explored = cells(load(write_project(tmp_path), {"preset": "small"}), "toy")
    root = write_project(tmp_path, preset={"seeds": {"first": first}})
    configuration = load(root, {"preset": "small"})
    assert configuration.preset.seeds.confirming
    assert cells(configuration, "toy") == [
        {**cell, "seed": cell["seed"] + first} for cell in explored
    ]


@pytest.mark.parametrize("first", [1, 999])
def test_a_number_that_exploratory_seeds_reach_is_refused(tmp_path: Path, first: int) -> None:
    root = write_project(tmp_path, preset={"seeds": {"first": first}})
    with pytest.raises(ConfigurationError, match=r"seeds.first: should be 0, or 1000 or more"):
        load(root, {"preset": "small"})


@on_published
@pytest.mark.parametrize("preset", ["laptop", "paper"])
def test_seeds_of_all_papers_are_exploratory(preset: str) -> None:
    configuration = published(preset)
    assert not configuration.preset.seeds.confirming
    for slug in configuration.papers:
        for name in configuration.figures(slug):
            settings = (
                configuration.experiment(slug, experiment)
                if (experiment := configuration.figure(slug, name).experiment)
                else None
            )
            for grid in settings.grids.values() if settings else ():
                seeds = grid.settings.get("seed", 0)
                assert max(seeds if isinstance(seeds, list) else [seeds]) < FIRST_CONFIRMING

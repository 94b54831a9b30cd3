"""Completion of figures, papers and presets in the shell, from the names in the configuration files."""

from collections.abc import Iterator
from pathlib import Path

import click

from scaling_limits.configuration.files import read_tree, yaml_files
from scaling_limits.configuration.own_parts import FOLDER
from scaling_limits.errors import ScalingLimitsError
from scaling_limits.figures import OWN


def papers(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the papers that begin with `incomplete`; none outside a project."""
    return [slug for slug in _folders(ctx) if slug.startswith(incomplete)]


def figures(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the papers and figures that begin with `incomplete`; none outside a project."""
    slug, slash, _figure = incomplete.partition("/")
    names = []
    for paper, folder in _folders(ctx).items():
        if paper == slug or (paper.startswith(slug) and not slash):
            names += [paper, *(f"{paper}/{name}" for name in _figures(_root(ctx), folder))]
    return [name for name in names if name.startswith(incomplete)]


def presets(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the presets that begin with `incomplete`; none outside a project."""
    folder = _root(ctx) / "config" / "presets"
    return sorted(path.stem for path in folder.glob(f"{incomplete}*.yaml"))


def _root(ctx: click.Context) -> Path:
    return Path(ctx.params.get("directory") or ".")


def _folders(ctx: click.Context) -> dict[str, str]:
    """Return the folders of experiments by slug."""
    root = _root(ctx)
    slugs = sorted(path.parent.name for path in root.glob("config/papers/*/paper.yaml"))
    folders = {slug: f"config/papers/{slug}" for slug in slugs}
    return folders | ({OWN: FOLDER} if (root / FOLDER).is_dir() else {})


def _figures(root: Path, folder: str) -> Iterator[str]:
    """Yield the names of the figures in a folder; files that cannot be read are left out."""
    try:
        files = yaml_files(root, folder)
    except ScalingLimitsError:
        return
    for path in files:
        try:
            yield from read_tree(path, path.name).tree("figures")
        except ScalingLimitsError:
            continue
